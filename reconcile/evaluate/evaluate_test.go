package evaluate

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/store/storetest"
	"github.com/assayd/assayd/runtime/task/swebench"
	"github.com/assayd/assayd/runtime/trial"
	"github.com/assayd/assayd/runtime/trial/reference"
)

func newEvaluator(t *testing.T) *Evaluator {
	t.Helper()
	return New(Options{Store: storetest.Open(t)})
}

// An execution asks once what a task's untouched tree shows; trouble is no answer, and another execution
// asks for itself.
func TestWhatIsKnownOfATaskIsAskedOnceAnExecution(t *testing.T) {
	e := newEvaluator(t)
	asked := 0
	ask := func(answer reference.Sanity, err error) func() (reference.Sanity, error) {
		return func() (reference.Sanity, error) { asked++; return answer, err }
	}
	sound, trouble := reference.Sanity{}, reference.Sanity{Trouble: "the engine is away"}
	gone := errors.New("gone")
	for _, tc := range []struct {
		name      string
		execution int
		ask       func() (reference.Sanity, error)
		want      reference.Sanity
		err       error
		asked     int
	}{
		{"an error", 1, ask(sound, gone), sound, gone, 1},
		{"trouble", 1, ask(trouble, nil), trouble, nil, 2},
		{"an answer", 1, ask(sound, nil), sound, nil, 3},
		{"the kept one", 1, ask(trouble, nil), sound, nil, 3},
		{"another execution", 2, ask(trouble, nil), trouble, nil, 4},
	} {
		got, err := e.Sane(t.Context(), trial.State{Spec: "run.r", Execution: tc.execution}, "content", tc.ask)
		if diff := cmp.Diff(tc.want, got); diff != "" || !errors.Is(err, tc.err) || asked != tc.asked {
			t.Errorf("%s: %v, asked %d times: %s", tc.name, err, asked, diff)
		}
	}
}

func TestTestsAreSortedByWhetherTheyPassed(t *testing.T) {
	got := TestsOf([]trial.TestRecord{{Name: "a", Passed: true}, {Name: "b"}, {Name: "c", Passed: true}})
	if diff := cmp.Diff(swebench.Tests{Success: []string{"a", "c"}, Failure: []string{"b"}}, got); diff != "" {
		t.Error(diff)
	}
}
