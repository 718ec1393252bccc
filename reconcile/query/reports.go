package query

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
func (r *Reader) Report(ctx context.Context, name string) (summary.Report, error) {
	of, err := r.executionNamed(ctx, name)
	if err != nil {
		return summary.Report{}, err
	}
	return r.summaries.report(ctx, of)
}

var withExecution = regexp.MustCompile(`^(.+)\.e([1-9][0-9]{0,8})$`)

// doing is the execution that a name means, with its outcomes.
func (r *Reader) doing(ctx context.Context, name string) (d summary.Execution, err error) {
	of, err := r.executionNamed(ctx, name)
	if err != nil {
		return d, err
	}
	d.Address, d.N = of.address, of.n
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		d.Outcomes, d.Open, err = history.Outcomes(tx, d.Address, d.N)
		return err
	})
	return d, err
}

// executionNamed finds the execution that a name means.
func (r *Reader) executionNamed(ctx context.Context, name string) (d doneOf, err error) {
	d.address = name
	now, err := r.Snapshots.Wait(ctx)
	if err != nil {
		return d, err
	}
	if m := withExecution.FindStringSubmatch(name); m != nil && !now.Knows(name) {
		d.address = m[1]
		d.n, _ = strconv.Atoi(m[2]) // digits, and few
	}
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		last, err := tx.LatestExecution(d.address)
		switch {
		case errors.Is(err, store.ErrNotFound) && now.Knows(d.address):
			return fmt.Errorf("report on %s: %w: it has not begun", d.address, request.ErrNothing)
		case errors.Is(err, store.ErrNotFound):
			return fmt.Errorf("%w: %s%s", history.ErrUnknown, name, request.Suggest(d.address, now.Addresses()))
		case err != nil:
			return err
		case d.n > last.N:
			return fmt.Errorf("%w: %s has no execution e%d; its last one is e%d", history.ErrUnknown, d.address, d.n, last.N)
		}
		d.n = cmp.Or(d.n, last.N)
		return nil
	})
	return d, err
}

// Compare compares two runs, or two executions of one, named as for Report. Agents are
// those of the same name; of one each, whatever they are called; or, where agents names
// them, the first of A with the second, or the only one, of B.
func (r *Reader) Compare(ctx context.Context, a, b string, agents []string) (c summary.Compared, err error) {
	done, err := r.compares(ctx)
	if err != nil {
		return c, err
	}
	defer done()
	first, err := r.doing(ctx, a)
	if err != nil {
		return c, err
	}
	second, err := r.doing(ctx, b)
	if err != nil {
		return c, err
	}
	return summary.Compare(first, second, agents)
}
