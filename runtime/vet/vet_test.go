package vet

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

// report is what a judge says when these tests came out like that: "a+ b- c~".
func report(tests string) Run {
	r := round.Report{Status: round.StatusOK, Valid: true, JudgeMS: 1000}
	for word := range strings.FieldsSeq(tests) {
		name, how := word[:len(word)-1], word[len(word)-1]
		t := parser.Test{Name: name, Status: map[byte]parser.Status{'+': parser.Passed, '-': parser.Failed, '~': parser.Skipped}[how]}
		if r.TotalTests++; how == '+' {
			r.Passed++
		} else {
			t.Message = "assert 3 == 5"
		}
		r.Tests = append(r.Tests, t)
	}
	r.PassRate = float64(r.Passed) / float64(max(r.TotalTests, 1))
	return Run{Report: r}
}

func changed(r Run, change func(*Run)) Run { change(&r); return r }

func TestWhatAllJudgingsOfATaskShow(t *testing.T) {
	both := func(r Run) []Run { return []Run{r, r} }
	score := func(x float64) Run {
		return changed(report("a-"), func(r *Run) { r.Report.Score = &x })
	}
	honest := Runs{Oracle: both(report("a+ b+")), Nop: both(report("a- b+")), Empty: []Run{report("a- b+")}}
	with := func(change func(*Runs)) Runs { r := honest; change(&r); return r }
	for _, c := range []struct {
		name    string
		task    task.Task
		runs    Runs
		verdict string
		want    []string // "check: words of it"
	}{
		{name: "sound", runs: honest, verdict: Sound},
		{name: "no solution", runs: with(func(r *Runs) { r.Oracle = nil }), verdict: "flagged", want: []string{"oracle: there is no solution"}},
		{name: "a solution that fails", runs: with(func(r *Runs) { r.Oracle = both(report("a+ b-")) }), verdict: "broken", want: []string{"oracle: passes 0 of 2 times; 1 of 2 tests pass; b fails (assert 3 == 5)"}},
		{name: "a solution that does not apply", runs: with(func(r *Runs) { r.Oracle = both(Run{Lost: "the patch does not apply: line 3"}) }), verdict: "broken", want: []string{"oracle: 0 of 2 times; the patch does not apply"}},
		{name: "a solution that looks tampered with", runs: with(func(r *Runs) {
			r.Oracle = both(changed(report("a+ b+"), func(r *Run) { r.Report.Tampered, r.Report.Problem = true, "the added test passed" }))
		}), verdict: "broken", want: []string{"oracle: 0 of 2 times"}},
		{name: "an untouched tree that passes", runs: with(func(r *Runs) { r.Nop, r.Empty = both(report("a+ b+")), both(report("a+ b+")) }), verdict: "broken", want: []string{"nop: all tests pass before any change", "empty_patch: passes"}},
		{name: "a test to be made to pass that passes", task: task.Task{FailToPass: []string{"b"}}, runs: honest, verdict: "broken", want: []string{"nop: b of fail_to_pass passes"}},
		{name: "a test not to be broken that fails", task: task.Task{PassToPass: []string{"a"}}, runs: honest, verdict: "broken", want: []string{"nop: a of pass_to_pass fails"}},
		{name: "an untouched tree of which nothing is known", runs: with(func(r *Runs) {
			r.Nop = both(Run{Report: round.Report{Status: round.StatusInvalid, Problem: "no test result found"}})
			r.Empty = r.Nop
		}), verdict: "flagged", want: []string{"nop: no test result found"}},
		{name: "a judge command that cannot be run", runs: with(func(r *Runs) {
			r.Nop = both(Run{Report: round.Report{Status: round.StatusInvalid, NotRun: true, Problem: "not in the image"}})
			r.Empty = r.Nop
		}), verdict: "broken", want: []string{"nop: not in the image"}},
		{name: "a flip with the solution", runs: with(func(r *Runs) { r.Oracle = []Run{report("a+ b+"), report("a+ b-")} }), verdict: "broken", want: []string{"oracle: 1 of 2 times", "stable: b is not stable with the solution: failed 1×, passed 1×"}},
		{name: "a test that is not always seen", runs: with(func(r *Runs) { r.Nop = []Run{report("a- b+"), report("a- b+ c-")} }), verdict: "broken", want: []string{"stable: c is not stable on the untouched tree: failed 1×, not seen 2×"}},
		{name: "an adversary that passes", runs: with(func(r *Runs) { r.Cheats = map[string]Run{"exit-at-import": report("a+ b+")} }), verdict: "flagged", want: []string{"adversary: exit-at-import passes"}},
		{name: "an adversary that is found out", runs: with(func(r *Runs) {
			r.Cheats = map[string]Run{"patched-runner": changed(report("a+ b+"), func(r *Run) { r.Report.Tampered = true })}
		}), verdict: Sound},
		{name: "an adversary that gets further", runs: with(func(r *Runs) { r.Cheats = map[string]Run{"conftest-skip": report("a- b+ c+")} }), verdict: Sound, want: []string{"adversary: pass rate of 0.6667"}},
		{name: "an adversary with a better score", task: task.Task{Judge: task.Judge{Direction: "minimize"}}, runs: Runs{Oracle: both(report("a+")), Nop: both(score(9)), Cheats: map[string]Run{"printed-marks": score(2)}}, verdict: Sound, want: []string{"adversary: scores 2, where the untouched tree scores 9"}},
		{name: "an adversary with a worse score", task: task.Task{Judge: task.Judge{Direction: "maximize"}}, runs: Runs{Oracle: both(report("a+")), Nop: both(score(9)), Cheats: map[string]Run{"printed-marks": score(2)}}, verdict: Sound},
		{name: "little time left", task: task.Task{Judge: task.Judge{Timeout: 1200 * time.Millisecond}}, runs: honest, verdict: Sound, want: []string{"time: judging took 1s of 1.2s"}},
		{name: "little memory left", task: task.Task{Judge: task.Judge{Part: task.Part{Memory: 100 << 20}}}, runs: with(func(r *Runs) { r.Nop = both(changed(report("a- b+"), func(r *Run) { r.Memory = 90 << 20 })) }), verdict: Sound, want: []string{"memory: 90 MiB of 100 MiB"}},
		{name: "feedback that tells what is expected", task: task.Task{Judge: task.Judge{Feedback: "full"}}, runs: honest, verdict: Sound, want: []string{"feedback: a (assert 3 == 5)"}},
		{name: "feedback without what tests print", task: task.Task{Judge: task.Judge{Feedback: "full", Parser: "pytest_v"}}, runs: honest, verdict: Sound},
		{name: "feedback by names", task: task.Task{Judge: task.Judge{Feedback: "names"}}, runs: honest, verdict: Sound},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, findings := Conclude(c.task, c.runs)
			findings = Sorted(findings)
			if got := Verdict(findings); got != c.verdict {
				t.Errorf("the verdict is %q, want %q: %+v", got, c.verdict, findings)
			}
			for i, want := range c.want {
				name, words, _ := strings.Cut(want, ": ")
				if i >= len(findings) || !slices.ContainsFunc(findings, func(f Finding) bool { return f.Check == name && strings.Contains(f.Text, words) }) {
					t.Errorf("no finding %q among %+v", want, findings)
				}
			}
			if len(findings) != len(c.want) {
				t.Errorf("%d findings, want %d: %+v", len(findings), len(c.want), findings)
			}
		})
	}
}

const hiddenTest = `from answer import value

def test_the_answer_is_right():
    assert value("everything") == 42
def test_the_question_is_open():
    assert value("question") is None
def test_nothing_is_more_than_enough():
    assert value("") == 0
`

func TestWhatAnImageTells(t *testing.T) {
	const name = "/work/tests/test_answer.py"
	half := strings.Join(strings.SplitAfter(hiddenTest, "\n")[2:7], "")
	for _, c := range []struct {
		name     string
		there    string // what the untouched tree has in place of the hidden file
		goals    []string
		file     string
		content  string
		solution string // what it writes into /work/answer.py
		severity Severity
	}{
		{name: "nothing", file: "/work/answer.py", content: "def value(of):\n    return 1\n"},
		{name: "the hidden file elsewhere", file: "/opt/copy.txt", content: hiddenTest, severity: Flags},
		{name: "the hidden file as a diff", file: "/opt/x.diff", content: "+++ b/x\n+" + strings.ReplaceAll(hiddenTest, "\n", "\n+"), severity: Flags},
		{name: "most of it", file: "/opt/copy.txt", content: "# notes\n" + half, severity: Flags},
		{name: "a line or two of it", file: "/opt/copy.txt", content: "def test_the_answer_is_right():\n    assert value(\"everything\") == 42\n"},
		{name: "the hidden file in its place", there: hiddenTest, severity: Flags},
		{name: "one that holds no test to be made to pass", there: hiddenTest, goals: []string{"tests/test_other.py::test_a"}, severity: Warns},
		{name: "one that does", there: hiddenTest, goals: []string{"tests/test_answer.py::test_the_answer_is_right"}, severity: Flags},
		{name: "an older form in its place, and a copy of that", there: half, file: "/opt/copy.txt", content: half},
		{name: "what Python made of it", file: "/work/tests/__pycache__/test_answer.cpython-311.pyc", content: "\x00\x01", severity: Flags},
		{name: "what Python made of something else", file: "/work/tests/__pycache__/test_answers.cpython-311.pyc", content: "\x00\x01"},
		{name: "the solution", solution: "def value(of):\n    answers = {\"everything\": 42}\n    return answers.get(of, 0 if of == \"\" else None)\n", file: "/tmp/fix.patch", content: "+def value(of):\n+    answers = {\"everything\": 42}\n+    return answers.get(of, 0 if of == \"\" else None)\n", severity: Flags},
		{name: "less of the solution than says something", solution: "def value(of):\n    return 42\n", file: "/tmp/x", content: "def value(of):\n    return 42\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := NewSecrets([]Text{{name, []byte(hiddenTest)}, {"/work/tests/__init__.py", nil}}, []Text{{"/work/answer.py", []byte(c.solution)}}, c.goals, func(path string) ([]byte, bool) {
				return []byte(c.there), path == name && c.there != ""
			})
			s.Look("/work/tests/__init__.py", nil)
			if c.there != "" {
				s.Look(name, []byte(c.there))
			}
			if c.file != "" {
				s.Look(c.file, []byte(c.content))
			}
			found := Sorted(s.Found())
			var got Severity
			if len(found) > 0 {
				got = found[0].Severity
			}
			if got != c.severity || len(found) > 1 {
				t.Errorf("%+v, want %q", found, c.severity)
			}
		})
	}
}

// Lines that many files have say nothing about who copied them.
func TestWhatManyFilesHaveIsNobodysSecret(t *testing.T) {
	s := NewSecrets([]Text{{"/work/tests/test_a.py", []byte(hiddenTest)}}, nil, nil, func(string) ([]byte, bool) { return nil, false })
	for _, name := range []string{"/a", "/b", "/c", "/d"} {
		s.Look(name, []byte("# "+name+"\n"+hiddenTest))
	}
	if found := s.Found(); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}

func TestWhatAnInstructionTells(t *testing.T) {
	t.Parallel()
	base := strings.Repeat("ab12", 10)
	one := task.Task{
		Repo:       &task.Repo{Commit: base},
		FailToPass: []string{"tests/test_answer.py::Answers::test_the_answer[1]", "pkg::TestParse/empty", "make check"},
	}
	for text, want := range map[string]string{
		"Make it work.": "",
		"The bug of https://forge.example/a/b/issues/7, see `answer.py`.": "",
		"As in https://forge.example/a/b/pull/7.":                         "names the change",
		"Do what PR #812 did.":                                            "names the change",
		"The tree is at commit " + base[:10] + ".":                        "",
		"The fix is commit 0123abcd.":                                     "names a commit",
		"Make test_the_answer pass.":                                      "names the hidden test tests/test_answer.py",
		"test_the_answers":                                                "",
		"See test_answer.py for the rest.":                                "names the hidden file /work/tests/test_answer.py",
	} {
		one.Instruction = text
		found := ReadInstruction(one, []string{"/work/tests/test_answer.py", "/work/tests/data.json"})
		if (want == "") != (len(found) == 0) || want != "" && !strings.Contains(found[0].Text, want) {
			t.Errorf("%q: %+v, want %q", text, found, want)
		}
	}
}

// The number of the change is told in each of its forms, by the task's name or what is known of it.
func TestAnInstructionTellsTheNumberOfItsChange(t *testing.T) {
	t.Parallel()
	named := task.Task{Name: "acme__calc-640"}
	known := task.Task{Name: "sums", Metadata: map[string]string{"pull_number": "640"}}
	for text, want := range map[string]bool{
		"Mend sums (#640)": true, "Mend sums, see #640.": true, "#640": true, "As GH-640 has it": true, "acme/calc#640": true, "(!640)": true,
		"See #6401": false, "See #64": false, "640 sums": false, "&#640;": false, "a#640": false,
	} {
		for _, one := range []task.Task{named, known} {
			one.Instruction = text
			if found := ReadInstruction(one, nil); (len(found) > 0) != want {
				t.Errorf("%s, %q: %+v", one.Name, text, found)
			}
		}
		if found := ReadInstruction(task.Task{Name: "sums", Instruction: text}, nil); len(found) > 0 {
			t.Errorf("nothing says which number: %+v", found)
		}
	}
}

// Each adversary is made of the task: its language, its runner, its parser.
func TestAdversariesAreMadeOfTheTask(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		parser, command, source, content string
		want                             string // adversary:files
	}{
		{"pytest", "python3 -m pytest -q tests", "src/answer.py", "x = 1\n", "exit-at-import:src/answer.py exit-at-end:src/answer.py conftest-skip:conftest.py,src/conftest.py,tests/conftest.py " +
			"conftest-pass:conftest.py,src/conftest.py,tests/conftest.py configuration:adversary_plugin.py,pytest.ini,tox.ini,setup.cfg,pyproject.toml,package.json patched-runner:src/answer.py printed-marks:src/answer.py " +
			"printed-run:src/answer.py flooded-output:src/answer.py expected-failures:src/answer.py rewritten-tests:src/answer.py startup-hooks:sitecustomize.py,sitecustomize/__init__.py,usercustomize.py,adversary_hook.py,adversary.pth " +
			"derived-files:adversary_plugin.py,adversary.egg-info/PKG-INFO,adversary.egg-info/entry_points.txt test-helpers:tests/__init__.py"},
		{"exit_code", "python3 tests/check.py", "answer.py", "", "exit-at-import:answer.py exit-at-end:answer.py configuration:package.json"},
		{"gotest", "go test ./...", "pkg/sum/sum.go", "package sum\n", "exit-at-import:pkg/sum/zz_adversary.go configuration:package.json patched-runner:pkg/sum/zz_adversary.go printed-marks:pkg/sum/zz_adversary.go printed-run:pkg/sum/zz_adversary.go flooded-output:pkg/sum/zz_adversary.go " +
			"hidden-packages:pkg/sum/go.mod test-helpers:pkg/sum/zz_adversary_test.go"},
		{"jest", "npx jest", "lib/a.ts", "export const a = 1\n", "exit-at-import:lib/a.ts exit-at-end:lib/a.ts configuration:jest.config.js,.mocharc.json,package.json patched-runner:lib/a.ts printed-marks:lib/a.ts printed-run:lib/a.ts flooded-output:lib/a.ts " +
			"startup-hooks:zz-adversary.cjs,.npmrc derived-files:node_modules/.bin/jest,node_modules/jest/index.js,node_modules/.bin/mocha,node_modules/mocha/index.js,node_modules/.bin/tap,node_modules/tap/index.js"},
		{"cargo", "cargo test", "src/lib.rs", "pub fn a() {}\n", "exit-at-import:src/lib.rs configuration:package.json,.cargo/config.toml printed-marks:src/lib.rs printed-run:src/lib.rs flooded-output:src/lib.rs"},
		{"reward", "sh run.sh", "main.c", "int main() {}\n", "exit-at-import:main.c exit-at-end:main.c configuration:package.json printed-marks:main.c derived-files:reward.json,reward.txt"},
		{"junit", "mvn test", "A.java", "class A {}\n", "configuration:package.json startup-hooks:junit-platform.properties " +
			"derived-files:junit.xml,junit-report.xml,junit-results.xml,test-report.xml,test-results.xml,report.xml,results.xml,test-results/junit.xml,test-results/results.xml,reports/junit.xml"},
	} {
		one := task.Task{Judge: task.Judge{Parser: c.parser, Command: task.Command{Shell: c.command}}}
		var got []string
		for _, a := range Adversaries(Target{
			Task: one, Sources: []Text{{c.source, []byte(c.content)}}, Tests: []string{"tests/test_answer.py::test_a"},
			There: func(name string) ([]byte, bool) {
				return []byte(`{"scripts": {"test": "run", "build": "make"}}`), name == "package.json"
			},
		}) {
			var names []string
			for _, f := range a.Files {
				names = append(names, f.Name)
				if f.Name == c.source && !strings.HasPrefix(string(f.Content), c.content) {
					t.Errorf("%s: %s does not keep what was there:\n%s", c.parser, a.Name, f.Content)
				}
				if f.Name == "package.json" && (!strings.Contains(string(f.Content), `"test": "exit 0"`) || !strings.Contains(string(f.Content), `"build": "make"`)) {
					t.Errorf("%s: the scripts are %s", c.parser, f.Content)
				}
			}
			got = append(got, a.Name+":"+strings.Join(names, ","))
		}
		if diff := cmp.Diff(strings.Fields(c.want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.parser, diff)
		}
	}
}

// Marks that our own parsers would not take for success are no attack.
func TestPrintedMarksAreWhatParsersTakeForSuccess(t *testing.T) {
	t.Parallel()
	for format, tests := range map[string][]string{
		"pytest": {"tests/test_a.py::test_b"}, "pytest_v": {"tests/test_a.py::test_b"}, "unittest": {"test_b (tests.test_a.Case.test_b)"},
		"gotest": {"pkg::TestA", "pkg::TestB"}, "cargo": {"a::b"}, "jest": {"adds > two"}, "mocha": {"adds"}, "tap": {"adds"},
		"structured_json": {"a"}, "score_sum": {"case_1", "case_2"}, "reward": nil, "junit": {"a.B::c"}, "ctrf": {"c"},
	} {
		text, files := marks(format, Target{Tests: tests})
		in := parser.Input{Output: []byte(text), Files: map[string][]byte{}}
		for _, f := range files {
			in.Files[f.Name] = f.Content
		}
		p, _ := parser.Lookup(format)
		r := p.Parse(in)
		failed := slices.ContainsFunc(r.Tests, func(t parser.Test) bool { return t.Status != parser.Passed })
		if failed || !r.Complete || len(r.Tests) < len(tests) || len(tests) == 0 && r.PassRate == nil {
			t.Errorf("%s: %+v of\n%s", format, r, text)
		}
	}
}

func TestWhatADiffAdds(t *testing.T) {
	t.Parallel()
	diff := `diff --git a/x.py b/x.py
--- a/x.py
+++ b/x.py
@@ -1,2 +1,3 @@
 kept
-gone
+first
++++ second
diff --git a/old b/old
--- a/old
+++ /dev/null
@@ -1 +0,0 @@
-all
--- a/plain	2020-01-01
+++ b/plain	2020-01-02
@@ -1 +1 @@
-a
+b
diff --git a/n b/n
new file mode 100644
--- /dev/null
+++ b/n
@@ -0,0 +1 @@
+new
`
	want := []Text{{"x.py", []byte("first\n+++ second\n")}, {"plain", []byte("b\n")}, {"n", []byte("new\n")}}
	if d := cmp.Diff(want, Added([]byte(diff))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// Adversaries are made for what a script runs as tests, not for the script's own name.
func TestAScriptAroundTheTestsIsSeenThrough(t *testing.T) {
	tk := task.Task{Judge: task.Judge{
		Parser: "gotest", Command: task.Command{Argv: []string{"/bin/bash", "/eval.sh"}},
		Window: &task.Window{Mark: ">>> tests", Command: "go test -json ./..."},
	}}
	if got := goMarks(Target{Task: tk}, []string{"p::TestA"}); !strings.Contains(got, `"Action":"pass"`) {
		t.Errorf("it prints %q", got)
	}
	if got := runners(tk); !slices.Equal(got, []string{"gotest"}) {
		t.Errorf("runners %q", got)
	}
}
