package tasktest

import (
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/task"
)

func limits() task.Part {
	return task.Part{CPUs: 1, Memory: 2 << 30, PIDs: 32768, Disk: 10 << 30}
}

func plain(name string) task.Task {
	return task.Task{
		Name: name, Title: "A " + name, Workdir: "/workspace", Instruction: "Make it 'work'.\n\n$HOME \\ \"é\"\n",
		Network: task.Network{Mode: "none"},
		Submit:  task.Submit{Paths: []string{"."}, Exclude: []string{"tests/"}, MaxBytes: 1 << 30, MaxFiles: 100_000},
		Image:   "python:3.12-slim", Work: limits(),
		Judge: task.Judge{
			Part: limits(), Command: task.Command{Shell: "python3 -m pytest -v tests"}, Timeout: 10 * time.Minute,
			Parser: "pytest", Select: "pass_rate_first", Direction: "maximize", Feedback: "names",
		},
		Metadata: map[string]string{},
	}
}

// Repository is a task of a clone with hidden tests as a patch, as made of a pull request.
func Repository() task.Task {
	t := plain("owner__repo-7")
	t.Repo = &task.Repo{URL: "https://example.org/owner/repo", Commit: "0123456789012345678901234567890123456789"}
	t.Work.Setup = []string{"pip install -e .", "echo \"it's\" >> .config && printf 'a\\nb'"}
	t.Judge.Patch = []byte("diff --git a/tests/test_x.py b/tests/test_x.py\nnew file mode 100644\n--- /dev/null\n+++ b/tests/test_x.py\n@@ -0,0 +1 @@\n+def test_x(): pass\n")
	t.FailToPass = []string{"tests/test_x.py::test_x"}
	t.PassToPass = []string{"tests/test_y.py::test_y[a b]"}
	t.Solution = &task.Solution{Patch: []byte("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")}
	t.Metadata = map[string]string{"repo": "owner/repo", "difficulty": "hard"}
	return t
}

// Commands is a task that is judged by the commands of its lists.
func Commands() task.Task {
	t := plain("commands")
	t.Repo = &task.Repo{URL: "https://example.org/o/r.git", Commit: "89abcdef89abcdef89abcdef89abcdef89abcdef"}
	t.Judge.Command, t.Judge.Parser = task.Command{}, ""
	t.Judge.Timeout = 120 * time.Second
	t.Judge.Files = map[string]string{"tests/run.sh": "#!/bin/sh\nexit 0\n", "tests/data.txt": "a\n"}
	t.FailToPass, t.PassToPass = []string{"sh tests/run.sh"}, []string{"test -f README", "go test ./..."}
	return t
}

// Written is a task of an author, with folders, a base, users and all kinds of limits.
func Written(tb testing.TB, trees *Trees) task.Task {
	tb.Helper()
	t := plain("written")
	t.Image, t.Platform = "", "linux/amd64"
	t.Base = &task.Base{
		Name: "python", Image: "python:3.11", Packages: []string{"git", "build-essential"}, PipPackages: []string{"numpy==2.0"},
		User: "ENV A=1\n", PostInstall: "RUN useradd -m dev\n",
	}
	t.Network = task.Network{Mode: "allow", Allow: []string{"pypi.org:443", "*.example.org:8080"}}
	t.Submit.Paths, t.Submit.MaxBytes, t.Submit.MaxFiles = []string{"src", "main.py"}, 1<<20, 10
	t.Work.Context = trees.Of(tb, map[string]string{"src/a.py": "print(1)\n", "run.sh": "#!/bin/sh\n", "link": "->src/a.py"})
	t.Work.Files = map[string]string{"/etc/motd": "hi\n", "conf/x": "#!/bin/sh\necho\n"}
	t.Work.Setup, t.Work.User, t.Work.Env = []string{"git init -q"}, "dev", map[string]string{"K": "a \"$b\"", "L": ""}
	t.Work.CPUs, t.Work.Memory = 2.5, 4<<30
	t.Judge.Context = trees.Of(tb, map[string]string{"tests/test_a.py": "def test(): pass\n"})
	t.Judge.FromBase, t.Judge.Setup = true, []string{"pip install pytest"}
	t.Judge.Command = task.Command{Argv: []string{"python3", "-m", "pytest", "-v", "it's"}}
	t.Judge.Protect, t.Judge.Expect, t.Judge.Exclusive = []string{"conftest.py"}, []string{"tests/test_a.py::test"}, true
	t.Judge.Rescale = &task.Rescale{Kind: "linear", Anchors: map[string]float64{"lower": 0.5, "upper": 1e6}}
	t.Solution = &task.Solution{Context: trees.Of(tb, map[string]string{"src/a.py": "print(2)\n"})}
	return t
}

// Scored is a task whose judge is an image of its own, and whose solution is a script.
func Scored() task.Task {
	t := plain("scored.1")
	t.Network.Mode = "open"
	t.Work.Image, t.Judge.Image, t.Image = "registry.example.org/a/work:1", "registry.example.org/a/judge:1", ""
	t.Judge.Command, t.Judge.Parser, t.Judge.Select = task.Command{Shell: "/judge.sh | tail -n 3"}, "score_sum", "score_first"
	t.Judge.Network, t.Judge.Feedback, t.Judge.User = true, "full", "root"
	t.Solution = &task.Solution{Script: "cp /dev/null out\n"}
	return t
}

// All are these tasks.
func All(tb testing.TB, trees *Trees) []task.Task {
	tb.Helper()
	return []task.Task{Repository(), Commands(), Written(tb, trees), Scored()}
}
