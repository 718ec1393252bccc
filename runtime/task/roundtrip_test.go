package task_test

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/harbor"
	"github.com/assayd/assayd/runtime/task/sforge"
	"github.com/assayd/assayd/runtime/task/swebench"
	"github.com/assayd/assayd/runtime/task/sweforge"
	"github.com/assayd/assayd/runtime/task/terminalbench"
)

// limits are what a part has in every format that says nothing else.
func limits() task.Part { return task.Part{CPUs: 1, Memory: 2 << 30, PIDs: 32768, Disk: 10 << 30} }

const goldPatch = `diff --git a/calc/add.py b/calc/add.py
index 1111111111111111111111111111111111111111..2222222222222222222222222222222222222222 100644
--- a/calc/add.py
+++ b/calc/add.py
@@ -1,2 +1,2 @@
 def add(a, b):
-    return a - b
+    return a + b
`

const testPatch = `diff --git a/tests/test_add.py b/tests/test_add.py
index 1111111111111111111111111111111111111111..3333333333333333333333333333333333333333 100644
--- a/tests/test_add.py
+++ b/tests/test_add.py
@@ -2,3 +2,6 @@ from calc.add import add
 
 def test_zero():
     assert add(0, 0) == 0
+
+def test_one():
+    assert add(1, 1) == 2  # it's <one> & "two"
`

// pythonRepo is a repository whose hidden tests come as a patch.
func pythonRepo() task.Task {
	work := limits()
	work.Setup = []string{"pip install -e .", "pip install pytest"}
	return task.Task{
		Name: "acme__calc-12", Workdir: "/testbed", Instruction: "add subtracts.\n\nIt should add.\n",
		Network: task.Network{Mode: "none"},
		Submit:  task.Submit{Paths: []string{"."}, Exclude: []string{"tests/test_add.py"}, MaxBytes: 1 << 30, MaxFiles: 100_000},
		Image:   "python:3.12-slim",
		Repo:    &task.Repo{URL: "https://github.com/acme/calc", Commit: strings.Repeat("0123456789", 4)},
		Work:    work,
		Judge: task.Judge{
			Part: limits(), Patch: []byte(testPatch), Command: task.Command{Shell: "python3 -m pytest -rA tests/test_add.py"},
			Timeout: 30 * time.Minute, Parser: "pytest", Select: "pass_rate_first", Direction: "maximize", Feedback: "names",
		},
		Solution:   &task.Solution{Patch: []byte(goldPatch)},
		FailToPass: []string{"tests/test_add.py::test_one"},
		PassToPass: []string{"tests/test_add.py::test_zero"},
		Metadata:   map[string]string{"language": "python", "created_at": "2024-01-31T10:00:00Z"},
	}
}

func goRepo() task.Task {
	t := pythonRepo()
	t.Name, t.Image, t.Work.Setup = "acme__strs-7", "golang:1.26", []string{"go mod download"}
	t.Submit.Exclude = []string{"strs_test.go"}
	t.Judge.Command.Shell, t.Judge.Parser = "go test -count=1 -v example.com/strs", "gotest"
	t.Judge.Patch = []byte(strings.ReplaceAll(testPatch, "tests/test_add.py", "strs_test.go"))
	t.FailToPass, t.PassToPass = []string{"example.com/strs::TestCut", "example.com/strs::TestCut/empty"}, []string{"example.com/strs::TestJoin"}
	t.Metadata = nil
	t.Work.Env = map[string]string{"GOFLAGS": "-mod=mod"}
	t.Judge.Env = map[string]string{"GOFLAGS": "-mod=mod"}
	return t
}

// readyImage is judged in an image by a script that does all.
func readyImage() task.Task {
	t := pythonRepo()
	t.Name, t.Repo, t.Image, t.Work.Setup = "acme__calc-13", nil, "registry.example/eval:13", nil
	t.Judge.Patch = nil
	t.Judge.Files = map[string]string{"/eval.sh": "#!/bin/bash\nset -uxo pipefail\ncd /testbed\n: '>>>>> Start Test Output'\npytest -rA tests\n: '>>>>> End Test Output'\n"}
	t.Judge.Command = task.Command{Argv: []string{"/bin/bash", "/eval.sh"}}
	t.Metadata = map[string]string{"repo": "acme/calc", "base_commit": "0123456", "log_parser": "parse_log_pytest_v2", "eval_type": "pass_and_fail", "test_patch": testPatch, "version": "1.2"}
	return t
}

// commands is judged by the commands of its two lists.
func commands() task.Task {
	t := pythonRepo()
	t.Name, t.Workdir, t.Image = "acme__calc-14", "/repo", "python:3.12-slim"
	t.Judge.Patch, t.Judge.Command, t.Judge.Parser = nil, task.Command{}, "exit_code"
	t.Judge.Timeout = 2 * time.Minute
	t.Judge.Files = map[string]string{"/repo/tests/test_add.py": "def test_one():\n    assert True\n"}
	t.FailToPass = []string{"python3 -m pytest -q tests/test_add.py"}
	t.PassToPass = []string{"python3 -m compileall -q calc", "test -f 'a b'"}
	return t
}

// format is one whose packages write and read.
type format struct {
	name  string
	read  func(string, task.ReadOptions) task.Dataset
	write func(string, []task.Task, task.Trees) ([]task.Problem, error)
}

func formats() []format {
	return []format{
		{"swebench", swebench.Read, swebench.Write},
		{"sweforge", sweforge.Read, sweforge.Write},
		{"harbor", harbor.Read, harbor.Write},
		{"terminal-bench", terminalbench.Read, terminalbench.Write},
		{"sforge", sforge.Read, sforge.Write},
	}
}

// subject is a task, and what of it which format says it cannot hold.
type subject struct {
	task   task.Task
	beyond map[string]string // format -> a part of the problem that it tells
}

func subjects() map[string]subject {
	return map[string]subject{
		"a Python repository":    {pythonRepo(), nil},
		"a Go repository":        {goRepo(), nil},
		"an image with a script": {readyImage(), map[string]string{"sweforge": "not made of a repository"}},
		"a task with commands":   {commands(), map[string]string{"swebench": "judged by commands"}},
	}
}

func TestWhatIsWrittenIsReadBackAsTheSameTask(t *testing.T) {
	for name, s := range subjects() {
		for _, f := range formats() {
			t.Run(name+" as "+f.name, func(t *testing.T) {
				t.Parallel()
				trees := &memory{}
				dir := filepath.Join(t.TempDir(), "out")
				problems, err := f.write(dir, []task.Task{s.task}, trees)
				if err != nil {
					t.Fatal(err)
				}
				if told := s.beyond[f.name]; told != "" {
					if len(problems) == 0 || !strings.Contains(problems[0].Text, told) {
						t.Fatalf("problems %+v, want %q", problems, told)
					}
					return
				}
				if len(problems) > 0 {
					t.Fatalf("problems %+v", problems)
				}
				got := f.read(dir, task.ReadOptions{Trees: trees, Image: "another:1"})
				if len(got.Problems)+len(got.Notices) > 0 {
					t.Errorf("problems %+v, notices %+v", got.Problems, got.Notices)
				}
				if diff := cmp.Diff([]task.Task{s.task}, got.Tasks); diff != "" {
					t.Fatal(diff)
				}
				again := filepath.Join(t.TempDir(), "again")
				if _, err := f.write(again, got.Tasks, trees); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(content(t, dir), content(t, again)); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// content is all that a folder holds, by name.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(name)
		info, infoErr := e.Info()
		if err != nil || infoErr != nil {
			t.Fatal(err, infoErr)
		}
		rel, err := filepath.Rel(dir, name)
		all[rel] = info.Mode().String() + " " + string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// memory holds no tree: the tasks here have none but those that formats make.
type memory struct{}

func (*memory) Keep(string) (task.Tree, error)         { return task.Tree{}, nil }
func (*memory) Open(task.Tree) (io.ReadCloser, error)  { return io.NopCloser(&bytes.Buffer{}), nil }
func (*memory) Clone(task.Repo) (io.ReadCloser, error) { return io.NopCloser(&bytes.Buffer{}), nil }
