package reconcile

import (
	"context"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/taskcheck"
)

// taskValidated is the record of a check.
type taskValidated struct {
	taskcheck.Checked
	Task string `json:"task"` // its name
}

// recordCheck writes what was found beside the spec that declares the task.
func (r *Reconciler) recordCheck(ctx context.Context, s config.Selected, out taskcheck.Checked) error {
	address := s.Benchmark.Address()
	var to store.StreamRef
	var generation string
	err := r.do(ctx, func() {
		if b := r.declares(s); b != nil {
			to, generation = r.specs.StreamAt(address, b.Path, r.specs.Root(b.Path)), b.Generation
		}
	})
	if err != nil || to.Path == "" {
		return err // it was taken out meanwhile
	}
	return r.o.Store.Do(ctx, func(tx *store.Tx) error {
		if err := tx.MoveStream(to, store.Envelope{Generation: generation}, map[string]string{"to": to.Path}); err != nil {
			return err
		}
		envelope := store.Envelope{Type: "task.validated", Spec: address, Generation: generation}
		_, err := tx.AppendLine(to, envelope, taskValidated{out, s.Name()})
		return err
	})
}

// declares is the block that has a task, nil if there is none any more.
func (r *Reconciler) declares(s config.Selected) *config.Block {
	if s.Benchmark.Kind == "mining" {
		if m := r.specs.Set().Mining(s.Benchmark.Name); m != nil {
			return &m.Block
		}
	} else if b := r.specs.Set().Benchmark(s.Benchmark.Name); b != nil {
		return &b.Block
	}
	return nil
}
