package cheatscan

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/pause"
	"github.com/assayd/assayd/runtime/trial"
)

// Options are what a Scanner is made of.
type Options struct {
	Store *store.Store
	// Scan looks through what a trial's agent did, and says what it has found.
	Scan   func(ctx context.Context, s trial.State, rounds []round.Submission) (flags []string, effects []trial.Effect)
	Failed func(ctx context.Context, spec, trial string, err error) // the store fails; it is tried again
	Over   func(ctx context.Context, spec string)                   // the last trial of a run is looked through, for now
	Log    *slog.Logger
}

// Scanners is how many trials are to be looked through at once.
const Scanners = 2

// Scanner looks through what agents did in trials that are over. No verdict waits for that. The store has
// the trials in line, too: what one daemon leaves the next one does. Any goroutine may use it.
type Scanner struct {
	o     Options
	queue *queue
}

// New returns a scanner with no trial in line.
func New(o Options) *Scanner { return &Scanner{o, newQueue()} }

// Add has a trial looked through whose mark is stored.
func (k *Scanner) Add(c Scan) { k.queue.add(c) }

// Waiting is how many trials of a run are not looked through yet.
func (k *Scanner) Waiting(address string) int { return k.queue.of(address) }

// Load takes up what a former daemon did not come to.
func (k *Scanner) Load(ctx context.Context) error {
	var marks map[string]string
	if err := k.o.Store.View(ctx, func(tx *store.Tx) (err error) {
		marks, err = tx.MetaBelow(Prefix)
		return err
	}); err != nil {
		return err
	}
	for key, value := range marks {
		c := Scan{trial: strings.TrimPrefix(key, Prefix)}
		if _, err := fmt.Sscan(value, &c.try, &c.spec); err != nil {
			return fmt.Errorf("read that trial %s is to be looked through: %w", c.trial, err)
		}
		k.queue.add(c)
	}
	return nil
}

// Run looks through one trial after the other until the context ends.
func (k *Scanner) Run(ctx context.Context) {
	for {
		c, err := k.queue.next(ctx)
		if err != nil {
			return
		}
		for again := (pause.Growing{}); ctx.Err() == nil; again.Wait(ctx) {
			if err = k.scanTrial(ctx, c); err == nil {
				break
			}
			if ctx.Err() == nil {
				k.o.Failed(ctx, c.spec, c.trial, err)
			}
		}
		if k.queue.done(c) {
			k.o.Over(ctx, c.spec)
		}
	}
}

// scanTrial looks through one trial and stores what was found. An error is of the store.
func (k *Scanner) scanTrial(ctx context.Context, c Scan) error {
	var s trial.State
	var subs []round.Submission
	wanted := false
	if err := k.o.Store.View(ctx, func(tx *store.Tx) (err error) {
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
		flags, effects = k.o.Scan(ctx, s, subs)
		fault.Reached(fault.TrialScanned)
	}
	if ctx.Err() != nil { // not all was looked at, and will be
		return context.Cause(ctx)
	}
	if err := k.o.Store.Do(ctx, func(tx *store.Tx) error { return c.put(tx, flags, effects) }); err != nil {
		return err
	}
	if len(flags) > 0 {
		k.o.Log.Info("trial flagged", "spec", c.spec, "trial", c.trial, "flags", flags)
	}
	fault.Reached(fault.TrialFlagged)
	return nil
}

// wanted reads the trial, and reports whether the try still is what counts of it and was not looked
// through.
func (c Scan) wanted(tx *store.Tx) (s trial.State, wanted bool, err error) {
	key, value := c.Mark()
	mark, err := tx.Meta(key)
	if err != nil || mark != value {
		return s, false, err
	}
	row, err := tx.Trial(c.trial)
	if err == nil {
		s, err = history.StateOf(row)
	}
	now, due := Of(s)
	return s, due && now == c, err
}

// put stores what was found with the trial, and the records of it.
func (c Scan) put(tx *store.Tx, flags []string, effects []trial.Effect) error {
	key, value := c.Mark()
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

func (c Scan) flag(tx *store.Tx, s trial.State, flags []string, effects []trial.Effect) error {
	if len(flags) > 0 {
		row, err := tx.Trial(c.trial)
		if err != nil {
			return err
		}
		s = s.WithFlags(flags)
		if err := history.PutState(tx, row, s); err != nil {
			return err
		}
	}
	for _, e := range effects {
		if err := history.AppendEffect(tx, s, e); err != nil {
			return err
		}
	}
	return nil
}

// Needed adds the images of the trials that are not looked through yet: their agents began with
// these trees.
func (k *Scanner) Needed(ctx context.Context, needed map[string]bool) error {
	return k.o.Store.View(ctx, func(tx *store.Tx) error {
		marks, err := tx.MetaBelow(Prefix)
		for key := range marks {
			row, err := tx.Trial(strings.TrimPrefix(key, Prefix))
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
