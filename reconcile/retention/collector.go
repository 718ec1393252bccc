package retention

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/assayd/assayd/reconcile/query/snapshot"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/troubles"
	"github.com/assayd/assayd/runtime/trial"
)

// Options are what a Collector is made of.
type Options struct {
	Store     *store.Store
	Host      *trial.Host // without Images nothing is collected
	Snapshots *snapshot.Latest
	// Needed adds the ids of images that others need than open trials and executions.
	Needed func(ctx context.Context, ids map[string]bool) error
	// Before is the time before which a file was stamped that is surely older than age, whatever the wall
	// clock was set to.
	Before   func(age time.Duration) time.Time
	Daemon   string                           // id of this process, which its containers bear
	Until    func(at time.Time) time.Duration // to a time of the loop
	Troubles *troubles.Troubles
	Log      *slog.Logger
}

// Collector removes what is kept, or was left behind, once nobody needs it any more. Any goroutine may use
// it.
type Collector struct {
	o    Options
	left *orphans
	wake chan struct{} // holds one value while other containers may stay
	mu   sync.Mutex    // held while kept containers are removed
}

// New returns a collector that has nothing to remove.
func New(o Options) *Collector {
	remove := func(ctx context.Context, id string) error { return o.Host.Engine.Remove(ctx, id) }
	return &Collector{o: o, left: newOrphans(remove), wake: make(chan struct{}, 1)}
}
