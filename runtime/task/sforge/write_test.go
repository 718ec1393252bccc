package sforge_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/sforge"
	"github.com/assayd/assayd/runtime/task/tasktest"
)

// again writes tasks and reads them.
func again(t *testing.T, tasks []task.Task, trees *tasktest.Trees) (task.Dataset, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "new")
	problems, err := sforge.Write(dir, tasks, trees)
	if err != nil || len(problems) > 0 {
		t.Fatalf("%v, problems %+v", err, problems)
	}
	return sforge.Read(dir, task.ReadOptions{Trees: trees}), dir
}

// A benchmark of SForge goes back as what it was: with the same names of images, and no note.
func TestATaskOfSForgeGoesBack(t *testing.T) {
	tasks := map[string]string{
		"built":  built,
		"tagged": with(t, built, map[string]any{"work.setup_cmds": nil, "work.image_tag": "0123456789ab", "judge.setup_cmds": nil, "judge.image_tag": "0123456789ab"}),
		"half":   with(t, built, map[string]any{"judge.setup_cmds": nil, "judge.image_tag": "0123456789ab", "internet": false}),
		"full": with(t, built, map[string]any{
			"category": "Games", "submit_exclude": []string{"build/", "{a,b}", `x\y`}, "work.specs_dir": "/specs", "work.cpu_limit": 4, "work.mem_limit": "16g",
			"judge.cpu_limit": 8, "judge.mem_limit": "512m", "judge.eval_timeout": 7200, "judge.score_direction": "minimize",
			"judge.selection": "valid_then_score", "judge.rescale": map[string]any{"kind": "linear", "lower": 0.5, "upper": 3},
		}),
		"game": with(t, built, map[string]any{
			"game_mode": true, "submit_paths": []string{}, "judge.parser": nil, "judge.eval_cmd": nil, "judge.game_server_cmd": "python /tmp/game_server_app.py --rom 'a b.z5'",
		}),
		"own server": with(t, built, map[string]any{"game_mode": true, "judge.game_server_cmd": "/opt/it's"}),
	}
	yaml := "name: demo\nbase_images:\n  python:\n    official_image: python:3.11\n    extra_packages: [git, sudo]\n    user_directive: \"ENV A=1\\n\"\n    pip_packages: [x]\n    post_install_directive: \"RUN true\\n\"\n"
	for name, text := range tasks {
		for _, bench := range []string{bench, yaml} {
			first := sforge.Read(folder(t, map[string]string{"BENCHMARK.yaml": bench, "t1.json": text}), task.ReadOptions{})
			if len(first.Tasks) != 1 {
				t.Fatalf("%s: %+v", name, first.Problems)
			}
			second, dir := again(t, first.Tasks, &tasktest.Trees{})
			if diff := cmp.Diff(first.Tasks, second.Tasks); diff != "" {
				t.Errorf("%s: %+v\n%s", name, second.Problems, diff)
			}
			written, err := os.ReadFile(filepath.Join(dir, "t1.json"))
			if err != nil || strings.Contains(string(written), "assayd") {
				t.Errorf("%s: %v\n%s", name, err, written)
			}
		}
	}
}

func TestOtherTasksGoThroughSForge(t *testing.T) {
	trees := &tasktest.Trees{}
	tasks := []task.Task{tasktest.Repository(), tasktest.Commands(), tasktest.Written(t, trees)}
	got, dir := again(t, tasks, trees)
	slices.SortFunc(tasks, func(a, b task.Task) int { return strings.Compare(a.Name, b.Name) })
	if diff := cmp.Diff(tasks, got.Tasks); diff != "" {
		t.Errorf("%+v\n%s", got.Problems, diff)
	}
	// What SForge itself reads of it must be whole: the note taken out, it is a task.
	for _, task := range tasks {
		var whole map[string]any
		text, err := os.ReadFile(filepath.Join(dir, task.Name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &whole); err != nil {
			t.Fatal(err)
		}
		delete(whole, "assayd")
		if text, err = json.Marshal(whole); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, task.Name+".json"), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	plain := sforge.Read(dir, task.ReadOptions{})
	if len(plain.Tasks) != len(tasks) || len(plain.Notices) > 0 {
		t.Fatalf("%+v", plain)
	}
	for _, task := range plain.Tasks {
		if script := task.Work.Files["/tmp/setup_workspace.sh"]; strings.Contains(script, "test_x") || strings.Contains(script, "test_a") {
			t.Errorf("%s: hidden tests are in the work image:\n%s", task.Name, script)
		}
	}
}

// The commands are for bash with errexit and pipefail; they are run here as they are.
func TestTheCommandsMakeTheFolder(t *testing.T) {
	trees := &tasktest.Trees{}
	work := t.TempDir()
	one := tasktest.Written(t, trees)
	one.Base, one.Image, one.Work.Setup, one.Work.User = nil, "x", []string{"echo \"$K\" >k"}, ""
	delete(one.Work.Files, "/etc/motd")
	_, dir := again(t, []task.Task{one}, trees)
	var sheet struct {
		Work struct {
			Setup []string `json:"setup_cmds"`
		} `json:"work"`
	}
	text, err := os.ReadFile(filepath.Join(dir, "written.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &sheet); err != nil {
		t.Fatal(err)
	}
	script := "set -euo pipefail\n" + strings.ReplaceAll(strings.Join(sheet.Work.Setup, "\n"), "/workspace", work)
	if out, err := exec.CommandContext(t.Context(), "bash", "-c", script).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, script)
	}
	for name, want := range map[string]string{"src/a.py": "print(1)\n", "conf/x": "#!/bin/sh\necho\n", "k": "a \"$b\"\n", "link": "print(1)\n"} {
		if got, err := os.ReadFile(filepath.Join(work, name)); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
}

func TestAFileThatWasEditedIsNotReadAsItWas(t *testing.T) {
	for name, edit := range map[string][2]string{
		"t":              {`"eval_timeout": 600`, `"eval_timeout": 60`},
		"BENCHMARK.yaml": {"python:3.12-slim", "python:3.13"},
	} {
		_, dir := again(t, []task.Task{tasktest.Repository()}, &tasktest.Trees{})
		if name == "t" {
			name = "owner__repo-7.json"
		}
		at := filepath.Join(dir, name)
		text, err := os.ReadFile(at)
		if err != nil || !strings.Contains(string(text), edit[0]) {
			t.Fatalf("%v\n%s", err, text)
		}
		if err := os.WriteFile(at, []byte(strings.Replace(string(text), edit[0], edit[1], 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		got := sforge.Read(dir, task.ReadOptions{})
		if len(got.Tasks) > 0 || len(got.Problems) != 1 || !strings.Contains(got.Problems[0].Text, "was changed since assayd wrote this task") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestWhatSForgeCannotHold(t *testing.T) {
	for want, change := range map[string]func(*task.Task){
		"is made by a Dockerfile":          func(t *task.Task) { t.Work.Dockerfile = "FROM x\n" },
		"is judged in an image of its own": func(t *task.Task) { t.Judge.Image = "other" },
		"has a private set":                func(t *task.Task) { t.Private = &task.Private{} },
		"is judged in two containers":      func(t *task.Task) { t.Judge.Run = &task.Stage{} },
		"is a game of another kind":        func(t *task.Task) { t.Judge.Game = "x" },
		"\"a b\" is no name for a task":    func(t *task.Task) { t.Name = "a b" },
		"more than 4 MiB with its folders": func(t *task.Task) { t.Judge.Patch = make([]byte, 4<<20) },
		"is missing":                       func(t *task.Task) { t.FailToPass, t.PassToPass = nil, nil },
	} {
		one := tasktest.Commands()
		change(&one)
		problems, err := sforge.Write(filepath.Join(t.TempDir(), "new"), []task.Task{one}, &tasktest.Trees{})
		if err != nil || len(problems) != 1 || !strings.Contains(problems[0].Text, want) {
			t.Errorf("%v, %+v; want %s", err, problems, want)
		}
	}
}
