package reconcile

import (
	"context"

	"github.com/assayd/assayd/config"
)

// Datasets are those of imports that lie elsewhere. Config.Import begins to fetch what is not
// there, and says that it is pending; any field may be nil.
type Datasets struct {
	// Fetch returns when what these imports name is here as it is now, or cannot be had: then
	// reading it tells why.
	Fetch func(ctx context.Context, imports []config.Import, tell func(Fetch))
	// Peek is Config.Import that begins nothing.
	Peek func(config.Import) ([]config.Imported, []config.Problem)
	// Progress says how far the fetching of a dataset is, "12 MB of 1.2 GB"; "" = not known.
	Progress func(config.Import) string
}

// Fetch is how far the fetching of one dataset is.
type Fetch struct {
	Source string `json:"source"`
	Done   int64  `json:"done"`  // bytes
	Total  int64  `json:"total"` // 0 = not known
	Over   bool   `json:"over,omitempty"`
}

// Fetch has the datasets be fetched that files name, and tells how far it is.
func (r *Reconciler) Fetch(ctx context.Context, paths []string, tell func(Fetch)) error {
	inputs, err := config.ReadAll(paths)
	if err != nil {
		return mistake("read specs: %w", err)
	}
	r.fetch(ctx, config.Imports(inputs, r.o.Config), tell)
	return ctx.Err()
}

func (r *Reconciler) fetch(ctx context.Context, imports []config.Import, tell func(Fetch)) {
	var remote []config.Import
	for _, i := range imports {
		if i.Remote() {
			remote = append(remote, i)
		}
	}
	if len(remote) > 0 && r.o.Datasets.Fetch != nil {
		r.o.Datasets.Fetch(ctx, remote, tell)
	}
}

// fetchOf has the datasets be fetched that a run in force has tasks of.
func (r *Reconciler) fetchOf(ctx context.Context, address string) {
	set := r.inForce.Load()
	if set == nil {
		return
	}
	for _, run := range set.Blocks.Runs {
		for _, ref := range run.Tasks {
			if b := set.Benchmark(ref.Name); run.Address() == address && b != nil {
				r.fetch(ctx, b.Imports, func(Fetch) {})
			}
		}
	}
}

// fetching says how far that is for which a run of a set waits.
func (r *Reconciler) fetching(set *config.Set, name string) string {
	if r.o.Datasets.Progress == nil {
		return ""
	}
	run := set.Run(name)
	if run == nil {
		return ""
	}
	for _, ref := range run.Tasks {
		b := set.Benchmark(ref.Name)
		if b == nil || b.Pending() == nil {
			continue
		}
		if far := r.o.Datasets.Progress(*b.Pending()); far != "" {
			return ", " + far
		}
	}
	return ""
}
