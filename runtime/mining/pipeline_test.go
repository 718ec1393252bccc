package mining

import (
	"bytes"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/assayd/assayd/runtime/gateway/modeltest"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

// Each proposal has the names that its own tests need described, and the statement has those
// of the tests that were proved.
func TestEachProposalHasItsOwnInterface(t *testing.T) {
	t.Parallel()
	w := newFixture(t, repository{name: shop, pulls: []int{1}, untested: true})
	w.odd = func(q question) (modeltest.Answer, bool) {
		name := map[string]string{"environment/0": "alpha_value", "environment/1": "beta_value"}[q.key]
		file := "tests/test_" + name + ".py"
		return calling("submit_tests", map[string]any{"install": []string{}, "test_command": "python -m pytest " + file, "files": []string{file}}), name != ""
	}
	w.judge = func(of task.Task, fix []byte) (round.Report, error) {
		if bytes.Contains(of.Judge.Patch, []byte("alpha_value")) {
			if !strings.Contains(of.Instruction, "alpha_value") {
				t.Errorf("what the tests need is not named:\n%s", of.Instruction)
			}
			return report(parser.Test{Name: "tests/test_f1.py::test_f1", Status: parser.Passed}), nil // also before
		}
		return outcome(of, fix)
	}
	w.serve().mine(nothingMore)
	w.verdicts(map[string]string{"acme/shop#1": "accepted easy"})
	d := w.book.decision(ref(shop, 1))
	if text := d.Mined.Task.Instruction; !strings.Contains(text, "`beta_value`") || strings.Contains(text, "alpha_value") || strings.Count(text, "## Interface") != 1 {
		t.Errorf("the statement is\n%s", text)
	}
	if files := string(d.Mined.Task.Judge.Patch); !strings.Contains(files, "+++ b/tests/test_beta_value.py") || strings.Contains(files, "alpha") {
		t.Errorf("the tests are\n%s", files)
	}
	if n := w.questions("interface/0"); n != 2 {
		t.Errorf("%d interfaces were described", n)
	}
}

// What one attempt has added to the statement, the next one adds again: a proof is never
// about a statement that says more.
func TestAnAttemptKnowsNothingOfTheOneBefore(t *testing.T) {
	t.Parallel()
	w := newFixture(t, repository{name: shop, pulls: []int{1}})
	var away atomic.Bool
	w.waitable = func(err error) bool { return strings.Contains(err.Error(), errAway.Error()) }
	w.judge = func(of task.Task, fix []byte) (round.Report, error) {
		if strings.Contains(of.Instruction, "mystery_one") && away.CompareAndSwap(false, true) {
			return round.Report{}, errAway
		}
		if bytes.Contains(fix, []byte("+    return 1\n")) {
			return outcome(of, fix)
		}
		r := report(parser.Test{Name: "tests/test_f1.py", Status: parser.Errored, Message: "cannot import name 'mystery_one' from 'calc'"})
		r.Status, r.Valid, r.Problem = round.StatusInvalid, false, "the run did not come to its end"
		return r, nil
	}
	w.serve().mine(nothingMore)
	w.verdicts(map[string]string{"acme/shop#1": "accepted easy"})
	if text := w.book.decision(ref(shop, 1)).Mined.Task.Instruction; strings.Count(text, "`mystery_one`") != 1 || !away.Load() {
		t.Errorf("the statement is\n%s", text)
	}
	if all := w.repeated(); len(all) > 0 {
		t.Errorf("asked again: %v", all)
	}
}

// What was described for tests that were refused is described no more, and what the next ones
// lack is.
func TestARefusedInterfaceIsForgotten(t *testing.T) {
	t.Parallel()
	w := newFixture(t, repository{name: shop, pulls: []int{1}, untested: true})
	w.odd = func(q question) (modeltest.Answer, bool) {
		name := map[string]string{"environment/0": "alpha_value", "environment/1": "new"}[q.key]
		file := "tests/test_" + name + ".py"
		return calling("submit_tests", map[string]any{"install": []string{}, "test_command": "python -m pytest " + file, "files": []string{file}}), name != ""
	}
	w.judge = func(of task.Task, fix []byte) (round.Report, error) {
		if bytes.Contains(of.Judge.Patch, []byte("alpha_value")) {
			return report(parser.Test{Name: "tests/test_f1.py::test_f1", Status: parser.Passed}), nil // also before
		}
		if bytes.Contains(fix, []byte("+    return 1\n")) {
			return outcome(of, fix)
		}
		r := report(parser.Test{Name: "tests/test_f1.py", Status: parser.Errored, Message: "cannot import name 'mystery_one' from 'calc'"})
		r.Status, r.Valid, r.Problem = round.StatusInvalid, false, "the run did not come to its end"
		return r, nil
	}
	w.serve().mine(nothingMore)
	w.verdicts(map[string]string{"acme/shop#1": "accepted easy"})
	if text := w.book.decision(ref(shop, 1)).Mined.Task.Instruction; !strings.Contains(text, "`mystery_one`") || strings.Contains(text, "alpha_value") {
		t.Errorf("the statement is\n%s", text)
	}
}

// The environment of an earlier pull request may run that one's tests: what comes of that
// says nothing of this one.
func TestAnEnvironmentThatRunsTheTestsOfAnotherIsAskedForAnew(t *testing.T) {
	t.Parallel()
	w := newFixture(t, repository{name: shop, pulls: []int{1, 2}})
	w.odd = func(q question) (modeltest.Answer, bool) {
		if q.key != "environment/0" {
			return modeltest.Answer{}, false
		}
		n := 1
		if q.title == title(shop, 2) {
			n = 2
		}
		return calling("submit_tests", map[string]any{"install": []string{}, "test_command": "cd . && python -m pytest " + tests(n)}), true
	}
	w.judge = func(of task.Task, fix []byte) (round.Report, error) {
		if own := strings.TrimPrefix(of.Name, "acme-shop-"); !strings.Contains(of.Judge.Command.Shell, "test_f"+own+".py") {
			return report(parser.Test{Name: "tests/test_f1.py::test_f1", Status: parser.Passed}), nil
		}
		return outcome(of, fix)
	}
	w.serve().mine(nothingMore)
	w.verdicts(map[string]string{"acme/shop#1": "accepted easy", "acme/shop#2": "accepted easy"})
	if n := w.questions("environment/0"); n != 2 {
		t.Errorf("how to test a repository was asked %d times", n)
	}
}

// An interface that names some things is added to where the tests lack others.
func TestAnInterfaceGrows(t *testing.T) {
	t.Parallel()
	w := newFixture(t, repository{name: shop, pulls: []int{1}, untested: true})
	w.odd = func(q question) (modeltest.Answer, bool) {
		const file = "tests/test_alpha_value.py"
		return calling("submit_tests", map[string]any{"install": []string{}, "test_command": "python -m pytest " + file, "files": []string{file}}), q.key == "environment/0"
	}
	w.judge = func(of task.Task, fix []byte) (round.Report, error) {
		if bytes.Contains(fix, []byte("+    return 1\n")) {
			return outcome(of, fix)
		}
		r := report(parser.Test{Name: "tests/test_f1.py", Status: parser.Errored, Message: "cannot import name 'mystery_one' from 'calc'"})
		r.Status, r.Valid, r.Problem = round.StatusInvalid, false, "the run did not come to its end"
		return r, nil
	}
	w.serve().mine(nothingMore)
	w.verdicts(map[string]string{"acme/shop#1": "accepted easy"})
	if text := w.book.decision(ref(shop, 1)).Mined.Task.Instruction; !strings.Contains(text, "`mystery_one`") || !strings.Contains(text, "`alpha_value`") || strings.Count(text, "## Interface") != 1 {
		t.Errorf("the statement is\n%s", text)
	}
}

// Data of tests fails before and passes after nowhere by itself.
func TestTestsAreWrittenWhereThereIsOnlyDataOfTests(t *testing.T) {
	t.Parallel()
	w := newFixture(t, repository{name: shop, pulls: []int{1}, untested: true, data: true})
	w.odd = func(q question) (modeltest.Answer, bool) {
		const file = "tests/test_new.py"
		return calling("submit_tests", map[string]any{"install": []string{}, "test_command": "python -m pytest " + file, "files": []string{file}}), q.key == "environment/0"
	}
	w.serve().mine(nothingMore)
	w.verdicts(map[string]string{"acme/shop#1": "accepted easy"})
	d := w.book.decision(ref(shop, 1))
	for _, want := range []string{"+++ b/tests/data/f.json", "+++ b/tests/test_new.py"} {
		if files := string(d.Mined.Task.Judge.Patch); !strings.Contains(files, want) {
			t.Errorf("the tests are\n%s", files)
		}
	}
}

// Which tests decide is known when they have run: a statement that names one is given up.
func TestAStatementThatNamesATestIsFoundOutAtTheLast(t *testing.T) {
	t.Parallel()
	w := newFixture(t, repository{name: shop, pulls: []int{1}})
	w.odd = func(q question) (modeltest.Answer, bool) {
		return calling("write_statement", map[string]any{"statement": "What test_rounding_of_prices looks at gives zero where it should give a number."}), q.key == "statement/0"
	}
	w.judge = func(of task.Task, fix []byte) (round.Report, error) {
		r, err := outcome(of, fix)
		if err == nil { // a test that was there, and whose body is changed
			r = report(r.Tests[0], parser.Test{Name: "tests/test_f1.py::test_rounding_of_prices", Status: r.Tests[1].Status})
		}
		return r, err
	}
	w.serve().mine(nothingMore)
	w.verdicts(map[string]string{"acme/shop#1": "rejected validation statement_leaks"})
}

// Who describes what written tests need is shown them, and may not name them either.
func TestAnInterfaceDoesNotNameTestsThatWereWritten(t *testing.T) {
	t.Parallel()
	w := newFixture(t, repository{name: shop, pulls: []int{1}, untested: true})
	w.odd = func(q question) (modeltest.Answer, bool) {
		switch q.key {
		case "environment/0":
			const file = "tests/test_alpha_value.py"
			return calling("submit_tests", map[string]any{"install": []string{}, "test_command": "python -m pytest " + file, "files": []string{file}}), true
		case "interface/0":
			return calling("describe_interface", map[string]any{"section": "`alpha_value`, as tests/test_alpha_value.py has it."}), true
		}
		return modeltest.Answer{}, false
	}
	w.serve().mine(nothingMore)
	w.verdicts(map[string]string{"acme/shop#1": "accepted easy"})
	if text := w.book.decision(ref(shop, 1)).Mined.Task.Instruction; strings.Contains(text, "test_alpha_value") || w.questions("interface/1") != 1 {
		t.Errorf("the statement is\n%s", text)
	}
}
