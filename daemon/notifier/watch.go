package notifier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/change"
	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/pause"
)

// Watched is what is in no record. Its functions may be called by any goroutine.
type Watched struct {
	Begun     func(context.Context) error                        // returns when the runs are known
	Budget    func(run string) (b gateway.Budget, declared bool) // what an execution of a run may spend in all
	Engine    func() (up, known bool)                            // whether the container engine answers
	Free      func() int64                                       // bytes that are free at the state directory; negative = that is not known
	Providers []string
}

// budgetsName is under what name it is stored how far budgets were looked at.
const budgetsName = "budgets"

// budgetsEvery is how often budgets are looked at, at most.
const budgetsEvery = 2 * time.Second

// maxTopics is how many specs are looked at that changed while the daemon was away.
const maxTopics = 4096

// levels of a budget that are told, in percent, the highest first.
var levels = []int{100, 80, 50}

// level is what was told of a run's latest execution.
type level struct {
	Execution int `json:"execution"`
	Percent   int `json:"percent"`
}

// watch stores notices of what is in no record.
func (n *Notifiers) watch(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return n.watchMachine(ctx) })
	g.Go(func() error { return n.watchBudgets(ctx) })
	return g.Wait()
}

// watchBudgets looks at the budget of each run that has spent something, until the context ends. What was spent while
// nobody looked is looked at first.
func (n *Notifiers) watchBudgets(ctx context.Context) error {
	w := n.o.Store.Watch()
	defer w.Close()
	if err := n.o.Watched.Begun(ctx); err != nil {
		return nil //nolint:nilerr // the daemon ends
	}
	again := pause.Growing{}
	for ctx.Err() == nil {
		if err := n.lookAtBudgets(ctx); err != nil {
			if ctx.Err() == nil {
				n.o.Log.Warn("look at budgets; it is tried again", "error", err)
			}
			again.Wait(ctx)
			continue
		}
		again.Reset()
		if err := w.Await(ctx, change.Usage); err != nil {
			return nil //nolint:nilerr // that is how it ends
		}
		_ = clock.Sleep(ctx, budgetsEvery) // the loop looks at the context
	}
	return nil
}

// lookAtBudgets stores a notice for each run that has reached a level, and what was looked at, in one transaction.
func (n *Notifiers) lookAtBudgets(ctx context.Context) error {
	return n.o.Store.Do(ctx, func(tx *store.Tx) error {
		d, err := tx.BeginDelivery(budgetsName)
		if err != nil {
			return err
		}
		told := map[string]level{}
		if d.State != "" {
			_ = json.Unmarshal([]byte(d.State), &told) // what another version wrote is told again
		}
		touched, err := tx.TouchedSince(d.N, maxTopics)
		if err != nil {
			return err
		}
		runs := touched.Topics
		if touched.All {
			if runs, err = latest(tx); err != nil {
				return err
			}
		}
		for run := range runs {
			if err := n.lookAtBudget(tx, run, told); err != nil {
				return err
			}
		}
		for run := range told {
			if _, declared := n.o.Watched.Budget(run); !declared {
				delete(told, run)
			}
		}
		state, err := json.Marshal(told)
		if err != nil {
			return fmt.Errorf("encode the notices about budgets: %w", err)
		}
		d.N, d.State = touched.N, string(state)
		return tx.PutDelivery(d)
	})
}

// latest are the specs that changed last.
func latest(tx *store.Tx) (map[string]change.What, error) {
	all, err := tx.LatestTopics(maxTopics)
	topics := map[string]change.What{}
	for _, topic := range all {
		topics[topic] = change.Usage
	}
	return topics, err
}

func (n *Notifiers) lookAtBudget(tx *store.Tx, run string, told map[string]level) error {
	b, _ := n.o.Watched.Budget(run)
	if b == (gateway.Budget{}) || !strings.HasPrefix(run, "run.") {
		return nil
	}
	e, err := tx.LatestExecution(run)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	spent, err := tx.SpentByExecution(run, e.N)
	if err != nil {
		return err
	}
	was, now := told[run], level{Execution: e.N, Percent: reached(b, spent)}
	told[run] = now
	if now.Percent == 0 || was.Execution == now.Execution && was.Percent >= now.Percent {
		return nil
	}
	return addNotice(tx, config.OnBudget, run, fmt.Sprintf("%s e%d has spent %d %% of its budget: %s", run, e.N, now.Percent, amounts(b, spent)),
		map[string]any{"execution": fmt.Sprintf("e%d", e.N), "percent": now.Percent, "cost_usd": spent.USD, "tokens": spent.Input + spent.Output, "budget_usd": b.USD, "budget_tokens": b.Tokens})
}

// reached is the highest level of a budget that is reached, 0 = none.
func reached(b gateway.Budget, s store.Spent) int {
	share := 0.0
	if b.USD > 0 {
		share = s.USD / b.USD
	}
	if b.Tokens > 0 {
		share = max(share, float64(s.Input+s.Output)/float64(b.Tokens))
	}
	for _, percent := range levels {
		if share >= float64(percent)/100 {
			return percent
		}
	}
	return 0
}

func amounts(b gateway.Budget, s store.Spent) string {
	var parts []string
	if b.USD > 0 {
		parts = append(parts, fmt.Sprintf("$%.2f of $%.2f", s.USD, b.USD))
	}
	if b.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d tokens", s.Input+s.Output, b.Tokens))
	}
	return strings.Join(parts, ", ")
}
