package trialview

import (
	"context"
	"io"

	"github.com/assayd/assayd/reconcile/query/archive"
	"github.com/assayd/assayd/reconcile/store"
)

// Options are what Trials answers from.
type Options struct {
	Store    *store.Store
	StateDir string                                     // where logs and transcripts of trials lie
	OpenBlob func(digest string) (io.ReadCloser, error) // an error that is fs.ErrNotExist where it is not kept any more
}

// Trials answers questions about single trials. Any goroutine may use it.
type Trials struct {
	store    *store.Store
	stateDir string
	openBlob func(digest string) (io.ReadCloser, error)
	archives archive.Reader
	indices  *indices
}

// New returns Trials. Without Run they read a long transcript while a caller waits.
func New(o Options) *Trials {
	return &Trials{store: o.Store, stateDir: o.StateDir, openBlob: o.OpenBlob, archives: archive.Reader{Open: o.OpenBlob}, indices: newIndices()}
}

// Run makes the indices of long transcripts that questions ask for until the context ends. One goroutine calls it.
func (r *Trials) Run(ctx context.Context) { r.indices.run(ctx) }
