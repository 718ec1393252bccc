package output

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/folder"
	"github.com/assayd/assayd/runtime/task/harbor"
	"github.com/assayd/assayd/runtime/task/sforge"
	"github.com/assayd/assayd/runtime/task/swebench"
	"github.com/assayd/assayd/runtime/task/sweforge"
	"github.com/assayd/assayd/runtime/task/tasktest"
)

const fix = `diff --git a/calc/add.py b/calc/add.py
index 1111111111111111111111111111111111111111..2222222222222222222222222222222222222222 100644
--- a/calc/add.py
+++ b/calc/add.py
@@ -1,2 +1,2 @@
 def add(a, b):
-    return a - b
+    return a + b
`

const tests = `diff --git a/tests/test_add.py b/tests/test_add.py
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

// mined is a Python repository whose tests come with the pull request.
func mined() Mined {
	return Mined{
		Task: task.Task{
			Name: "acme-calc-12", Title: "Addition", Platform: "linux/amd64", Workdir: "/workspace/calc", Instruction: "add subtracts.\n\nIt should add.\n",
			Network: task.Network{Mode: "none"},
			Submit:  task.Submit{Paths: []string{"."}, Exclude: []string{"tests/test_add.py"}, MaxBytes: 1 << 28, MaxFiles: 50_000},
			Image:   "registry.example/mined/acme-calc@sha256:" + strings.Repeat("0123456789abcdef", 4),
			Repo:    &task.Repo{URL: "https://github.com/acme/calc", Commit: strings.Repeat("0123456789", 4)},
			Work:    task.Part{CPUs: 2, Memory: 4 << 30, PIDs: 512, Disk: 10 << 30, Setup: []string{"pip install --no-index -e ."}, Env: map[string]string{"PYTHONPATH": "src"}},
			Judge: task.Judge{
				Part: task.Part{CPUs: 1, Memory: 2 << 30, PIDs: 512, Disk: 10 << 30, Env: map[string]string{"PYTHONPATH": "src"}}, Patch: []byte(tests),
				Command: task.Command{Shell: "python3 -m pytest -rA tests/test_add.py"}, Timeout: 10 * time.Minute,
				Parser: "pytest", Select: "pass_rate_first", Direction: "maximize", Feedback: "names",
			},
			FailToPass: []string{"tests/test_add.py::test_one"}, PassToPass: []string{"tests/test_add.py::test_zero"},
			Solution: &task.Solution{Patch: []byte(fix)},
		},
		Provenance: Provenance{
			Repo: "acme/calc", License: "MIT", URL: "https://github.com/acme/calc/pull/12", Number: 12, Base: strings.Repeat("0123456789", 4), Merge: strings.Repeat("abcdef0123", 4),
			MergedAt: time.Date(2026, 7, 2, 12, 8, 30, 0, time.UTC), Language: "python", Difficulty: "medium", DifficultyScore: 0.55, QualityScore: 0.8,
			Image: "assayd/env:1", ImageDigest: "sha256:" + strings.Repeat("0", 64),
			BaseImage: "python:3.12", BaseImageDigest: "sha256:" + strings.Repeat("1", 64), BaseRegistryDigest: "sha256:" + strings.Repeat("2", 64),
			Model: "openai/gpt-5.2-codex:nitro", InputTokens: 120_000, OutputTokens: 4_000, CostUSD: 0.125,
			Hunks: 5, Covered: 3, Flaky: TestsLeftOut([]string{"tests/test_add.py::test_now", "tests/test_add.py::test_x[\"\u2028]"}), Textual: TestsLeftOut([]string{"tests/test_add.py::test_text"}),
			MinedAt: time.Date(2026, 11, 23, 16, 0, 0, 0, time.UTC),
			Title:   "Add, not subtract", Body: "It is <wrong>.\r\n", AddedLines: 4, RemovedLines: 1, ChangedFiles: 2,
			TestFiles: map[string]string{"tests/test_add.py": "from calc.add import add\n\ndef test_one():\n    assert add(1, 1) == 2\n"},
		},
	}
}

// all are the kinds of tasks that mining makes.
func all() map[string]Mined {
	generated := mined()
	generated.Task.Name, generated.Provenance.Generated = "acme-calc-13", true
	generated.Task.Judge.Patch = nil
	generated.Task.Judge.Files = map[string]string{"tests/test_made.py": "from calc.add import add\n\ndef test_one():\n    assert add(1, 1) == 2\n"}
	generated.Task.Submit.Exclude = []string{"tests/test_made.py"}
	generated.Task.FailToPass, generated.Task.PassToPass = []string{"tests/test_made.py::test_one"}, nil
	both := mined()
	both.Task.Name = "acme-calc-14"
	both.Task.Judge.Files = generated.Task.Judge.Files
	both.Task.FailToPass = []string{"tests/test_add.py::test_one", "tests/test_made.py::test_one"}
	both.Provenance = Provenance{Repo: "acme/calc", Number: 14, Generated: true}
	golang := mined()
	golang.Task.Name, golang.Task.Image, golang.Task.Work.Setup = "acme-strs-7", "golang:1.26", nil
	golang.Task.Repo.URL = "https://github.com/acme/strs"
	golang.Task.Judge.Command.Shell, golang.Task.Judge.Parser = "go test -count=1 -json ./...", "gotest"
	golang.Task.Judge.Patch = []byte(strings.ReplaceAll(tests, "tests/test_add.py", "strs_test.go"))
	golang.Task.FailToPass, golang.Task.PassToPass = []string{"example.com/strs::TestCut", "example.com/strs::TestCut/empty"}, []string{"example.com/strs::TestJoin"}
	node := mined()
	node.Task.Name, node.Task.Image = "acme-way-442", "node:22"
	node.Task.Judge.Command.Shell, node.Task.Judge.Parser = "node --test test/", "node"
	node.Task.Judge.Patch = []byte(strings.ReplaceAll(tests, "tests/test_add.py", "test/way.test.js"))
	node.Task.FailToPass, node.Task.PassToPass = []string{"finds a way", "ways > do not collide"}, []string{"old way"}
	odd := mined()
	odd.Task.Name = "acme-odd-9"
	odd.Task.Solution.Patch = []byte("diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\r\n-two \t\r\n+\t2\r\n\\ No newline at end of file\n" +
		"diff --git a/p.bin b/p.bin\nindex 1111111111111111111111111111111111111111..2222222222222222222222222222222222222222 100644\nGIT binary patch\nliteral 3\nKcmZQzU|?imU|<IT1ONab\n\nliteral 3\nKcmZQzU|?imU|;|N2LJ&c\n\n")
	odd.Task.Instruction = "  \tüñí \"quotes\": 'x' # no\r\n\n---\n%YAML\n\n"
	odd.Task.PassToPass = []string{"tests/test_add.py::test_x[a: b-\u2028]", "tests/test_add.py::test_y['\\n']"}
	return map[string]Mined{"upstream tests": mined(), "odd texts": odd, "generated tests": generated, "both kinds of tests": both, "a Go repository": golang, "a node repository": node}
}

func readers() map[string]func(string, task.ReadOptions) task.Dataset {
	return map[string]func(string, task.ReadOptions) task.Dataset{
		"sweforge": sweforge.Read, "harbor": harbor.Read, "sforge": sforge.Read, "swebench": swebench.Read, "parquet": swebench.Read,
	}
}

func write(t *testing.T, dir string, m Mined, formats ...string) {
	t.Helper()
	if err := Write(t.Context(), dir, formats, m, &tasktest.Trees{}); err != nil {
		t.Fatal(err)
	}
}

// read gives the tasks of a dataset, which must have nothing else to tell.
func read(t *testing.T, format, dir string) []task.Task {
	t.Helper()
	got := readers()[format](dir, task.ReadOptions{Trees: &tasktest.Trees{}, Image: "another:1"})
	if len(got.Problems)+len(got.Notices) > 0 {
		t.Errorf("%s: problems %+v, notices %+v", format, got.Problems, got.Notices)
	}
	slices.SortFunc(got.Tasks, func(a, b task.Task) int { return strings.Compare(a.Name, b.Name) })
	return got.Tasks
}

func TestWhatIsMinedIsReadBackFromEachFormatAsTheSameTask(t *testing.T) {
	for name, m := range all() {
		for format := range readers() {
			t.Run(name+" as "+format, func(t *testing.T) {
				t.Parallel()
				dir := filepath.Join(t.TempDir(), "out")
				write(t, dir, m, format)
				want := folder.Unnamed(m.Provenance.in(m.Task))
				if diff := cmp.Diff([]task.Task{want}, read(t, format, dir)); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestADatasetGrowsTaskByTaskAndEqualOnesChangeNothing(t *testing.T) {
	for format := range readers() {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			tasks := all()
			var want []task.Task
			for _, name := range slices.Sorted(maps.Keys(tasks)) {
				write(t, dir, tasks[name], format)
				want = append(want, tasks[name].Provenance.in(tasks[name].Task))
			}
			slices.SortFunc(want, func(a, b task.Task) int { return strings.Compare(a.Name, b.Name) })
			if diff := cmp.Diff(want, read(t, format, dir)); diff != "" {
				t.Fatal(diff)
			}
			before := state(t, dir)
			for _, m := range tasks {
				write(t, dir, m, format)
			}
			if diff := cmp.Diff(before, state(t, dir)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// state is what there is in a folder, by name: contents, and the times of files.
func state(t *testing.T, dir string) map[string]string {
	t.Helper()
	all, err := content(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name := range all {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().IsRegular() {
			all[name] += " " + strconv.FormatInt(info.ModTime().UnixNano(), 10)
		}
		if strings.HasPrefix(filepath.Base(name), stagePrefix) {
			t.Errorf("%s is left", name)
		}
	}
	return all
}

func TestATaskThatHasChangedTakesThePlaceOfWhatItWas(t *testing.T) {
	for format := range readers() {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			other := all()["a Go repository"]
			write(t, dir, other, format)
			m := all()["both kinds of tests"]
			write(t, dir, m, format)
			m.Task.Judge.Files, m.Task.Instruction = nil, "Something else.\n"
			m.Task.FailToPass = m.Task.FailToPass[:1]
			write(t, dir, m, format)
			want := []task.Task{m.Provenance.in(m.Task), other.Provenance.in(other.Task)}
			if diff := cmp.Diff(want, read(t, format, dir)); diff != "" {
				t.Error(diff)
			}
			for name := range state(t, dir) {
				if strings.Contains(name, "test_made") {
					t.Errorf("%s is left", name)
				}
			}
		})
	}
}

func TestSeveralFormatsHaveAFolderEach(t *testing.T) {
	dir, m := t.TempDir(), mined()
	formats := slices.Sorted(maps.Keys(readers()))
	write(t, dir, m, formats...)
	for _, format := range formats {
		if diff := cmp.Diff([]task.Task{m.Provenance.in(m.Task)}, read(t, format, filepath.Join(dir, format))); diff != "" {
			t.Errorf("%s: %s", format, diff)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(formats) {
		t.Errorf("%v, %v", entries, err)
	}
}

// Formats with no file for it have the numbers of the proof and the images in the metadata.
func TestWhereATaskComesFromStandsInEachFormat(t *testing.T) {
	for format := range readers() {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			dir, m := t.TempDir(), mined()
			write(t, dir, m, format)
			got := read(t, format, dir)[0].Metadata
			for name, want := range map[string]string{
				"hunks": "5", "covered_hunks": "3", "flaky_tests": "2", "textual_tests": "1",
				"environment_image": m.Provenance.Image, "environment_digest": m.Provenance.ImageDigest, "environment_base": "python:3.12",
				"environment_base_digest": m.Provenance.BaseImageDigest, "environment_base_registry_digest": m.Provenance.BaseRegistryDigest,
			} {
				if got[name] != want {
					t.Errorf("%s is %q, not %q", name, got[name], want)
				}
			}
		})
	}
}

func TestOfManyTestsThatAreLeftOutTheFirstAreNamed(t *testing.T) {
	many, long := make([]string, 2000), []string{strings.Repeat("a", 100<<10), strings.Repeat("b", 100<<10)}
	for i := range many {
		many[i] = strconv.Itoa(i)
	}
	for name, c := range map[string]struct{ names, told []string }{
		"none": {nil, []string{}}, "some": {many[:3], many[:3]}, "many": {many, many[:1000]}, "long ones": {long, long[:1]},
	} {
		if diff := cmp.Diff(LeftOut{Count: len(c.names), Names: c.told}, TestsLeftOut(c.names)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestWhereATaskComesFromStandsBesideIt(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, mined(), "sweforge", "harbor", "swebench", "sforge")
	want, err := mined().Provenance.json()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sweforge/acme-calc-12", "harbor/acme-calc-12", "swebench/tasks/acme-calc-12"} {
		got, err := os.ReadFile(filepath.Join(dir, name, aboutFile))
		if err != nil || string(got) != string(want) {
			t.Errorf("%s: %s %v", name, got, err)
		}
	}
	workspace, err := os.ReadFile(filepath.Join(dir, "sweforge/acme-calc-12/workspace.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"id: acme-calc-12\n", "repo: acme/calc\n", "language: python\n", "difficulty_score: 2\n", "quality_score: 0.8\n", "quality_passed: true\n", "  difficulty: medium\n", "created_at: \"2026-07-02T12:08:30Z\"\n",
		"    added_lines: \"4\"\n", "    removed_lines: \"1\"\n", "    files_changed: \"2\"\n", "    pr_title: Add, not subtract\n", "original_pr_body: \"acme/calc (#12): Add, not subtract\\n\\nIt is <wrong>.\\r\\n\"\n",
		"    test_files: '[{\"path\":\"tests/test_add.py\",\"content\":\"from calc.add import add\\n\\ndef test_one():\\n    assert add(1, 1) == 2\\n\"}]'\n",
	} {
		if !strings.Contains(string(workspace), line) {
			t.Errorf("no %q in %s", line, workspace)
		}
	}
	if text := string(workspace); strings.Contains(text, "test_patch: \"\"") || !strings.Contains(text, "test_one") {
		t.Error("the test patch is empty")
	}
}

// What is removed leaves a dataset as it was before, and is nothing but that very task.
func TestATaskIsTakenOutAgain(t *testing.T) {
	for format := range readers() {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "out")
			first, second, later := mined(), all()["odd texts"], mined()
			second.Provenance.URL = "https://github.com/acme/odd/pull/9"
			later.Provenance.MinedAt = later.Provenance.MinedAt.Add(time.Hour)
			remove := func(m Mined) {
				t.Helper()
				if err := Remove(t.Context(), dir, []string{format}, m, &tasktest.Trees{}); err != nil {
					t.Fatal(err)
				}
			}
			is := func() map[string]string {
				t.Helper()
				all, err := content(dir)
				if err != nil {
					t.Fatal(err)
				}
				return all
			}
			remove(first) // there is not even a folder
			write(t, dir, first, format)
			before := is()
			write(t, dir, second, format)
			remove(second)
			if diff := cmp.Diff(before, is()); diff != "" {
				t.Errorf("it was not taken out: -want +got\n%s", diff)
			}
			remove(second)
			remove(later)
			if diff := cmp.Diff(before, is()); diff != "" {
				t.Errorf("another was taken out: -want +got\n%s", diff)
			}
			remove(first)
			left, err := filepath.Glob(filepath.Join(dir, "*"))
			if left = slices.DeleteFunc(left, func(name string) bool { return filepath.Base(name) == "tasks" }); err != nil || len(left) > 0 {
				t.Errorf("%q are left, %v", left, err)
			}
		})
	}
}

func TestWhatAFormatCannotHoldIsWrittenInNone(t *testing.T) {
	dir, m := t.TempDir(), mined()
	m.Task.Private = &task.Private{}
	err := Write(t.Context(), dir, []string{"parquet", "sforge", "sweforge", "swebench", "harbor"}, m, &tasktest.Trees{})
	refused, ok := errors.AsType[*Refused](err)
	if !ok || refused.Task != m.Task.Name || refused.Format == "" || !strings.Contains(err.Error(), "private set") {
		t.Errorf("%v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

// The list of what has been decided may stand beside the tasks.
func TestOtherFilesBesideATable(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"prs.jsonl", "sweb.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(`{"repo":"acme/calc","pr":12}`+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"acme-calc-12", "acme-calc-13"} {
		m := mined()
		m.Task.Name = name
		if err := Write(t.Context(), dir, []string{"parquet"}, m, &tasktest.Trees{}); err != nil {
			t.Fatal(err)
		}
	}
	all := swebench.Read(filepath.Join(dir, "test.parquet"), task.ReadOptions{Trees: &tasktest.Trees{}})
	if len(all.Tasks) != 2 || len(all.Problems) > 0 {
		t.Errorf("%d tasks, %v", len(all.Tasks), all.Problems)
	}
}

func TestNothingIsLostOfADatasetThatCannotBeRead(t *testing.T) {
	for format, file := range map[string]string{"sforge": "broken.json", "swebench": "tasks/broken/task.yaml", "parquet": tableFile} {
		dir := t.TempDir()
		write(t, dir, mined(), format)
		at := filepath.Join(dir, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte("\x00: ["), 0o644)); err != nil {
			t.Fatal(err)
		}
		before := state(t, dir)
		other := all()["a Go repository"]
		err := Write(t.Context(), dir, []string{format}, other, &tasktest.Trees{})
		if _, refused := errors.AsType[*Refused](err); err == nil || refused || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", format, err)
		}
		if diff := cmp.Diff(before, state(t, dir)); diff != "" {
			t.Errorf("%s: %s", format, diff)
		}
	}
}

func TestWhatACrashLeftIsSeenByNobodyAndRemoved(t *testing.T) {
	for format := range readers() {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			dir, m := t.TempDir(), mined()
			other := all()["a Go repository"]
			write(t, dir, other, format)
			// What a writer that was killed between two steps has made.
			half := filepath.Join(dir, stagePrefix+"1234", format)
			tasks := []task.Task{m.Task, other.Task}
			if _, err := formats()[format].write(half, tasks, &tasktest.Trees{}); err != nil {
				t.Fatal(err)
			}
			if got := read(t, format, dir); len(got) != 1 {
				t.Errorf("%d tasks are seen", len(got))
			}
			parts := formats()[format].parts(m.Task.Name)
			for n := range parts { // the first n parts had come to be there
				for _, part := range parts[:n] {
					from := filepath.Join(half, part)
					if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
						continue // in an earlier turn
					}
					if err := (&stage{dir: filepath.Join(dir, stagePrefix+"1234")}).publish(from, filepath.Join(dir, part)); err != nil {
						t.Fatal(err)
					}
				}
				for _, got := range read(t, format, dir) {
					if got.Name == other.Task.Name && !cmp.Equal(got, other.Provenance.in(other.Task)) {
						t.Errorf("after %d steps the other task is another one", n)
					}
				}
			}
			write(t, dir, m, format)
			state(t, dir)
			want := []task.Task{m.Provenance.in(m.Task), other.Provenance.in(other.Task)}
			if diff := cmp.Diff(want, read(t, format, dir)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWritersOfOneFolderTakeTurns(t *testing.T) {
	dir := t.TempDir()
	done := make(chan error)
	tasks := slices.Collect(maps.Values(all()))
	for _, m := range tasks {
		go func() { done <- Write(t.Context(), dir, []string{"swebench", "sforge"}, m, &tasktest.Trees{}) }()
	}
	for range tasks {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	for _, format := range []string{"swebench", "sforge"} {
		if got := read(t, format, filepath.Join(dir, format)); len(got) != len(tasks) {
			t.Errorf("%d tasks as %s", len(got), format)
		}
	}
	unlock, err := lock(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("stopped"))
	if err := Write(ctx, dir, []string{"sforge"}, mined(), &tasktest.Trees{}); err == nil || !strings.Contains(err.Error(), "stopped") {
		t.Error(err)
	}
}

func TestNamesThatAreNoneAreRefused(t *testing.T) {
	for _, name := range []string{"", ".", "..", "a/b", ".hidden", "/etc", `a\b`} {
		m := mined()
		m.Task.Name = name
		if err := Write(t.Context(), t.TempDir(), []string{"sweforge"}, m, &tasktest.Trees{}); err == nil {
			t.Errorf("%q is written", name)
		}
	}
	for _, formats := range [][]string{nil, {"sweforge", "docx"}} {
		if err := Write(t.Context(), t.TempDir(), formats, mined(), &tasktest.Trees{}); err == nil {
			t.Errorf("%q is written", formats)
		}
	}
}

// TestNothingIsWrittenOverALinkInTheFolder: who may put a link there, as a commit of a repository
// does, may not say where else this process writes.
func TestNothingIsWrittenOverALinkInTheFolder(t *testing.T) {
	for name, at := range map[string]struct {
		link    string
		formats []string
	}{
		"a dataset":        {"harbor", []string{"harbor", "sforge"}},
		"a part of one":    {"tasks", []string{"swebench"}},
		"a part, of many":  {"swebench/tasks", []string{"swebench", "harbor"}},
		"a link to itself": {"harbor", []string{"harbor", "sforge"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, outside := t.TempDir(), t.TempDir()
			link, to := filepath.Join(dir, at.link), outside
			if name == "a link to itself" {
				to = link
			}
			if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(to, link)); err != nil {
				t.Fatal(err)
			}
			m := mined()
			if err := Write(t.Context(), dir, at.formats, m, &tasktest.Trees{}); err == nil {
				t.Error("it was written")
			}
			if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
				t.Errorf("elsewhere is %v, %v", entries, err)
			}
		})
	}
}
