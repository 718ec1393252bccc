package swebench_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/swebench"
)

const (
	commit = "0123456789012345678901234567890123456789"
	gold   = "diff --git a/calc.py b/calc.py\n--- a/calc.py\n+++ b/calc.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
	tests  = "diff --git a/tests/test_calc.py b/tests/test_calc.py\n--- a/tests/test_calc.py\n+++ b/tests/test_calc.py\n@@ -1 +1 @@\n-assert 1\n+assert 2\n" +
		"diff --git a/tests/da[t]a.txt b/tests/da[t]a.txt\nnew file mode 100644\n--- /dev/null\n+++ b/tests/da[t]a.txt\n@@ -0,0 +1 @@\n+x\n"
	closed = "#!/bin/bash\nset -uxo pipefail\ncd /testbed\n: '>>>>> Start Test Output'\npytest -rA\nassayd_exit=$?\n: '>>>>> End Test Output'\n" +
		"exit \"$assayd_exit\" # nothing that follows the tests counts\n"
	script = "#!/bin/bash\nset -uxo pipefail\ncd /testbed\n: '>>>>> Start Test Output'\npytest -rA\n: '>>>>> End Test Output'\n"
)

// classic is a row as SWE-bench has had it from the start.
func classic() map[string]any {
	return map[string]any{
		"repo": "acme/calc", "instance_id": "acme__calc-1", "base_commit": commit, "patch": gold, "test_patch": tests,
		"problem_statement": "x is wrong", "hints_text": "set it to 2", "created_at": "2024-01-31T10:00:00Z", "version": "1.2",
		"FAIL_TO_PASS": `["tests/test_calc.py::test_x"]`, "PASS_TO_PASS": `["tests/test_calc.py::test_y", "tests/test_calc.py::test_z[a b]"]`,
		"environment_setup_commit": commit,
	}
}

// with is a row with some columns set; nil removes one.
func with(r map[string]any, set map[string]any) map[string]any {
	r = maps.Clone(r)
	for name, v := range set {
		if v == nil {
			delete(r, name)
		} else {
			r[name] = v
		}
	}
	return r
}

func encode(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func options() task.ReadOptions { return task.ReadOptions{Image: "python:3.12-slim"} }

// read reads one row as a line of a file.
func read(t *testing.T, r map[string]any) task.Dataset {
	t.Helper()
	return swebench.Read(write(t, "a.jsonl", encode(t, r)+"\n"), options())
}

// only reads the one task of a row.
func only(t *testing.T, r map[string]any) task.Task {
	t.Helper()
	got := read(t, r)
	if len(got.Problems) > 0 || len(got.Tasks) != 1 {
		t.Fatalf("%d tasks, problems %+v", len(got.Tasks), got.Problems)
	}
	return got.Tasks[0]
}

func limits() task.Part { return task.Part{CPUs: 1, Memory: 2 << 30, PIDs: 32768, Disk: 10 << 30} }

func TestAClassicRowIsARepositoryWithAPatchOfTests(t *testing.T) {
	want := task.Task{
		Name: "acme__calc-1", Workdir: "/testbed", Instruction: "x is wrong", Image: "python:3.12-slim",
		Network: task.Network{Mode: "none"},
		Submit:  task.Submit{Paths: []string{"."}, Exclude: []string{`tests/da\[t\]a.txt`, "tests/test_calc.py"}, MaxBytes: 1 << 30, MaxFiles: 100_000},
		Repo:    &task.Repo{URL: "https://github.com/acme/calc", Commit: commit},
		Work:    limits(),
		Judge: task.Judge{
			Part: limits(), Patch: []byte(tests), Timeout: 30 * time.Minute, Parser: "pytest",
			Command: task.Command{Shell: "python3 -m pytest -rA tests/test_calc.py"},
			Select:  "pass_rate_first", Direction: "maximize", Feedback: "names", Network: true,
		},
		Solution:   &task.Solution{Patch: []byte(gold)},
		FailToPass: []string{"tests/test_calc.py::test_x"},
		PassToPass: []string{"tests/test_calc.py::test_y", "tests/test_calc.py::test_z[a b]"},
		Metadata: map[string]string{
			"hints_text": "set it to 2", "created_at": "2024-01-31T10:00:00Z", "version": "1.2", "environment_setup_commit": commit,
		},
	}
	got := read(t, classic())
	if diff := cmp.Diff([]task.Task{want}, got.Tasks); diff != "" {
		t.Error(diff)
	}
	told := []task.Problem{}
	for _, text := range []string{
		"nothing says how what it depends on is installed",
		"is judged with an open network, because its tests may need it; submitted code can use it",
		"has 1 CPU and 2 GiB, where SWE-bench sets no limits; work and judge of a run set others",
		`a test of "PASS_TO_PASS" that is skipped counts as failed, which SWE-bench lets pass`,
	} {
		told = append(told, task.Problem{File: "a.jsonl", Line: 1, Task: "acme__calc-1", Text: text})
	}
	if diff := cmp.Diff(told, got.Notices); diff != "" {
		t.Error(diff)
	}
}

func TestListsOfTestsInEveryWriting(t *testing.T) {
	want := only(t, classic()).PassToPass
	for name, list := range map[string]any{
		"array":         want,
		"JSON in text":  `[ "tests/test_calc.py::test_y","tests/test_calc.py::test_z[a b]"]`,
		"Python's":      `['tests/test_calc.py::test_y', "tests/test_calc.py::test_z[a b]"]`,
		"Python's tail": "['tests/test_calc.py::test_y',\n 'tests/test_calc.py::test_z[a b]',]",
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want, only(t, with(classic(), map[string]any{"PASS_TO_PASS": list})).PassToPass); diff != "" {
				t.Error(diff)
			}
		})
	}
	odd := only(t, with(classic(), map[string]any{"PASS_TO_PASS": `['it\'s "a" \\ b\n\xe9é', "it's"]`, "log_parser": "parse_log_pytest"})).PassToPass
	if diff := cmp.Diff([]string{"it's \"a\" \\ b\néé", "it's"}, odd); diff != "" {
		t.Error(diff)
	}
}

func TestARowWithImageAndScriptIsJudgedByThem(t *testing.T) {
	got := only(t, with(classic(), map[string]any{
		"image": "swebench/sweb.eval.x86_64.acme_1776_calc-1:latest", "eval_script": script, "log_parser": "parse_log_pytest_v2", "eval_type": "pass_and_fail",
	}))
	if got.Repo != nil || got.Image != "swebench/sweb.eval.x86_64.acme_1776_calc-1:latest" || got.Workdir != "/testbed" || len(got.Judge.Patch) != 0 {
		t.Errorf("%+v", got)
	}
	if w := got.Judge.Window; w == nil || *w != (task.Window{Mark: ">>>>> Start Test Output", Command: "pytest -rA"}) {
		t.Errorf("what counts is %+v", w)
	}
	if got.Judge.Parser != "pytest" || got.Judge.Files["/eval.sh"] != closed || !cmp.Equal(got.Judge.Command.Argv, []string{"/bin/bash", "/eval.sh"}) {
		t.Errorf("%+v", got.Judge)
	}
	if !cmp.Equal(got.Submit.Exclude, []string{`tests/da\[t\]a.txt`, "tests/test_calc.py"}) {
		t.Errorf("the files of the tests could be submitted: %q", got.Submit.Exclude)
	}
}

// Rows of the relatives: what is different in them.
func TestRelatives(t *testing.T) {
	for name, c := range map[string]struct {
		set  map[string]any
		show func(task.Task) any
		want any
	}{
		"Verified": {
			map[string]any{"difficulty": "15 min - 1 hour"},
			func(tk task.Task) any { return tk.Metadata["difficulty"] }, "15 min - 1 hour",
		},
		"the first SWE-rebench": {
			map[string]any{"install_config": map[string]any{
				"python": "3.9", "packages": "requirements.txt", "reqs_path": []string{"requirements/dev.txt"}, "pre_install": []string{"apt-get update"},
				"install": "pip install -e .[dev]", "pip_packages": []string{"pytest", "a b"}, "test_cmd": "pytest -rA --tb=no",
			}},
			func(tk task.Task) any {
				return append([]string{tk.Image}, append(tk.Work.Setup, tk.Judge.Command.Shell)...)
			},
			[]string{"python:3.9-slim", "apt-get update", "pip install -r requirements/dev.txt", "pip install -e .[dev]", "pip install pytest 'a b'", "pytest -rA --tb=no tests/test_calc.py"},
		},
		"variables of an install_config": {
			map[string]any{"install_config": map[string]any{
				"env_vars": map[string]any{"PYTHONPATH": "src", "JOBS": 2}, "base_image_name": "registry.example/python:3", "test_cmd": "pytest -rA tests",
			}},
			func(tk task.Task) any {
				return []any{tk.Image, tk.Repo.Commit, tk.Work.Env, tk.Judge.Env}
			},
			[]any{"registry.example/python:3", commit, map[string]string{"PYTHONPATH": "src", "JOBS": "2"}, map[string]string{"PYTHONPATH": "src", "JOBS": "2"}},
		},
		"the second SWE-rebench": {
			map[string]any{
				"created_at": 1706695200000, "image_name": "docker.io/rebench/calc:1", "language": "go",
				"install_config": map[string]any{"base_image_name": "go_1.22", "install": []string{"go mod download"}, "test_cmd": []string{"go test -v ./..."}, "log_parser": "parse_log_gotest"},
				"FAIL_TO_PASS":   []string{"TestX"}, "PASS_TO_PASS": []string{},
			},
			func(tk task.Task) any {
				return []string{tk.Image, tk.Workdir, tk.Judge.Command.Shell, tk.Judge.Parser, fmt.Sprint(tk.Work.Setup), fmt.Sprint(tk.Repo == nil), tk.Metadata["created_at"]}
			},
			[]string{"docker.io/rebench/calc:1", "/calc", "go test -v ./...", "gotest", "[]", "true", "1706695200000"},
		},
		"Multi-SWE-bench": {
			map[string]any{
				"instance_id": nil, "org": "acme", "repo": "calc", "number": 7, "base_commit": nil, "base": map[string]any{"sha": commit},
				"patch": nil, "fix_patch": gold, "problem_statement": nil, "resolved_issues": []any{map[string]any{"title": "Wrong", "body": "x is"}},
				"FAIL_TO_PASS": nil, "PASS_TO_PASS": nil, "test_cmd": "go test -v ./...",
				"f2p_tests": map[string]any{"TestA": map[string]any{"test": "FAIL"}}, "n2p_tests": map[string]any{"TestB": map[string]any{}},
				"s2p_tests": map[string]any{"TestC": map[string]any{}}, "p2p_tests": map[string]any{"TestD": map[string]any{}},
			},
			func(tk task.Task) any {
				return append(append([]string{tk.Name, tk.Instruction, tk.Repo.URL, tk.Repo.Commit, string(tk.Solution.Patch)}, tk.FailToPass...), tk.PassToPass...)
			},
			[]string{"acme__calc-7", "Wrong\n\nx is", "https://github.com/acme/calc", commit, gold, "TestA", "TestB", "TestC", "TestD"},
		},
		"Django": {
			map[string]any{
				"FAIL_TO_PASS": `["test_x (a.tests.B)"]`, "PASS_TO_PASS": "[]",
				"test_patch": strings.ReplaceAll(tests, "tests/test_calc.py", "tests/a/tests.py"),
			},
			func(tk task.Task) any { return tk.Judge.Parser + ": " + tk.Judge.Command.Shell },
			"django: python3 tests/runtests.py --verbosity 2 a.tests",
		},
		"Go": {
			map[string]any{
				"FAIL_TO_PASS": `["example.com/calc::TestX"]`, "PASS_TO_PASS": `["example.com/calc/sub::TestY"]`,
				"test_patch": strings.ReplaceAll(tests, "tests/test_calc.py", "calc_test.go"),
			},
			func(tk task.Task) any { return tk.Judge.Command.Shell }, "go test -count=1 -v example.com/calc example.com/calc/sub",
		},
		"a nested name": {
			map[string]any{"instance_id": "acme/calc-1"},
			func(tk task.Task) any { return tk.Name + " " + tk.Metadata["instance_id"] }, "acme__calc-1 acme/calc-1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.show(only(t, with(classic(), c.set)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRowsThatCannotBeUsedAreTold(t *testing.T) {
	for name, c := range map[string]struct {
		set  map[string]any
		want string
	}{
		"no name":         {map[string]any{"instance_id": nil}, `"instance_id" is "", which is no name`},
		"bad name":        {map[string]any{"instance_id": "../x"}, "which is no name for a task"},
		"no statement":    {map[string]any{"problem_statement": ""}, `"problem_statement" is missing`},
		"no tests":        {map[string]any{"test_patch": nil}, `"test_patch" is missing`},
		"nothing to fix":  {map[string]any{"FAIL_TO_PASS": "[]"}, "no test has to be made to pass"},
		"no list":         {map[string]any{"FAIL_TO_PASS": map[string]any{"a": 1}}, `"FAIL_TO_PASS" is no list`},
		"half a list":     {map[string]any{"FAIL_TO_PASS": "['a"}, `"FAIL_TO_PASS" is no list`},
		"no repository":   {map[string]any{"repo": "calc"}, "which is not written owner/name"},
		"a branch":        {map[string]any{"base_commit": "main"}, "which is no commit"},
		"unknown parser":  {map[string]any{"log_parser": "parse_log_gradle_custom"}, `the output is for "parse_log_gradle_custom", which is not known here`},
		"unknown runner":  {map[string]any{"FAIL_TO_PASS": "[\"it adds\"]"}, "nothing says which program runs its tests"},
		"only failures":   {map[string]any{"image": "i", "eval_script": script, "log_parser": "parse_log_pytest", "eval_type": "fail_only"}, `"eval_type" is "fail_only"`},
		"SWE-bench Pro":   {map[string]any{"dockerhub_tag": "acme.calc", "before_repo_set_cmd": "git checkout x"}, `it is judged with what "dockerhub_tag" says`},
		"a rebuild":       {map[string]any{"docker_image": "i:1", "rebuild_cmds": []string{"make"}, "test_cmds": []string{"pytest -rA"}}, `it is judged with what "rebuild_cmds" says`},
		"conda's file":    {map[string]any{"install_config": map[string]any{"packages": "environment.yml", "env_yml_path": []string{"ci/env.yml"}}}, `"packages" of install_config is environment.yml: it is installed by conda`},
		"conda's list":    {map[string]any{"install_config": map[string]any{"packages": "numpy scipy"}}, `"packages" of install_config is numpy scipy: it is installed by conda`},
		"another file":    {map[string]any{"install_config": map[string]any{"packages": "requirements.txt", "env_yml_path": []string{"ci/env.yml"}}}, `"env_yml_path" of install_config is ci/env.yml`},
		"no version":      {map[string]any{"install_config": map[string]any{"python": "3.9 --privileged"}}, `"python" of install_config is "3.9 --privileged"`},
		"no image":        {map[string]any{"install_config": map[string]any{"base_image_name": "go_1.22"}}, `it begins with "go_1.22", which is no image`},
		"no object":       {map[string]any{"install_config": "{'python': '3.9'}"}, `"install_config" is no object of JSON`},
		"no marks":        {map[string]any{"image": "i", "eval_script": "pytest -rA\n", "log_parser": "parse_log_pytest"}, `"eval_script" has no lines with ">>>>> Start Test Output"`},
		"no tests inside": {map[string]any{"image": "i", "eval_script": ": '>>>>> Start Test Output'\n: '>>>>> End Test Output'\n", "log_parser": "parse_log_pytest"}, `"eval_script" has no lines with ">>>>> Start Test Output"`},
		"control in text": {map[string]any{"repo": "a\x1b[31m"}, `"a\x1b[31m"`},
	} {
		t.Run(name, func(t *testing.T) {
			got := read(t, with(classic(), c.set))
			if len(got.Tasks) != 0 || len(got.Problems) == 0 || !strings.Contains(got.Problems[0].Text, c.want) || got.Problems[0].Line != 1 {
				t.Errorf("%d tasks, problems %+v, want %q", len(got.Tasks), got.Problems, c.want)
			}
		})
	}
}

// What came in goes out again column by column, also what nobody here understands.
func TestColumnsOfOthersAreWrittenAgain(t *testing.T) {
	row := with(classic(), map[string]any{
		"image": "i:1", "eval_script": script, "log_parser": "parse_log_pytest_options", "eval_type": "pass_and_fail",
		"source_pr": 12, "labels": []any{"a", 1.5, nil}, "url": "https://example.com/<x>",
	})
	dir := t.TempDir()
	if problems, err := swebench.Write(dir, []task.Task{only(t, row)}, nil); err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "instances.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	row["source_pr"] = 12.0
	if diff := cmp.Diff(row, got); diff != "" {
		t.Error(diff)
	}
}

// The columns count, and the note of ours only as long as they are what it says.
func TestAFileOfTheSolutionBesideHiddenTestsIsTold(t *testing.T) {
	row := classic()
	row["patch"] = gold + "diff --git a/tests/server.py b/tests/server.py\n--- a/tests/server.py\n+++ b/tests/server.py\n@@ -1 +1 @@\n-x\n+y\n"
	got := read(t, row)
	if len(got.Notices) == 0 || !strings.HasPrefix(got.Notices[0].Text, `the solution changes "tests/server.py" in a folder of hidden tests`) {
		t.Errorf("notices %+v", got.Notices)
	}
}

func TestAnEditedRowIsReadAsItSays(t *testing.T) {
	dir := t.TempDir()
	if problems, err := swebench.Write(dir, []task.Task{only(t, classic())}, nil); err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "instances.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for column, value := range map[string]string{"eval_script": script, "assayd": "{}", "new_column": "1", "base_commit": "0123456"} {
		t.Run(column, func(t *testing.T) {
			var row map[string]any
			if err := json.Unmarshal(data, &row); err != nil {
				t.Fatal(err)
			}
			row[column] = value
			got := read(t, row)
			if len(got.Tasks) != 1 || len(got.Notices) == 0 || !strings.Contains(got.Notices[0].Text, `column "assayd" is passed over`) {
				t.Fatalf("%d tasks, problems %+v, notices %+v", len(got.Tasks), got.Problems, got.Notices)
			}
			if tk := got.Tasks[0]; tk.Repo != nil || tk.Judge.Window == nil || tk.Judge.Network { // it was proved without one
				t.Errorf("%+v", tk)
			}
		})
	}
}

// SWE-bench tells tests of jest apart by their titles; ours keep their places.
func TestTestsOfJestAreWrittenByTheirTitles(t *testing.T) {
	want := only(t, classic())
	want.Judge.Parser, want.Judge.Command.Shell = "jest", "npx jest --verbose"
	want.FailToPass, want.PassToPass = []string{"sums > of two > adds"}, []string{"works"}
	dir := t.TempDir()
	if problems, err := swebench.Write(dir, []task.Task{want}, nil); err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "instances.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var row map[string]any
	if err := json.Unmarshal(data, &row); err != nil || row["FAIL_TO_PASS"] != `["adds"]` || row["PASS_TO_PASS"] != `["works"]` {
		t.Errorf("%v: %v, %v", err, row["FAIL_TO_PASS"], row["PASS_TO_PASS"])
	}
	if diff := cmp.Diff([]task.Task{want}, swebench.Read(dir, options()).Tasks); diff != "" {
		t.Error(diff)
	}
}

func TestWhatNoRowCanHoldIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*task.Task)
		want   string
	}{
		"a tree":       {func(tk *task.Task) { tk.Judge.Context.Digest = strings.Repeat("0", 64) }, "rows hold text only"},
		"a game":       {func(tk *task.Task) { tk.Judge.Game = "./serve" }, "it is a game"},
		"stages":       {func(tk *task.Task) { tk.Judge.Run, tk.Judge.Grade = &task.Stage{}, &task.Stage{} }, "judged in stages"},
		"a private":    {func(tk *task.Task) { tk.Private = &task.Private{} }, "private set"},
		"commands":     {func(tk *task.Task) { tk.Judge.Command = task.Command{} }, "judged by commands"},
		"a parser":     {func(tk *task.Task) { tk.Judge.Parser = "reward" }, "no log parser for the output of reward"},
		"another text": {func(tk *task.Task) { tk.Judge.Patch = append(tk.Judge.Patch, "+\xff\n"...) }, "no UTF-8"},
		"two titles": {func(tk *task.Task) {
			tk.Judge.Parser, tk.FailToPass, tk.PassToPass = "jest", []string{"a > adds"}, []string{"a > b > adds"}
		}, `two tests with the title "adds"`},
		"a script": {func(tk *task.Task) { tk.Solution = &task.Solution{Script: "true"} }, "reference solution is no patch"},
		"no image": {func(tk *task.Task) { tk.Repo, tk.Image = nil, "" }, "neither a repository nor an image"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := only(t, classic())
			c.change(&bad)
			good := only(t, with(classic(), map[string]any{"instance_id": "good"}))
			dir := t.TempDir()
			problems, err := swebench.Write(dir, []task.Task{bad, good}, nil)
			if err != nil || len(problems) == 0 || problems[0].Task != bad.Name || !strings.Contains(problems[0].Text, c.want) {
				t.Errorf("%+v, %v, want %q", problems, err, c.want)
			}
			if got := swebench.Read(dir, options()); len(got.Tasks) != 1 || got.Tasks[0].Name != "good" {
				t.Errorf("%+v", got)
			}
		})
	}
}
