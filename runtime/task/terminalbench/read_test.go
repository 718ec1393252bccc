package terminalbench_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/tasktest"
	"github.com/assayd/assayd/runtime/task/terminalbench"
)

const hello = `instruction: |-
  Write hello.
  In /app/hello.txt.
author_name: A
author_email: a@example.org
difficulty: easy
category: files
tags: [x, y]
parser_name: pytest
max_agent_timeout_sec: 360.0
max_test_timeout_sec: 90
run_tests_in_same_shell: false
disable_asciinema: true
expert_time_estimate_min: 5
`

const compose = `services:
  client:
    build:
      dockerfile: Dockerfile
    image: ${T_BENCH_TASK_DOCKER_CLIENT_IMAGE_NAME}
    container_name: ${T_BENCH_TASK_DOCKER_CLIENT_CONTAINER_NAME}
    command: ["sh", "-c", "sleep infinity"]
    environment:
      - TEST_DIR=${T_BENCH_TEST_DIR}
      - LOGS=${T_BENCH_CONTAINER_LOGS_PATH}/x
    volumes:
      - ${T_BENCH_TASK_LOGS_PATH}:${T_BENCH_CONTAINER_LOGS_PATH}
`

const image = "FROM ghcr.io/laude-institute/t-bench/ubuntu-24-04:20250624\nCOPY data.txt .\n"

// files is the folder of a task that is all right.
func files(change map[string]string) map[string]string {
	all := map[string]string{
		"task.yaml": hello, "docker-compose.yaml": compose, "Dockerfile": image, "data.txt": "d\n",
		"run-tests.sh": "#!/bin/bash\npytest $TEST_DIR/test_outputs.py -rA\n", "tests/test_outputs.py": "def test_a(): pass\n",
		"solution.sh": "#!/bin/bash\necho 'hello' > hello.txt\n",
	}
	for name, content := range change {
		if all[name] = content; content == "" {
			delete(all, name)
		}
	}
	folder := map[string]string{}
	for name, content := range all {
		folder["hello/"+name] = content
	}
	return folder
}

func read(t *testing.T, trees *tasktest.Trees, change map[string]string) task.Dataset {
	t.Helper()
	return terminalbench.Read(tasktest.Folder(t, files(change)), task.ReadOptions{Trees: trees})
}

func said(problems []task.Problem) string {
	var lines []string
	for _, p := range problems {
		lines = append(lines, fmt.Sprintf("%s %s: %s", p.File, p.Task, p.Text))
	}
	return strings.Join(lines, "\n")
}

func TestATaskIsReadAsItIsMeant(t *testing.T) {
	t.Parallel()
	trees := &tasktest.Trees{}
	all := read(t, trees, nil)
	if len(all.Problems) > 0 || len(all.Tasks) != 1 || len(all.Notices) != 2 || !strings.Contains(said(all.Notices), "is judged with an open network") ||
		!strings.Contains(said(all.Notices), "gives its agent 6m0s; here a run says how long one has (timeout)") {
		t.Fatalf("%d tasks, problems %s, notices %s", len(all.Tasks), said(all.Problems), said(all.Notices))
	}
	limits := task.Part{CPUs: 1, Memory: 2 << 30, PIDs: 32768, Disk: 10 << 30}
	work, judged := limits, limits
	work.Dockerfile, work.Env = image, map[string]string{"LOGS": "/logs/x"}
	work.Context = trees.Of(t, map[string]string{"Dockerfile": image, "data.txt": "d\n", "docker-compose.yaml": compose})
	judged.Context = trees.Of(t, map[string]string{
		".assayd-tests/run-tests.sh": files(nil)["hello/run-tests.sh"], ".assayd-tests/test_outputs.py": "def test_a(): pass\n",
	})
	judged.Setup = []string{"rm -rf /tests && mv .assayd-tests /tests && chmod -R a+rX /tests"}
	judged.Env = map[string]string{"TEST_DIR": "/tests"}
	want := task.Task{
		Name: "hello", Title: "hello", Workdir: "/app", Instruction: "Write hello.\nIn /app/hello.txt.", Network: task.Network{Mode: "open"},
		Submit: task.Submit{Paths: []string{"."}, MaxBytes: 1 << 30, MaxFiles: 100_000}, Work: work,
		Judge: task.Judge{
			Part: judged, Command: task.Command{Shell: "bash /tests/run-tests.sh"}, Timeout: 90 * time.Second, Parser: "pytest",
			Select: "pass_rate_first", Direction: "maximize", Feedback: "names", Network: true,
		},
		Solution: &task.Solution{Script: "exec bash -c '#!/bin/bash\necho '\\''hello'\\'' > hello.txt\n'\n"},
		Metadata: map[string]string{
			"author_name": "A", "author_email": "a@example.org", "difficulty": "easy", "category": "files", "tags": "x, y",
			"expert_time_estimate_min": "5", "timeout": "6m0s",
		},
	}
	if diff := cmp.Diff(want, all.Tasks[0]); diff != "" {
		t.Error(diff)
	}
}

func TestOldAndTypedForms(t *testing.T) {
	t.Parallel()
	all := read(t, &tasktest.Trees{}, map[string]string{
		"task.yaml":   "descriptions:\n  - key: hard\n    description: Hard.\n  - key: base\n    description: Base.\nparser_name: pytest\n",
		"solution.sh": "", "solution.yaml": "- command: echo a\n  min_timeout_sec: 1\n  block: true\n- command: echo 'b'\n",
		"docker-compose.yaml": "",
	})
	if len(all.Tasks) != 1 || all.Tasks[0].Instruction != "Base." || all.Tasks[0].Judge.Timeout != time.Minute || all.Tasks[0].Solution == nil {
		t.Fatalf("%s\n%+v", said(all.Problems), all.Tasks)
	}
	if got := all.Tasks[0].Solution.Script; got != "exec bash -c 'echo a\necho '\\''b'\\''\n'\n" {
		t.Errorf("the solution is %q", got)
	}
	all = read(t, &tasktest.Trees{}, map[string]string{"solution.sh": "", "solution.yaml": "- command: vim\n  block: false\n"})
	if len(all.Tasks) != 1 || all.Tasks[0].Solution != nil || !strings.Contains(said(all.Notices), "its solution types into programs that go on") {
		t.Errorf("%s", said(all.Notices))
	}
}

func TestWhatCannotBeCarriedOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change map[string]string
		want   string
	}{
		"no YAML":           {map[string]string{"task.yaml": "a: ["}, "task.yaml: "},
		"a wrong type":      {map[string]string{"task.yaml": hello + "estimated_duration_sec: x\n"}, "cannot unmarshal !!str"},
		"no instruction":    {map[string]string{"task.yaml": "parser_name: pytest\n"}, "has no instruction"},
		"another parser":    {map[string]string{"task.yaml": strings.Replace(hello, "parser_name: pytest", "parser_name: swebench", 1)}, `parser_name is "swebench"`},
		"the same shell":    {map[string]string{"task.yaml": strings.Replace(hello, "shell: false", "shell: true", 1)}, "runs its tests in the shell that the agent leaves"},
		"no tests":          {map[string]string{"run-tests.sh": ""}, "has no run-tests.sh"},
		"no Dockerfile":     {map[string]string{"Dockerfile": ""}, "its Dockerfile cannot be read"},
		"no folder":         {map[string]string{"Dockerfile": "FROM x\n"}, "says of no folder that the agent works in it"},
		"side cars":         {map[string]string{"docker-compose.yaml": compose + "  db:\n    image: postgres\n"}, "needs 2 containers side by side (client, db)"},
		"a host's variable": {map[string]string{"docker-compose.yaml": strings.Replace(compose, "LOGS=", "K=${KEY}", 1)}, "takes K from the environment"},
		"a server":          {map[string]string{"docker-compose.yaml": strings.Replace(compose, "sleep infinity", "redis-server & sleep infinity", 1)}, "nothing is started here"},
		"two stages":        {map[string]string{"Dockerfile": "FROM x\n" + image}, "its Dockerfile has 2 stages"},
		"a link out":        {map[string]string{"task.yaml": "->/etc/passwd"}, "holds no folder with a task.yaml"},
		"a false note":      {map[string]string{"task.yaml": "assayd: '{'\n"}, "the note of assayd cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			all := read(t, &tasktest.Trees{}, c.change)
			if len(all.Tasks) > 0 || !strings.Contains(said(all.Problems), c.want) {
				t.Errorf("%d tasks; it says\n%s\nwant\n%s", len(all.Tasks), said(all.Problems), c.want)
			}
		})
	}
}

func TestWhatAComposeFileLimits(t *testing.T) {
	t.Parallel()
	all := read(t, &tasktest.Trees{}, map[string]string{"docker-compose.yaml": strings.Replace(compose, "    command:", "    network_mode: none\n    mem_limit: 4g\n    command:", 1)})
	if len(all.Tasks) != 1 {
		t.Fatal(said(all.Problems))
	}
	if got := all.Tasks[0]; got.Network.Mode != "none" || got.Judge.Network || got.Work.Memory != 4<<30 || got.Judge.Memory != 4<<30 {
		t.Errorf("%+v", got)
	}
}

// The container that the agent leaves is tested there; here it is the working folder.
func TestTestsThatLookElsewhereAreTold(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"tests/test_outputs.py": "its tests seem to look outside of /app, at /etc/nginx/nginx.conf, /srv/x;",
		"run-tests.sh":          "its tests seem to look outside of /app, at /etc/nginx/nginx.conf, /srv/x;",
	} {
		all := read(t, &tasktest.Trees{}, map[string]string{name: "cat /etc/nginx/nginx.conf /app/y '/srv/x' /tests/z\n"})
		if len(all.Tasks) != 1 || !strings.Contains(said(all.Notices), want) {
			t.Errorf("%s: notices %s", name, said(all.Notices))
		}
	}
}

// Tests and solutions are in no image of an agent, whatever its Dockerfile copies.
func TestNothingHiddenIsInTheBuildContext(t *testing.T) {
	t.Parallel()
	trees := &tasktest.Trees{}
	all := read(t, trees, map[string]string{"solution.yaml": "[]", "solution/x": "x"})
	if len(all.Tasks) != 1 {
		t.Fatal(said(all.Problems))
	}
	if got := strings.Join(trees.Names(t, all.Tasks[0].Work.Context), " "); got != "Dockerfile data.txt docker-compose.yaml" {
		t.Errorf("the context has %s", got)
	}
}

func TestATaskOfTerminalBenchGoesBack(t *testing.T) {
	t.Parallel()
	trees := &tasktest.Trees{}
	first := read(t, trees, nil)
	dir := t.TempDir()
	if problems, err := terminalbench.Write(dir, first.Tasks, trees); err != nil || len(problems) > 0 {
		t.Fatalf("%v, %s", err, said(problems))
	}
	again := terminalbench.Read(dir, task.ReadOptions{Trees: trees})
	if diff := cmp.Diff(first.Tasks, again.Tasks); diff != "" {
		t.Errorf("%s\n%s", said(again.Problems), diff)
	}
	for _, name := range []string{"run-tests.sh", "tests/test_outputs.py", "data.txt"} {
		got, err := os.ReadFile(filepath.Join(dir, "hello", name))
		if want := files(nil)["hello/"+name]; err != nil || string(got) != want {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "hello/Dockerfile"), []byte("FROM y\nWORKDIR /app\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if all := terminalbench.Read(dir, task.ReadOptions{Trees: trees}); !strings.Contains(said(all.Problems), "Dockerfile was changed since assayd wrote this task") {
		t.Errorf("an edited Dockerfile: %s", said(all.Problems))
	}
}

// What terminal-bench reads of a judge that is no pytest is a summary as pytest writes it.
func TestTheSummaryFollowsTheCommands(t *testing.T) {
	t.Parallel()
	base := tasktest.Commands()
	base.Repo, base.Judge.Files, base.FailToPass, base.PassToPass = nil, nil, []string{"true"}, []string{"echo \"it's\"; false"}
	dir, work := t.TempDir(), t.TempDir()
	if problems, err := terminalbench.Write(dir, []task.Task{base}, &tasktest.Trees{}); err != nil || len(problems) > 0 {
		t.Fatalf("%v, %s", err, said(problems))
	}
	script, err := os.ReadFile(filepath.Join(dir, "commands/run-tests.sh"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "bash", "-c", strings.ReplaceAll(string(script), "/workspace", work)).CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "info ============================\nPASSED judge::1\nFAILED judge::2\n") {
		t.Errorf("%v: %s", err, out)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(hello), []byte(image), "- {command: a, block: true}")
	f.Add([]byte("assayd: '{\"task\":{\"Name\":\"hello\"}}'\n"), []byte("FROM x\nWORKDIR /a\n"), "")
	f.Fuzz(func(t *testing.T, config, dockerfile []byte, solution string) {
		dir := tasktest.Folder(t, map[string]string{
			"hello/task.yaml": "#\n" + string(config), "hello/Dockerfile": "#\n" + string(dockerfile), "hello/solution.yaml": "#\n" + solution,
			"hello/run-tests.sh": "x",
		})
		for _, got := range terminalbench.Read(dir, task.ReadOptions{Trees: &tasktest.Trees{}}).Tasks {
			if got.Name != "hello" || got.Workdir == "" || got.Workdir[0] != '/' || len(got.Submit.Paths) == 0 || got.Judge.Timeout < 0 {
				t.Errorf("accepted as %+v", got)
			}
		}
	})
}
