package summaries

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/history/historytest"
	"github.com/assayd/assayd/reconcile/query/snapshot"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/statedir"
	"github.com/assayd/assayd/reconcile/store/storetest"
	"github.com/assayd/assayd/reconcile/summary"
	"github.com/assayd/assayd/runtime/trial"
)

// What counts for a kept summary is what has, or had, an outcome.
func TestASummaryIsOfWhatIsOver(t *testing.T) {
	for _, tt := range []struct {
		name   string
		counts []store.CountRow
		cells  int
		n      int64
	}{
		{"nothing is over", []store.CountRow{{State: history.StateSetup, Cells: 1, N: 9}, {State: history.StateWorking, Cells: 1, N: 8}, {State: history.StateJudging, N: 7}}, 0, 0},
		{"some is", []store.CountRow{{State: history.StateWorking, Cells: 1, N: 8}, {State: string(trial.Resolved), Cells: 2, N: 5}, {State: history.StateRetrying, Cells: 1, N: 6}}, 3, 6},
		{"one was superseded", []store.CountRow{{State: history.StateSuperseded, Cells: 1, N: 8}, {State: string(trial.Resolved), Cells: 1, N: 8}}, 1, 8},
		{"one is open again", []store.CountRow{{State: history.StateSetup, Cells: 1, N: 9}, {State: string(trial.Resolved), N: 9}}, 0, 9},
	} {
		if cells, n := over(tt.counts); cells != tt.cells || n != tt.n {
			t.Errorf("%s: %d cells by change %d", tt.name, cells, n)
		}
	}
}

// Who asks often has a summary made seldom, and never by two at a time.
func TestSummariesAreMadeOneAtATime(t *testing.T) {
	h := newFixture(t)
	r := h.summaries
	historytest.Plant(t, h.store, 3)
	of := Execution{"run.r", 1}
	r.turn <- struct{}{}
	over, stop := context.WithCancel(t.Context())
	stop()
	if _, err := r.summary(over, of); !errors.Is(err, context.Canceled) {
		t.Errorf("while another one is made: %v", err)
	}
	<-r.turn
	if _, err := r.summary(t.Context(), of); err != nil {
		t.Error(err)
	}
	for range 3 * manyWanted {
		r.Want(of) // nobody reads, and nobody waits
	}
	if n := len(r.wanted); n != manyWanted {
		t.Errorf("%d wait", n)
	}
}

// A report is kept until a trial has ended since; while that took long, the kept one is told with its
// time.
func TestAReportIsMadeOnceForWhatIsOver(t *testing.T) {
	h := newFixture(t)
	r := h.summaries
	check(t, h.store.Do(t.Context(), func(tx *store.Tx) error { return tx.PutMeta(history.FilledKey, history.FilledAll) }))
	const cells = Many + 20
	historytest.Plant(t, h.store, cells)
	of := Execution{"run.r", 1}
	report := func() (summary.Report, int64) {
		before := h.store.Work().Rows
		got, err := r.report(t.Context(), of)
		check(t, err)
		return got, h.store.Work().Rows - before
	}
	first, read := report()
	if first.Summary.Total != cells || first.Open != 0 || !first.AsOf.IsZero() || read < cells {
		t.Errorf("the first is of %d trials, read from %d rows", first.Summary.Total, read)
	}
	r.took(amount{of, kindReport}, 0)
	again, read := report()
	if diff := cmp.Diff(first, again); diff != "" || read > 5 {
		t.Errorf("the second is read from %d rows (-first +second):\n%s", read, diff)
	}
	h.change(0) // as when it is judged otherwise
	r.took(amount{of, kindReport}, time.Hour)
	if old, read := report(); old.AsOf.IsZero() || old.Summary.Total != cells || read > 5 {
		t.Errorf("after a change, while it rests: as of %s, read from %d rows", old.AsOf, read)
	}
	r.took(amount{of, kindReport}, 0)
	if now, read := report(); !now.AsOf.IsZero() || read < cells {
		t.Errorf("after a change: as of %s, read from %d rows", now.AsOf, read)
	}
}

// The report on a few trials is always of the present: to make it takes no time.
func TestAReportOnFewTrialsIsOfThePresent(t *testing.T) {
	h := newFixture(t)
	r := h.summaries
	check(t, h.store.Do(t.Context(), func(tx *store.Tx) error { return tx.PutMeta(history.FilledKey, history.FilledAll) }))
	historytest.Plant(t, h.store, 3)
	of := Execution{"run.r", 1}
	if _, err := r.report(t.Context(), of); err != nil {
		t.Fatal(err)
	}
	h.change(0)
	r.took(amount{of, kindReport}, time.Hour)
	if got, err := r.report(t.Context(), of); err != nil || !got.AsOf.IsZero() {
		t.Errorf("as of %s, %v", got.AsOf, err)
	}
}

// Whoever asks gets a report also where it cannot be kept.
func TestAReportIsReadWhereNothingCanBeWritten(t *testing.T) {
	h := newFixture(t)
	check(t, h.store.Do(t.Context(), func(tx *store.Tx) error { return tx.PutMeta(history.FilledKey, history.FilledAll) }))
	historytest.Plant(t, h.store, 3)
	reading, err := store.Open(t.Context(), h.store.Dir(), store.Options{ReadOnly: true})
	check(t, err)
	defer func() { check(t, reading.Close()) }()
	k := New(Options{Store: reading})
	if got, err := k.report(t.Context(), Execution{"run.r", 1}); err != nil || got.Summary.Total != 3 {
		t.Errorf("a report on %d trials, %v", got.Summary.Total, err)
	}
	if _, err := k.summary(t.Context(), Execution{"run.r", 1}); !errors.Is(err, statedir.ErrReadOnly) { // whoever records it has to know
		t.Errorf("a summary that is not kept: %v", err)
	}
}

// fixture is a store with what sums up its executions.
type fixture struct {
	t         *testing.T
	store     *store.Store
	summaries *Summaries
}

// newFixture is one whose lists and counts have to show of trials what these are, once the test is over.
func newFixture(t *testing.T) *fixture {
	s := storetest.Open(t)
	t.Cleanup(func() { check(t, history.CheckCells(context.WithoutCancel(t.Context()), s)) })
	return &fixture{t, s, New(Options{Store: s, Snapshots: snapshot.NewLatest(nil)})}
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

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
