package query

import (
	"io"
	"log/slog"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/query/snapshot"
	"github.com/assayd/assayd/reconcile/query/summaries"
	"github.com/assayd/assayd/reconcile/store"
)

// Options are what a Reader answers from.
type Options struct {
	Store     *store.Store
	Snapshots *snapshot.Latest
	Summaries *summaries.Summaries
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
	want      func(summaries.Execution) // has a summary made, soon
	seen      firstSeen
}

// New returns a reader. Questions about what is declared wait for the first snapshot.
func New(o Options) *Reader {
	return &Reader{Snapshots: o.Snapshots, o: o, want: o.Summaries.Want}
}
