package specs

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/store"
)

// settleHomes remembers in which file each run and mining spec stands that may have moved, and lets its
// results follow it.
func (s *Source) settleHomes(tx *store.Tx, set *config.Set, moved func(config.Block) bool) error {
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
		to := s.StreamAt(address, run.Path, under.of(run.Path))
		if err := tx.MoveStream(to, store.Envelope{Generation: run.Generation}, map[string]string{"to": to.Path}); err != nil {
			return err
		}
	}
	return nil
}

// Stream is where the results of a run or mining spec go.
func (s *Source) Stream(address string) store.StreamRef {
	if run := s.set.Run(strings.TrimPrefix(address, "run.")); run != nil {
		return s.StreamAt(address, run.Path, s.roots.of(run.Path))
	}
	if m := s.Mining(address); m != nil {
		return s.StreamAt(address, m.Path, s.roots.of(m.Path))
	}
	return store.StreamRef{Spec: address} // it exists: only a run that was declared has records
}

// Mining is a mining spec in force, by its address; nil if there is none.
func (s *Source) Mining(address string) *config.Mining {
	if s.set == nil {
		return nil
	}
	return s.set.Mining(strings.TrimPrefix(address, "mining."))
}

// StreamAt is where the results of a spec go that a file below a root declares.
func (s *Source) StreamAt(address, path, root string) store.StreamRef {
	stem := strings.TrimSuffix(path, ".hcl")
	return s.Placed(store.StreamRef{Spec: address, Root: root, Path: stem + "." + address + ".jsonl"})
}

// StatusStream is where what became of a spec file is told.
func (s *Source) StatusStream(path, root string) store.StreamRef {
	return s.Placed(store.StreamRef{Spec: "status:" + path, Root: root, Path: strings.TrimSuffix(path, ".hcl") + ".status.jsonl"})
}

// Placed moves a file below results_dir, when there is one.
func (s *Source) Placed(ref store.StreamRef) store.StreamRef {
	if s.o.Results == "" {
		return ref
	}
	if rel, err := filepath.Rel(ref.Root, ref.Path); err == nil {
		ref.Root, ref.Path = s.o.Results, filepath.Join(s.o.Results, rel)
	}
	return ref
}

// roots are the folders that files are under, by the path of the file.
type roots map[string]string

func rootsOf(set *config.Set) roots {
	all := roots{}
	for _, f := range set.Files {
		all[f.Path] = f.Root
	}
	return all
}

// of is the root of a file; one that is under none has its own folder for one.
func (r roots) of(path string) string { return cmp.Or(r[path], filepath.Dir(path)) }

// Root is the watched folder that a file is under, or else the file's own folder.
func (s *Source) Root(path string) string { return s.roots.of(path) }
