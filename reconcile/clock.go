package reconcile

import "time"

// now is what the time is for whatever the loop waits for by itself: setting the wall clock
// neither delays nor hurries it.
func (r *Reconciler) now() time.Time { return r.line.Now() }

// stamped is a time of the loop as others may have stamped it, who have nothing but the
// wall clock: the earlier of what that showed before it was set and what it would show now.
// What bears a later stamp is surely younger.
func (r *Reconciler) stamped(at time.Time) time.Time {
	if wall := r.line.Wall(at); wall.Before(at) {
		return wall
	}
	return at
}

// onClockStep takes in that the wall clock was set: the next firing of a schedule, which is a time
// of day, is another moment then.
func (r *Reconciler) onClockStep() {
	now := r.now()
	step := r.line.Wall(now).Sub(now)
	if step == r.step {
		return
	}
	r.o.Log.Warn("the wall clock was set", "by", step-r.step)
	r.step = step
	r.cells.DropAll() // when tries ended is another time of day
	for address, d := range r.desired {
		if d.Schedule != nil {
			r.queue.Add(address, now)
		}
	}
}
