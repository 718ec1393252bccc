package query

import (
	"context"
	"strings"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query/snapshot"
	"github.com/assayd/assayd/reconcile/request"
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
func (r *Reader) Fetch(ctx context.Context, paths []string, tell func(Fetch)) error {
	inputs, err := config.ReadAll(paths)
	if err != nil {
		return request.Mistakef("read specs: %w", err)
	}
	r.FetchImports(ctx, config.Imports(inputs, r.o.Config), tell)
	return ctx.Err()
}

// FetchImports has those of some imports be fetched that lie elsewhere.
func (r *Reader) FetchImports(ctx context.Context, imports []config.Import, tell func(Fetch)) {
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

// fetching says how far that is for which a run of a set waits.
func (r *Reader) fetching(set *config.Set, name string) string {
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

// waitsOf says what a run waits for before it begins, and how far that is.
func (r *Reader) waitsOf(s *snapshot.Snapshot, address string, d *plan.Run) string {
	if d == nil || d.Waits == "" {
		return ""
	}
	return d.Waits + r.fetching(s.Set, strings.TrimPrefix(address, "run."))
}
