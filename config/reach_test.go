package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// reachFixture is a watched folder, one that the settings allow, one that nobody allows, and a
// repository of Git, each with links to the others.
type reachFixture struct {
	dir     string
	options Options
}

func newReach(t *testing.T) reachFixture {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"specs", "allowed/agent", "private/agent", "git/tree/team", "handed"} {
		write(t, filepath.Join(dir, folder), at("in/f.txt", folder))
	}
	write(t, dir, at("private/agent/f.txt", "secret"), at("allowed/agent/f.txt", "text"))
	for _, folder := range []string{"specs", "git/tree/team", "handed"} {
		link(t, filepath.Join(dir, "private"), filepath.Join(dir, folder, "private"))
		link(t, filepath.Join(dir, "allowed"), filepath.Join(dir, folder, "allowed"))
	}
	link(t, filepath.Join(dir, "private"), filepath.Join(dir, "allowed/out"))
	link(t, filepath.Join(dir, "allowed"), filepath.Join(dir, "another"))
	settings := reachSettings()
	settings.Repositories.AllowFile = []string{filepath.Join(dir, "another")} // itself a link
	o := testOptions()
	o.Settings, o.Checkout, o.Watched = settings, filepath.Join(dir, "git/tree"), []string{filepath.Join(dir, "specs"), filepath.Join(dir, "git/tree")}
	return reachFixture{dir, o}
}

func reachSettings() *Settings {
	return DefaultSettings(func(name string) (string, bool) { return "a-key-of-the-laboratory", name == "OPENROUTER_API_KEY" })
}

// input is one spec of each origin.
func (r reachFixture) input(t *testing.T, origin, text string) Input {
	t.Helper()
	root := map[string]string{"watched": "specs", "git": "git/tree", "handed in": "handed", "handed in of git": "git/tree/team", "handed in over a link": "handed"}[origin]
	path := filepath.Join(r.dir, root, "a.hcl")
	switch origin {
	case "git":
		path = filepath.Join(r.dir, root, "team/a.hcl")
	case "handed in over a link":
		path = filepath.Join(r.dir, root, "link.hcl")
		write(t, filepath.Join(r.dir, "git/tree/team"), at("linked.hcl", text))
		if err := os.Symlink(filepath.Join(r.dir, "git/tree/team/linked.hcl"), path); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
		return Read(path)
	}
	write(t, filepath.Dir(path), at(filepath.Base(path), text))
	in := Read(path)
	in.Root, in.Named = filepath.Join(r.dir, root), strings.HasPrefix(origin, "handed in")
	return in
}

// TestWherePathsMayLead: a file that was handed in may name any folder, one of a watched folder those
// that the settings allow, and one from Git none but its own, by whatever way it goes there.
func TestWherePathsMayLead(t *testing.T) {
	r := newReach(t)
	const (
		ok    = ""
		hint  = "leaves the folder of the specs; to allow it, add its folder to repositories { allow_file = [...] } in assayd.hcl"
		never = "leaves the folder of the specs, which specs from a Git repository may not"
	)
	up := func(path string) string { return "../" + path }
	for _, test := range []struct{ path, watched, handed, git string }{
		{"in", ok, ok, ok},
		{"private/agent", hint, ok, never},
		{"private/../private/agent", hint, ok, never},
		{"allowed/agent", ok, ok, never},
		{"allowed/out/agent", hint, ok, never},
		{up("private/agent"), hint, ok, never},
		{up("allowed/agent"), ok, ok, never},
		{up("allowed/../private/agent"), hint, ok, never},
		{up("allowed/out/agent"), hint, ok, never},
		{up("another/agent"), ok, ok, never},
		{strings.Repeat("../", 20) + "nothing", hint, "no such file", never},
		{filepath.Join(r.dir, "private/agent"), hint, ok, never},
		{filepath.Join(r.dir, "allowed/agent"), ok, ok, never},
		{filepath.Join(r.dir, "another/out/agent"), hint, ok, never},
	} {
		for origin, want := range map[string]string{
			"watched": test.watched, "handed in": test.handed, "git": test.git, "handed in of git": test.git, "handed in over a link": test.git,
		} {
			path := test.path
			if rest, ok := strings.CutPrefix(path, "../"); ok && origin == "git" || ok && origin == "handed in of git" {
				path = "../../../" + rest // it lies deeper
			}
			if origin == "handed in over a link" && path == "in" {
				want = ok
			}
			for _, block := range []string{
				`agent "a" {` + "\ncommand = \"x\"\ndir = %q\n}",
				`mining "m" {` + "\noutput {\ndir = %q\n}\n}",
				`mining "m" {` + "\npr_file = %q\n}",
				`benchmark "b" {` + "\nimport \"sweforge\" {\npath = %q\n}\n}",
				"locals {\n text = file(\"%s/f.txt\")\n}\n" + `agent "a" {` + "\ncommand = local.text\n}",
			} {
				if strings.Contains(block, "mining") && want == "no such file" {
					continue // it is made
				}
				in := r.input(t, origin, fmt.Sprintf(block, path))
				ds := Load([]Input{in}, nil, r.options).Diagnostics
				said := ""
				for _, d := range ds {
					if d.Severity == Error {
						said += d.Detail
					}
				}
				if want == "" && said != "" || !strings.Contains(said, want) {
					t.Errorf("%s, %q in\n%s\nis told %q, want %q", origin, path, in.Text, said, want)
				}
			}
		}
	}
}

// TestThePlaceOfMinedTasksByDefaultIsNoWayOut: no attribute names it.
func TestThePlaceOfMinedTasksByDefaultIsNoWayOut(t *testing.T) {
	r := newReach(t)
	for origin, refused := range map[string]bool{"watched": true, "git": true, "handed in": false} {
		set := Load([]Input{r.input(t, origin, "mining \"private\" {}\n")}, nil, r.options)
		if set.Diagnostics.HasErrors() != refused {
			t.Errorf("%s: %v", origin, set.Diagnostics)
		}
	}
}

// TestWhatWasAllowedIsAskedAgain: the text of the file is the same, and what its paths may lead to is not.
func TestWhatWasAllowedIsAskedAgain(t *testing.T) {
	r := newReach(t)
	in := r.input(t, "watched", "agent \"a\" {\n command = \"x\"\n dir = \"../allowed/agent\"\n}\n")
	first := Load([]Input{in}, nil, r.options)
	stored, err := json.Marshal(first.Accepted())
	if err != nil || first.Diagnostics.HasErrors() {
		t.Fatal(err, first.Diagnostics)
	}
	var last Previous
	if err := json.Unmarshal(stored, &last); err != nil {
		t.Fatal(err)
	}
	if again := Load([]Input{in}, last, r.options); again.Diagnostics.HasErrors() {
		t.Error(again.Diagnostics)
	}
	narrow := r.options
	narrow.Settings = reachSettings()
	for name, load := range map[string]func() *Set{
		"by other settings": func() *Set { return Load([]Input{in}, last, narrow) },
		"by a link": func() *Set {
			if err := os.Rename(filepath.Join(r.dir, "allowed/agent"), filepath.Join(r.dir, "allowed/was")); err != nil {
				t.Fatal(err)
			}
			link(t, filepath.Join(r.dir, "private/agent"), filepath.Join(r.dir, "allowed/agent"))
			return Load([]Input{in}, last, r.options)
		},
	} {
		set := load()
		if !set.Diagnostics.HasErrors() || len(set.Files) != 1 || set.Files[0].Status != Frozen {
			t.Errorf("%s: %v %+v", name, set.Diagnostics, set.Files)
		}
	}
	handed := in
	handed.Named = true
	if set := Load([]Input{handed}, Load([]Input{in}, last, narrow).Accepted(), narrow); set.Diagnostics.HasErrors() {
		t.Errorf("handed in: %v", set.Diagnostics)
	}
}

// TestMiningStaysWhereItMayWrite: a link that came after the spec was accepted leads it nowhere.
func TestMiningStaysWhereItMayWrite(t *testing.T) {
	r := newReach(t)
	text := "mining \"m\" {\n pr_file = \"prs/list.jsonl\"\n filter {\n exclude_repos = \"in/f.txt\"\n }\n}\n"
	for origin, refused := range map[string]bool{"watched": true, "git": true, "handed in": false} {
		in := r.input(t, origin, text)
		set := Load([]Input{in}, nil, r.options)
		if origin == "git" {
			write(t, filepath.Join(r.dir, "git/tree/team"), at("in/f.txt", "o/n"))
		}
		if set.Diagnostics.HasErrors() {
			t.Fatal(set.Diagnostics)
		}
		stored, err := json.Marshal(set.Accepted())
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"m", "prs", "in"} {
			var last Previous
			if err := json.Unmarshal(stored, &last); err != nil {
				t.Fatal(err)
			}
			m := last[in.Path].Blocks.Minings[0]
			if err := m.Inside(); err != nil {
				t.Errorf("%s, before: %v", origin, err)
			}
			place := filepath.Join(filepath.Dir(in.Path), name)
			if err := os.RemoveAll(place); err != nil {
				t.Fatal(err)
			}
			link(t, filepath.Join(r.dir, "private"), place)
			if err := m.Inside(); (err != nil) != refused {
				t.Errorf("%s, %s is a link: %v", origin, name, err)
			}
			if err := os.Remove(place); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestMiningWritesNoSpecs: what a miner writes is text of others, and a file of it must not become a
// spec.
func TestMiningWritesNoSpecs(t *testing.T) {
	r := newReach(t)
	r.options.Settings.Repositories.AllowFile = []string{r.dir}
	got := map[string]string{}
	for _, path := range []string{"../specs/out", "..", "../git/tree/x", "../handed/out", "../private"} {
		for _, d := range Load([]Input{r.input(t, "handed in", fmt.Sprintf("mining \"m\" {\n output {\n dir = %q\n }\n}\n", path))}, nil, r.options).Diagnostics {
			got[path], _, _ = strings.Cut(strings.ReplaceAll(d.Detail, r.dir, ""), ":")
		}
	}
	above := filepath.Join(r.dir, "above.hcl") // a folder that a watched one is in
	write(t, r.dir, at("above.hcl", "mining \"m\" {\n output {\n dir = \"specs/mined\"\n }\n}\n"))
	in := Read(above)
	in.Root, in.Named = r.dir, true
	for _, d := range Load([]Input{in}, nil, r.options).Diagnostics {
		got["from above"], _, _ = strings.Cut(strings.ReplaceAll(d.Detail, r.dir, ""), ":")
	}
	want := map[string]string{
		"from above": "Specs are read from /specs", "../specs/out": "Specs are read from /specs", "../git/tree/x": "Specs are read from /git/tree", "..": "The spec file itself lies in that folder.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
