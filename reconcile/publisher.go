package reconcile

import (
	"github.com/assayd/assayd/reconcile/admission"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query/snapshot"
	"github.com/assayd/assayd/reconcile/store"
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

// publisher makes the snapshots from which questions are answered. It belongs to the loop's goroutine.
type publisher struct {
	runs      *runs
	minings   *minings
	waitlist  *admission.Waitlist
	snapshots *snapshot.Latest
	store     *store.Store
}

// publish makes a snapshot of what has changed since the last one, and announces the changes. It costs
// what has changed; only a look that accepted files compares all addresses.
func (p *publisher) publish() {
	defer func() {
		for _, waits := range p.runs.shown.waiting {
			close(waits)
		}
		p.runs.shown.waiting = nil
	}()
	was := p.snapshots.Get()
	files := was == nil || was.Set != p.runs.specs.Set() || was.Blind != p.runs.specs.Blind()
	if !files && !p.runs.shown.all && len(p.runs.shown.changed) == 0 {
		return
	}
	if p.runs.shown.all {
		p.showAllAddresses(was)
	}
	edit := was.Edit()
	var announced []string
	for address := range p.runs.shown.changed {
		var changed bool
		if plan.IsMining(address) {
			changed = edit.PutMining(p.miningView(address))
		} else {
			changed = edit.PutRun(p.runView(address))
		}
		if changed {
			announced = append(announced, address)
		}
	}
	clear(p.runs.shown.changed)
	p.runs.shown.all = false
	now := edit.Done(p.runs.specs.Set(), p.runs.specs.Previous(), p.runs.specs.Blind())
	p.snapshots.Publish(now)
	for _, address := range announced {
		p.store.Announce(address, change.Notes)
	}
	if files {
		p.store.Announce(change.SpecFiles, change.Files)
	}
	if p.runs.shown.checked != nil {
		p.runs.shown.checked(now)
	}
}

// showAllAddresses notes each address that there is, or was in the snapshot, as changed.
func (p *publisher) showAllAddresses(was *snapshot.Snapshot) {
	for address := range p.runs.desired {
		p.runs.shown.show(address)
	}
	for address := range p.runs.gone {
		p.runs.shown.show(address)
	}
	for _, address := range p.minings.all.Addresses() {
		p.runs.shown.show(address)
	}
	if was == nil {
		return
	}
	for address := range was.Runs() {
		p.runs.shown.show(address)
	}
	for address := range was.Minings() {
		p.runs.shown.show(address)
	}
}

// runView is what is known of a run now, and whether there is such a run.
func (p *publisher) runView(address string) (v snapshot.RunView, is bool) {
	v.Address = address
	d := p.runs.desired[address]
	if _, gone := p.runs.gone[address]; d == nil && !gone {
		return v, false
	}
	v = snapshot.RunView{Address: address, Desired: d, Note: p.runs.notes[address], Stale: p.runs.contents.Stale(address), Rerun: p.runs.rerun[address] != nil, NoRoom: p.waitlist.Waits(address)}
	if d != nil {
		if run := p.runs.specs.Set().Run(d.Name); run != nil {
			v.File = run.Pos.File
		}
	}
	return v, true
}

// miningView is what is known of a mining spec now, and whether there is such a spec.
func (p *publisher) miningView(address string) (v snapshot.MiningView, is bool) {
	v = snapshot.MiningView{Address: address, Spec: p.runs.specs.Mining(address), Miner: p.minings.all.Miner(address), Note: p.runs.notes[address]}
	return v, p.minings.all.Known(address)
}
