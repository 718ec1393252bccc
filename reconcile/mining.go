package reconcile

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/pinned"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/mining"
	"github.com/assayd/assayd/runtime/pause"
)

// liveMining is a mining spec that a goroutine works for.
type liveMining struct {
	miner      *mining.Miner
	generation string
	stop       context.CancelFunc
	stopping   bool
}

// miningEnd says that the goroutine of a mining spec has ended.
type miningEnd struct {
	address string
	over    bool // there is nothing more to do for the spec as it was
	cause   string
}

// miningOf is a mining spec in force, nil if there is none.
func (r *Reconciler) miningOf(address string) *config.Mining {
	if r.set == nil {
		return nil
	}
	return r.set.Mining(strings.TrimPrefix(address, "mining."))
}

// loadMined reads which tasks have been mined, before any run is compiled.
func (r *Reconciler) loadMined(ctx context.Context) error {
	var rows []store.MinedRow
	err := r.o.Store.View(ctx, func(tx *store.Tx) (err error) {
		rows, err = tx.Mined("")
		return err
	})
	for _, row := range rows {
		if err == nil {
			err = r.addMined(row.Spec, row.Task, row.Data)
		}
	}
	return err
}

func (r *Reconciler) addMined(address, name string, data []byte) error {
	var takes struct {
		Work  config.Resources
		Judge config.Resources
	}
	if err := json.Unmarshal(data, &takes); err != nil {
		return fmt.Errorf("read task %q of %s: %w", name, address, err)
	}
	r.o.Config.Mined.Add(strings.TrimPrefix(address, "mining."), config.Imported{Name: name, Work: takes.Work, Judge: takes.Judge, Task: data})
	return nil
}

// adoptMinings has every mining spec looked at, those that are gone too.
func (r *Reconciler) adoptMinings(ctx context.Context, set *config.Set, now time.Time) {
	for _, m := range set.Blocks.Minings {
		address := m.Address()
		delete(r.gone, address)
		state, err := ledger.MiningStateOf(ctx, r.o.Store, address)
		r.o.Config.Mined.Over(m.Name, err == nil && state.Done(m.Generation))
		r.mines[address] = true
		r.queue.add(address, now)
	}
	for address := range r.mines {
		if set.Mining(strings.TrimPrefix(address, "mining.")) == nil {
			r.miss(address, now)
		}
	}
	for _, run := range set.Blocks.Runs { // a daemon that begins knows nothing of a block that was gone before
		for _, ref := range run.Tasks {
			if m := "mining." + ref.Name; ref.Kind == "mining" && set.Mining(ref.Name) == nil && !r.mines[m] {
				r.o.Config.Mined.Over(ref.Name, true)
			}
		}
	}
}

// reconcileMining makes one pass over a mining spec: it is begun, begun anew, or stopped.
func (r *Reconciler) reconcileMining(ctx context.Context, address string) error {
	spec, live := r.miningOf(address), r.miners[address]
	switch {
	case spec == nil && live != nil:
		if until := r.gone[address].Add(plan.RemovalGrace); r.now().Before(until) {
			r.note(address, "the block is gone; it ends at "+plan.Stamp(r.line.Wall(until)))
			r.queue.add(address, until)
			return nil
		}
		live.end()
		return nil
	case spec == nil:
		delete(r.mines, address)
		r.ends(address, true)
		return r.forget(ctx, address)
	case live != nil:
		if live.generation != spec.Generation {
			live.end() // it goes on as it is declared now when this one has ended
		}
		return nil
	case r.draining != nil:
		return nil
	}
	state, err := ledger.MiningStateOf(ctx, r.o.Store, address)
	if err != nil {
		return err
	}
	if set, _ := r.Desk.Holds(); !state.Done(spec.Generation) {
		if why := whyHeld(set, spec); why != "" {
			r.note(address, plan.HeldBack+why)
			return nil
		}
	}
	switch {
	case state.Done(spec.Generation):
		return nil
	case state.Generation != spec.Generation:
		if err := r.renewMining(ctx, *spec, state); err != nil {
			return err
		}
	}
	if err := r.mine(*spec); err != nil {
		r.note(address, err.Error())
		return err
	}
	return nil
}

// renewMining begins a spec, or one that was edited: what was not wanted any more may be now. Of who asked for it
// there are records.
func (r *Reconciler) renewMining(ctx context.Context, spec config.Mining, was ledger.MiningState, asked ...control.Record) error {
	address := spec.Address()
	err := r.o.Store.Do(ctx, func(tx *store.Tx) error {
		if was != (ledger.MiningState{}) {
			for _, why := range []string{mining.ReasonEnough, mining.ReasonBudget} {
				if _, err := tx.ReopenPulls(address, why); err != nil {
					return err
				}
			}
		}
		for _, record := range asked {
			if err := record.Append(tx, placeOf(r, address)); err != nil {
				return err
			}
		}
		return ledger.PutMiningState(tx, address, ledger.MiningState{Generation: spec.Generation})
	})
	if err != nil {
		return fmt.Errorf("begin %s: %w", address, err)
	}
	r.ends(address, false)
	return nil
}

func (l *liveMining) end() {
	l.stopping = true
	l.stop()
}

// mine starts the goroutine of a mining spec.
func (r *Reconciler) mine(spec config.Mining) error {
	address := spec.Address()
	if err := spec.Inside(); err != nil {
		return fmt.Errorf("begin %s: %w", address, err)
	}
	o, err := r.o.Mining(spec)
	if err != nil {
		return fmt.Errorf("begin %s: %w", address, err)
	}
	if o.Rules, err = mining.RulesOf(spec.Filter); err != nil {
		return fmt.Errorf("begin %s: %w", address, err)
	}
	o.Spec, o.Log, o.Gateway, o.Images = spec, r.o.Log, r.o.Host.Gateway, r.o.Host.Images
	book := &ledger.Mining{
		Store: r.o.Store, Spec: spec, Stream: r.stream(address), Log: r.o.Log,
		TakeIn: func(m mining.Mined) error { return r.takeIn(spec, m) },
	}
	o.Book = book
	o.Room, o.Judge, o.Printed = r.Room, r.JudgePatch, r.Printed
	o.Begin = func(ctx context.Context) error { return mayBegin(ctx, r, address) }
	o.Waitable = func(err error) bool {
		return container.Unavailable(err) || container.Passes(err)
	}
	ctx, stop := context.WithCancel(r.life)
	live := &liveMining{miner: mining.New(o), generation: spec.Generation, stop: stop}
	r.miners[address] = live
	r.o.Log.Info("mining", "spec", address)
	r.drivers.Go(func() {
		defer stop()
		end := miningEnd{address: address}
		if err := book.CatchUp(ctx); err != nil {
			r.o.Log.Warn("note pull requests as decided", "spec", address, "error", err)
		}
		for again := (pause.Growing{}); ctx.Err() == nil && !end.over; {
			var err error
			if end.cause, err = live.miner.Run(ctx); err == nil {
				end.over = true
			} else if ctx.Err() == nil {
				r.o.Log.Error("mining", "spec", address, "error", err)
				again.Wait(ctx)
			}
		}
		select {
		case r.mined <- end:
		case <-r.life.Done():
		}
	})
	return nil
}

// takeIn has the runs over a mining spec know of a task.
func (r *Reconciler) takeIn(spec config.Mining, m mining.Mined) error {
	data, err := json.Marshal(m.Task)
	if err != nil {
		return err
	}
	return r.do(r.life, func() { // also when the spec is edited just now
		if err := r.addMined(spec.Address(), m.Task.Name, data); err != nil {
			r.o.Log.Error("take in a mined task", "spec", spec.Address(), "error", err)
		}
		r.grown(spec.Name)
	})
}

// minedOut takes in that the goroutine of a mining spec has ended. That the spec is over was
// stored with the record that says so.
func (r *Reconciler) minedOut(end miningEnd) {
	live := r.miners[end.address]
	delete(r.miners, end.address)
	r.shown.show(end.address)
	r.queue.add(end.address, r.now())
	if !end.over || live == nil {
		return
	}
	r.o.Log.Info("mining finished", "spec", end.address, "cause", end.cause)
	if spec := r.miningOf(end.address); spec != nil && spec.Generation == live.generation { // else it goes on as it is declared now
		r.ends(end.address, true)
	}
}

// ends has the runs over a mining spec know whether it makes no more tasks.
func (r *Reconciler) ends(address string, over bool) {
	name := strings.TrimPrefix(address, "mining.")
	r.o.Config.Mined.Over(name, over)
	r.grown(name)
}

// grown has the runs know of the tasks that take them of a mining spec.
func (r *Reconciler) grown(name string) {
	if r.set == nil {
		return
	}
	compiler := plan.NewCompiler(r.set)
	for i := range r.set.Blocks.Runs {
		run := &r.set.Blocks.Runs[i]
		if !slices.ContainsFunc(run.Tasks, func(ref config.Ref) bool { return ref.Kind == "mining" && ref.Name == name }) {
			continue
		}
		address := run.Address()
		var d *plan.Run
		var err error
		if was := r.desired[address]; r.contents.stale[address] == nil && (was == nil || was.MadeFrom(r.set)) {
			d, err = compiler.Grow(was, run)
		} else {
			d, err = r.pinnedAgain(run)
		}
		if err != nil {
			r.o.Log.Error("compile", "spec", address, "error", err)
			continue
		}
		r.desired[address] = d
		r.shown.show(address)
		r.queue.add(address, r.now())
	}
}

// pinnedAgain compiles a run with the content of its execution.
func (r *Reconciler) pinnedAgain(run *config.Run) (d *plan.Run, err error) {
	err = r.o.Store.View(r.life, func(tx *store.Tx) error {
		o := r.pinning()
		o.Dry = true
		var newest *plan.Run
		d, newest, _, err = pinned.New(tx, r.set, o).Compiled(run, r.contents.of[run.Address()].Clone())
		if err == nil && newest != nil {
			r.contents.newest[run.Address()] = newest
		}
		return err
	})
	return d, err
}
