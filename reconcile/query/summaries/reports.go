package summaries

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/summary"
)

// Report reads what a run has come to. The name is a run's, for its last execution, or has
// one: run.nightly.e2.
func (k *Summaries) Report(ctx context.Context, name string) (summary.Report, error) {
	of, err := k.Named(ctx, name)
	if err != nil {
		return summary.Report{}, err
	}
	return k.report(ctx, of)
}

var withExecution = regexp.MustCompile(`^(.+)\.e([1-9][0-9]{0,8})$`)

// doing is the execution that a name means, with its outcomes.
func (k *Summaries) doing(ctx context.Context, name string) (d summary.Execution, err error) {
	of, err := k.Named(ctx, name)
	if err != nil {
		return d, err
	}
	d.Address, d.N = of.Address, of.N
	err = k.store.View(ctx, func(tx *store.Tx) error {
		d.Outcomes, d.Open, err = history.Outcomes(tx, d.Address, d.N)
		return err
	})
	return d, err
}

// Named finds the execution that a name means, as for Report. One that is not known is an ErrUnknown.
func (k *Summaries) Named(ctx context.Context, name string) (d Execution, err error) {
	d.Address = name
	now, err := k.snapshots.Wait(ctx)
	if err != nil {
		return d, err
	}
	if m := withExecution.FindStringSubmatch(name); m != nil && !now.Knows(name) {
		d.Address = m[1]
		d.N, _ = strconv.Atoi(m[2]) // digits, and few
	}
	err = k.store.View(ctx, func(tx *store.Tx) error {
		last, err := tx.LatestExecution(d.Address)
		switch {
		case errors.Is(err, store.ErrNotFound) && now.Knows(d.Address):
			return fmt.Errorf("report on %s: %w: it has not begun", d.Address, request.ErrNothing)
		case errors.Is(err, store.ErrNotFound):
			return fmt.Errorf("%w: %s%s", history.ErrUnknown, name, request.Suggest(d.Address, now.Addresses()))
		case err != nil:
			return err
		case d.N > last.N:
			return fmt.Errorf("%w: %s has no execution e%d; its last one is e%d", history.ErrUnknown, d.Address, d.N, last.N)
		}
		d.N = cmp.Or(d.N, last.N)
		return nil
	})
	return d, err
}

// Compare compares two runs, or two executions of one, named as for Report. Agents are
// those of the same name; of one each, whatever they are called; or, where agents names
// them, the first of A with the second, or the only one, of B.
func (k *Summaries) Compare(ctx context.Context, a, b string, agents []string) (c summary.Compared, err error) {
	done, err := k.compares(ctx)
	if err != nil {
		return c, err
	}
	defer done()
	first, err := k.doing(ctx, a)
	if err != nil {
		return c, err
	}
	second, err := k.doing(ctx, b)
	if err != nil {
		return c, err
	}
	return summary.Compare(first, second, agents)
}
