package pinned

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
)

// ContentsOptions are what Contents are made of.
type ContentsOptions struct {
	Store  *store.Store
	Config config.Options                 // how specs are compiled
	InLoop func() config.Options          // how they are where nothing may take long
	Texts  func() map[string]config.Input // of the last look at the files, by path
	Now    func() time.Time               // of the loop
	Log    *slog.Logger
	Idle   bool // nothing is stored
}

// Contents is what is known of the content of runs. It belongs to the loop's goroutine.
type Contents struct {
	o      ContentsOptions
	of     map[string]*plan.Content // by address, of the latest execution; nil = it has none
	stale  map[string]*plan.Stale
	since  map[string]time.Time // when a run became stale as it is
	newest map[string]*plan.Run // of stale runs: as they would be done with the content of now
	names  map[string]string    // ids of images by full name, of the last look; nil = they were not looked at
}

// NewContents returns contents of which nothing is known.
func NewContents(o ContentsOptions) *Contents {
	return &Contents{o: o, of: map[string]*plan.Content{}, stale: map[string]*plan.Stale{}, since: map[string]time.Time{}, newest: map[string]*plan.Run{}}
}

// Of is the content of the latest execution of a run, for the caller to change; nil = there is none.
func (k *Contents) Of(address string) *plan.Content { return k.of[address].Clone() }

// Stale is how the content of a run's execution differs from that of now; nil = it does not.
func (k *Contents) Stale(address string) *plan.Stale { return k.stale[address] }

// Since is when a run became stale as it is, or stopped to be, on the loop's time.
func (k *Contents) Since(address string) time.Time { return k.since[address] }

// Newest is a stale run as it would be done with the content of now; nil = it is not stale.
func (k *Contents) Newest(address string) *plan.Run { return k.newest[address] }

// Names are the ids of images by full name, of the last look; nil = they were not looked at.
func (k *Contents) Names() map[string]string { return k.names }

// SetNames takes in what names of images mean now.
func (k *Contents) SetNames(names map[string]string) { k.names = names }

// Put takes in the content of a run's execution, and how it differs from that of now; nil = it does not.
func (k *Contents) Put(address string, c *plan.Content, stale *plan.Stale, newest *plan.Run) {
	k.of[address] = c
	k.differ(address, stale, newest)
}

func (k *Contents) differ(address string, stale *plan.Stale, newest *plan.Run) {
	delete(k.stale, address)
	delete(k.newest, address)
	if stale != nil {
		k.stale[address], k.newest[address] = stale, newest
	}
}

// Compiler makes runs of a set with the content of their executions.
func (k *Contents) Compiler(tx *store.Tx, set *config.Set) *Compiler {
	return New(tx, set, k.options(k.o.Texts(), k.o.Idle))
}

// Dry is Compiler for the texts of some files, by path, and stores nothing.
func (k *Contents) Dry(tx *store.Tx, set *config.Set, texts map[string]config.Input) *Compiler {
	return New(tx, set, k.options(texts, true))
}

func (k *Contents) options(texts map[string]config.Input, dry bool) Options {
	return Options{Config: k.o.Config, InLoop: k.o.InLoop, Texts: texts, Names: k.names, Dry: dry}
}

// Again compiles a run with the content of its execution.
func (k *Contents) Again(ctx context.Context, set *config.Set, run *config.Run) (d *plan.Run, err error) {
	err = k.o.Store.View(ctx, func(tx *store.Tx) error {
		var newest *plan.Run
		d, newest, _, err = k.Dry(tx, set, k.o.Texts()).Compiled(run, k.Of(run.Address()))
		if err == nil && newest != nil {
			k.newest[run.Address()] = newest
		}
		return err
	})
	return d, err
}

// Runs makes the runs of the set in force with the content of their executions, notes what is stale, and records it
// once. was are the runs as they are wanted until now, by address, and before is what was accepted until now.
func (k *Contents) Runs(ctx context.Context, set *config.Set, was map[string]*plan.Run, before config.Previous, same plan.Unchanged) (desired map[string]*plan.Run, err error) {
	desired = make(map[string]*plan.Run, len(set.Blocks.Runs))
	do := k.o.Store.Do
	if k.o.Idle {
		do = k.o.Store.View
	}
	err = do(ctx, func(tx *store.Tx) error {
		clear(desired)
		p := k.Compiler(tx, set)
		for i := range set.Blocks.Runs {
			run := &set.Blocks.Runs[i]
			if k.stale[run.Address()] == nil {
				if d := same.Run(was[run.Address()], set, run); d != nil {
					desired[run.Address()] = d
					continue
				}
			}
			d, err := k.pinRun(tx, p, run, before)
			if wrong, ok := errors.AsType[CompileError](err); ok {
				k.o.Log.Error("compile", "spec", run.Address(), "error", wrong)
				d, err = was[run.Address()], nil
			}
			if err != nil {
				return err
			}
			if d != nil {
				desired[run.Address()] = d
			}
		}
		return nil
	})
	return desired, err
}

func (k *Contents) pinRun(tx *store.Tx, p *Compiler, run *config.Run, before config.Previous) (*plan.Run, error) {
	address := run.Address()
	c, known := k.of[address]
	if !known || c == nil {
		var err error
		if c, err = p.ContentOf(run, before); err != nil {
			return nil, err
		}
	}
	was, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	d, newest, stale, err := p.Compiled(run, c)
	if err != nil {
		return nil, err
	}
	if now, err := json.Marshal(c); err != nil || c != nil && (!known || string(now) != string(was)) {
		if err = errors.Join(err, p.Put(address, c)); err != nil {
			return nil, err
		}
	}
	k.of[address] = c
	k.differ(address, stale, newest)
	if k.o.Idle {
		return d, nil
	}
	return d, k.recordStale(tx, run, c, stale)
}

type runStale struct {
	Files   []string `json:"files"`
	Tasks   []string `json:"tasks"`
	Because string   `json:"because"`
}

// recordStale records that a run became stale, or that the content is another still.
func (k *Contents) recordStale(tx *store.Tx, run *config.Run, c *plan.Content, s *plan.Stale) error {
	address, told := run.Address(), ""
	if s != nil {
		sum := sha256.New()
		fmt.Fprintf(sum, "%d %q %q %q", c.N, s.Files, s.Tasks, s.Images)
		for _, cell := range k.newest[address].Cells() {
			fmt.Fprintln(sum, cell.Key)
		}
		told = hex.EncodeToString(sum.Sum(nil))
	}
	before, err := tx.Meta(history.StaleKey(address))
	if err != nil || before == told || s == nil && k.names == nil { // images may have moved all the same
		return err
	}
	k.since[address] = k.o.Now()
	if err := tx.PutMeta(history.StaleKey(address), told); err != nil || s == nil {
		return err
	}
	record := runStale{append([]string{}, s.Files...), s.Tasks, "content differs from that of the latest execution"}
	_, err = tx.AppendLine(store.StreamRef{Spec: address}, store.Envelope{Type: "run.stale", Spec: address, Execution: c.N, Generation: run.Generation}, record)
	return err
}
