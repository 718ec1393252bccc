package swebench_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/swebench"
)

// The script of a task that is made of a repository, run as SWE-bench runs it: in the work tree
// with a submission in it that has changed the tests.
func TestTheScriptJudgesWithTheHiddenTestsAndLeavesNone(t *testing.T) {
	repo := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", repo, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	put := func(name, text string) {
		t.Helper()
		name = filepath.Join(repo, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	put("calc.py", "x = 1\n")
	put("tests/test_calc.py", "assert 1\n")
	git("add", ".")
	git("commit", "-qm", "base")
	base := git("rev-parse", "HEAD")

	tk := only(t, with(classic(), map[string]any{"base_commit": base}))
	tk.Workdir = repo
	tk.Judge.Env = map[string]string{"WHO": "it's me"}
	tk.Judge.Files = map[string]string{"tests/more.txt": "a\r\nb", repo + "/it's": "q"}
	tk.Judge.Setup = []string{"echo \"set up for $WHO\""}
	tk.Judge.Command = task.Command{Shell: "cat calc.py tests/test_calc.py 'tests/da[t]a.txt' tests/more.txt \"it's\"; echo '>>>'; exit 3"}
	dir := t.TempDir()
	if problems, err := swebench.Write(dir, []task.Task{tk}, nil); err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	put("calc.py", "x = 2\n")
	put("tests/test_calc.py", "cheated\n")
	put("tests/da[t]a.txt", "cheated\n")
	out, err := exec.Command("/bin/bash", filepath.Join(dir, "tasks", tk.Name, "eval.sh")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_, after, ok := strings.Cut(string(out), "\n+ : '>>>>> Start Test Output'\n")
	shown, _, ended := strings.Cut(after, "\n+ : '>>>>> End Test Output'\n")
	_, shown, _ = strings.Cut(shown, "\n") // what set -x says of the command
	if diff := cmp.Diff("x = 2\nassert 2\nx\na\r\nbq>>>", shown); !ok || !ended || diff != "" {
		t.Errorf("%s\n%s", out, diff)
	}
	if !strings.Contains(string(out), "set up for it's me") {
		t.Errorf("not set up: %s", out)
	}
	if left := git("status", "--porcelain", "--", "tests/test_calc.py", "tests/da[t]a.txt", "calc.py"); left != "M calc.py" {
		t.Errorf("it leaves %q", left)
	}
}

// The image that SWE-bench builds is the repository with what the task installs.
func TestTheDockerfileOfATask(t *testing.T) {
	tk := only(t, with(classic(), map[string]any{"install_config": map[string]any{"install": []any{"pip install -e .", "cat <<X\nhe said \"$HOME\"\nX\n"}}}))
	tk.Workdir = "/srv/calc"
	tk.Base = &task.Base{Name: "py", Image: "debian:13", Packages: []string{"python3"}, PipPackages: []string{"pytest"}, PostInstall: "RUN true"}
	tk.Image = ""
	tk.Work.Env = map[string]string{"A": `b "c"`}
	tk.Work.Files = map[string]string{"note": "x"}
	dir := t.TempDir()
	if problems, err := swebench.Write(dir, []task.Task{tk}, nil); err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "tasks", tk.Name, "Dockerfile"))
	want := `FROM debian:13
RUN if command -v apt-get >/dev/null; then apt-get update && apt-get install -y --no-install-recommends ca-certificates git python3 && rm -rf /var/lib/apt/lists/*; fi
RUN python3 -m pip install --no-cache-dir pytest
RUN true
RUN mkdir -p /srv/calc && cd /srv/calc && git init -q && git fetch -q --depth 1 https://github.com/acme/calc ` + commit + ` && git checkout -q FETCH_HEAD
WORKDIR /srv/calc
ENV A="b \"c\""
RUN echo bWtkaXIgLXAgL3Nydi9jYWxjICYmIGJhc2U2NCAtZCA+L3Nydi9jYWxjL25vdGUgPDwnRU9GJwplQT09CkVPRgo= | base64 -d | /bin/sh
RUN pip install -e .
RUN echo Y2F0IDw8WApoZSBzYWlkICIkSE9NRSIKWAo= | base64 -d | /bin/sh -e
RUN ln -sfn /srv/calc /testbed
`
	if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// A script ends with the exit code of its tests, whatever it does behind them.
func TestAScriptOfOthersEndsWithItsTests(t *testing.T) {
	for name, c := range map[string]struct {
		script, tests string
		exit          int
		written       bool
	}{
		"SWE-bench 4":       {": '>>>>> Start Test Output'\nsh -c 'exit 3'\n: '>>>>> End Test Output'\necho after\n", "sh -c 'exit 3'", 3, true},
		"SWE-bench 5":       {": '>>>>> Start Test Output'\nsh -c 'exit 3' | cat\nSWEBENCH_TEST_EXIT_CODE=$?\n: '>>>>> End Test Output'\necho \">>>>> Test Exit Code: $SWEBENCH_TEST_EXIT_CODE\"\ntrue\n", "sh -c 'exit 3' | cat", 3, true},
		"a mark in a patch": {"cat >/dev/null <<'E'\n+: '>>>>> Start Test Output'\n+false\n+: '>>>>> End Test Output'\nE\necho '>>>>> Start Test Output'\ntrue\necho '>>>>> End Test Output'\necho after; false\n", "true", 0, true},
		"no line end":       {": '>>>>> Start Test Output'\nfalse\n: '>>>>> End Test Output'", "false", 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			text := "set -uxo pipefail\n" + c.script
			tk := only(t, with(classic(), map[string]any{"image": "i:1", "eval_script": text, "log_parser": "parse_log_pytest"}))
			if tk.Judge.Window.Command != c.tests {
				t.Errorf("runs %q, want %q", tk.Judge.Window.Command, c.tests)
			}
			cmd := exec.Command("/bin/bash", write(t, "eval.sh", tk.Judge.Files["/eval.sh"]))
			out, _ := cmd.CombinedOutput() // the code says more
			if cmd.ProcessState.ExitCode() != c.exit || strings.Contains(string(out), "after") {
				t.Errorf("exit code %d, want %d:\n%s", cmd.ProcessState.ExitCode(), c.exit, out)
			}
			dir := t.TempDir()
			if problems, err := swebench.Write(dir, []task.Task{tk}, nil); err != nil || len(problems) > 0 {
				t.Fatal(problems, err)
			}
			written, err := os.ReadFile(filepath.Join(dir, "tasks", tk.Name, "eval.sh"))
			if err != nil || c.written && string(written) != text {
				t.Errorf("written as %q, %v", written, err)
			}
		})
	}
}
