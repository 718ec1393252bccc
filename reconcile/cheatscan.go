package reconcile

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/pause"
	"github.com/assayd/assayd/runtime/trial"
)

// cheatScans are the trials that are over and whose agents' doings nobody has looked through yet. No
// verdict waits for that. The store has them too: what one daemon leaves the next one does. It may be
// used by any goroutine.
type cheatScans struct {
	wake chan struct{} // holds one value while there may be one in line

	mu   sync.Mutex
	line []cheatScan
	open map[string]int // in line or under way, by the address of the run
}

// cheatScan is for one try of a trial: that which counts.
type cheatScan struct {
	spec, trial string
	try         int
}

// scanners is how many trials are looked through at once.
const scanners = 2

func newCheatScans() *cheatScans {
	return &cheatScans{wake: make(chan struct{}, 1), open: map[string]int{}}
}

const scanPrefix = "cheat-scan/"

// mark is what the store has of it.
func (c cheatScan) mark() (key, value string) {
	return scanPrefix + c.trial, fmt.Sprintf("%d %s", c.try, c.spec)
}

// scanOf is what is to be looked through of a trial, and whether anything is: of an ended one whose
// last try counts.
func scanOf(s trial.State) (c cheatScan, due bool) {
	due = s.Phase == trial.Done && s.Result != nil && s.Result.Final && !s.Again && s.Scans()
	return cheatScan{s.Spec, s.ID, s.Try}, due
}

func (k *cheatScans) add(c cheatScan) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.line = append(k.line, c)
	k.open[c.spec]++
	k.nudge()
}

func (k *cheatScans) nudge() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// next waits for one.
func (k *cheatScans) next(ctx context.Context) (c cheatScan, err error) {
	for {
		k.mu.Lock()
		if len(k.line) > 0 {
			c, k.line = k.line[0], k.line[1:]
			if len(k.line) > 0 {
				k.nudge()
			}
			k.mu.Unlock()
			return c, nil
		}
		k.mu.Unlock()
		select {
		case <-k.wake:
		case <-ctx.Done():
			return c, context.Cause(ctx)
		}
	}
}

// done says that one is over, and reports whether its run has no other.
func (k *cheatScans) done(c cheatScan) (last bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.open[c.spec]--; k.open[c.spec] > 0 {
		return false
	}
	delete(k.open, c.spec)
	return true
}

// of is how many trials of a run are not looked through yet.
func (k *cheatScans) of(address string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.open[address]
}

// loadScans takes up what a former daemon did not come to.
func (r *Reconciler) loadScans(ctx context.Context) error {
	var marks map[string]string
	if err := r.o.Store.View(ctx, func(tx *store.Tx) (err error) {
		marks, err = tx.MetaBelow(scanPrefix)
		return err
	}); err != nil {
		return err
	}
	for key, value := range marks {
		c := cheatScan{trial: strings.TrimPrefix(key, scanPrefix)}
		if _, err := fmt.Sscan(value, &c.try, &c.spec); err != nil {
			return fmt.Errorf("read that trial %s is to be looked through: %w", c.trial, err)
		}
		r.scans.add(c)
	}
	return nil
}

// scanTrials looks through one trial after the other until the context ends.
func (r *Reconciler) scanTrials(ctx context.Context) {
	for {
		c, err := r.scans.next(ctx)
		if err != nil {
			return
		}
		for again := (pause.Growing{}); ctx.Err() == nil; again.Wait(ctx) {
			if err = r.scanTrial(ctx, c); err == nil {
				break
			}
			if ctx.Err() == nil {
				r.o.Log.Log(ctx, r.troubles.level(withStore, err, slog.LevelError), "look through what an agent did", "spec", c.spec, "trial", c.trial, "error", err)
			}
		}
		if r.scans.done(c) {
			_ = r.do(ctx, func() { r.queue.add(c.spec, r.now()) }) // it may be over; fails where the loop has ended
		}
	}
}

// scanTrial looks through one trial and stores what was found. An error is of the store.
func (r *Reconciler) scanTrial(ctx context.Context, c cheatScan) error {
	var s trial.State
	var subs []round.Submission
	wanted := false
	if err := r.o.Store.View(ctx, func(tx *store.Tx) (err error) {
		if s, wanted, err = c.wanted(tx); err == nil && wanted {
			subs, err = ledger.OfTrial(tx, c.trial)
		}
		return err
	}); err != nil {
		return err
	}
	var flags []string
	var effects []trial.Effect
	if wanted {
		flags, effects = r.o.Host.Scan(ctx, s, subs)
		fault.Reached(fault.TrialScanned)
	}
	if ctx.Err() != nil { // not all was looked at, and will be
		return context.Cause(ctx)
	}
	if err := r.o.Store.Do(ctx, func(tx *store.Tx) error { return c.put(tx, flags, effects) }); err != nil {
		return err
	}
	if len(flags) > 0 {
		r.o.Log.Info("trial flagged", "spec", c.spec, "trial", c.trial, "flags", flags)
	}
	fault.Reached(fault.TrialFlagged)
	return nil
}

// wanted reads the trial, and reports whether the try still is what counts of it and was not looked
// through.
func (c cheatScan) wanted(tx *store.Tx) (s trial.State, wanted bool, err error) {
	key, value := c.mark()
	mark, err := tx.Meta(key)
	if err != nil || mark != value {
		return s, false, err
	}
	row, err := tx.Trial(c.trial)
	if err == nil {
		s, err = history.StateOf(row)
	}
	now, due := scanOf(s)
	return s, due && now == c, err
}

// put stores what was found with the trial, and the records of it.
func (c cheatScan) put(tx *store.Tx, flags []string, effects []trial.Effect) error {
	key, value := c.mark()
	mark, err := tx.Meta(key)
	if err != nil || mark != value {
		return err // it has begun another try, which has a mark of its own
	}
	s, wanted, err := c.wanted(tx)
	if err == nil && wanted {
		err = c.flag(tx, s, flags, effects)
	}
	if err != nil {
		return err
	}
	return tx.DropMeta(key)
}

func (c cheatScan) flag(tx *store.Tx, s trial.State, flags []string, effects []trial.Effect) error {
	if len(flags) > 0 {
		row, err := tx.Trial(c.trial)
		if err != nil {
			return err
		}
		s = s.WithFlags(flags)
		if err := history.PutState(tx, row, s); err != nil {
			return err
		}
		data, err := json.Marshal(s)
		if err == nil {
			err = tx.PutTry(store.TryRow{Trial: s.ID, Try: s.Try, Data: data})
		}
		if err != nil {
			return fmt.Errorf("store the flags of trial %s: %w", s.ID, err)
		}
	}
	for _, e := range effects {
		if err := history.AppendEffect(tx, s, e); err != nil {
			return err
		}
	}
	return nil
}

// neededByScans adds the images of the trials that are not looked through yet: their agents began with
// these trees.
func (r *Reconciler) neededByScans(ctx context.Context, needed map[string]bool) error {
	return r.o.Store.View(ctx, func(tx *store.Tx) error {
		marks, err := tx.MetaBelow(scanPrefix)
		for key := range marks {
			row, err := tx.Trial(strings.TrimPrefix(key, scanPrefix))
			if err != nil {
				return err
			}
			s, err := history.StateOf(row)
			if err != nil {
				return err
			}
			needed[s.WorkImage.ID] = true
		}
		return err
	})
}
