package reconcile

import (
	"errors"
	"testing"

	"github.com/assayd/assayd/reconcile/history"
)

// A run that no file declares any more is known as long as its results are.
func TestARunThatIsNotDeclaredAnyMoreHasAStatus(t *testing.T) {
	h := newFixture(t)
	close(h.let)
	h.write("a.hcl", spec("x"))
	d := h.start()
	d.untilState(t, "finished")
	check(t, d.do(t.Context(), func() { delete(d.runs.desired, "run.r"); d.runs.shown.show("run.r") })) // as when its file has been gone for long
	s, err := d.Status(t.Context(), "run.r")
	if err != nil || len(s.Runs) != 1 || s.Runs[0].State != "finished" || s.Runs[0].Note != "no file declares it" || len(s.Runs[0].Trials) != 1 {
		t.Errorf("%+v, %v", s.Runs, err)
	}
	if _, err := d.Status(t.Context(), "run.none"); !errors.Is(err, history.ErrUnknown) {
		t.Errorf("of a run that never was: %v", err)
	}
	if s, err := d.Status(t.Context(), ""); err != nil || len(s.Runs) != 0 {
		t.Errorf("among all there are %+v, %v", s.Runs, err)
	}
}
