package history

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial"
	"github.com/assayd/assayd/runtime/trial/tryrounds"
)

// TrialRecord is all that is known of a trial: its state and the accepted rounds of its
// last try, without the tests of their reports.
type TrialRecord struct {
	trial.State
	Rounds     []round.Submission
	FinishedAt time.Time // when it got its result; zero while it is open
}

// RunRecord is all that is known of an execution of a run.
type RunRecord struct {
	Address   string
	Execution int
	Spec      string        // path of the file that declares the run, or was the last to do so; "" = not known
	Stagger   time.Duration // as the run is declared now
	Trials    []TrialRecord // by id; without those that were superseded
}

// Records returns what a run's execution has come to; n = 0 is its last one. It needs no
// daemon and disturbs none: a store that is open for reading will do. A name that is no
// run's is an ErrUnknown.
func Records(ctx context.Context, s *store.Store, address string, n int) (r RunRecord, err error) {
	err = s.View(ctx, func(tx *store.Tx) error {
		last, err := tx.LatestExecution(address)
		if errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("%w: %s has never been started here", ErrUnknown, address)
		}
		if err != nil {
			return err
		}
		if n < 0 || n > last.N {
			return fmt.Errorf("%w: %s has no execution e%d; its last one is e%d", ErrUnknown, address, n, last.N)
		}
		r = RunRecord{Address: address, Execution: cmp.Or(n, last.N)}
		if err := declared(tx, &r); err != nil {
			return err
		}
		states, err := Standing(tx, address, r.Execution)
		if err != nil {
			return err
		}
		for _, s := range states {
			record, err := TrialRecordOf(tx, s)
			if err != nil {
				return err
			}
			r.Trials = append(r.Trials, record)
		}
		return nil
	})
	return r, err
}

// declared says what the run's block does, where it is still known.
func declared(tx *store.Tx, r *RunRecord) (err error) {
	if r.Spec, err = tx.Meta(HomeKey(r.Address)); err != nil {
		return err
	}
	files, err := tx.Files()
	for _, f := range files {
		if f.Path != r.Spec {
			continue
		}
		var c config.Compiled
		if err := json.Unmarshal(f.Compiled, &c); err != nil {
			return fmt.Errorf("read the accepted spec of %s: %w", f.Path, err)
		}
		for _, run := range c.Blocks.Runs {
			if run.Address() == r.Address {
				r.Stagger = run.Stagger
			}
		}
	}
	return err
}

// TrialRecordOf is the record of a trial.
func TrialRecordOf(tx *store.Tx, s trial.State) (r TrialRecord, err error) {
	row, err := tx.Trial(s.ID)
	if err != nil {
		return r, err
	}
	r.State, r.FinishedAt = s, row.FinishedAt
	all, err := ledger.OfTrial(tx, s.ID)
	for _, sub := range tryrounds.OfTry(all, r.Try) {
		if sub.State != round.StateReserved {
			r.Rounds = append(r.Rounds, sub)
		}
	}
	return r, err
}

// HomeKey is where the store says which file declares a spec, or was the last to do so.
func HomeKey(address string) string { return "home/" + address }

// BegunKey is where the store has which cells of a run have begun.
func BegunKey(address string) string { return "begun/" + address }

// StaleKey is where the store has which content of a run was recorded to be stale; "" = the content is that of now.
func StaleKey(address string) string { return "stale/" + address }

// ScheduleKey is where the store has the schedule that counts of a run.
func ScheduleKey(address string) string { return "schedule/" + address }

// FiredKey is where the store has the last firing of a run's schedule that something came of, as plan.Stamp writes it.
func FiredKey(address string) string { return "fired/" + address }
