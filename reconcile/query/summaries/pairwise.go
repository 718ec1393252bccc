package summaries

import (
	"context"
	"strings"

	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/summary"
)

// sideNamed takes the name of a side apart: an execution as for Report, and behind a / one of its agents.
func sideNamed(name string) (execution, agent string) {
	execution, agent, _ = strings.Cut(strings.TrimSpace(name), "/")
	return execution, agent
}

// Side finds what the name of a side means: an execution as for Report, and behind a / one of its agents; "" = all of them.
func (k *Summaries) Side(ctx context.Context, name string) (of Execution, agent string, err error) {
	execution, agent := sideNamed(name)
	of, err = k.Named(ctx, execution)
	return of, agent, err
}

// Pairwise compares two to summary.MaxSides sides, each with each. A side is named run.nightly, run.nightly.e2, or with
// one of its agents run.nightly.e2/codex.
func (k *Summaries) Pairwise(ctx context.Context, names []string) ([]summary.Pairwise, error) {
	if len(names) < 2 || len(names) > summary.MaxSides {
		return nil, request.Mistakef("%d sides: two to %d can be compared", len(names), summary.MaxSides)
	}
	done, err := k.compares(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	known := map[Execution]summary.Execution{}
	var sides []summary.Asked
	for _, name := range names {
		execution, agent := sideNamed(name)
		of, err := k.Named(ctx, execution)
		if err != nil {
			return nil, err
		}
		d, read := known[of]
		if !read {
			if d, err = k.doing(ctx, execution); err != nil {
				return nil, err
			}
			known[of] = d
		}
		sides = append(sides, summary.Asked{Execution: d, Agent: agent})
	}
	return summary.ComparePairwise(sides)
}

// compares waits until no other comparison is made: the outcomes of several executions take memory.
func (k *Summaries) compares(ctx context.Context) (done func(), err error) {
	select {
	case k.comparing <- struct{}{}:
		return func() { <-k.comparing }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
