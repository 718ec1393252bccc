package harbor_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/harbor"
	"github.com/assayd/assayd/runtime/task/tasktest"
)

func content(t *testing.T, parts ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A task that came from Harbor goes back as what it was, and comes in again as the same.
func TestATaskOfHarborGoesBack(t *testing.T) {
	t.Parallel()
	separate := strings.Replace(hello, "[verifier]\n", "[verifier]\nenvironment_mode = \"separate\"\n", 1)
	separate = "artifacts = [\"/srv/app/out\"]\n" + separate
	for name, change := range map[string]map[string]string{
		"shared":   nil,
		"separate": {"task.toml": separate, "tests/Dockerfile": "FROM x\nCOPY . /tests\n"},
		"image":    {"task.toml": strings.Replace(hello, "cpus = 2", "docker_image = \"i:1\"", 1), "environment/.dockerignore": "x\n"},
	} {
		t.Run(name, func(t *testing.T) {
			trees := &tasktest.Trees{}
			first := read(t, trees, change)
			if len(first.Tasks) != 1 {
				t.Fatal(said(first.Problems))
			}
			dir := t.TempDir()
			if problems, err := harbor.Write(dir, first.Tasks, trees); err != nil || len(problems) > 0 {
				t.Fatalf("%v, %s", err, said(problems))
			}
			again := harbor.Read(dir, task.ReadOptions{Trees: trees})
			if diff := cmp.Diff(first.Tasks, again.Tasks); diff != "" {
				t.Errorf("%s\n%s", said(again.Problems), diff)
			}
			if got := content(t, dir, "hello/tests/test.sh"); got != files(nil)["tests/test.sh"] {
				t.Errorf("test.sh is\n%s", got)
			}
			if name != "image" {
				if got := content(t, dir, "hello/environment/Dockerfile"); !strings.HasPrefix(got, image) {
					t.Errorf("the Dockerfile is\n%s", got)
				}
			}
		})
	}
}

// Harbor itself must be able to use what is written.
func TestWhatHarborFinds(t *testing.T) {
	t.Parallel()
	trees := &tasktest.Trees{}
	dir := t.TempDir()
	if problems, err := harbor.Write(dir, tasktest.All(t, trees), trees); err != nil || len(problems) > 0 {
		t.Fatalf("%v, %s", err, said(problems))
	}
	for file, parts := range map[string][]string{
		"owner__repo-7/environment/Dockerfile": {"FROM python:3.12-slim\n", "WORKDIR /workspace\n", "ADD .assayd/repo.tar /workspace/\n", `RUN ["/bin/sh","-c","pip install -e ."]`},
		"owner__repo-7/task.toml":              {"schema_version = '1.4'", "network_mode = 'no-network'", "workdir = '/workspace'", "timeout_sec = 600"},
		"owner__repo-7/tests/test.sh":          {"git -c safe.directory='*' apply --whitespace=nowarn /tests/.assayd/hidden.patch", "python3 -m pytest -v tests", "/logs/verifier/reward.txt"},
		"owner__repo-7/solution/solve.sh":      {"apply --whitespace=nowarn /solution/solution.patch"},
		"written/environment/Dockerfile":       {"FROM --platform=linux/amd64 python:3.11\nENV A=1\n", "git build-essential", "numpy==2.0", "RUN useradd -m dev\n", `ENV K="a \"\$b\""`, "COPY .assayd/context/ /workspace/", `COPY [".assayd/files/000","/etc/motd"]`, `COPY [".assayd/files/001","/workspace/conf/x"]`, "USER dev\n"},
		"written/tests/Dockerfile":             {"FROM --platform=linux/amd64 python:3.11\n", "COPY .assayd/context/ /workspace/", `RUN ["/bin/sh","-c","pip install pytest"]`, "COPY test.sh /tests/test.sh"},
		"written/task.toml":                    {"environment_mode = 'separate'", "artifacts = ['/workspace/src', '/workspace/main.py']", "allowed_hosts = ['pypi.org', '*.example.org']", "cpus = 3", "user = 'dev'"},
		"scored.1/tests/Dockerfile":            {"FROM registry.example.org/a/judge:1\n"},
		"scored.1/tests/test.sh":               {"TOTAL_SCORE"},
	} {
		text := content(t, dir, file)
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("%s lacks %q:\n%s", file, part, text)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "owner__repo-7/environment/.assayd/hidden.patch")); err == nil {
		t.Error("hidden tests are in the build context of the work image")
	}
}

// The scripts do what they say: the reward follows the commands, whatever they print.
func TestTheRewardFollowsTheCommands(t *testing.T) {
	t.Parallel()
	for commands, want := range map[string]string{"true": "1", "true\nfalse": "0", "echo 1; exit 3": "0"} {
		for _, list := range []bool{false, true} {
			base := tasktest.Commands()
			base.Repo, base.Judge.Files, base.FailToPass, base.PassToPass = nil, nil, nil, nil
			if list {
				base.PassToPass = strings.Split(commands, "\n")
			} else {
				base.Judge.Command.Shell, base.Judge.Parser = strings.ReplaceAll(commands, "\n", " && "), "exit_code"
			}
			dir, logs := t.TempDir(), t.TempDir()
			if problems, err := harbor.Write(dir, []task.Task{base}, &tasktest.Trees{}); err != nil || len(problems) > 0 {
				t.Fatalf("%v, %s", err, said(problems))
			}
			script := content(t, dir, "commands/tests/test.sh")
			script = strings.NewReplacer("/logs/verifier", logs, "/workspace", logs).Replace(script)
			if out, err := exec.CommandContext(t.Context(), "bash", "-c", script).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if got := strings.TrimSpace(content(t, logs, "reward.txt")); got != want {
				t.Errorf("%q: reward %q, want %s", commands, got, want)
			}
		}
	}
}

func TestWhatHarborCannotHold(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*task.Task){
		"has a private set":               func(t *task.Task) { t.Private = &task.Private{} },
		"is judged in two containers":     func(t *task.Task) { t.Judge.Run, t.Judge.Grade = &task.Stage{}, &task.Stage{} },
		"is a game":                       func(t *task.Task) { t.Judge.Game = "serve" },
		`"../x" is no name for a task`:    func(t *task.Task) { t.Name = "../x" },
		"the working folder \"/\" is no ": func(t *task.Task) { t.Workdir = "/" },
	} {
		base := tasktest.Scored()
		change(&base)
		dir := t.TempDir()
		problems, err := harbor.Write(dir, []task.Task{base}, &tasktest.Trees{})
		left, rerr := os.ReadDir(dir)
		if err != nil || rerr != nil || len(problems) != 1 || !strings.Contains(problems[0].Text, want) || len(left) > 0 {
			t.Errorf("%v, %s, left %v; want %s", err, said(problems), left, want)
		}
	}
}
