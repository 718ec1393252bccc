package query

import (
	"context"
	"io"
	"log/slog"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/query/snapshot"
	"github.com/assayd/assayd/reconcile/store"
)

// Options are what a Reader answers from.
type Options struct {
	Store     *store.Store
	Snapshots *snapshot.Latest
	StateDir  string                                     // where logs of trials lie
	OpenBlob  func(digest string) (io.ReadCloser, error) // an error that is fs.ErrNotExist where it is not kept any more
	Config    config.Options                             // how specs are compiled that a question names
	Git       func() GitStatus                           // of the repository that specs come from; nil = they come from none
	Host      func() HostState                           // nil = no daemon runs
	Datasets  Datasets
	Log       *slog.Logger
	Idle      bool // the store is open for reading only
}

// Reader answers questions about what is declared, what works, and what was done: from the latest snapshot
// and the store. Any goroutine may use it.
type Reader struct {
	Snapshots *snapshot.Latest // of what is declared and what works
	o         Options
	summaries *summaries
	comparing chan struct{} // held by who compares
	seen      firstSeen
}

// New returns a reader. Questions about what is declared wait for the first snapshot.
func New(o Options) *Reader {
	return &Reader{
		Snapshots: o.Snapshots, o: o, summaries: newSummaries(o.Store, o.Idle), comparing: make(chan struct{}, 1),
	}
}

// Run makes the summaries that questions ask for until the context ends.
func (r *Reader) Run(ctx context.Context) {
	r.summaries.run(ctx, func(address string, err error) { r.o.Log.Warn("sum up", "spec", address, "error", err) })
}
