package image

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/git/gittest"
	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/task"
)

// hiddenPatch changes a file of someTask's judge, adds one and takes one of its work part away.
const hiddenPatch = `diff --git a/tests/test_a.py b/tests/test_a.py
--- a/tests/test_a.py
+++ b/tests/test_a.py
@@ -1 +1,2 @@
 assert 1
+assert 2
diff --git a/tests/new/run.sh b/tests/new/run.sh
new file mode 100755
--- /dev/null
+++ b/tests/new/run.sh
@@ -0,0 +1 @@
+true
diff --git a/src/a.py b/src/a.py
deleted file mode 100644
--- a/src/a.py
+++ /dev/null
@@ -1 +0,0 @@
-pass
diff --git a/bin/go.sh b/bin/went.sh
similarity index 100%
rename from bin/go.sh
rename to bin/went.sh
`

func patched() task.Task {
	tk := someTask()
	tk.Judge.Patch = []byte(hiddenPatch)
	return tk
}

func TestThePatchIsLaidOverTheJudgeImageAlone(t *testing.T) {
	b, f, _ := builderOnFake(t, someTrees)
	var removed []string
	b.opts.Guest = "/hold"
	f.HandleExec(func(_ context.Context, c *containertest.FakeContainer, cmd container.Command) int {
		line := cmd.Argv[len(cmd.Argv)-1]
		if line != "remove" {
			c.WriteFile(strings.TrimPrefix(line, "touch "), nil)
			return 0
		}
		list, err := io.ReadAll(cmd.Stdin)
		if err != nil || cmd.Argv[0] != "/hold" || cmd.User != "0:0" || cmd.Workdir != "/workspace" {
			t.Errorf("%+v, %v", cmd, err)
		}
		removed = append(removed, strings.Split(string(list), "\x00")...)
		return 0
	})
	judge, err := b.Judge(t.Context(), patched(), nil)
	if err != nil {
		t.Fatal(err)
	}
	work, err := b.Work(t.Context(), patched(), nil)
	if err != nil || !work.Cached {
		t.Fatal(work, err)
	}
	if diff := cmp.Diff([]string{"bin/go.sh", "src/a.py", ""}, removed); diff != "" {
		t.Error(diff)
	}
	if _, ok := inImage(t, f, work.ID)["workspace/tests/new/run.sh"]; ok {
		t.Error("a hidden test is in the work image")
	}
	in := inImage(t, f, judge.ID)
	for name, want := range map[string]string{
		"workspace/tests/test_a.py": "644 0", "workspace/tests/new/run.sh": "755 0", "workspace/bin/went.sh": "755 0", "opt/compiled": "644 0",
	} {
		if in[name] != want {
			t.Errorf("%s is %q, want %q", name, in[name], want)
		}
	}
}

func TestAPatchChangesTheNameOfTheJudgeImage(t *testing.T) {
	b, _, _ := builderOnFake(t, someTrees)
	refs := map[string]bool{}
	two, _, _ := strings.Cut(hiddenPatch, "diff --git a/src")
	one, _, _ := strings.Cut(hiddenPatch, "diff --git a/tests/new")
	for _, diff := range []string{"", one, two} {
		tk := someTask()
		tk.Judge.Patch = []byte(diff)
		judge, err := b.Judge(t.Context(), tk, nil)
		if err != nil {
			t.Fatal(err)
		}
		refs[judge.Ref] = true
	}
	if len(refs) != 3 {
		t.Errorf("three recipes have the names %v", refs)
	}
}

func TestAPatchThatDoesNotFitIsTheTasksFault(t *testing.T) {
	for _, c := range []struct{ name, diff, want string }{
		{"of other content", strings.Replace(hiddenPatch, "assert 1", "assert 9", 1), "patch: the patch does not apply: error: patch failed: tests/test_a.py:1"},
		{"no diff", "nonsense", "this is no diff"},
		{"out of workdir", "--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n", "not below the tree"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, _, _ := builderOnFake(t, someTrees)
			tk := someTask()
			tk.Judge.Patch = []byte(c.diff)
			_, err := b.Judge(t.Context(), tk, nil)
			var failed *SetupError
			if !errors.As(err, &failed) || failed.Attribute != "patch" || failed.Role != container.RoleJudge || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	b, _, _ := builderOnFake(t, someTrees)
	_, err := b.Judge(t.Context(), patched(), nil)
	if _, ok := errors.AsType[*SetupError](err); ok || !errors.Is(err, container.ErrUnsupported) {
		t.Errorf("without a guest: %v", err)
	}
}

func TestWhatAPatchNamesIsHidden(t *testing.T) {
	b, _, _ := builderOnFake(t, someTrees)
	got, err := b.Hidden(patched())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"answers.txt", "bin/go.sh", "bin/went.sh", "src/a.py", "tests/more.py", "tests/new/run.sh", "tests/test_a.py"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	tk := patched()
	tk.Judge.Patch = []byte("nonsense")
	if _, err := b.Hidden(tk); err == nil {
		t.Error("a patch of which nothing is known hides nothing")
	}
}

// guestSource is a guest with the one command that builds need.
const guestSource = `package main

import (
	"os"

	"github.com/assayd/assayd/runtime/guest"
)

func main() {
	code, _ := guest.Main(append([]string{"assay-guest"}, os.Args[1:]...))
	os.Exit(code)
}
`

func TestThePatchOfAJudgeOnDocker(t *testing.T) {
	b, e, owner := builderOnDocker(t, []string{"/.guest/guest", "hold"}, trees{"hidden": {"tests/test_a.py": "assert 1\n"}})
	needPython(t, e)
	dir, main := t.TempDir(), filepath.Join(t.TempDir(), "main.go")
	gittest.Write(t, main, guestSource)
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "guest"), main)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	b.opts.GuestMount, b.opts.Guest = []container.Mount{{Source: dir, Target: "/.guest", ReadOnly: true}}, "/.guest/guest"
	tk := task.Task{
		Benchmark: "edge", Name: owner, Image: pythonBase, Workdir: "/srv/w",
		Work: task.Part{User: "agent", Files: map[string]string{"src/a.py": "pass\n", "bin/go.sh": "#!/bin/sh\necho went\n"}, Setup: []string{"useradd -m agent"}},
		Judge: task.Judge{
			Part:  task.Part{Context: task.Tree{Digest: "hidden"}, Setup: []string{"cat tests/test_a.py > /opt/seen"}},
			Patch: []byte(hiddenPatch),
		},
	}
	judge, err := b.Judge(t.Context(), tk, nil)
	if err != nil {
		t.Fatal(err)
	}
	sh := in(t, e, owner, judge)
	for line, want := range map[string]string{
		"cat /opt/seen":             "assert 1\nassert 2",
		"bin/went.sh":               "went",
		"tests/new/run.sh; echo $?": "0",
		"find . -path ./.git -prune -o -type f -print | sort": "./bin/went.sh\n./tests/new/run.sh\n./tests/test_a.py",
		"find . ! -user agent":                                "",
	} {
		if got := sh(line); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
	tk.Judge.Patch = []byte(strings.Replace(hiddenPatch, "-pass", "-other", 1))
	_, err = b.Judge(t.Context(), tk, nil)
	if _, ok := errors.AsType[*patch.NotApplied](err); !ok || !strings.Contains(err.Error(), "src/a.py") {
		t.Errorf("got %v", err)
	}
}
