package reconcile

import (
	"context"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/specs"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/taskcheck"
)

// taskRecords record what checks of tasks found. Any goroutine may call put.
type taskRecords struct {
	store *store.Store
	specs *specs.Source                             // the loop's
	do    func(ctx context.Context, f func()) error // runs f in the loop
}

// taskValidated is the record of a check.
type taskValidated struct {
	taskcheck.Checked
	Task string `json:"task"` // its name
}

// put writes what was found beside the spec that declares the task.
func (k *taskRecords) put(ctx context.Context, s config.Selected, out taskcheck.Checked) error {
	address := s.Benchmark.Address()
	var to store.StreamRef
	var generation string
	err := k.do(ctx, func() {
		if b := k.declares(s); b != nil {
			to, generation = k.specs.StreamAt(address, b.Path, k.specs.Root(b.Path)), b.Generation
		}
	})
	if err != nil || to.Path == "" {
		return err // it was taken out meanwhile
	}
	return k.store.Do(ctx, func(tx *store.Tx) error {
		if err := tx.MoveStream(to, store.Envelope{Generation: generation}, map[string]string{"to": to.Path}); err != nil {
			return err
		}
		envelope := store.Envelope{Type: "task.validated", Spec: address, Generation: generation}
		_, err := tx.AppendLine(to, envelope, taskValidated{out, s.Name()})
		return err
	})
}

// declares is the block that has a task, nil if there is none any more.
func (k *taskRecords) declares(s config.Selected) *config.Block {
	if s.Benchmark.Kind == "mining" {
		if m := k.specs.Set().Mining(s.Benchmark.Name); m != nil {
			return &m.Block
		}
	} else if b := k.specs.Set().Benchmark(s.Benchmark.Name); b != nil {
		return &b.Block
	}
	return nil
}
