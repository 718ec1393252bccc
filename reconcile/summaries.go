package reconcile

import (
	"context"

	"github.com/assayd/assayd/reconcile/query/summaries"
	"github.com/assayd/assayd/reconcile/summary"
)

// finalSummaries are those of executions of which no cell is open, each made by a goroutine of its own. They belong to the
// loop's goroutine.
type finalSummaries struct {
	runs   *runs
	beside *beside
	make   func(ctx context.Context, x summaries.Execution) (s summary.Summary, trials int, err error)
	do     func(ctx context.Context, f func()) error // runs f in the loop
	all    map[string]*summing                       // by address
}

// summing is a summary that a goroutine makes of an execution of which no cell is open.
type summing struct {
	execution int
	changes   int // of its trials that are in it (Cells.Changes)
	trials    int
	summary   *summary.Summary // nil = it is not made yet
}

// of is the summary of an execution as its trials are now; nil = it is being made, and the run is looked at when it is
// there.
func (k *finalSummaries) of(address string, execution int) *summing {
	s := k.all[address]
	if s == nil || s.execution != execution || s.changes != k.runs.cells.Changes(address) {
		k.sum(address, execution)
		return nil
	}
	if s.summary == nil {
		return nil
	}
	return s
}

// drop forgets the summary of a run.
func (k *finalSummaries) drop(address string) { delete(k.all, address) }

// sum starts the goroutine that makes the summary of an execution. It ends when the loop has it, or
// with the loop.
func (k *finalSummaries) sum(address string, n int) {
	s := &summing{execution: n, changes: k.runs.cells.Changes(address)}
	k.all[address] = s
	k.beside.start(func(ctx context.Context) {
		made, trials, err := k.make(ctx, summaries.Execution{Address: address, N: n})
		_ = k.do(ctx, func() { // fails where the loop has ended: the next daemon makes it
			switch {
			case k.all[address] != s: // something has changed since
			case err != nil:
				k.runs.log.Warn("sum up", "spec", address, "execution", n, "error", err)
				k.drop(address)
				k.runs.queue.Retry(address, k.runs.now())
				return
			default:
				s.trials, s.summary = trials, &made
			}
			k.runs.due(address)
		})
	})
}
