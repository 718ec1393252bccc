package reconcile

import (
	"testing"

	"github.com/assayd/assayd/reconcile/store"
)

// A start makes no keys of cells of a run that is over, and reads none of its trials, however many there are.
// Where an earlier version noted in other words for what the run is over, the first start does.
func TestAStartMakesNoCellsOfARunThatIsOver(t *testing.T) {
	h := newFixture(t)
	close(h.let)
	h.write("r.hcl", manyAttempts(40))
	started := func() (made int) {
		t.Helper()
		d := h.start()
		looked := false
		for !looked { // a turn follows each look at the files
			check(t, d.do(t.Context(), func() {
				if run := d.runs.desired["run.r"]; run != nil {
					looked, made = true, run.Wanted().KeysMade()
				}
			}))
		}
		d.stop()
		return made
	}
	first := h.start()
	first.untilState(t, "finished")
	first.stop()
	if made := started(); made != 0 {
		t.Errorf("%d keys are made", made)
	}
	check(t, h.store.Do(t.Context(), func(tx *store.Tx) error {
		e, err := tx.LatestExecution("run.r")
		if err != nil {
			return err
		}
		e.Data = []byte(`{"ended":"as an earlier version says it"}`)
		return tx.PutExecution(e)
	}))
	if made := started(); made != 1 { // for all attempts of the agent at the task
		t.Errorf("%d keys are made once", made)
	}
	if made := started(); made != 0 {
		t.Errorf("%d keys are made once more", made)
	}
}
