package taskcheck

import (
	"context"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/evaluate"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/runtime/trial"
)

// Options are what a Checker is made of.
type Options struct {
	Host      *trial.Host
	Reader    *query.Reader
	Evaluator *evaluate.Evaluator
	Config    config.Options // how specs are compiled
	// Record writes what was found of a task that is in force.
	Record func(ctx context.Context, s config.Selected, out Checked) error
}

// Checker checks tasks, and makes their images. Any goroutine may use it.
type Checker struct{ o Options }

// New returns a checker.
func New(o Options) *Checker { return &Checker{o} }
