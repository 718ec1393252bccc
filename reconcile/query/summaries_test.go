package query

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/summary"
	"github.com/assayd/assayd/runtime/trial"
)

// A status makes a small summary, has a large one made, and tells the one that is kept as long as
// that takes. It reads no trial for it.
func TestASummaryOfManyTrialsIsMadeBesideItsStatus(t *testing.T) {
	h := newFixture(t)
	r := h.reader()
	check(t, h.store.Do(t.Context(), func(tx *store.Tx) error { return tx.PutMeta(history.FilledKey, history.FilledAll) }))
	h.plantCells(manyOutcomes + 1)
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
	if run := look(); run.Summary != nil || !run.outdated || len(r.summaries.wanted) != 1 {
		t.Errorf("before it is made: %+v, %d wanted", run.Summary, len(r.summaries.wanted))
	}
	made, err := r.summaries.summary(t.Context(), <-r.summaries.wanted)
	check(t, err)
	if run := look(); run.Summary == nil || run.Summary.Total != manyOutcomes+1 || !run.SummaryOf.IsZero() || len(r.summaries.wanted) != 0 {
		t.Errorf("once it is made: %+v of %s, %d wanted", run.Summary, run.SummaryOf, len(r.summaries.wanted))
	}
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
	if run := look(); run.Summary == nil || !run.SummaryOf.Equal(made.at) || len(r.summaries.wanted) != 1 || run.Cells[history.StateRetrying] != 1 {
		t.Errorf("after a change: %+v of %s, %d wanted, %v", run.Summary, run.SummaryOf, len(r.summaries.wanted), run.Cells)
	}
}

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
	r := h.reader()
	h.plantCells(3)
	of := doneOf{"run.r", 1}
	r.summaries.turn <- struct{}{}
	over, stop := context.WithCancel(t.Context())
	stop()
	if _, err := r.summaries.summary(over, of); !errors.Is(err, context.Canceled) {
		t.Errorf("while another one is made: %v", err)
	}
	<-r.summaries.turn
	if _, err := r.summaries.summary(t.Context(), of); err != nil {
		t.Error(err)
	}
	for range 3 * manyWanted {
		r.summaries.want(of) // nobody reads, and nobody waits
	}
	if n := len(r.summaries.wanted); n != manyWanted {
		t.Errorf("%d wait", n)
	}
}

// A report is kept until a trial has ended since; while that took long, the kept one is told with its
// time.
func TestAReportIsMadeOnceForWhatIsOver(t *testing.T) {
	h := newFixture(t)
	r := h.reader()
	check(t, h.store.Do(t.Context(), func(tx *store.Tx) error { return tx.PutMeta(history.FilledKey, history.FilledAll) }))
	const cells = manyOutcomes + 20
	h.plantCells(cells)
	of := doneOf{"run.r", 1}
	report := func() (summary.Report, int64) {
		before := h.store.Work().Rows
		got, err := r.summaries.report(t.Context(), of)
		check(t, err)
		return got, h.store.Work().Rows - before
	}
	first, read := report()
	if first.Summary.Total != cells || first.Open != 0 || !first.AsOf.IsZero() || read < cells {
		t.Errorf("the first is of %d trials, read from %d rows", first.Summary.Total, read)
	}
	r.summaries.took(amount{of, kindReport}, 0)
	again, read := report()
	if diff := cmp.Diff(first, again); diff != "" || read > 5 {
		t.Errorf("the second is read from %d rows (-first +second):\n%s", read, diff)
	}
	h.change(0) // as when it is judged otherwise
	r.summaries.took(amount{of, kindReport}, time.Hour)
	if old, read := report(); old.AsOf.IsZero() || old.Summary.Total != cells || read > 5 {
		t.Errorf("after a change, while it rests: as of %s, read from %d rows", old.AsOf, read)
	}
	r.summaries.took(amount{of, kindReport}, 0)
	if now, read := report(); !now.AsOf.IsZero() || read < cells {
		t.Errorf("after a change: as of %s, read from %d rows", now.AsOf, read)
	}
}

// The report on a few trials is always of the present: to make it takes no time.
func TestAReportOnFewTrialsIsOfThePresent(t *testing.T) {
	h := newFixture(t)
	r := h.reader()
	check(t, h.store.Do(t.Context(), func(tx *store.Tx) error { return tx.PutMeta(history.FilledKey, history.FilledAll) }))
	h.plantCells(3)
	of := doneOf{"run.r", 1}
	if _, err := r.summaries.report(t.Context(), of); err != nil {
		t.Fatal(err)
	}
	h.change(0)
	r.summaries.took(amount{of, kindReport}, time.Hour)
	if got, err := r.summaries.report(t.Context(), of); err != nil || !got.AsOf.IsZero() {
		t.Errorf("as of %s, %v", got.AsOf, err)
	}
}

// Whoever asks gets a report also where it cannot be kept.
func TestAReportIsReadWhereNothingCanBeWritten(t *testing.T) {
	h := newFixture(t)
	check(t, h.store.Do(t.Context(), func(tx *store.Tx) error { return tx.PutMeta(history.FilledKey, history.FilledAll) }))
	h.plantCells(3)
	reading, err := store.Open(t.Context(), h.store.Dir(), store.Options{ReadOnly: true})
	check(t, err)
	defer func() { check(t, reading.Close()) }()
	k := newSummaries(reading, false)
	if got, err := k.report(t.Context(), doneOf{"run.r", 1}); err != nil || got.Summary.Total != 3 {
		t.Errorf("a report on %d trials, %v", got.Summary.Total, err)
	}
	if _, err := k.summary(t.Context(), doneOf{"run.r", 1}); !errors.Is(err, store.ErrReadOnly) { // whoever records it has to know
		t.Errorf("a summary that is not kept: %v", err)
	}
}
