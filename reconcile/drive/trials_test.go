package drive

import (
	"context"
	"log/slog"
	"testing"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/storetest"
	"github.com/assayd/assayd/reconcile/troubles"
	"github.com/assayd/assayd/runtime/agent"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fixture is a store and the trials of a daemon that has begun none.
func fixture(t *testing.T, host trial.Host) (*store.Store, *Trials) {
	t.Helper()
	kept := storetest.Open(t)
	return kept, New(Options{
		Store: kept, Host: &host, Troubles: &troubles.Troubles{}, Log: slog.New(slog.DiscardHandler),
		Desired: func(string) *plan.Run { return nil }, Touch: func(string, string) {}, Due: func(string) {}, Note: func(string, string) {},
		Verdict: func(string) {}, Kept: func() {},
	})
}

// spending is a gateway.Ledger in which each try took a thousand tokens.
type spending struct{ gateway.Ledger }

func (spending) Spent(context.Context, gateway.Account) (gateway.Usage, error) {
	return gateway.Usage{InputTokens: 1000}, nil
}

// TestWhatATryTookThatCountsAfterAllIsNotLost: it was, as long as another one was to come.
func TestWhatATryTookThatCountsAfterAllIsNotLost(t *testing.T) {
	models, err := gateway.New(gateway.Options{Ledger: spending{}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer models.Close()
	kept, trials := fixture(t, trial.Host{Gateway: models})
	check(t, kept.Do(t.Context(), func(tx *store.Tx) error {
		return tx.PutExecution(store.ExecutionRow{Spec: "run.r", N: 1})
	}))
	s := trial.State{
		ID: "r.e1.0", Spec: "run.r", Execution: 1, Try: 2, Phase: trial.Done, Cell: trial.Cell{Agent: agent.Agent{API: "openai"}},
		Result: &trial.Finished{Trial: "r.e1.0", Try: 2, Status: trial.InfraError, Usage: trial.Usage{InputTokens: 2000}, LostUsage: trial.Usage{InputTokens: 2000}},
	}
	check(t, trials.giveUp(t.Context(), s, plan.Action{Cause: "cancelled"}))
	check(t, kept.View(t.Context(), func(tx *store.Tx) error {
		row, err := tx.Trial(s.ID)
		if err != nil {
			return err
		}
		s, err = history.StateOf(row)
		return err
	}))
	if f := s.Result; !f.Final || f.Usage.InputTokens != 2000 || f.DiscardedUsage.InputTokens != 1000 {
		t.Errorf("final %v, used %+v, discarded %+v", f.Final, f.Usage, f.DiscardedUsage)
	}
}

// Of the disk as much is reserved as containers of the task were seen to take, and a fifth, and
// no more than they may.
func TestTheDiskThatIsReservedIsWhatWasSeen(t *testing.T) {
	kept, trials := fixture(t, trial.Host{})
	of := func(name string, seen int64) trial.State {
		return trial.State{DiskSeen: seen, Cell: trial.Cell{Task: task.Task{Benchmark: "b", Name: name, Work: task.Part{Disk: 10 << 30}}}}
	}
	reserved := func(name string) int64 {
		n, err := trials.needOf(t.Context(), of(name, 0))
		check(t, err)
		return n.Disk
	}
	note := func(name string, seen int64) {
		check(t, kept.Do(t.Context(), func(tx *store.Tx) error { return noteDisk(tx, of(name, seen)) }))
	}
	if got := reserved("t"); got != 1<<30 {
		t.Errorf("unseen: %d", got)
	}
	note("t", 5<<30)
	note("t", 1<<30) // another one took less
	note("other", 9<<30)
	if got := reserved("t"); got != 6<<30 {
		t.Errorf("seen with 5 GiB: %d", got)
	}
	if got := reserved("other"); got != 10<<30 {
		t.Errorf("seen with 9 GiB of 10: %d", got)
	}
}
