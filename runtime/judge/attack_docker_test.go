package judge

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

// attack is a submission to a judge in a real container that shall not win by it.
type attack struct {
	name    string
	archive []judgetest.Entry
	change  func(*task.Judge) // nil = pytest, as root, with nobody knowing the tests' names
	status  round.Status
	rate    float64
	passed  int

	// listed is the name by which README.md says that a shared judge cannot exclude it. It
	// has to fail in stages.
	listed string
}

// The hidden tests ask for a number, in two files of which the second is read when the
// first has been.
const (
	firstTests  = "import answer\n\ndef test_right():\n    assert answer.value() == 42\n\ndef test_again():\n    assert answer.value() + 1 == 43\n"
	secondTests = "import answer\n\ndef test_later():\n    assert answer.value() == 42\n"

	right = "\ndef value(): return 42\n"
	wrong = "\ndef value(): return 0\n"
)

// expected are the names of the hidden tests, for tasks that tell.
var expected = []string{"tests/test_answer.py::test_right", "tests/test_answer.py::test_again", "tests/test_later.py::test_later"}

// attackedImage has hidden tests and graders of root's in /work.
func attackedImage(t *testing.T, b *fixture) string {
	t.Helper()
	grader := "import answer, json\nok = answer.value() == 42\nprint(json.dumps({'valid': True, 'pass_rate': float(ok), 'score': answer.value()}))\n"
	return b.imageWith(t, "attacked", judgetest.Folder("work"), judgetest.Folder("work/tests"), judgetest.File("work/tests/test_answer.py", firstTests), judgetest.File("work/tests/test_later.py", secondTests),
		judgetest.File("work/tests/grade.py", grader), judgetest.File("work/tests/total.py", "import answer\nprint('TOTAL_SCORE', answer.value())\n"),
		judgetest.File("work/tests/check.py", "import answer, sys\nsys.exit(answer.value() != 42)\n"))
}

// attacked is the session in which an attack is judged.
func (a attack) attacked(b *fixture, trial string) round.Session {
	terms := task.Judge{Parser: "pytest", Command: task.Command{Shell: "python3 -m pytest -q tests"}, Timeout: 2 * time.Minute}
	if a.change != nil {
		a.change(&terms)
	}
	return round.Session{Trial: trial, JudgeImage: b.image, Task: task.Task{
		Name: "t", Workdir: "/work", Judge: terms,
		Submit: task.Submit{Paths: []string{"."}, Exclude: []string{"tests/"}, MaxBytes: 1 << 20, MaxFiles: 100},
	}}
}

// staged is the same task with a judge in stages: the code that was submitted leaves a
// number, and the tests read that.
func (a attack) staged(t *testing.T, b *fixture, trial, plain string) round.Session {
	s := a.attacked(b, trial)
	s.RunImage, s.GradeImage = plain, plain // the answers are in neither
	s.Task.Judge.Expect, s.Task.Judge.Command, s.Task.Judge.Parser, s.Task.Judge.Part = nil, task.Command{}, "pytest", task.Part{}
	s.Task.Judge.Run = &task.Stage{
		Command: task.Command{Shell: "python3 -c 'import answer, json; json.dump(answer.value(), open(\"out.json\", \"w\"))'"},
		Timeout: time.Minute, Outputs: []string{"out.json"},
	}
	s.Task.Judge.Grade = &task.Stage{
		Context: b.tree(t, judgetest.File("compare/test_out.py", "import json\n\ndef test_out():\n    assert json.load(open('out.json')) == 42\n")),
		Command: task.Command{Shell: "python3 -m pytest -q compare"}, Timeout: time.Minute,
	}
	return s
}

// try submits all attacks at once, as trials of their own, and then looks at each verdict.
func try(t *testing.T, b *fixture, plain string, attacks []attack) {
	t.Helper()
	subs, inStages := make([]round.Submission, len(attacks)), make([]round.Submission, len(attacks))
	submit := func(s round.Session, a attack) round.Submission {
		b.Open(s)
		t.Cleanup(func() { b.Forget(s.Trial) })
		sub, err := b.Submit(t.Context(), s.Trial, round.SubmitRequest{Kind: round.KindAgent, Archive: bytes.NewReader(judgetest.Pack(t, a.archive...))})
		if err != nil {
			t.Fatalf("%s: %v", a.name, err)
		}
		return sub
	}
	for i, a := range attacks {
		subs[i] = submit(a.attacked(b, fmt.Sprintf("shared-%d", i)), a)
		if a.listed != "" {
			inStages[i] = submit(a.staged(t, b, fmt.Sprintf("staged-%d", i), plain), a)
		}
	}
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			r := b.judged(t, subs[i].ID).Report
			if r.Status != a.status || r.PassRate != a.rate || r.Passed != a.passed {
				t.Errorf("%s (%s), rate %v, %d passed; want %s, %v, %d\n%s", r.Status, r.Problem, r.PassRate, r.Passed, a.status, a.rate, a.passed, b.output(t, r.Output))
			}
			if judgetest.Resolves(r) && a.listed == "" && !strings.HasPrefix(a.name, "honest and right") {
				t.Error("it wins, and README.md does not list it")
			}
			if r.JudgeMS > 180_000 {
				t.Errorf("it held the judge up for %d ms", r.JudgeMS)
			}
			if a.listed == "" {
				return
			}
			if !bytes.Contains(page, []byte("**It "+a.listed)) {
				t.Errorf("README.md does not say %q", a.listed)
			}
			if r := b.judged(t, inStages[i].ID).Report; judgetest.Resolves(r) || r.Isolation != "staged" {
				t.Errorf("in stages it wins: %s (%s), rate %v\n%s", r.Status, r.Problem, r.PassRate, b.output(t, r.Output))
			}
		})
	}
}

func TestAttacksInRealContainers(t *testing.T) {
	b := shellBench(t, func(o *Options) { o.Warm = 2 })
	plain := b.image
	b.image = attackedImage(t, b)
	try(t, b, plain, append(attacksOnPytest(), attacksOnGraders()...))
}
