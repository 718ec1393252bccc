package reconcile

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/admission"
	"github.com/assayd/assayd/reconcile/budget"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/pinned"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/clock"
)

// Previewed is what would be done.
type Previewed struct {
	Plan      string                    `json:"plan"`                // a line an action
	Stale     map[string]*plan.Stale    `json:"stale,omitempty"`     // runs by address whose execution keeps other content
	Estimates map[string]*plan.Estimate `json:"estimates,omitempty"` // of what would start, by the address of its run
}

// add takes in what would be done about a run.
func (p *Previewed) add(address string, stale *plan.Stale, estimate *plan.Estimate) {
	if stale != nil {
		if p.Stale == nil {
			p.Stale = map[string]*plan.Stale{}
		}
		p.Stale[address] = stale
	}
	if estimate != nil {
		if p.Estimates == nil {
			p.Estimates = map[string]*plan.Estimate{}
		}
		p.Estimates[address] = estimate
	}
}

// Preview says what would be done if these were the files.
func (r *Reconciler) Preview(ctx context.Context, inputs []config.Input) (p Previewed, ds config.Diagnostics, err error) {
	r.lookAtImages(ctx)
	named := r.specs.DigestsOf(inputs)
	err = r.command(ctx, func() error {
		o := r.o.Config
		o.Snapshot = named // nothing is stored
		if r.o.Datasets.Peek != nil {
			o.Import = r.o.Datasets.Peek
		}
		there, err := r.specs.Rehearse(ctx, inputs, o)
		if err != nil {
			return err
		}
		ds = there.Diagnostics
		p, err = r.preview(ctx, there.Set, there.Texts)
		return err
	})
	return p, ds, err
}

func (r *Reconciler) preview(ctx context.Context, set *config.Set, texts map[string]config.Input) (out Previewed, err error) {
	minings, err := r.minings.Preview(ctx, set)
	if err != nil {
		return out, err
	}
	var b strings.Builder
	b.WriteString(minings)
	now := clock.Now().UTC()
	wanted := map[string]bool{}
	for i := range set.Blocks.Runs {
		run := &set.Blocks.Runs[i]
		wanted[run.Address()] = true
		text, stale, estimate, err := r.previewRun(ctx, set, run, texts, now)
		if err != nil {
			return out, err
		}
		b.WriteString(text)
		out.add(run.Address(), stale, estimate)
	}
	for address := range r.desired {
		if wanted[address] {
			continue
		}
		o, err := r.observeAll(ctx, address)
		if err != nil {
			return out, err
		}
		o.GoneSince = now
		b.WriteString(plan.Diff(address, nil, o, now).String())
	}
	out.Plan = b.String()
	return out, nil
}

// previewRun is what would be done about a run, with the content of its execution.
func (r *Reconciler) previewRun(ctx context.Context, set *config.Set, run *config.Run, texts map[string]config.Input, now time.Time) (text string, stale *plan.Stale, estimate *plan.Estimate, err error) {
	address := run.Address()
	o, err := r.observeAll(ctx, address)
	if err != nil {
		return "", nil, nil, err
	}
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		with := r.pinning()
		with.Texts, with.Dry = texts, true
		d, newest, differs, err := pinned.New(tx, set, with).Compiled(run, r.contents.of[address].Clone())
		if err != nil {
			return err
		}
		o.Stale, stale = differs, differs
		o.Hold = heldOf(r, address, d)
		if o.Execution != nil {
			if o.Funds, err = budget.Funds(tx, d, address, o.Execution.N, nil); err != nil {
				return err
			}
		}
		todo := plan.Foresee(address, d, o, now)
		switch {
		case stale != nil && todo.Has(plan.Begin):
			todo = plan.Foresee(address, newest, o, now)
		case stale != nil:
			text = fmt.Sprintf("%s: stale (%s); e%d keeps the content that it began with; to take it up: assayd rerun %s\n", address, stale, o.Execution.N, address)
		}
		text += todo.String()
		if d == nil {
			return nil
		}
		var limits admission.Limits
		if r.o.Admission != nil {
			limits = r.o.Admission.Limits()
			text += todo.Room(d.Parallel, limits)
		}
		work := todo.Work(d, limits)
		past, err := history.Past(tx, work)
		estimate = work.Estimate(past)
		return err
	})
	return text, stale, estimate, err
}
