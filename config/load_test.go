package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

const task = `benchmark "edge" {
  task "one" {
    image       = "x"
    instruction = "x"
    work { context = "ctx" }
    judge { command = "true" }
  }
}
`

func at(name, text string) txtar.File { return txtar.File{Name: name, Data: []byte(text)} }

// load loads a root with options that a test changes.
func load(root string, prev Previous, change func(*Options)) *Set {
	o := testOptions()
	if change != nil {
		change(&o)
	}
	return Load(Scan(root, prev, o).Inputs, prev, o)
}

func digestOf(s *Set) string { return s.Benchmark("edge").Tasks[0].Work.Context.Digest }

func TestContextsAreReadWhenTheTextIsAccepted(t *testing.T) {
	root := t.TempDir()
	write(t, root, at("a.hcl", task), at("ctx/f", "1"))
	first := load(root, nil, nil)
	write(t, root, at("ctx/f", "2"))

	same := load(root, first.Accepted(), nil)
	if digestOf(same) != digestOf(first) {
		t.Error("an edit of a context alone changed the spec")
	}
	fresh := load(root, first.Accepted(), func(o *Options) { o.Fresh = func(string) bool { return true } })
	if digestOf(fresh) == digestOf(first) {
		t.Error("a fresh load kept the old context")
	}
	write(t, root, at("a.hcl", "# touched\n"+task))
	touched := load(root, first.Accepted(), nil)
	if digestOf(touched) != digestOf(fresh) {
		t.Error("a new text kept the old context")
	}
	if touched.Benchmark("edge").Generation != fresh.Benchmark("edge").Generation {
		t.Error("a comment changed the generation")
	}
}

// What a file holds back, and who goes first, makes no other spec: a mining spec of another generation begins anew.
func TestHoldingBackIsInNoGeneration(t *testing.T) {
	root, before := t.TempDir(), ""
	for _, held := range []bool{false, true} {
		line := ""
		if held {
			line = "paused = true\n priority = 5\n"
		}
		write(t, root, at("a.hcl", task), at("ctx/f", ""), at("b.hcl", "run \"r\" {\n tasks = [benchmark.edge]\n "+line+"agent \"nop\" {}\n}"),
			at("c.hcl", "mining \"m\" {\n provider = \"openai\"\n "+strings.TrimSuffix(line, " priority = 5\n")+"}"))
		set := load(root, nil, func(o *Options) { o.Settings = readable(func(string) (string, bool) { return "key", true }) })
		r, m := set.Run("r"), set.Mining("m")
		if r == nil || m == nil {
			t.Fatalf("specs are missing: %v", set.Diagnostics)
		}
		if r.Paused != held || m.Paused != held || (r.Priority != 0) != held {
			t.Errorf("held %v: the run is %v of %d, the mining spec %v", held, r.Paused, r.Priority, m.Paused)
		}
		if got := r.Generation + m.Generation; held && got != before {
			t.Errorf("the generation is %s, and was %s", got, before)
		} else {
			before = got
		}
	}
}

func TestUnchangedFilesAreStillChecked(t *testing.T) {
	root := t.TempDir()
	write(t, root, at("a.hcl", task), at("ctx/f", ""), at("b.hcl", "run \"r\" {\n tasks = [benchmark.edge]\n agent \"nop\" {}\n}"))
	first := load(root, nil, nil)
	if err := os.Remove(filepath.Join(root, "a.hcl")); err != nil {
		t.Fatal(err)
	}
	gone := load(root, first.Accepted(), nil)
	if len(gone.Files) != 1 || gone.Files[0].Status != Frozen || gone.Run("r") == nil {
		t.Errorf("want a frozen run, got %+v", gone.Files)
	}
	small := load(root, first.Accepted(), func(o *Options) { o.Host.CPUs = 0.5 })
	if !strings.Contains(small.Diagnostics[0].Detail, "benchmark") {
		t.Errorf("unexpected %v", small.Diagnostics)
	}
}

func TestAcceptedSurvivesJSON(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/design.txtar")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	write(t, root, archive.Files...)
	keys := func(o *Options) { o.Env = func(string) (string, bool) { return "x", true } }
	accepted := load(root, nil, keys).Accepted()
	data, err := json.Marshal(accepted)
	if err != nil {
		t.Fatal(err)
	}
	var back Previous
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(accepted, back); diff != "" {
		t.Errorf("lost on the way (-want +got):\n%s", diff)
	}
	again := load(root, back, func(o *Options) {
		keys(o)
		o.Snapshot = func(string) (string, error) { return "", errors.New("asked again") }
	})
	if diff := cmp.Diff(load(root, nil, keys).Blocks, again.Blocks); diff != "" {
		t.Errorf("taking over differs from compiling (-want +got):\n%s", diff)
	}
}

func TestUnknownFilesKeepWhatWasAccepted(t *testing.T) {
	root := t.TempDir()
	write(t, root, at("a.hcl", task), at("ctx/f", ""))
	first := load(root, nil, nil)
	in := Input{Path: filepath.Join(root, "a.hcl"), Display: "a.hcl", Root: root, Unknown: "permission denied"}
	set := Load([]Input{in}, first.Accepted(), testOptions())
	if set.Files[0].Status != Unread || set.Benchmark("edge") == nil || set.Diagnostics.HasErrors() {
		t.Errorf("unexpected %+v", set.Files)
	}
	if diff := cmp.Diff(first.Accepted(), set.Accepted()); diff != "" {
		t.Error(diff)
	}
}

func TestRefusedFilesAreFrozen(t *testing.T) {
	root := t.TempDir()
	write(t, root, at("a.hcl", `agent "a" { command = "x" }`))
	first := load(root, nil, nil)
	write(t, root, at("a.hcl", strings.Repeat("#", maxSpec+1)))
	set := load(root, first.Accepted(), nil)
	if set.Files[0].Status != Frozen || set.Agent("a") == nil || set.Diagnostics[0].Summary != "Not a spec file" {
		t.Errorf("unexpected %+v", set.Files)
	}
}

func TestAMovedNameBelongsToTheNewFile(t *testing.T) {
	root := t.TempDir()
	write(t, root, at("a.hcl", `agent "x" { command = "a" }`))
	set := load(root, nil, nil)
	write(t, root, at("a.hcl", `agent "y" {`), at("b.hcl", `agent "x" { command = "b" }`))
	set = load(root, set.Accepted(), nil)
	if got := set.Agent("x").Command.Shell; got != "b" {
		t.Errorf("x is %q", got)
	}
	if err := os.Remove(filepath.Join(root, "b.hcl")); err != nil {
		t.Fatal(err)
	}
	if set = load(root, set.Accepted(), nil); set.Agent("x") != nil {
		t.Error("x came back with its old file")
	}
}

func TestWhatNoMachineCanAdmitIsAnError(t *testing.T) {
	root := t.TempDir()
	write(t, root, at("a.hcl", strings.Replace(task, `context = "ctx"`, `cpus = 3`, 1)))
	for _, test := range []struct {
		name  string
		host  float64
		limit float64
		want  string
	}{
		{"fits", 4, 0, ""},
		{"unknown machine", 0, 0, ""},
		{"machine", 2, 0, "work.cpus asks for 3 CPUs; the machine has 2 CPUs."},
		{"limits", 4, 1, "work.cpus asks for 3 CPUs; the limits of the settings allow 1 CPUs."},
		{"machine before generous limits", 2, 64, "work.cpus asks for 3 CPUs; the machine has 2 CPUs."},
	} {
		t.Run(test.name, func(t *testing.T) {
			set := load(root, nil, func(o *Options) {
				o.Host.CPUs = test.host
				o.Settings = DefaultSettings(nil)
				o.Settings.Limits.CPUs = test.limit
			})
			got := ""
			for _, d := range set.Diagnostics {
				if strings.HasPrefix(d.Detail, "work.cpus") {
					got = d.Detail
				}
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestPathsStayInTheRoot(t *testing.T) {
	outside, root := t.TempDir(), t.TempDir()
	write(t, outside, at("secret", "s"), at("d/f", ""))
	write(t, root, at("in/f", "text"))
	for link, target := range map[string]string{"out": outside, "file": filepath.Join(outside, "secret"), "inner": "in", "dangling": "nowhere"} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	f := newFile(Input{Path: filepath.Join(root, "team", "a.hcl"), Root: root}, &Options{})
	for path, ok := range map[string]bool{
		"../in/f": true, "../inner/f": true, "../file": false, "../out/secret": false, "../../x": false, "/etc/passwd": false,
		"": false, "../in": false, "../dangling": false, "a\x00b": false,
	} {
		if _, err := f.fileText(path); (err == nil) != ok {
			t.Errorf("file(%q): %v", path, err)
		}
	}
	for path, ok := range map[string]bool{"../new/dir": true, "../out/d": false, "../dangling/x": false, "../inner/new": true} {
		if _, err := f.resolve(path); (err == nil) != ok {
			t.Errorf("resolve(%q): %v", path, err)
		}
	}
}

func TestRunsSelectTasks(t *testing.T) {
	root := t.TempDir()
	one := "task \"%\" {\n image = \"x\"\n instruction = \"x\"\n judge { command = \"true\" }\n}\n"
	var tasks strings.Builder
	for _, name := range []string{"aa", "ab", "bb"} {
		tasks.WriteString(strings.ReplaceAll(one, "%", name))
	}
	write(t, root, at("a.hcl", "benchmark \"b\" {\n"+tasks.String()+"}\nrun \"r\" {\n tasks = [benchmark.b.bb, benchmark.b]\n include = [\"a*\", \"bb\"]\n exclude = [\"ab\"]\n agent \"nop\" {}\n}\n"))
	set := load(root, nil, nil)
	var got []string
	for _, one := range set.Tasks(set.Run("r")) {
		got = append(got, one.Task.Name)
	}
	if diff := cmp.Diff([]string{"bb", "aa"}, got); diff != "" {
		t.Error(diff, set.Diagnostics)
	}
}

func TestAtKeepsTheError(t *testing.T) {
	base := errors.New("pull image")
	err := At(Pos{File: "team/nightly.hcl", Line: 12}, base)
	if err.Error() != "team/nightly.hcl:12: pull image" || !errors.Is(err, base) || !errors.Is(At(Pos{}, base), base) || At(Pos{File: "x"}, nil) != nil {
		t.Error(err)
	}
}

func TestKeptFilesStayAsFarAsNobodyElseDeclaresThem(t *testing.T) {
	root := t.TempDir()
	write(t, root, at("a.hcl", "agent \"x\" { command = \"a\" }\nagent \"y\" { command = \"a\" }"))
	first := load(root, nil, nil)
	kept := Input{Path: filepath.Join(root, "a.hcl"), Display: "a.hcl", Root: root, Kept: true}
	other := func(text string) Input {
		return Input{Path: filepath.Join(root, "b.hcl"), Display: "b.hcl", Root: root, Text: []byte(text)}
	}
	set := Load([]Input{kept, other(`agent "x" { command = "b" }`)}, first.Accepted(), testOptions())
	if set.Agent("x").Command.Shell != "b" || set.Agent("y").Command.Shell != "a" || len(set.Diagnostics) != 0 {
		t.Errorf("x is %v, y is %v, said is %v", set.Agent("x"), set.Agent("y"), set.Diagnostics)
	}
	set = Load([]Input{kept, other("agent \"y\" { command = \"b\" }")}, set.Accepted(), testOptions())
	if _, ok := set.Accepted()[kept.Path]; ok || set.Agent("x") != nil {
		t.Error("a kept file of which nothing is left is remembered")
	}
}

func TestALostNameIsAnErrorBesideOthers(t *testing.T) {
	root := t.TempDir()
	write(t, root, at("a.hcl", task+"agent \"x\" { command = \"a\" }\nrun \"r\" {\n tasks = [benchmark.edge]\n agent \"x\" {}\n}"), at("ctx/f", ""))
	first := load(root, nil, nil)
	write(t, root, at("a.hcl", task+"agent \"z\" { command = 1 }\nrun \"r\" {\n tasks = [benchmark.edge]\n agent \"x\" {}\n}"))
	var got []string
	for _, d := range load(root, first.Accepted(), nil).Diagnostics {
		got = append(got, d.Summary)
	}
	if diff := cmp.Diff([]string{`Invalid value for "command"`, "Unknown agent"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestAgentsThatRecordsCannotTellApartNeedALabel: a record has an agent's title and its model.
func TestAgentsThatRecordsCannotTellApartNeedALabel(t *testing.T) {
	for _, tt := range []struct {
		name, agents string
		allowed      bool
	}{
		{"another model", `agent "codex" { model = "a" }
agent "codex" { model = "b" }`, true},
		{"another effort", `agent "codex" {
  model  = "a"
  effort = "low"
}
agent "codex" {
  model  = "a"
  effort = "high"
}`, false},
		{"another effort, and a label", `agent "codex" {
  model  = "a"
  effort = "low"
}
agent "codex" {
  model  = "a"
  effort = "high"
  label  = "codex-high"
}`, true},
		{"one label for two", `agent "codex" {
  model = "a"
  label = "x"
}
agent "claude-code" {
  model = "a"
  label = "x"
}`, false},
		{"a label that is a name", `agent "oracle" {}
agent "nop" { label = "oracle" }`, false},
	} {
		root := t.TempDir()
		write(t, root, at("a.hcl", "benchmark \"b\" {}\nrun \"r\" {\ntasks = [benchmark.b]\n"+tt.agents+"\n}\n"))
		told := strings.Contains(fmt.Sprint(load(root, nil, nil).Diagnostics), "Duplicate agent")
		if told == tt.allowed {
			t.Errorf("%s: refused %t", tt.name, told)
		}
	}
}

// A token that mining needs and nobody can read is told before anything begins.
func TestMiningNeedsTheTokensOfTheSettings(t *testing.T) {
	mining := at("a.hcl", "mining \"m\" {\n  source \"repos\" { names = [\"a/b\"] }\n  provider = \"openai\"\n}\n")
	for name, tc := range map[string]struct {
		tokens []Secret
		want   string // "" = nothing is wrong
	}{
		"none":         {nil, ""},
		"a text":       {[]Secret{SecretText("t")}, ""},
		"a secret":     {[]Secret{{name: "there"}}, ""},
		"one is gone":  {[]Secret{SecretText("t"), {name: "gone"}}, `Of the tokens for github in the settings, number 2 cannot be read: there is no secret "gone".`},
		"one is empty": {[]Secret{SecretText("")}, "Of the tokens for github in the settings, number 1 cannot be read."},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			write(t, root, mining)
			ds := load(root, nil, func(o *Options) {
				o.Secret = func(name string) (string, bool) { return "s", name == "there" }
				o.Settings = DefaultSettings(nil)
				o.Settings.Providers = map[string]Provider{"openai": {Protocol: "openai", APIKey: SecretText("k")}}
				o.Settings.GitHub.Tokens = tc.tokens
			}).Diagnostics
			if tc.want == "" && len(ds) == 0 {
				return
			}
			if len(ds) != 1 || ds[0].Summary != "Missing token" || ds[0].Detail != tc.want || ds[0].Severity != Error || ds[0].Line != 2 {
				t.Errorf("%+v", ds)
			}
		})
	}
}
