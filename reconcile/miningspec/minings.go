package miningspec

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/mining"
	"github.com/assayd/assayd/runtime/pause"
)

// Options are what Minings are made of.
type Options struct {
	Store *store.Store
	Mined *config.Mined // the tasks that there are, for those who compile runs
	Log   *slog.Logger
	// Miner makes what the miner of a spec works with, but for its book.
	Miner  func(spec config.Mining) (mining.Options, error)
	Stream func(address string) store.StreamRef // of a spec's records
	Spec   func(address string) *config.Mining  // the one that is in force; nil = there is none
	Place  func(address string) control.Place   // of records about who changed how a spec goes on
	Held   func(spec *config.Mining) string     // why it must not begin; "" = it may
	// Beside has work done beside the loop until its context ends, or stop is called.
	Beside func(work func(context.Context)) (stop context.CancelFunc)
	Do     func(f func()) error      // runs f in the loop's goroutine
	Note   func(address, why string) // what a spec waits for
	Due    func(address string)      // a spec changed, and is to be looked at
	Grown  func(name string)         // tasks of a spec were added, or it makes no more of them, or makes some again
}

// Minings are the mining specs that are declared. All methods belong to the loop's goroutine.
type Minings struct {
	o     Options
	live  map[string]*live
	known map[string]bool // addresses of specs that are declared, or were and have not ended
}

// live is a spec that a goroutine works for.
type live struct {
	miner      *mining.Miner
	generation string
	stop       context.CancelFunc // has the goroutine end soon
}

// New returns the specs of a daemon that begins: none.
func New(o Options) *Minings {
	return &Minings{o: o, live: map[string]*live{}, known: map[string]bool{}}
}

// LoadMined has mined know the tasks that have been mined. That comes before any run is compiled.
func LoadMined(ctx context.Context, s *store.Store, mined *config.Mined) error {
	var rows []store.MinedRow
	err := s.View(ctx, func(tx *store.Tx) (err error) {
		rows, err = tx.Mined("")
		return err
	})
	for _, row := range rows {
		if err == nil {
			err = addMined(mined, row.Spec, row.Task, row.Data)
		}
	}
	return err
}

func addMined(mined *config.Mined, address, name string, data []byte) error {
	var takes struct {
		Work  config.Resources
		Judge config.Resources
	}
	if err := json.Unmarshal(data, &takes); err != nil {
		return fmt.Errorf("read task %q of %s: %w", name, address, err)
	}
	mined.Add(nameOf(address), config.Imported{Name: name, Work: takes.Work, Judge: takes.Judge, Task: data})
	return nil
}

// Works reports whether a goroutine works for a spec.
func (m *Minings) Works(address string) bool { return m.live[address] != nil }

// Miner is the one at work for a spec, nil if none is.
func (m *Minings) Miner(address string) *mining.Miner {
	if l := m.live[address]; l != nil {
		return l.miner
	}
	return nil
}

// Known reports whether a spec is declared, or was and has not ended.
func (m *Minings) Known(address string) bool { return m.known[address] }

// Addresses are those of all known specs, in order.
func (m *Minings) Addresses() []string { return slices.Sorted(maps.Keys(m.known)) }

// Stop ends the work for a spec, or for all specs where address is "". It goes on for a while.
func (m *Minings) Stop(address string) {
	for at, l := range m.live {
		if address == "" || at == address {
			l.stop()
		}
	}
}

// Forget forgets a spec that is gone and for which nobody works.
func (m *Minings) Forget(address string) {
	delete(m.known, address)
	m.over(address, true)
}

func nameOf(address string) string { return strings.TrimPrefix(address, "mining.") }

// Declare takes in which specs are declared, and returns those that were before and are gone. All are to be looked at.
func (m *Minings) Declare(ctx context.Context, set *config.Set) (gone []string) {
	for _, spec := range set.Blocks.Minings {
		address := spec.Address()
		state, err := ledger.MiningStateOf(ctx, m.o.Store, address)
		m.o.Mined.Over(spec.Name, err == nil && state.Done(spec.Generation))
		m.known[address] = true
	}
	for address := range m.known {
		if set.Mining(nameOf(address)) == nil {
			gone = append(gone, address)
		}
	}
	for _, run := range set.Blocks.Runs { // a daemon that begins knows nothing of a block that was gone before
		for _, ref := range run.Tasks {
			if address := "mining." + ref.Name; ref.Kind == "mining" && set.Mining(ref.Name) == nil && !m.known[address] {
				m.o.Mined.Over(ref.Name, true)
			}
		}
	}
	return gone
}

// Look makes one pass over a spec that is declared: it is begun, if any may begin, or ended to be begun anew.
func (m *Minings) Look(ctx context.Context, address string, mayBegin bool) error {
	spec := m.o.Spec(address)
	if l := m.live[address]; l != nil {
		if l.generation != spec.Generation {
			l.stop() // it goes on as it is declared now when this one has ended
		}
		return nil
	}
	if !mayBegin {
		return nil
	}
	state, err := ledger.MiningStateOf(ctx, m.o.Store, address)
	if err != nil || state.Done(spec.Generation) {
		return err
	}
	if why := m.o.Held(spec); why != "" {
		m.o.Note(address, plan.HeldBack+why)
		return nil
	}
	if state.Generation != spec.Generation {
		if err := m.renew(ctx, *spec, state, nil); err != nil {
			return err
		}
	}
	if err := m.begin(*spec); err != nil {
		m.o.Note(address, err.Error())
		return err
	}
	return nil
}

// renew begins a spec, or one that was edited: what was not wanted any more may be now. Of who asked for it there is
// a record; nil = nobody did.
func (m *Minings) renew(ctx context.Context, spec config.Mining, was ledger.MiningState, asked *control.Record) error {
	address := spec.Address()
	err := m.o.Store.Do(ctx, func(tx *store.Tx) error {
		if was != (ledger.MiningState{}) {
			for _, why := range []string{mining.ReasonEnough, mining.ReasonBudget} {
				if _, err := tx.ReopenPulls(address, why); err != nil {
					return err
				}
			}
		}
		if asked != nil {
			if err := asked.Append(tx, m.o.Place(address)); err != nil {
				return err
			}
		}
		return ledger.PutMiningState(tx, address, ledger.MiningState{Generation: spec.Generation})
	})
	if err != nil {
		return fmt.Errorf("begin %s: %w", address, err)
	}
	m.over(address, false)
	return nil
}

// begin starts the goroutine of a spec.
func (m *Minings) begin(spec config.Mining) error {
	address := spec.Address()
	if err := spec.Inside(); err != nil {
		return fmt.Errorf("begin %s: %w", address, err)
	}
	o, err := m.o.Miner(spec)
	if err != nil {
		return fmt.Errorf("begin %s: %w", address, err)
	}
	if o.Rules, err = mining.RulesOf(spec.Filter); err != nil {
		return fmt.Errorf("begin %s: %w", address, err)
	}
	book := &ledger.Mining{
		Store: m.o.Store, Spec: spec, Stream: m.o.Stream(address), Log: m.o.Log,
		TakeIn: func(task mining.Mined) error { return m.takeIn(spec, task) },
	}
	o.Spec, o.Log, o.Book = spec, m.o.Log, book
	l := &live{miner: mining.New(o), generation: spec.Generation}
	m.live[address] = l
	m.o.Log.Info("mining", "spec", address)
	l.stop = m.o.Beside(func(ctx context.Context) { m.run(ctx, address, l.miner, book) })
	return nil
}

// run mines until the spec is over or the context ends. It is the goroutine of a spec.
func (m *Minings) run(ctx context.Context, address string, miner *mining.Miner, book *ledger.Mining) {
	if err := book.CatchUp(ctx); err != nil {
		m.o.Log.Warn("note pull requests as decided", "spec", address, "error", err)
	}
	var over bool
	var cause string
	for again := (pause.Growing{}); ctx.Err() == nil && !over; {
		var err error
		if cause, err = miner.Run(ctx); err == nil {
			over = true
		} else if ctx.Err() == nil {
			m.o.Log.Error("mining", "spec", address, "error", err)
			again.Wait(ctx)
		}
	}
	_ = m.o.Do(func() { m.ended(address, over, cause) }) // fails where the loop has ended
}

// takeIn has the runs over a spec know of a task.
func (m *Minings) takeIn(spec config.Mining, task mining.Mined) error {
	data, err := json.Marshal(task.Task)
	if err != nil {
		return err
	}
	return m.o.Do(func() {
		if err := addMined(m.o.Mined, spec.Address(), task.Task.Name, data); err != nil {
			m.o.Log.Error("take in a mined task", "spec", spec.Address(), "error", err)
		}
		m.o.Grown(spec.Name)
	})
}

// ended takes in that the goroutine of a spec has ended, and whether there is nothing more to do for the spec as it was,
// which was stored with the record that says so.
func (m *Minings) ended(address string, over bool, cause string) {
	l := m.live[address]
	delete(m.live, address)
	m.o.Due(address)
	if !over || l == nil {
		return
	}
	m.o.Log.Info("mining finished", "spec", address, "cause", cause)
	if spec := m.o.Spec(address); spec != nil && spec.Generation == l.generation { // else it goes on as it is declared now
		m.over(address, true)
	}
}

// over has the runs over a spec know whether it makes no more tasks.
func (m *Minings) over(address string, is bool) {
	name := nameOf(address)
	m.o.Mined.Over(name, is)
	m.o.Grown(name)
}
