package sforge_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/judge/sanitize"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/sforge"
)

// bench is a small BENCHMARK.yaml; its base python is that of the check values.
const bench = `name: demo
base_images:
  python:
    official_image: python:3.11
    extra_packages: [git, curl, jq]
`

// built is a task whose images are made by commands; its names were computed with the
// original.
const built = `{
  "task_id": "t1",
  "name": "The first",
  "base_image": "python",
  "platform": "linux/amd64",
  "cwd": "/home/workspace/p",
  "submit_paths": ["src/", "main.py"],
  "work": {
    "setup_cmds": ["mkdir -p /home/workspace/p", "echo 'café & <x>' > /home/workspace/p/a"],
    "agent_query": "Do it."
  },
  "judge": {
    "setup_cmds": ["mkdir -p /home/workspace/p"],
    "eval_cmd": "python3 judge.py",
    "parser": "score_sum"
  }
}`

// folder writes files and returns where they are.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// only reads a folder with one task in it.
func only(t *testing.T, text string) task.Task {
	t.Helper()
	got := sforge.Read(folder(t, map[string]string{"BENCHMARK.yaml": bench, "t1.json": text}), task.ReadOptions{})
	if len(got.Problems) > 0 || len(got.Tasks) != 1 {
		t.Fatalf("%d tasks, problems %+v", len(got.Tasks), got.Problems)
	}
	return got.Tasks[0]
}

// with returns the text of a task with some fields set, by dotted path; nil removes one.
func with(t *testing.T, text string, set map[string]any) string {
	t.Helper()
	var whole map[string]any
	if err := json.Unmarshal([]byte(text), &whole); err != nil {
		t.Fatal(err)
	}
	for path, value := range set {
		at := whole
		steps := strings.Split(path, ".")
		for _, step := range steps[:len(steps)-1] {
			at = at[step].(map[string]any)
		}
		if last := steps[len(steps)-1]; value == nil {
			delete(at, last)
		} else {
			at[last] = value
		}
	}
	out, err := json.MarshalIndent(whole, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestATaskWithCommandsIsReadAsItIsMeant(t *testing.T) {
	got := only(t, built)
	want := task.Task{
		Name: "t1", Title: "The first", Platform: "linux/amd64", Workdir: "/home/workspace/p", Instruction: "Do it.",
		Network: task.Network{Mode: "open"},
		Submit:  task.Submit{Paths: []string{"src/", "main.py"}, Exclude: []string{"tests"}, MaxBytes: 1 << 30, MaxFiles: 100_000},
		Base: &task.Base{
			Name: "python", Ref: "demo.base.python:3aacb6cdfc27", Image: "python:3.11", Packages: []string{"git", "curl", "jq", "sudo"},
			User: got.Base.User, PostInstall: got.Base.PostInstall,
		},
		Work: task.Part{
			Ref: "demo.work.t1:9e86bd086a93", AtHome: true, User: "agent",
			Files: map[string]string{
				"/tmp/setup_workspace.sh": "#!/bin/bash\nset -euxo pipefail\nmkdir -p /home/workspace/p\necho 'café & <x>' > /home/workspace/p/a\n",
			},
			Setup: []string{"/bin/bash /tmp/setup_workspace.sh", "rm -f /tmp/setup_workspace.sh", "chown -R agent:agent '/home/workspace/p'"},
			CPUs:  1, Memory: 2 << 30, PIDs: 32768, Disk: 10 << 30,
		},
		Judge: task.Judge{
			Part: task.Part{
				Ref: "demo.judge.t1:cd87a10aa82b", AtHome: true, User: "root",
				Files: map[string]string{"/tmp/setup_judge.sh": "#!/bin/bash\nset -euxo pipefail\nmkdir -p /home/workspace/p\n"},
				Setup: []string{"/bin/bash /tmp/setup_judge.sh", "rm -f /tmp/setup_judge.sh"},
				CPUs:  1, Memory: 2 << 30, PIDs: 32768, Disk: 10 << 30,
			},
			FromBase: true,
			Command:  task.Command{Argv: []string{"/bin/bash", "-uo", "pipefail", "-c", "python3 judge.py"}},
			Timeout:  10 * time.Minute, Parser: "score_sum", Select: "pass_rate_first", Direction: "maximize", Feedback: "full",
		},
		Metadata: map[string]string{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, part := range []string{"useradd -m -s /bin/bash agent", "NOPASSWD:ALL", "safe.directory"} {
		if !strings.Contains(got.Base.PostInstall, part) {
			t.Errorf("the base does not %s:\n%s", part, got.Base.PostInstall)
		}
	}
}

// W-10: a judge has no network, whatever the work container has. W-15: the script that
// shows what was taken out of the work image is not left in it.
func TestWhatIsNotTakenOver(t *testing.T) {
	got := only(t, built)
	if got.Judge.Network {
		t.Error("the judge has a network")
	}
	if !strings.Contains(strings.Join(got.Work.Setup, "\n"), "rm -f /tmp/setup_workspace.sh") {
		t.Errorf("the script stays in the work image: %q", got.Work.Setup)
	}
}

func TestEveryField(t *testing.T) {
	got := only(t, with(t, built, map[string]any{
		"category": "Games", "internet": false, "submit_exclude": []string{"build/", "*.o", "/"}, "future": 1,
		"work.specs_dir": "/specs", "work.cpu_limit": 4, "work.mem_limit": "16g",
		"judge.cpu_limit": 8, "judge.mem_limit": "512m", "judge.eval_timeout": 7200, "judge.score_direction": "minimize",
		"judge.selection": "valid_then_score", "judge.parser": "structured_json",
		"judge.rescale": map[string]any{"kind": "piecewise_min", "baseline": 100, "rank30": 50.5, "rank1": 20, "super_anchor": 10, "upper": nil},
	}))
	judge := got.Judge
	judge.Part = task.Part{CPUs: judge.CPUs, Memory: judge.Memory}
	want := task.Judge{
		Part: task.Part{CPUs: 8, Memory: 512 << 20}, FromBase: true, Command: got.Judge.Command, Timeout: 2 * time.Hour, Parser: "structured_json",
		Select: "valid_then_score", Direction: "minimize", Feedback: "full",
		Rescale: &task.Rescale{Kind: "piecewise_min", Anchors: map[string]float64{"baseline": 100, "rank30": 50.5, "rank1": 20, "super_anchor": 10}},
	}
	if diff := cmp.Diff(want, judge); diff != "" {
		t.Error(diff)
	}
	if got.Network.Mode != "none" || got.Work.CPUs != 4 || got.Work.Memory != 16<<30 {
		t.Errorf("network %s, work %v CPUs %d bytes", got.Network.Mode, got.Work.CPUs, got.Work.Memory)
	}
	if diff := cmp.Diff([]string{"build", "*.o"}, got.Submit.Exclude); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"category": "Games", "specs_dir": "/specs"}, got.Metadata); diff != "" {
		t.Error(diff)
	}
}

// An image that is only named is used as it is; each part for itself.
func TestCommandsAndTagsInEveryCombination(t *testing.T) {
	commands, tag := []string{"mkdir -p /home/workspace/p"}, "0123456789ab"
	for work := range 3 {
		for judge := range 3 {
			set := map[string]any{}
			for name, kind := range map[string]int{"work": work, "judge": judge} {
				set[name+".setup_cmds"], set[name+".image_tag"] = any(commands), any("cd87a10aa82b") // of these commands
				switch kind {
				case 0:
					set[name+".setup_cmds"], set[name+".image_tag"] = nil, tag
				case 1:
					set[name+".image_tag"] = nil
				}
			}
			got := only(t, with(t, built, set))
			for name, part := range map[string]struct {
				kind int
				task.Part
			}{"work": {work, got.Work}, "judge": {judge, got.Judge.Part}} {
				image, ref := "demo."+name+".t1:"+tag, ""
				if part.kind > 0 {
					image, ref = "", "demo."+name+".t1:cd87a10aa82b"
				}
				if part.Image != image || part.Ref != ref || part.AtHome != (ref != "") || (len(part.Setup) > 0) != (ref != "") {
					t.Errorf("work %d, judge %d: %s is %+v", work, judge, name, part.Part)
				}
			}
			if (got.Base != nil) != (work+judge > 0) || got.Judge.FromBase != (judge > 0) || got.Judge.User != "root" || got.Work.User != "agent" {
				t.Errorf("work %d, judge %d: base %v, judge from base %v", work, judge, got.Base != nil, got.Judge.FromBase)
			}
		}
	}
}

func TestAGame(t *testing.T) {
	game := map[string]any{
		"game_mode": true, "submit_paths": []string{}, "judge.parser": "", "judge.eval_cmd": "",
		"judge.game_server_cmd": "python /tmp/game_server_app.py --rom 'a b.z5'",
	}
	got := only(t, with(t, built, game))
	if got.Judge.Port != 8000 || !got.Judge.Command.Empty() || got.Judge.Parser != "" || len(got.Submit.Paths) != 0 {
		t.Errorf("%+v", got.Judge)
	}
	for _, part := range []string{"FrotzEnv", "\nEND OF SERVER\nexec /bin/bash -c 'python /tmp/game_server_app.py --rom '\\''a b.z5'\\'''"} {
		if !strings.Contains(got.Judge.Game, part) {
			t.Errorf("the game lacks %q:\n%s", part, got.Judge.Game)
		}
	}
	game["judge.game_server_cmd"] = "/opt/own-server"
	if got := only(t, with(t, built, game)); got.Judge.Game != "exec /bin/bash -c '/opt/own-server'" {
		t.Errorf("a server of the image's own is started by %q", got.Judge.Game)
	}
}

// In SForge's patterns braces and backslashes are as good as letters. As alternatives, a few
// braces would hold up the cleaning of every archive for years.
func TestAPatternHasNoAlternatives(t *testing.T) {
	for _, c := range []struct{ pattern, out, in string }{
		{"{a,b}.txt", "{a,b}.txt", "a.txt"},
		{`\{a,b\}`, `\{a,b\}`, "a"},
		{"[{]*", "{x", "x"},
		{"*.{c", "x.{c", "x.c"},
		{strings.Repeat("{a,a}", 60) + "x", strings.Repeat("{a,a}", 60) + "x", strings.Repeat("a", 60) + "y"},
		{strings.Repeat(`\{a,a,a\}`, 60) + "x", strings.Repeat(`\{a,a,a\}`, 60) + "x", strings.Repeat(`\a`, 60) + "y"},
	} {
		text, err := json.Marshal(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		got := only(t, with(t, built, map[string]any{"submit_paths": []string{"."}, "submit_exclude": []json.RawMessage{text}}))
		filter, err := sanitize.NewFilter(got.Submit)
		if err != nil {
			t.Fatalf("%s: %v", c.pattern, err)
		}
		if filter.Keep(c.out) || !filter.Keep(c.in) {
			t.Errorf("%s: keeps %s %t, %s %t", c.pattern, c.out, filter.Keep(c.out), c.in, filter.Keep(c.in))
		}
	}
}

func TestWhatIsWrongWithATask(t *testing.T) {
	change := func(path string, value any) string { return with(t, built, map[string]any{path: value}) }
	for name, c := range map[string]struct{ text, want string }{
		"no JSON":             {"{\n\n  oops", `t1.json:3: is no JSON: invalid character 'o' looking for beginning of object key string`},
		"cut short":           {"{\n\"task_id\":\n", `t1.json:2: is no JSON: unexpected end of JSON input`},
		"two values":          {"{}\n{}", `t1.json:2: is no JSON: invalid character '{' after top-level value`},
		"an array":            {"[]", `t1.json:1: is no task: not a JSON object`},
		"too deep":            {strings.Repeat("[", 20_000), `exceeded max depth`},
		"half a pair":         {`{"name": "\ud800"}`, `t1.json:1: holds half a surrogate pair`},
		"no UTF-8":            {"{\"name\": \"\xff\"}", `t1.json: is not UTF-8`},
		"too large":           {strings.Repeat(" ", 4<<20+1), `t1.json: is larger than 4 MiB`},
		"too many values":     {"[" + strings.Repeat("1,", 300_000) + "1]", `t1.json:1: holds more than 200000 values`},
		"required":            {change("cwd", nil), `t1.json:1: "cwd" is missing`},
		"null is missing":     {strings.Replace(built, `"linux/amd64"`, "null", 1), `t1.json:1: "platform" is missing`},
		"type":                {change("internet", "no"), `"internet" is no boolean`},
		"list of texts":       {change("submit_paths", []any{"a", 1}), `"submit_paths" holds something that is no text`},
		"line":                {strings.Replace(built, `"python"`, "7", 1), `t1.json:4: "base_image" is no text`},
		"unknown base":        {change("base_image", "cobol"), `"base_image" names "cobol", which is not in BENCHMARK.yaml`},
		"id":                  {change("task_id", "t2"), `"t2" differs from the name of the file`},
		"id grammar":          {change("task_id", "../t1"), `"../t1" is no name for a task`},
		"platform":            {change("platform", "amd64"), `"platform" is "amd64"`},
		"cwd":                 {change("cwd", "home"), `"cwd" is "home"`},
		"outside":             {change("submit_paths", []string{"../x"}), `"submit_paths" holds "../x"`},
		"nothing":             {change("submit_paths", []string{}), `"submit_paths" is empty`},
		"pattern":             {change("submit_exclude", []string{"[a"}), `"submit_exclude" holds "[a"`},
		"long pattern":        {change("submit_exclude", []string{strings.Repeat("a", 1001)}), `"submit_exclude" holds "aaa`},
		"many patterns":       {change("submit_exclude", slices.Repeat([]string{"a"}, 1001)), `"submit_exclude" holds more than 1000 entries`},
		"many paths":          {change("submit_paths", slices.Repeat([]string{"a"}, 1001)), `"submit_paths" holds more than 1000 entries`},
		"no image":            {change("work.setup_cmds", nil), `neither "work.setup_cmds" nor "work.image_tag" is there`},
		"another tag":         {change("judge.image_tag", "0123456789ab"), `"judge.image_tag" is "0123456789ab", but the commands give "cd87a10aa82b"`},
		"tag":                 {change("judge.image_tag", "a b"), `"judge.image_tag" is "a b", which is no tag`},
		"work is no object":   {change("work", "x"), `"work" is no object`},
		"parser":              {change("judge.parser", "pytest"), `"judge.parser" is "pytest", which is none of`},
		"no parser":           {change("judge.parser", nil), `"judge.parser" is missing`},
		"no command":          {change("judge.eval_cmd", ""), `"judge.eval_cmd" is missing`},
		"selection":           {change("judge.selection", "best"), `"judge.selection" is "best"`},
		"direction":           {change("judge.score_direction", "up"), `"judge.score_direction" is "up"`},
		"timeout":             {change("judge.eval_timeout", 1.5), `"judge.eval_timeout" is no whole number`},
		"no time":             {change("judge.eval_timeout", 0), `"judge.eval_timeout" is no whole number`},
		"cpus":                {change("work.cpu_limit", "4"), `"work.cpu_limit" is no number`},
		"memory":              {change("work.mem_limit", "8 gigs"), `"work.mem_limit" is "8 gigs"`},
		"much memory":         {change("work.mem_limit", "999999999999t"), `"work.mem_limit" is beyond all bounds`},
		"rescale":             {change("judge.rescale", map[string]any{"kind": "cubic"}), `"judge.rescale.kind" is "cubic"`},
		"no kind":             {change("judge.rescale", map[string]any{"lower": 1}), `"judge.rescale.kind" is missing`},
		"anchors":             {change("judge.rescale", map[string]any{"kind": "linear", "lower": 1}), `"judge.rescale.upper" is missing`},
		"infinite anchor":     {strings.Replace(built, `"parser":`, `"rescale": {"kind": "linear", "lower": 0, "upper": 1e999}, "parser":`, 1), `"judge.rescale.upper" is beyond all bounds`},
		"game without server": {change("game_mode", true), `a game needs "judge.game_server_cmd"`},
		"several":             {with(t, built, map[string]any{"cwd": nil, "judge.parser": "x", "cdw": "/x"}), `"cwd" is missing; "judge.parser" is "x", which is none of pytest_v, score_sum, structured_json (line 6); "cdw" is no key that is known (line 3)`},
	} {
		t.Run(name, func(t *testing.T) {
			got := sforge.Read(folder(t, map[string]string{"BENCHMARK.yaml": bench, "t1.json": c.text}), task.ReadOptions{})
			if len(got.Tasks) != 0 || len(got.Problems) != 1 {
				t.Fatalf("%d tasks, problems %+v", len(got.Tasks), got.Problems)
			}
			if said := say(got.Problems[0]); !strings.Contains(said, c.want) {
				t.Errorf("it says\n%s\nwant\n%s", said, c.want)
			}
		})
	}
}
