package query

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/query/snapshot"
	"github.com/assayd/assayd/reconcile/query/summaries"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/storetest"
	"github.com/assayd/assayd/runtime/trial"
)

// statusOf is a status of run.r e1, with what the query asks for.
func (h *fixture) statusOf(r *Reader, q StatusQuery) RunStatus {
	h.t.Helper()
	run := RunStatus{Address: "run.r", Execution: 1, State: "running", Wanted: 50}
	check(h.t, h.store.View(h.t.Context(), func(tx *store.Tx) error { return r.doneOfRun(tx, nil, &run, q) }))
	return run
}

// change makes a trial of run.r e1 change, and returns its id.
func (h *fixture) change(at int) (id string) {
	h.t.Helper()
	check(h.t, h.store.Do(h.t.Context(), func(tx *store.Tx) error {
		cells, err := tx.CellsOf(store.CellQuery{Spec: "run.r", Execution: 1, Limit: 100})
		if err != nil {
			return err
		}
		row, err := tx.Trial(cells[at].Trial)
		if err != nil {
			return err
		}
		s, err := history.StateOf(row)
		if err != nil {
			return err
		}
		id = s.ID
		return history.PutState(tx, row, s)
	}))
	return id
}

// Who asks for what has changed since the last answer is told each change, in answers that have a
// bound, and nothing else.
func TestAStatusTellsWhatHasChangedSince(t *testing.T) {
	h := newFixture(t)
	r := h.reader()
	check(t, h.store.Do(t.Context(), func(tx *store.Tx) error { return tx.PutMeta(history.FilledKey, history.FilledAll) }))
	const cells = 12
	h.plantCells(cells)
	first := h.statusOf(r, StatusQuery{Trials: 5})
	if len(first.Trials) != 5 || !first.Truncated || first.Cells[string(trial.Resolved)] != cells || first.Cells["waiting"] != 50-cells {
		t.Errorf("%d trials, truncated %t, %v", len(first.Trials), first.Truncated, first.Cells)
	}
	if all := h.statusOf(r, StatusQuery{Trials: cells}); len(all.Trials) != cells || all.Truncated {
		t.Errorf("%d trials, truncated %t", len(all.Trials), all.Truncated)
	}
	since := first.Changed
	rapid.Check(t, func(rt *rapid.T) {
		var changed []string
		for range rapid.IntRange(0, 6).Draw(rt, "changes") {
			id := h.change(rapid.IntRange(0, cells-1).Draw(rt, "of"))
			changed = append(slices.DeleteFunc(changed, func(other string) bool { return other == id }), id)
		}
		var told []string
		for more := true; more; {
			run := h.statusOf(r, StatusQuery{Trials: rapid.IntRange(1, 4).Draw(rt, "at once"), Since: since})
			if run.Changed < since {
				rt.Fatalf("from change %d back to %d", since, run.Changed)
			}
			for _, x := range run.Trials {
				told = append(told, x.ID)
			}
			more, since = run.Truncated, run.Changed
		}
		slices.Sort(changed)
		slices.Sort(told)
		if !slices.Equal(told, changed) {
			rt.Fatalf("told are %v, changed have %v", told, changed)
		}
	})
}

// All runs together tell no more trials than one, those that work first.
func TestAStatusOfManyRunsHasABound(t *testing.T) {
	h := &fixture{t, storetest.Open(t)}
	r := h.reader()
	check(t, h.store.Do(t.Context(), func(tx *store.Tx) error { return tx.PutMeta(history.FilledKey, history.FilledAll) }))
	d := h.plantCells(3)
	var seen []snapshot.RunView
	check(t, h.store.Do(t.Context(), func(tx *store.Tx) error {
		for i := range 4 { // run.r0 … run.r3, of which only run.r2 goes on
			address := fmt.Sprintf("run.r%d", i)
			seen = append(seen, snapshot.RunView{Address: address, Desired: d})
			e := store.ExecutionRow{Spec: address, N: 1, Trigger: "accepted", FinishedAt: noon}
			if i == 2 {
				e.FinishedAt = e.SettledAt
			}
			if err := tx.PutExecution(e); err != nil {
				return err
			}
			for _, c := range d.Cells() {
				row, err := tx.Trial(trial.ID("r", 1, c.Key))
				if err != nil {
					return err
				}
				s, err := history.StateOf(row)
				if err != nil {
					return err
				}
				s.ID, row.Spec = trial.ID(fmt.Sprintf("r%d", i), 1, c.Key), address
				row.ID = s.ID
				if err := history.PutTrial(tx, row, s); err != nil {
					return err
				}
			}
		}
		return nil
	}))
	var runs []RunStatus
	check(t, h.store.View(t.Context(), func(tx *store.Tx) (err error) {
		runs, err = r.runStatuses(tx, &snapshot.Snapshot{}, seen, StatusQuery{Trials: 5})
		return err
	}))
	var trials []int
	for _, run := range runs {
		trials = append(trials, len(run.Trials))
		if run.Truncated != (len(run.Trials) < 3) || run.Cells[string(trial.Resolved)] != 3 {
			t.Errorf("%s: %d trials, truncated %t, %v", run.Address, len(run.Trials), run.Truncated, run.Cells)
		}
	}
	if !slices.Equal(trials, []int{2, 0, 3, 0}) {
		t.Errorf("trials of the runs: %v", trials)
	}
}

// A status makes a small summary, has a large one made, and tells the one that is kept as long as
// that takes. It reads no trial for it.
func TestASummaryOfManyTrialsIsMadeBesideItsStatus(t *testing.T) {
	h := newFixture(t)
	r := h.reader()
	var wanted []summaries.Execution
	r.want = func(of summaries.Execution) { wanted = append(wanted, of) }
	check(t, h.store.Do(t.Context(), func(tx *store.Tx) error { return tx.PutMeta(history.FilledKey, history.FilledAll) }))
	h.plantCells(summaries.Many + 1)
	look := func() RunStatus {
		run := RunStatus{Address: "run.r", Execution: 1, State: "running"}
		before := h.store.Work().Rows
		check(t, h.store.View(t.Context(), func(tx *store.Tx) error { return r.doneOfRun(tx, nil, &run, StatusQuery{Trials: 2}) }))
		r.sumUp(&run)
		if read := h.store.Work().Rows - before; read > 20 {
			t.Errorf("a status reads %d rows", read)
		}
		return run
	}
	if run := look(); run.Summary != nil || !run.outdated || len(wanted) != 1 {
		t.Errorf("before it is made: %+v, %d wanted", run.Summary, len(wanted))
	}
	_, _, err := r.o.Summaries.Summary(t.Context(), wanted[0])
	check(t, err)
	wanted = nil
	if run := look(); run.Summary == nil || run.Summary.Total != summaries.Many+1 || !run.SummaryOf.IsZero() || len(wanted) != 0 {
		t.Errorf("once it is made: %+v of %s, %d wanted", run.Summary, run.SummaryOf, len(wanted))
	}
	var made time.Time
	check(t, h.store.View(t.Context(), func(tx *store.Tx) error {
		kept, _, err := summaries.KeptOf(tx, summaries.Execution{Address: "run.r", N: 1}, nil)
		if err == nil {
			made = kept.Made
		}
		return err
	}))
	check(t, h.store.Do(t.Context(), func(tx *store.Tx) error { // one of them is to be tried again
		cells, err := tx.CellsOf(store.CellQuery{Spec: "run.r", Execution: 1, Limit: 1})
		if err != nil {
			return err
		}
		row, err := tx.Trial(cells[0].Trial)
		if err != nil {
			return err
		}
		s, err := history.StateOf(row)
		s.Again = true
		return errors.Join(err, history.PutState(tx, row, s))
	}))
	if run := look(); run.Summary == nil || !run.SummaryOf.Equal(made) || len(wanted) != 1 || run.Cells[history.StateRetrying] != 1 {
		t.Errorf("after a change: %+v of %s, %d wanted, %v", run.Summary, run.SummaryOf, len(wanted), run.Cells)
	}
}
