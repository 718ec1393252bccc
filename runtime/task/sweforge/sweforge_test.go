package sweforge_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/sweforge"
)

const commit = "0123456789012345678901234567890123456789"

// theirs is a workspace as swe-forge writes it: the tests in the metadata, and in the patch.
const theirs = `id: acme/widgets-412
repo: acme/widgets
base_commit: 0123456789012345678901234567890123456789
merge_commit: 9876543210987654321098765432109876543210
language: go
difficulty_score: 2
created_at: 2026-02-17T11:02:33.123456789Z
patch: |
  diff --git a/pkg/w.go b/pkg/w.go
  --- a/pkg/w.go
  +++ b/pkg/w.go
  @@ -1 +1 @@
  -package w
  +package w // new
test_patch: ''
fail_to_pass:
- cd pkg && go test -run TestRetryBudget ./...
pass_to_pass:
- go test ./internal/...
install_config:
  go: 1.22
  install: go mod download
  test_cmd: go test ./...
meta:
  added_lines: '61'
  difficulty: medium
  pr_title: Limit retries
  test_files: '[{"path":"pkg/retry_test.go","content":"package w\n"},{"path":"/repo/x/../data.txt","content":"a"}]'
prompt: |
  Limit the number of retries.
original_pr_body: "acme/widgets (#412): Limit retries\n\nbody"
quality_score: 0.55
quality_passed: true
docker_passed: false
workspace_path: null
status: ready
`

// folder writes files and returns where they are.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func read(t *testing.T, text string) task.Dataset {
	t.Helper()
	return sweforge.Read(folder(t, map[string]string{"acme/widgets-412/workspace.yaml": text}), task.ReadOptions{Image: "golang:1.26"})
}

func only(t *testing.T, text string) task.Task {
	t.Helper()
	got := read(t, text)
	if len(got.Problems) > 0 || len(got.Tasks) != 1 {
		t.Fatalf("%d tasks, problems %+v", len(got.Tasks), got.Problems)
	}
	return got.Tasks[0]
}

func TestAWorkspaceOfSweForgeIsReadAsItIsMeant(t *testing.T) {
	all := read(t, theirs)
	if len(all.Problems) > 0 || len(all.Tasks) != 1 {
		t.Fatalf("%d tasks, problems %+v", len(all.Tasks), all.Problems)
	}
	told := []string{
		"is judged with an open network, because its tests may need it; submitted code can use it",
		"gives the agent no network, 1 CPU and 2 GiB, where swe-forge's harness opens it and has all CPUs and 32 GB; network, work and judge of a run set others",
	}
	for i, n := range all.Notices {
		if i >= len(told) || n.Text != told[i] {
			t.Errorf("notices %+v, want %q", all.Notices, told)
		}
	}
	got := all.Tasks[0]
	if len(got.Work.Setup) != 2 || !strings.Contains(got.Work.Setup[0], "apt-get install -y --no-install-recommends git curl") {
		t.Errorf("setup %q", got.Work.Setup)
	}
	got.Work.Setup = got.Work.Setup[1:]
	limits := task.Part{CPUs: 1, Memory: 2 << 30, PIDs: 32768, Disk: 10 << 30}
	work, judge := limits, limits
	work.Setup = []string{"set -- 'go mod download'\nif command -v bash >/dev/null; then exec bash -ec \"$1\"; fi; eval \"$1\""}
	judge.Files = map[string]string{"pkg/retry_test.go": "package w\n", "data.txt": "a"}
	want := task.Task{
		Name: "acme__widgets-412", Workdir: "/repo", Instruction: "Limit the number of retries.\n", Image: "golang:1.26",
		Network: task.Network{Mode: "none"},
		Submit:  task.Submit{Paths: []string{"."}, Exclude: []string{"data.txt", "pkg/retry_test.go"}, MaxBytes: 1 << 30, MaxFiles: 100_000},
		Repo:    &task.Repo{URL: "https://github.com/acme/widgets", Commit: commit},
		Work:    work,
		Judge: task.Judge{
			Part: judge, Timeout: 2 * time.Minute, Parser: "exit_code", Select: "pass_rate_first", Direction: "maximize", Feedback: "names", Network: true,
			Command: task.Command{Bash: true},
		},
		Solution:   &task.Solution{Patch: []byte("diff --git a/pkg/w.go b/pkg/w.go\n--- a/pkg/w.go\n+++ b/pkg/w.go\n@@ -1 +1 @@\n-package w\n+package w // new\n")},
		FailToPass: []string{"cd pkg && go test -run TestRetryBudget ./..."},
		PassToPass: []string{"go test ./internal/..."},
		Metadata: map[string]string{
			"id": "acme/widgets-412", "merge_commit": "9876543210987654321098765432109876543210", "language": "go",
			"created_at": "2026-02-17T11:02:33.123456789Z", "original_pr_body": "acme/widgets (#412): Limit retries\n\nbody", "status": "ready",
			"difficulty_score": "2", "quality_score": "0.55", "quality_passed": "true", "difficulty": "medium",
			"image_from": "import", "meta.added_lines": "61", "meta.difficulty": "medium", "meta.pr_title": "Limit retries",
			"install_config.go": "1.22", "install_config.test_cmd": "go test ./...",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What is read goes out again as it was, whichever shell runs it.
func TestWhatInstallsIsWrittenAgain(t *testing.T) {
	for _, install := range []string{"make", "pip install -e '.[dev]'", "source .venv/bin/activate\nset -o pipefail\necho \"it's\" '\\''"} {
		tk := only(t, strings.Replace(theirs, "install: go mod download", "install: "+strconv.Quote(install), 1))
		dir := t.TempDir()
		if problems, err := sweforge.Write(dir, []task.Task{tk}, nil); err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "acme/widgets-412/workspace.yaml"))
		if err != nil || strings.Contains(string(text), "\nassayd:") {
			t.Errorf("%v\n%s", err, text)
		}
		var written struct {
			Config map[string]string `yaml:"install_config"`
		}
		if err := yaml.Unmarshal(text, &written); err != nil || written.Config["install"] != install {
			t.Errorf("%q, %v; want %q", written.Config["install"], err, install)
		}
	}
}

// A copy is what was copied: it lies where it lay, and the import still says the image, also of one
// that only a note holds.
func TestACopyLeavesTheImageToTheImportAndLiesWhereItLay(t *testing.T) {
	for name, change := range map[string]func(*task.Task){
		"as it is":    func(*task.Task) {},
		"with a note": func(tk *task.Task) { tk.Judge.Env = map[string]string{"A": "1"} },
	} {
		tk := only(t, theirs)
		change(&tk)
		dir := t.TempDir()
		if problems, err := sweforge.Write(dir, []task.Task{tk}, nil); err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "acme/widgets-412/workspace.yaml"))
		if err != nil || strings.Contains(string(text), "golang:1.26") {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
		tk.Image = "golang:1.27"
		if diff := cmp.Diff([]task.Task{tk}, sweforge.Read(dir, task.ReadOptions{Image: "golang:1.27"}).Tasks); diff != "" {
			t.Error(name, diff)
		}
	}
}

// An image of its own is kept, and an id that leads elsewhere does not.
func TestACopyKeepsAnImageOfItsOwnAndNoIDLeadsElsewhere(t *testing.T) {
	for id, at := range map[string]string{
		"acme/widgets-412": "acme/widgets-412", "w-1": "w-1", "a/../../w-1": "a__..__..__w-1", "a//w-1": "a____w-1", "a/.git": "a__.git",
	} {
		tk := only(t, strings.Replace(theirs, "id: acme/widgets-412\n", "id: "+id+"\nimage: golang:1.25\n", 1))
		dir := filepath.Join(t.TempDir(), "in", "here")
		if problems, err := sweforge.Write(dir, []task.Task{tk}, nil); err != nil || len(problems) > 0 {
			t.Fatal(id, problems, err)
		}
		if _, err := os.Stat(filepath.Join(dir, at, "workspace.yaml")); err != nil {
			t.Error(id, err)
		}
		if diff := cmp.Diff([]task.Task{tk}, sweforge.Read(dir, task.ReadOptions{Image: "another:1"}).Tasks); diff != "" {
			t.Error(id, diff)
		}
	}
}

// swe-forge's harness applies no patch: the files that the patch of tests makes stand beside it, and
// are not put in place twice here.
func TestFilesThatThePatchOfTestsMakesStandBesideIt(t *testing.T) {
	tk := tested(t)
	tk.Judge.Patch = []byte("diff --git a/w_test.go b/w_test.go\n--- a/w_test.go\n+++ b/w_test.go\n@@ -1 +1,2 @@\n package w\n+// <new>\n")
	tk.Judge.Files = map[string]string{"data.txt": "a"}
	tk.Submit.Exclude = []string{"data.txt", "w_test.go"}
	tk.Metadata[sweforge.TestFilesKey] = sweforge.TestFiles(map[string]string{"w_test.go": "package w\n// <new>\n"})
	dir := t.TempDir()
	if problems, err := sweforge.Write(dir, []task.Task{tk}, nil); err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	data, err := os.ReadFile(filepath.Join(dir, tk.Name, "workspace.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	want := `[{"path":"data.txt","content":"a"},{"path":"w_test.go","content":"package w\n// <new>\n"}]`
	var written struct{ Meta map[string]string }
	if err := yaml.Unmarshal(data, &written); err != nil || written.Meta["test_files"] != want || strings.Count(text, "// <new>") != 2 {
		t.Errorf("%q, %v, in\n%s", written.Meta["test_files"], err, text)
	}
	got := sweforge.Read(dir, task.ReadOptions{})
	if diff := cmp.Diff([]task.Task{tk}, got.Tasks); diff != "" || len(got.Notices)+len(got.Problems) > 0 {
		t.Error(got.Problems, got.Notices, diff)
	}
	// Without what is ours, or with other files than the patch makes, the patch makes them.
	for _, other := range []string{text[:strings.Index(text, "\nassayd:")+1], strings.Replace(text, `package w\n// <new>`, `package w\n// <newer>`, 1)} {
		if other == text {
			t.Fatal("nothing was changed")
		}
		changed := read(t, other)
		if len(changed.Tasks) != 1 || len(changed.Notices) == 0 {
			t.Fatalf("%+v", changed)
		}
		if is := changed.Tasks[0].Judge; !cmp.Equal(is.Files, tk.Judge.Files) || string(is.Patch) != string(tk.Judge.Patch) {
			t.Errorf("%+v", is)
		}
	}
}

// Older files lack keys; the prompt may stand in its own file only, below a heading that names
// the pull request.
func TestThePromptFileIsReadWithoutItsHeading(t *testing.T) {
	text := strings.Replace(theirs, "prompt: |\n  Limit the number of retries.\n", "", 1)
	dir := folder(t, map[string]string{"a/b/workspace.yaml": text, "a/b/prompt.md": "# acme/widgets-412\n\nLimit them.\n", "a/b/original_pr.md": "secret"})
	got := sweforge.Read(dir, task.ReadOptions{Forge: "file:///srv/"})
	if len(got.Tasks) != 1 || got.Tasks[0].Instruction != "Limit them.\n" || got.Tasks[0].Repo.URL != "file:///srv/acme/widgets" {
		t.Errorf("%+v", got)
	}
}

func TestWorkspacesThatCannotBeUsedAreTold(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"no yaml":          {"meta:", "meta: [", "is no workspace: line "},
		"a list":           {theirs, "- a\n", "is no workspace"},
		"empty":            {theirs, "", "is empty"},
		"laughs":           {theirs, "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\nmeta: {x: *f}\n", "is no workspace"},
		"no id":            {"id: acme/widgets-412", "id: ''", `"id" is "", which is no name`},
		"bad id":           {"id: acme/widgets-412", "id: ../../etc", "which is no name for a task"},
		"no commit":        {"base_commit: " + commit, "base_commit: main", "which is no commit"},
		"no repository":    {"repo: acme/widgets", "repo: widgets", "not written owner/name"},
		"nothing to fix":   {"fail_to_pass:\n- cd pkg && go test -run TestRetryBudget ./...", "fail_to_pass: []", "no test has to be made to pass"},
		"an empty command": {"- go test ./internal/...", "- ' '", "or an empty one"},
		"both ways":        {"- go test ./internal/...", "- cd pkg && go test -run TestRetryBudget ./...", "has to fail and to pass before the change"},
		"a file outside":   {"pkg/retry_test.go", "../retry_test.go", `the test file "../retry_test.go" is not below /repo`},
		"a file of git":    {"pkg/retry_test.go", ".git/hooks/x", "is not below /repo"},
		"an absolute file": {"pkg/retry_test.go", "/etc/passwd", "is not below /repo"},
		"no files":         {`'[{"path"`, `'{"path"`, "is no list of files"},
		"no prompt":        {"prompt: |\n  Limit the number of retries.\n", "", `"prompt" is missing`},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(theirs, c.old, c.new, 1)
			if text == theirs {
				t.Fatal("nothing was changed")
			}
			got := read(t, text)
			if len(got.Tasks) != 0 || len(got.Problems) == 0 || !strings.Contains(got.Problems[0].Text, c.want) || got.Problems[0].File != "acme/widgets-412/workspace.yaml" {
				t.Errorf("%d tasks, problems %+v, want %q", len(got.Tasks), got.Problems, c.want)
			}
		})
	}
}

func TestSourcesThatHoldNoWorkspace(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"nothing": {nil, "holds no workspace.yaml"},
		"parquet": {map[string]string{"train.parquet": "PAR1"}, "hold neither the tests nor the packages to install"},
		"hidden":  {map[string]string{".git/workspace.yaml": theirs}, "holds no workspace.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			got := sweforge.Read(folder(t, c.files), task.ReadOptions{})
			if len(got.Tasks) != 0 || len(got.Problems) != 1 || !strings.Contains(got.Problems[0].Text, c.want) {
				t.Errorf("%+v, want %q", got, c.want)
			}
		})
	}
	dir := folder(t, map[string]string{"a/workspace.yaml": theirs, "b/workspace.yaml": theirs, "c/prompt.md": "x"})
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "c", "workspace.yaml")); err != nil {
		t.Fatal(err)
	}
	got := sweforge.Read(dir, task.ReadOptions{})
	if len(got.Tasks) != 1 || len(got.Problems) != 2 || got.Problems[0].Text != "is there twice" || !strings.Contains(got.Problems[1].Text, "path escapes") {
		t.Errorf("%d tasks, problems %+v", len(got.Tasks), got.Problems)
	}
}

// tested names tests and runs one command for all of them.
func tested(t *testing.T) task.Task {
	t.Helper()
	tk := only(t, theirs)
	tk.Name, tk.Metadata = "acme__widgets-413", map[string]string{"language": "go"}
	tk.Judge.Files, tk.Judge.Parser, tk.Judge.Timeout, tk.Judge.Network = nil, "gotest", 10*time.Minute, false
	tk.Judge.Patch = []byte("diff --git a/w_test.go b/w_test.go\r\n\t\n \ttrailing \n")
	tk.Judge.Command.Shell = "go test -v ./..."
	tk.Work.Setup = []string{"go mod download # all", "make"}
	tk.FailToPass = []string{"example.com/w::TestA", "example.com/w::TestB", "example.com/w::TestC/it's (1)"}
	tk.PassToPass = []string{"example.com/w/x::TestD"}
	return tk
}

// swe-forge's harness runs commands; the names are kept beside them.
func TestNamesOfTestsAreWrittenAsCommandsToo(t *testing.T) {
	want := tested(t)
	dir := t.TempDir()
	if problems, err := sweforge.Write(dir, []task.Task{want}, nil); err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	file := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, "acme__widgets-413", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	checks := `go test -count=1 -run '^(TestA|TestB)$' example.com/w
go test -count=1 -run '^TestC$/^it'\''s \(1\)$' example.com/w
go test -count=1 -run '^(TestD)$' example.com/w/x`
	if diff := cmp.Diff(checks, file("checks.txt")); diff != "" {
		t.Error(diff)
	}
	if prompt := file("prompt.md"); prompt != want.Instruction {
		t.Errorf("the prompt is %q", prompt)
	}
	text := file("workspace.yaml")
	for _, line := range []string{
		"\nfail_to_pass:\n    - go test -count=1 -run '^(TestA|TestB)$' example.com/w\n",
		"\nfail_to_pass_tests:\n    - example.com/w::TestA\n", "\nlog_parser: gotest\n", "\ntest_command: go test -v ./...\n",
		"( go mod download # all", "\nquality_score: null\n", "\nworkspace_path: null\n", "\nstatus: ready\n",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("%q is not in\n%s", line, text)
		}
	}
	got := sweforge.Read(dir, task.ReadOptions{})
	if diff := cmp.Diff([]task.Task{want}, got.Tasks); diff != "" || len(got.Notices)+len(got.Problems) > 0 {
		t.Error(got.Problems, got.Notices, diff)
	}
	// Another commit makes it another task, which the names of tests still judge.
	changed := read(t, strings.Replace(text, commit, commit[:39]+"a", 1))
	if len(changed.Tasks) != 1 || len(changed.Notices) == 0 || !strings.Contains(changed.Notices[0].Text, `key "assayd" is passed over`) {
		t.Fatalf("%d tasks, problems %+v, notices %+v", len(changed.Tasks), changed.Problems, changed.Notices)
	}
	if tk := changed.Tasks[0]; tk.Judge.Network || !cmp.Equal(tk.FailToPass, want.FailToPass) || tk.Judge.Command.Shell != "go test -v ./..." || tk.Judge.Parser != "gotest" {
		t.Errorf("%+v", tk)
	}
}

func TestWhatNoWorkspaceCanHoldIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*task.Task)
		want   string
	}{
		"no repository": {func(tk *task.Task) { tk.Repo = nil }, "not made of a repository"},
		"a tree":        {func(tk *task.Task) { tk.Work.Context.Digest = strings.Repeat("0", 64) }, "holds text only"},
		"a runner":      {func(tk *task.Task) { tk.Judge.Parser = "score_sum" }, "none is known for the tests of score_sum"},
		"a file":        {func(tk *task.Task) { tk.Judge.Files = map[string]string{"/etc/x": ""} }, "/etc/x is outside of the repository"},
		"another text":  {func(tk *task.Task) { tk.Judge.Env = map[string]string{"A": "\xff"} }, "no UTF-8"},
		"a game":        {func(tk *task.Task) { tk.Judge.Game = "x" }, "it is a game"},
	} {
		t.Run(name, func(t *testing.T) {
			tk := tested(t)
			c.change(&tk)
			dir := t.TempDir()
			problems, err := sweforge.Write(dir, []task.Task{tk}, nil)
			if err != nil || len(problems) == 0 || problems[0].Task != tk.Name || !strings.Contains(problems[0].Text, c.want) {
				t.Errorf("%+v, %v, want %q", problems, err, c.want)
			}
		})
	}
}

func TestTestsThatNoLineChoosesAreRunByTheWholeCommand(t *testing.T) {
	for _, parser := range []string{"tap", "junit", "ctrf", "django"} {
		want := tested(t)
		want.Judge.Parser, want.Judge.Command.Shell = parser, "make check"
		dir := t.TempDir()
		problems, err := sweforge.Write(dir, []task.Task{want}, nil)
		if err != nil || len(problems) > 0 {
			t.Fatalf("%s: %+v, %v", parser, problems, err)
		}
		checks, err := os.ReadFile(filepath.Join(dir, want.Name, "checks.txt"))
		if err != nil || string(checks) != "make check" {
			t.Errorf("%s: checks.txt is %q, %v", parser, checks, err)
		}
		got := sweforge.Read(dir, task.ReadOptions{})
		if diff := cmp.Diff([]task.Task{want}, got.Tasks); diff != "" || len(got.Notices)+len(got.Problems) > 0 {
			t.Error(parser, got.Problems, got.Notices, diff)
		}
	}
}

// TestTheSummaryKeepsControlsApart: what the oracle and nop reach is in no count of the agents.
func TestTheSummaryKeepsControlsApart(t *testing.T) {
	got := sweforge.NewSummary([]sweforge.Result{
		{TaskID: "a", Agent: "oracle", Control: true, Status: "resolved", AgentDurationSecs: 1},
		{TaskID: "a", Agent: "x", Status: "unresolved", AgentDurationSecs: 9},
		{TaskID: "a", Agent: "nop", Control: true, Status: "unresolved"},
		{TaskID: "b", Agent: "oracle", Control: true, Status: "setup_error"},
	})
	want := sweforge.Counts{Total: 1, Unresolved: 1, AvgAgentTimeSecs: 9}
	controls := map[string]sweforge.Counts{
		"oracle": {Total: 2, Resolved: 1, SetupError: 1, AvgAgentTimeSecs: 1}, "nop": {Total: 1, Unresolved: 1},
	}
	if diff := cmp.Diff(want, got.Counts) + cmp.Diff(controls, got.Controls); diff != "" || len(got.Results) != 4 {
		t.Errorf("%d results, and (-want +got):\n%s", len(got.Results), diff)
	}
}

func TestTheSummaryHasTheFieldsOfTheHarness(t *testing.T) {
	took := int64(7)
	results := []sweforge.Result{
		{
			TaskID: "a", Repo: "o/a", Agent: "x", Status: "resolved", SanityCheck: true, AgentDurationSecs: 10, TotalDurationSecs: 20.5,
			AgentOutput: strings.Repeat("é", 5001), FailToPass: []sweforge.Test{{Command: "t <1>", Stdout: strings.Repeat("x", 3000), Passed: true, ExitCode: new(int), DurationMS: &took}},
		},
		{TaskID: "b", Repo: "o/b", Status: "infra_error", Error: "gone"},
		{TaskID: "c", Repo: "o/c", Status: "agent_error", AgentDurationSecs: 10.33},
	}
	got, err := sweforge.NewSummary(results).JSON()
	want := `{
  "total": 3,
  "resolved": 1,
  "unresolved": 0,
  "agent_error": 1,
  "test_error": 0,
  "setup_error": 0,
  "sanity_fail": 0,
  "infra_error": 1,
  "cancelled": 0,
  "avg_agent_time_secs": 10.2,
  "results": [
    {
      "task_id": "a",
      "repo": "o/a",
      "agent": "x",
      "status": "resolved",
      "sanity_check": true,
      "fail_to_pass": [
        {
          "command": "t <1>",
          "exit_code": 0,
          "stdout": "` + strings.Repeat("x", 2000) + `",
          "stderr": "",
          "passed": true,
          "duration_ms": 7
        }
      ],
      "pass_to_pass": [],
      "agent_duration_secs": 10,
      "total_duration_secs": 20.5,
      "agent_output": "` + strings.Repeat("é", 5000) + `"
    },
    {
      "task_id": "b",
      "repo": "o/b",
      "agent": "",
      "status": "infra_error",
      "sanity_check": false,
      "fail_to_pass": [],
      "pass_to_pass": [],
      "agent_duration_secs": 0,
      "total_duration_secs": 0,
      "agent_output": "",
      "error": "gone"
    },
    {
      "task_id": "c",
      "repo": "o/c",
      "agent": "",
      "status": "agent_error",
      "sanity_check": false,
      "fail_to_pass": [],
      "pass_to_pass": [],
      "agent_duration_secs": 10.33,
      "total_duration_secs": 0,
      "agent_output": ""
    }
  ]
}
`
	if diff := cmp.Diff(want, string(got)); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestNamesAreThoseOfTheOriginal(t *testing.T) {
	for _, tt := range []struct {
		task     task.Task
		id, repo string
	}{
		{task.Task{Name: "acme__widgets-412", Metadata: map[string]string{"id": "acme/widgets-412"}, Repo: &task.Repo{URL: "https://github.com/acme/widgets"}}, "acme/widgets-412", "acme/widgets"},
		{task.Task{Name: "one", Metadata: map[string]string{"id": "another"}, Repo: &task.Repo{URL: "file:///srv/acme/widgets.git"}}, "one", "acme/widgets"},
		{task.Task{Name: "one", Metadata: map[string]string{"repo": "acme/widgets"}}, "one", "acme/widgets"},
		{task.Task{Name: "one"}, "one", ""},
	} {
		if id, repo := sweforge.Names(tt.task); id != tt.id || repo != tt.repo {
			t.Errorf("%q, %q; want %q, %q", id, repo, tt.id, tt.repo)
		}
	}
}
