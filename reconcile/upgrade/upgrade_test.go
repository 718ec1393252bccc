package upgrade

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/storetest"
	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/trial"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// former stores an execution with so many trials that are over, without cells, as an earlier version did.
func former(t *testing.T, n int) *store.Store {
	t.Helper()
	kept := storetest.Open(t)
	line := clock.Begin()
	execution, err := json.Marshal(history.ExecutionData{Line: line})
	check(t, err)
	check(t, kept.Do(t.Context(), func(tx *store.Tx) error {
		if err := tx.PutExecution(store.ExecutionRow{Spec: "run.r", N: 1, Trigger: "accepted", StartedAt: line.Now(), Data: execution}); err != nil {
			return err
		}
		for i := range n {
			s := trial.State{ID: fmt.Sprintf("r.e1.%d", i), Spec: "run.r", Execution: 1, Try: 1, Phase: trial.Done, Line: line}
			s.Cell.Task.Benchmark, s.Cell.Task.Name, s.Cell.Attempt = "edge", "one", i+1
			s.Key = s.Cell.Key()
			s.Result = &trial.Finished{Trial: s.ID, Try: 1, Status: trial.Resolved, Final: true}
			data, err := json.Marshal(s)
			if err != nil {
				return err
			}
			if err := tx.PutTrial(store.TrialRow{
				ID: s.ID, Spec: s.Spec, Execution: 1, Cell: s.Key, Try: 1, Phase: string(s.Phase), Status: string(s.Result.Status), Wanted: true, Data: data, FinishedAt: line.Now(),
			}); err != nil {
				return err
			}
		}
		return nil
	}))
	return kept
}

// takeOver is what comes before anything else.
func takeOver(t *testing.T, u *Upgrade) {
	t.Helper()
	for _, part := range []func(context.Context) error{u.MarkFormer, u.Rekey, u.FillOpen} {
		check(t, part(t.Context()))
	}
}

// filled is how far cells are made.
func filled(t *testing.T, kept *store.Store) (at string) {
	t.Helper()
	check(t, kept.View(t.Context(), func(tx *store.Tx) (err error) {
		at, err = tx.Meta(history.FilledKey)
		return err
	}))
	return at
}

func TestCellsAreMadeAFewAtATimeAndByTheNextDaemon(t *testing.T) {
	kept := former(t, 5)
	o := Options{Store: kept, Log: slog.New(slog.DiscardHandler), Heartbeat: func() {}}
	u := New(o)
	takeOver(t, u)
	ctx, cancel := context.WithCancel(t.Context())
	u.AtOnce, u.After = 2, func(context.Context) { cancel() }
	u.FillCells(ctx)
	if at := filled(t, kept); at == "" || at == history.FilledAll {
		t.Errorf("a daemon that ended after one part came to %q", at)
	}
	if err := history.CheckCells(t.Context(), kept); err == nil {
		t.Error("all cells are there: nothing was left to do")
	}
	next := New(o)
	takeOver(t, next)
	next.FillCells(t.Context())
	if at := filled(t, kept); at != history.FilledAll {
		t.Errorf("the next daemon came to %q", at)
	}
	check(t, history.CheckCells(t.Context(), kept))
}

func TestANewStoreHasNothingToDo(t *testing.T) {
	kept := former(t, 0)
	takeOver(t, New(Options{Store: kept, Log: slog.New(slog.DiscardHandler), Heartbeat: func() {}}))
	if at := filled(t, kept); at != history.FilledAll {
		t.Errorf("cells are made up to %q", at)
	}
}
