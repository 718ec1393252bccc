package reconcile

import (
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query/snapshot"
	"github.com/assayd/assayd/reconcile/store/change"
)

// unpublished is what the latest snapshot does not have yet. The loop alone publishes, and never in the
// middle of a turn: a spec that was accepted is shown together with what the plan makes of it.
type unpublished struct {
	waiting []chan struct{}                 // closed with the next snapshot
	changed map[string]bool                 // addresses that are not in the latest snapshot as they are now
	all     bool                            // any address may have changed
	checked func(latest *snapshot.Snapshot) // called with each snapshot, by tests; nil = by no test
}

// show notes that what is known of an address has changed.
func (u *unpublished) show(address string) { u.changed[address] = true }

// showAll notes that everything may have changed.
func (u *unpublished) showAll() { u.all = true }

// publish makes a snapshot of what has changed since the last one, and announces the changes. It costs
// what has changed; only a look that accepted files compares all addresses.
func (r *Reconciler) publish() {
	defer func() {
		for _, waits := range r.shown.waiting {
			close(waits)
		}
		r.shown.waiting = nil
	}()
	was := r.Snapshots.Get()
	files := was == nil || was.Set != r.set || was.Blind != r.blind
	if !files && !r.shown.all && len(r.shown.changed) == 0 {
		return
	}
	if r.shown.all {
		r.showAllAddresses(was)
	}
	edit := was.Edit()
	var announced []string
	for address := range r.shown.changed {
		var changed bool
		if plan.IsMining(address) {
			changed = edit.PutMining(r.miningView(address))
		} else {
			changed = edit.PutRun(r.runView(address))
		}
		if changed {
			announced = append(announced, address)
		}
	}
	clear(r.shown.changed)
	r.shown.all = false
	now := edit.Done(r.set, r.previous, r.blind)
	r.Snapshots.Publish(now)
	for _, address := range announced {
		r.o.Store.Announce(address, change.Notes)
	}
	if files {
		r.o.Store.Announce(change.SpecFiles, change.Files)
	}
	if r.shown.checked != nil {
		r.shown.checked(now)
	}
}

// showAllAddresses notes each address that there is, or was in the snapshot, as changed.
func (r *Reconciler) showAllAddresses(was *snapshot.Snapshot) {
	for address := range r.desired {
		r.shown.show(address)
	}
	for address := range r.gone {
		r.shown.show(address)
	}
	for _, address := range r.minings.Addresses() {
		r.shown.show(address)
	}
	if was == nil {
		return
	}
	for address := range was.Runs() {
		r.shown.show(address)
	}
	for address := range was.Minings() {
		r.shown.show(address)
	}
}

// runView is what is known of a run now, and whether there is such a run.
func (r *Reconciler) runView(address string) (v snapshot.RunView, is bool) {
	v.Address = address
	d := r.desired[address]
	if _, gone := r.gone[address]; d == nil && !gone {
		return v, false
	}
	v = snapshot.RunView{Address: address, Desired: d, Note: r.notes[address], Stale: r.contents.stale[address], Rerun: r.rerun[address] != nil, NoRoom: r.waitlist.Waits(address)}
	if d != nil {
		if run := r.set.Run(d.Name); run != nil {
			v.File = run.Pos.File
		}
	}
	return v, true
}

// miningView is what is known of a mining spec now, and whether there is such a spec.
func (r *Reconciler) miningView(address string) (v snapshot.MiningView, is bool) {
	v = snapshot.MiningView{Address: address, Spec: r.miningOf(address), Miner: r.minings.Miner(address), Note: r.notes[address]}
	return v, r.minings.Known(address)
}
