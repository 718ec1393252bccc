package evaluate

import (
	"context"
	"log/slog"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/admission"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/keylock"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial"
)

// Options are what an Evaluator is made of.
type Options struct {
	Store     *store.Store
	Ledger    *ledger.Submissions
	Host      *trial.Host // with a nil Judge nothing is judged
	Reader    *query.Reader
	Admission *admission.Controller // of work beside trials
	Config    config.Options        // how specs are compiled
	// Accepted is what was accepted last of the spec files.
	Accepted func(ctx context.Context) (config.Previous, error)
	// Hold keeps spec files as they are until release; ok is false where they may be of two commits.
	Hold func() (release func(), ok bool)
	// Commit is the commit that a spec file is of; "" where it is of none.
	Commit func(path string) string
	// Solution is that of a trial's task as the trial's execution has it; wanted is false where no run wants
	// the trial now.
	Solution func(ctx context.Context, s trial.State) (solution *task.Solution, wanted bool, err error)
	// Go runs f until it returns, or the daemon ends.
	Go  func(f func(ctx context.Context))
	Log *slog.Logger
}

// Evaluator has archives, patches, and solutions judged outside any trial, and keeps what that shows of
// tasks. Any goroutine may use it.
type Evaluator struct {
	o     Options
	turns keylock.Locks
	ahead ahead
}

// New returns an evaluator. Its options' host may be completed with the evaluator's methods.
func New(o Options) *Evaluator { return &Evaluator{o: o} }
