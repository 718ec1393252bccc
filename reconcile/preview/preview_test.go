package preview

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/history/historytest"
	"github.com/assayd/assayd/reconcile/miningspec"
	"github.com/assayd/assayd/reconcile/pinned"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/storetest"
)

// attempts is run.r with so many attempts.
const attempts = `
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
  tasks    = [benchmark.edge]
  attempts = %d
  agent "nop" {}
}
`

func loaded(t *testing.T, text string) *config.Set {
	t.Helper()
	set := config.Load([]config.Input{{Path: "r.hcl", Display: "r.hcl", Text: []byte(text)}}, nil, config.Options{})
	if set.Diagnostics.HasErrors() {
		t.Fatal(set.Diagnostics)
	}
	return set
}

func TestWhatWouldBeDone(t *testing.T) {
	kept := storetest.Open(t)
	desired := map[string]*plan.Run{}
	observed := plan.Observed{}
	p := New(Options{
		Store: kept, Minings: miningspec.New(miningspec.Options{Store: kept, Log: slog.New(slog.DiscardHandler)}),
		Contents: pinned.NewContents(pinned.ContentsOptions{
			Store: kept, InLoop: func() config.Options { return config.Options{} }, Texts: func() map[string]config.Input { return nil }, Now: time.Now,
			Log: slog.New(slog.DiscardHandler),
		}),
		Desired:  func() map[string]*plan.Run { return desired },
		Observed: func(context.Context, string) (plan.Observed, error) { return observed, nil },
		Hold:     func(string, *plan.Run) plan.Hold { return plan.Hold{} },
	})
	set := loaded(t, fmt.Sprintf(attempts, 2))
	out, err := p.Of(t.Context(), set, nil)
	if err != nil || !strings.Contains(out.Plan, "run.r: begin e1") || len(out.Stale) > 0 || out.Estimates["run.r"] == nil {
		t.Errorf("a run that is new: %+v, %v", out, err)
	}

	run, err := plan.Compile(set, *set.Run("r"))
	if err != nil {
		t.Fatal(err)
	}
	if err := kept.Do(t.Context(), func(tx *store.Tx) error { return historytest.PutEnded(tx, run, 2) }); err != nil {
		t.Fatal(err)
	}
	desired["run.r"], observed.Execution = run, &plan.Execution{N: 1, Finished: true}
	out, err = p.Of(t.Context(), loaded(t, ""), nil)
	if err != nil || !strings.Contains(out.Plan, "run.r: ") || strings.Contains(out.Plan, "begin") {
		t.Errorf("a run that no file declares: %+v, %v", out, err)
	}
}
