package reconcile

import (
	"path/filepath"
	"strings"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/store"
)

// settleHomes remembers in which file each run and mining spec stands that may have moved, and lets its
// results follow it.
func (r *Reconciler) settleHomes(tx *store.Tx, set *config.Set, moved func(config.Block) bool) error {
	under := rootsOf(set)
	blocks := []config.Block{}
	for _, run := range set.Blocks.Runs {
		blocks = append(blocks, run.Block)
	}
	for _, m := range set.Blocks.Minings {
		blocks = append(blocks, m.Block)
	}
	for _, run := range blocks {
		if !moved(run) {
			continue
		}
		address := run.Address()
		old, err := tx.Meta(history.HomeKey(address))
		if err != nil {
			return err
		}
		if old == run.Path {
			continue
		}
		if err := tx.PutMeta(history.HomeKey(address), run.Path); err != nil {
			return err
		}
		to := r.streamAt(address, run.Path, under.of(run.Path))
		if err := tx.MoveStream(to, store.Envelope{Generation: run.Generation}, map[string]string{"to": to.Path}); err != nil {
			return err
		}
	}
	return nil
}

// stream is where a run's results go.
func (r *Reconciler) stream(address string) store.StreamRef {
	if run := r.set.Run(strings.TrimPrefix(address, "run.")); run != nil {
		return r.streamAt(address, run.Path, r.roots.of(run.Path))
	}
	if m := r.miningOf(address); m != nil {
		return r.streamAt(address, m.Path, r.roots.of(m.Path))
	}
	return store.StreamRef{Spec: address} // it exists: only a run that was declared has records
}

func (r *Reconciler) streamAt(address, path, root string) store.StreamRef {
	stem := strings.TrimSuffix(path, ".hcl")
	return r.placed(store.StreamRef{Spec: address, Root: root, Path: stem + "." + address + ".jsonl"})
}

// statusStream is where what became of a spec file is told.
func (r *Reconciler) statusStream(path, root string) store.StreamRef {
	return r.placed(store.StreamRef{Spec: "status:" + path, Root: root, Path: strings.TrimSuffix(path, ".hcl") + ".status.jsonl"})
}

// placed moves a file below results_dir, when there is one.
func (r *Reconciler) placed(ref store.StreamRef) store.StreamRef {
	if r.o.ResultsDir == "" {
		return ref
	}
	if rel, err := filepath.Rel(ref.Root, ref.Path); err == nil {
		ref.Root, ref.Path = r.o.ResultsDir, filepath.Join(r.o.ResultsDir, rel)
	}
	return ref
}

// envelope is the envelope of a record about a run.
func (r *Reconciler) envelope(address, typ string, execution int) store.Envelope {
	e := store.Envelope{Type: typ, Spec: address, Execution: execution}
	if d := r.desired[address]; d != nil {
		e.Generation = d.Generation
	}
	return e
}
