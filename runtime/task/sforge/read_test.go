package sforge_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/sforge"
)

func say(p task.Problem) string {
	if p.Line == 0 {
		return p.File + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}

func TestOneBadFileHidesNoOther(t *testing.T) {
	files := map[string]string{"BENCHMARK.yaml": bench, "README.md": "no task", ".t9.json": "an editor's"}
	for i := range 134 {
		id := fmt.Sprintf("t%d", i)
		files[id+".json"] = with(t, built, map[string]any{"task_id": id})
	}
	files["t77.json"] = files["t77.json"][:100]
	got := sforge.Read(folder(t, files), task.ReadOptions{})
	if len(got.Tasks) != 133 || len(got.Problems) != 1 || got.Problems[0].File != "t77.json" {
		t.Fatalf("%d tasks, problems %+v", len(got.Tasks), got.Problems)
	}
	got = sforge.Read(folder(t, files), task.ReadOptions{Wanted: func(id string) bool { return id == "t1" || id == "t2" }})
	if len(got.Tasks) != 2 || len(got.Problems) != 0 {
		t.Fatalf("of two: %d tasks, problems %+v", len(got.Tasks), got.Problems)
	}
}

// Two files can never have the same task: the name of the file is the name of the task.
func TestFilesThatCannotBeRead(t *testing.T) {
	outside := folder(t, map[string]string{"t1.json": built})
	dir := folder(t, map[string]string{
		"BENCHMARK.yaml": bench, "good.json": with(t, built, map[string]any{"task_id": "good"}), "copy.json": built,
		"Upper.json": with(t, built, map[string]any{"task_id": "Upper"}),
	})
	for _, err := range []error{
		os.Symlink(filepath.Join(outside, "t1.json"), filepath.Join(dir, "t1.json")),
		os.Mkdir(filepath.Join(dir, "folder.json"), 0o755),
		os.Symlink("good.json", filepath.Join(dir, "alias.json")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	got := sforge.Read(dir, task.ReadOptions{})
	var said []string
	for _, p := range got.Problems {
		said = append(said, say(p))
	}
	want := []string{
		"Upper.json: demo.work.Upper:9e86bd086a93 cannot be the name of an image: repository name (library/demo.work.Upper) must be lowercase",
		`alias.json:17: "good" differs from the name of the file`,
		`copy.json:2: "t1" differs from the name of the file`,
		"folder.json: is not a plain file",
		"t1.json: path escapes from parent",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Error(diff)
	}
	if len(got.Tasks) != 1 || got.Tasks[0].Name != "good" {
		t.Errorf("%d tasks", len(got.Tasks))
	}
}

// A key that nobody knows may be misspelt: it is told, with its line, and the task is read.
func TestAKeyThatIsNotKnownIsTold(t *testing.T) {
	odd := strings.Replace(built, `"judge": {`, "\"judge\": {\n\"eval_timout\": 5,", 1)
	got := sforge.Read(folder(t, map[string]string{"BENCHMARK.yaml": bench, "t1.json": odd}), task.ReadOptions{})
	if len(got.Tasks) != 1 || len(got.Problems) != 0 || len(got.Notices) != 1 {
		t.Fatalf("%d tasks, problems %+v, notices %+v", len(got.Tasks), got.Problems, got.Notices)
	}
	if n := got.Notices[0]; n.File != "t1.json" || n.Line == 0 || n.Text != `"judge.eval_timout" is no key that is known` {
		t.Errorf("%+v", n)
	}
}

// Copies cost a dataset nothing, and us memory each.
func TestADatasetIsBounded(t *testing.T) {
	dir := folder(t, map[string]string{"BENCHMARK.yaml": bench, "a00.json": strings.Repeat("x", 4<<20)})
	for i := range 64 {
		if err := os.Link(filepath.Join(dir, "a00.json"), filepath.Join(dir, fmt.Sprintf("b%02d.json", i))); err != nil {
			t.Fatal(err)
		}
	}
	got := sforge.Read(dir, task.ReadOptions{})
	if n := len(got.Problems); n != 65 || !strings.Contains(say(got.Problems[63]), "is no JSON") || say(got.Problems[64]) != "b63.json: is left out: the tasks before it are 256 MiB" {
		t.Errorf("%d problems, the last %+v", n, got.Problems[len(got.Problems)-1])
	}
}

// What a dataset says is shown on terminals, and in logs line by line.
func TestNoProblemHoldsControlCharacters(t *testing.T) {
	for name, c := range map[string]struct{ yaml, file, task, want string }{
		"image":         {"name: \"a\\e[31m\"\nbase_images: {a: {official_image: b, extra_packages: []}}\n", "t1.json", built, "a?[31m.base.a:"},
		"tag":           {"name: !%1b[31m x\n", "t1.json", built, "BENCHMARK.yaml:1: "},
		"file":          {bench, "x\x1b[31m\n.json", built, `"x\x1b[31m\n.json" is no name for the file of a task`},
		"right to left": {bench, "x\u202e.json", built, `"x\u202e.json" is no name for the file of a task`},
		"value":         {bench, "t1.json", `{"task_id": "\u001b[31m"}`, `is missing`},
	} {
		t.Run(name, func(t *testing.T) {
			got := sforge.Read(folder(t, map[string]string{"BENCHMARK.yaml": c.yaml, c.file: c.task}), task.ReadOptions{})
			if len(got.Tasks) != 0 || len(got.Problems) != 1 {
				t.Fatalf("%d tasks, problems %+v", len(got.Tasks), got.Problems)
			}
			said := say(got.Problems[0])
			if !strings.Contains(said, c.want) || strings.ContainsFunc(said, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("it says %q, want %q", said, c.want)
			}
		})
	}
}

func TestAFolderThatIsNoBenchmark(t *testing.T) {
	for name, c := range map[string]struct{ yaml, want string }{
		"missing":       {"", "BENCHMARK.yaml: no such file or directory"},
		"empty":         {"# nothing\n", "is empty"},
		"no YAML":       {"name: x\nbase_images: [\n", "BENCHMARK.yaml:"},
		"list":          {"- a\n", "is no map with a name"},
		"no name":       {"base_images: {}\n", `"name" is missing`},
		"two documents": {"name: a\n---\nname: b\n", "more than one YAML document"},
		"date":          {"name: x\nbase_images:\n  a:\n    official_image: b\n    extra_packages: []\n    since: 2024-01-31\n", `BENCHMARK.yaml:6: "2024-01-31" is a date`},
		"no packages":   {"name: x\nbase_images:\n  a:\n    official_image: b\n", `base image "a": "extra_packages" is missing`},
		"number":        {"name: x\nbase_images:\n  a:\n    official_image: 3.11\n    extra_packages: []\n", `"official_image" is no text`},
		"norway":        {"name: x\nbase_images:\n  a:\n    official_image: b\n    extra_packages: [no]\n", "holds something that is no text"},
		"key":           {"name: x\nbase_images:\n  3.11: {}\n", "a key that is no text: 3.11"},
		"own tag":       {"name: !secret x\n", "cannot be read as !secret"},
		"upper case":    {"name: X\nbase_images:\n  a:\n    official_image: b\n    extra_packages: []\n", "cannot be the name of an image"},
		"laughs":        {laughs(), "would take too much"},
		"circle":        {"name: &a [*a]\n", "BENCHMARK.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"t1.json": built, "t2.json": built}
			if c.yaml != "" {
				files["BENCHMARK.yaml"] = c.yaml
			}
			got := sforge.Read(folder(t, files), task.ReadOptions{})
			if len(got.Tasks) != 0 || len(got.Problems) != 1 || !strings.Contains(say(got.Problems[0]), c.want) {
				t.Errorf("%d tasks, problems %+v, want %q", len(got.Tasks), got.Problems, c.want)
			}
		})
	}
	if got := sforge.Read(filepath.Join(t.TempDir(), "none"), task.ReadOptions{}); len(got.Problems) != 1 {
		t.Errorf("a folder that is not there: %+v", got)
	}
}

// laughs is a text that aliases make a billion times as long.
func laughs() string {
	text := "name: x\na0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n"
	for i := range 9 {
		text += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	return text
}

// Whatever the files hold, there is an answer, and for each file a task or a problem.
func TestAnyJSONIsATaskOrAProblem(t *testing.T) {
	dir := folder(t, map[string]string{"BENCHMARK.yaml": bench})
	values := rapid.SampledFrom([]any{nil, true, 1, 1.5, "", "x", "linux/amd64", "/w", []any{}, []any{"a"}, []any{1}, map[string]any{}, map[string]any{"kind": "linear"}})
	paths := []string{
		"task_id", "name", "base_image", "platform", "cwd", "submit_paths", "submit_exclude", "internet", "game_mode", "work", "judge",
		"work.setup_cmds", "work.image_tag", "work.cpu_limit", "work.mem_limit", "judge.setup_cmds", "judge.image_tag", "judge.eval_timeout",
		"judge.parser", "judge.rescale", "judge.selection", "judge.score_direction", "judge.game_server_cmd",
	}
	rapid.Check(t, func(r *rapid.T) {
		set := rapid.MapOfN(rapid.SampledFrom(paths), values, 1, 4).Draw(r, "set")
		for _, half := range []string{"work", "judge"} {
			if _, ok := set[half]; ok {
				set = map[string]any{half: set[half]}
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "t1.json"), []byte(with(t, built, set)), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := sforge.Read(dir, task.ReadOptions{}); len(got.Tasks)+len(got.Problems) != 1 {
			r.Fatalf("%d tasks and %d problems", len(got.Tasks), len(got.Problems))
		}
	})
}
