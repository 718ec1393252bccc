package reconcile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/pinned"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
)

// contents is what is known of the content of runs. It belongs to the loop.
type contents struct {
	of     map[string]*plan.Content // by address, of the latest execution; nil = it has none
	stale  map[string]*plan.Stale
	since  map[string]time.Time // when a run became stale as it is
	newest map[string]*plan.Run // of stale runs: as they would be done with the content of now
	names  map[string]string    // ids of images by name, of the last look; nil = they were not looked at
}

func newContents() contents {
	return contents{of: map[string]*plan.Content{}, stale: map[string]*plan.Stale{}, since: map[string]time.Time{}, newest: map[string]*plan.Run{}}
}

// differ notes how the content of a run's execution differs from that of now; nil = it does not.
func (c *contents) differ(address string, stale *plan.Stale, newest *plan.Run) {
	delete(c.stale, address)
	delete(c.newest, address)
	if stale != nil {
		c.stale[address], c.newest[address] = stale, newest
	}
}

// pinner makes runs of a set with the content of their executions.
func (r *Reconciler) pinner(tx *store.Tx, set *config.Set) *pinned.Compiler {
	return pinned.New(tx, set, r.pinning())
}

func (r *Reconciler) pinning() pinned.Options {
	return pinned.Options{Config: r.o.Config, InLoop: r.specs.InLoop, Texts: r.specs.Texts(), Names: r.contents.names, Dry: r.o.Idle}
}

// pinRuns makes the runs of the set in force with the content of their executions, notes what
// is stale, and records it once.
func (r *Reconciler) pinRuns(ctx context.Context, set *config.Set, before config.Previous, same plan.Unchanged) (desired map[string]*plan.Run, err error) {
	desired = make(map[string]*plan.Run, len(set.Blocks.Runs))
	do := r.o.Store.Do
	if r.o.Idle {
		do = r.o.Store.View
	}
	err = do(ctx, func(tx *store.Tx) error {
		clear(desired)
		p := r.pinner(tx, set)
		for i := range set.Blocks.Runs {
			run := &set.Blocks.Runs[i]
			if r.contents.stale[run.Address()] == nil {
				if d := same.Run(r.desired[run.Address()], set, run); d != nil {
					desired[run.Address()] = d
					continue
				}
			}
			d, err := r.pinRun(tx, p, run, before)
			if wrong, ok := errors.AsType[pinned.CompileError](err); ok {
				r.o.Log.Error("compile", "spec", run.Address(), "error", wrong)
				d, err = r.desired[run.Address()], nil
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

func (r *Reconciler) pinRun(tx *store.Tx, p *pinned.Compiler, run *config.Run, before config.Previous) (*plan.Run, error) {
	address := run.Address()
	c, known := r.contents.of[address]
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
	r.contents.of[address] = c
	r.contents.differ(address, stale, newest)
	if r.o.Idle {
		return d, nil
	}
	return d, r.recordStale(tx, run, c, stale)
}

type runStale struct {
	Files   []string `json:"files"`
	Tasks   []string `json:"tasks"`
	Because string   `json:"because"`
}

// recordStale records that a run became stale, or that the content is another still.
func (r *Reconciler) recordStale(tx *store.Tx, run *config.Run, c *plan.Content, s *plan.Stale) error {
	address, told := run.Address(), ""
	if s != nil {
		sum := sha256.New()
		fmt.Fprintf(sum, "%d %q %q %q", c.N, s.Files, s.Tasks, s.Images)
		for _, cell := range r.contents.newest[address].Cells() {
			fmt.Fprintln(sum, cell.Key)
		}
		told = hex.EncodeToString(sum.Sum(nil))
	}
	before, err := tx.Meta(staleKey(address))
	if err != nil || before == told || s == nil && r.contents.names == nil { // images may have moved all the same
		return err
	}
	r.contents.since[address] = r.line.Now()
	if err := tx.PutMeta(staleKey(address), told); err != nil || s == nil {
		return err
	}
	record := runStale{append([]string{}, s.Files...), s.Tasks, "content differs from that of the latest execution"}
	_, err = tx.AppendLine(store.StreamRef{Spec: address}, store.Envelope{Type: "run.stale", Spec: address, Execution: c.N, Generation: run.Generation}, record)
	return err
}

func staleKey(address string) string { return "stale/" + address }
