package cellindex

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/history/historytest"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/storetest"
	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/trial"
)

// noon is the present of these tests.
var noon = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

// manyAttempts is run.r with so many attempts, one at a time.
const manyAttempts = `
benchmark "edge" {
  task "one" {
    image       = "work:1"
    instruction = "do it"
    judge {
      image   = "judge:1"
      command = "true"
      parser  = "pytest"
    }
  }
}
run "r" {
  tasks     = [benchmark.edge]
  auto_eval = "0s"
  parallel  = 1
  attempts  = %d
  agent "nop" {}
}
`

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func loaded(t *testing.T, text string) *config.Set {
	t.Helper()
	set := config.Load([]config.Input{{Path: "r.hcl", Display: "r.hcl", Text: []byte(text)}}, nil, config.Options{})
	if set.Diagnostics.HasErrors() {
		t.Fatal(set.Diagnostics)
	}
	return set
}

// newCells are those of a daemon that drives no trial and wants no run.
func newCells() *Cells {
	return New(Options{
		Desired: func(string) *plan.Run { return nil }, Driven: func(string) (Driven, bool) { return Driven{}, false }, Drives: func(string) []string { return nil },
	})
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	check(t, err)
	return text
}

// What is read of what is open gives the index that all trials give, wherever the noted cells end, and
// also where trials lie behind cells without one.
func TestTheIndexOfWhatIsOpenIsThatOfAll(t *testing.T) {
	kept := storetest.Open(t)
	const all = plan.NotedAtLeast + 100
	set := loaded(t, fmt.Sprintf(manyAttempts, all))
	run, err := plan.Compile(set, *set.Run("r"))
	check(t, err)
	check(t, kept.Do(t.Context(), func(tx *store.Tx) error { return historytest.PutEnded(tx, run, all/2) }))
	check(t, kept.Do(t.Context(), func(tx *store.Tx) error {
		row, err := tx.Trial(trial.ID("r", 1, run.Wanted().At(3).Key))
		check(t, err)
		s, err := history.StateOf(row)
		check(t, err)
		for _, place := range []int{all/2 + 2, all/2 + 5} { // with holes before them
			s.Key = run.Wanted().At(place).Key
			s.ID, s.Cell.Attempt, s.Phase, s.Result = trial.ID("r", 1, s.Key), place+1, trial.Running, nil
			row.ID, row.Cell, row.Phase, row.Status = s.ID, s.Key, string(s.Phase), ""
			row.Data = mustJSON(t, s)
			check(t, history.PutTrial(tx, row, s))
		}
		return tx.PutMeta(history.FilledKey, history.FilledAll)
	}))
	cells := newCells()
	e := &plan.Execution{N: 1, StartedAt: noon.Add(-time.Hour)}
	indexed := func() (x *plan.CellIndex, quick bool) {
		x = plan.NewCellIndex(run, e)
		check(t, kept.View(t.Context(), func(tx *store.Tx) (err error) {
			if quick, err = cells.indexOpen(tx, "run.r", x); err != nil || quick {
				return err
			}
			return cells.index(tx, "run.r", x)
		}))
		return x, quick
	}
	widely := *run
	widely.Parallel = all + 2
	planned := func(x *plan.CellIndex) string { // all that is open, and all that has not begun
		return x.Worklist(plan.Observed{Execution: e}).Diff("run.r", &widely, noon).String()
	}
	whole, quick := indexed()
	if quick {
		t.Fatal("it is noted already")
	}
	for _, tt := range []struct {
		first int
		quick bool
	}{{0, true}, {all/2 - 7, true}, {all / 2, true}, {all + 1, false}} {
		t.Run(fmt.Sprint(tt.first), func(t *testing.T) {
			note, _ := whole.Note()
			note.First = tt.first
			check(t, kept.Do(t.Context(), func(tx *store.Tx) error { return tx.PutMeta(history.BegunKey("run.r"), string(mustJSON(t, note))) }))
			x, quick := indexed()
			if quick != tt.quick {
				t.Errorf("only what is open is read: %v", quick)
			}
			if diff := cmp.Diff(planned(whole), planned(x)); diff != "" {
				t.Errorf("the plan (-all +open): %s", diff)
			}
			if diff := cmp.Diff(whole.Worklist(plan.Observed{}).Trials, x.Worklist(plan.Observed{}).Trials, cmpopts.IgnoreUnexported(plan.Trial{})); diff != "" {
				t.Errorf("trials that ask for something (-all +open): %s", diff)
			}
		})
	}
}

func TestAnExecutionAndATryBeganWhenTheyDidAlthoughTheClockWasSet(t *testing.T) {
	for name, step := range map[string]time.Duration{"an hour ahead": time.Hour, "an hour back": -time.Hour} {
		line := clock.From(clock.Now().Add(-step))
		data, err := json.Marshal(history.ExecutionData{Line: line})
		if err != nil {
			t.Fatal(err)
		}
		e, err := history.ExecutionOf(store.ExecutionRow{Spec: "run.r", N: 1, StartedAt: line.Now(), Data: data})
		if err != nil {
			t.Fatal(err)
		}
		if ago := clock.Now().Sub(e.StartedAt); ago.Abs() > 10*time.Second {
			t.Errorf("%s: the execution began %s ago", name, ago)
		}
		ended, err := newCells().trialOf(store.TrialRow{
			ID: "r.e1.0", Status: "infra_error", FinishedAt: line.Now(), Data: json.RawMessage(mustJSON(t, map[string]any{"Line": line})),
		})
		if err != nil {
			t.Fatal(err)
		}
		if ago := clock.Now().Sub(ended.EndedAt); ago.Abs() > 10*time.Second {
			t.Errorf("%s: the try ended %s ago", name, ago)
		}
	}
}
