package preview

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/admission"
	"github.com/assayd/assayd/reconcile/budget"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/miningspec"
	"github.com/assayd/assayd/reconcile/pinned"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/clock"
)

// Options are what a Previewer is made of.
type Options struct {
	Store     *store.Store
	Contents  *pinned.Contents
	Minings   *miningspec.Minings
	Admission *admission.Controller                                            // nil = how much room there is is not said
	Desired   func() map[string]*plan.Run                                      // the runs as they are wanted, by address
	Observed  func(ctx context.Context, address string) (plan.Observed, error) // what exists of a run, with all trials of its execution
	Hold      func(address string, d *plan.Run) plan.Hold                      // what users hold back of a run
}

// Previewer says what would be done. It belongs to the loop's goroutine.
type Previewer struct{ o Options }

// New returns a previewer.
func New(o Options) *Previewer { return &Previewer{o: o} }

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

// Of says what would be done if a set were in force. texts are the files that somebody has otherwise than they lie, by
// path. Nothing is stored.
func (p *Previewer) Of(ctx context.Context, set *config.Set, texts map[string]config.Input) (out Previewed, err error) {
	minings, err := p.o.Minings.Preview(ctx, set)
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
		text, stale, estimate, err := p.run(ctx, set, run, texts, now)
		if err != nil {
			return out, err
		}
		b.WriteString(text)
		out.add(run.Address(), stale, estimate)
	}
	for address := range p.o.Desired() {
		if wanted[address] {
			continue
		}
		o, err := p.o.Observed(ctx, address)
		if err != nil {
			return out, err
		}
		o.GoneSince = now
		b.WriteString(plan.Diff(address, nil, o, now).String())
	}
	out.Plan = b.String()
	return out, nil
}

// run is what would be done about a run, with the content of its execution.
func (p *Previewer) run(ctx context.Context, set *config.Set, run *config.Run, texts map[string]config.Input, now time.Time) (text string, stale *plan.Stale, estimate *plan.Estimate, err error) {
	address := run.Address()
	o, err := p.o.Observed(ctx, address)
	if err != nil {
		return "", nil, nil, err
	}
	err = p.o.Store.View(ctx, func(tx *store.Tx) error {
		d, newest, differs, err := p.o.Contents.Dry(tx, set, texts).Compiled(run, p.o.Contents.Of(address))
		if err != nil {
			return err
		}
		o.Stale, stale = differs, differs
		o.Hold = p.o.Hold(address, d)
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
		if p.o.Admission != nil {
			limits = p.o.Admission.Limits()
			text += todo.Room(d.Parallel, limits)
		}
		work := todo.Work(d, limits)
		past, err := history.Past(tx, work)
		estimate = work.Estimate(past)
		return err
	})
	return text, stale, estimate, err
}
