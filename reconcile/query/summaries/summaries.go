package summaries

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/assayd/assayd/reconcile/query/snapshot"
	"github.com/assayd/assayd/reconcile/store"
)

// Options are what Summaries are made from.
type Options struct {
	Store     *store.Store
	Snapshots *snapshot.Latest
	Idle      bool // the store is open for reading only: nothing is kept
	Log       *slog.Logger
}

// Summaries makes what executions amount to, one at a time, and keeps it in the store: for thousands
// of trials that takes seconds, and is asked for twice a second. It may be used by any goroutine.
type Summaries struct {
	store     *store.Store
	snapshots *snapshot.Latest
	idle      bool
	log       *slog.Logger
	turn      chan struct{} // held by who makes one
	comparing chan struct{} // held by who compares
	wanted    chan Execution

	mu   sync.Mutex
	rest map[amount]time.Time // until when what is kept will do
}

// Execution names an execution.
type Execution struct {
	Address string // of the run
	N       int    // 1 for e1
}

// New returns Summaries. Those that are wanted are made by Run.
func New(o Options) *Summaries {
	return &Summaries{
		store: o.Store, snapshots: o.Snapshots, idle: o.Idle, log: o.Log, turn: make(chan struct{}, 1), comparing: make(chan struct{}, 1),
		wanted: make(chan Execution, manyWanted), rest: map[amount]time.Time{},
	}
}

// Run makes the summaries that are wanted until the context ends. One goroutine calls it.
func (k *Summaries) Run(ctx context.Context) {
	for {
		select {
		case of := <-k.wanted:
			if k.Rests(of) {
				continue
			}
			if _, err := k.summary(ctx, of); err != nil && ctx.Err() == nil {
				k.log.Warn("sum up", "spec", of.Address, "error", err)
			}
		case <-ctx.Done():
			return
		}
	}
}
