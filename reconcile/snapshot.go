package reconcile

import (
	"context"
	"iter"
	"strings"
	"sync/atomic"

	iradix "github.com/hashicorp/go-immutable-radix/v2"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
)

// snapshot is the knowledge of the loop at the end of a turn. It does not change, so any goroutine may
// read it: together with the store it answers every question.
type snapshot struct {
	set      *config.Set // in force; nil = no look at the files has succeeded yet
	previous config.Previous
	blind    string                   // why the last look at the files failed
	runs     *iradix.Tree[runView]    // by address: those that are declared, or were and are not forgotten
	minings  *iradix.Tree[miningView] // by address
}

// runView is a run in a snapshot.
type runView struct {
	address string
	desired *plan.Run // nil = no file declares it
	file    string
	note    string
	stale   *plan.Stale
	rerun   bool // another execution is asked for
}

// miningView is a mining spec in a snapshot.
type miningView struct {
	address string
	spec    *config.Mining // nil = no file declares it
	live    *liveMining    // nil = no goroutine works for it
	note    string
}

// snapshots publishes snapshots. The loop alone publishes, and never in the middle of a turn: a spec that
// was accepted is shown together with what the plan makes of it.
type snapshots struct {
	latest  atomic.Pointer[snapshot]
	first   chan struct{}          // closed when there is one
	waiting []chan struct{}        // closed with the next one
	changed map[string]bool        // addresses that are not in the latest snapshot as they are now
	all     bool                   // any address may have changed
	checked func(latest *snapshot) // called with each snapshot, by tests; nil = by no test
}

func newSnapshots() *snapshots {
	return &snapshots{first: make(chan struct{}), changed: map[string]bool{}, all: true}
}

// show notes that what is known of an address has changed.
func (s *snapshots) show(address string) { s.changed[address] = true }

// showAll notes that everything may have changed.
func (s *snapshots) showAll() { s.all = true }

// snapshot is the latest one. Before the first turn it waits for one.
func (r *Reconciler) snapshot(ctx context.Context) (*snapshot, error) {
	select {
	case <-r.done:
		return nil, ErrStopped
	default:
	}
	select {
	case <-r.shown.first:
		return r.shown.latest.Load(), nil
	case <-r.done:
		return nil, ErrStopped
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// publish makes a snapshot of what has changed since the last one, and announces the changes. It costs
// what has changed; only a look that accepted files compares all addresses.
func (r *Reconciler) publish() {
	defer func() {
		for _, waits := range r.shown.waiting {
			close(waits)
		}
		r.shown.waiting = nil
	}()
	was := r.shown.latest.Load()
	if was == nil {
		was = &snapshot{runs: iradix.New[runView](), minings: iradix.New[miningView]()}
	} else if !r.shown.all && len(r.shown.changed) == 0 && was.set == r.set && was.blind == r.blind {
		return
	}
	if r.shown.all {
		r.showAllAddresses(was)
	}
	now := &snapshot{set: r.set, previous: r.previous, blind: r.blind}
	runs, minings := was.runs.Txn(), was.minings.Txn()
	var announced []string
	for address := range r.shown.changed {
		var changed bool
		if plan.IsMining(address) {
			view, is := r.miningView(address)
			changed = putView(minings, address, view, is)
		} else {
			view, is := r.runView(address)
			changed = putView(runs, address, view, is)
		}
		if changed {
			announced = append(announced, address)
		}
	}
	now.runs, now.minings = runs.Commit(), minings.Commit()
	clear(r.shown.changed)
	r.shown.all = false
	if r.shown.latest.Swap(now) == nil {
		close(r.shown.first)
	}
	for _, address := range announced {
		r.o.Store.Announce(address, store.Notes)
	}
	if was.set != now.set || was.blind != now.blind {
		r.o.Store.Announce(store.SpecFiles, store.Files)
	}
	if r.shown.checked != nil {
		r.shown.checked(now)
	}
}

// putView stores a view, or deletes it where there is none any more, and reports whether that is a change.
func putView[V comparable](tree *iradix.Txn[V], address string, view V, is bool) bool {
	was, known := tree.Get([]byte(address))
	switch {
	case is && known && was == view, !is && !known:
		return false
	case is:
		tree.Insert([]byte(address), view)
	default:
		tree.Delete([]byte(address))
	}
	return true
}

// showAllAddresses notes each address that there is, or was in the snapshot, as changed.
func (r *Reconciler) showAllAddresses(was *snapshot) {
	for address := range r.desired {
		r.shown.show(address)
	}
	for address := range r.gone {
		r.shown.show(address)
	}
	for address := range r.mines {
		r.shown.show(address)
	}
	for address := range inOrder(was.runs, "") {
		r.shown.show(address)
	}
	for address := range inOrder(was.minings, "") {
		r.shown.show(address)
	}
}

// runView is what is known of a run now, and whether there is such a run.
func (r *Reconciler) runView(address string) (v runView, is bool) {
	d := r.desired[address]
	if _, gone := r.gone[address]; d == nil && !gone {
		return v, false
	}
	v = runView{address: address, desired: d, note: r.notes[address], stale: r.contents.stale[address], rerun: r.rerun[address] != nil}
	if d != nil {
		if run := r.set.Run(d.Name); run != nil {
			v.file = run.Pos.File
		}
	}
	return v, true
}

// miningView is what is known of a mining spec now, and whether there is such a spec.
func (r *Reconciler) miningView(address string) (miningView, bool) {
	return miningView{address, r.miningOf(address), r.miners[address], r.notes[address]}, r.mines[address]
}

// inOrder are the entries of a tree behind an address, "" being none, by address.
func inOrder[V any](tree *iradix.Tree[V], after string) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		it := tree.Root().Iterator()
		it.SeekLowerBound([]byte(after))
		for key, view, more := it.Next(); more; key, view, more = it.Next() {
			if string(key) != after && !yield(string(key), view) {
				return
			}
		}
	}
}

// run is the view of a run; without one only its address is known.
func (s *snapshot) run(address string) runView {
	if view, is := s.runs.Get([]byte(address)); is {
		return view
	}
	return runView{address: address}
}

// knows reports whether an address is that of a run.
func (s *snapshot) knows(address string) bool {
	_, is := s.runs.Get([]byte(address))
	return is
}

// mines reports whether an address is that of a mining spec.
func (s *snapshot) mines(address string) bool {
	_, is := s.minings.Get([]byte(address))
	return is
}

// addresses are those of all runs, in order.
func (s *snapshot) addresses() (all []string) {
	for address := range inOrder(s.runs, "") {
		all = append(all, address)
	}
	return all
}

// suggest says which run or mining spec was probably meant.
func (s *snapshot) suggest(name string) string {
	known := s.addresses()
	for address := range inOrder(s.minings, "") {
		known = append(known, address)
	}
	return suggest(name, known)
}

// waitsOf says what a run waits for before it begins, and how far that is.
func (r *Reconciler) waitsOf(s *snapshot, address string, d *plan.Run) string {
	if d == nil || d.Waits == "" {
		return ""
	}
	return d.Waits + r.fetching(s.set, strings.TrimPrefix(address, "run."))
}
