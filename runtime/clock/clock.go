package clock

import "time"

// Now is the wall clock. It says when something is to people, and when a schedule fires;
// to measure what may outlast the process, use a Line.
func Now() time.Time { return wall() }

// Timeline is a line of time: the wall clock as it was when the line was begun, going on
// evenly since. It holds for one boot of the machine; where it does not, and where it is
// the zero Line, the wall clock takes its place.
type Timeline struct {
	Boot string    // id of the boot for which the line holds
	Zero time.Time // the moment of that boot, on the line
}

// Begin returns a line on which it is now what the wall clock says.
func Begin() Timeline { return From(Now()) }

// From returns a line on which it is now that time.
func From(now time.Time) Timeline {
	boot, up := machine()
	if boot == "" {
		return Timeline{}
	}
	return Timeline{boot, now.UTC().Round(0).Add(-up)}
}

// Renewed returns the line if it holds, and else a new one.
func (l Timeline) Renewed() Timeline {
	if _, ok := l.now(); ok {
		return l
	}
	return Begin()
}

// Now is what the time is on the line, in UTC.
func (l Timeline) Now() time.Time {
	if now, ok := l.now(); ok {
		return now
	}
	return Now().UTC()
}

func (l Timeline) now() (now time.Time, ok bool) {
	if l.Boot == "" {
		return now, false
	}
	boot, up := machine()
	return l.Zero.Add(up), boot == l.Boot
}

// Until is how long it is until a time of the line; it is negative after it.
func (l Timeline) Until(at time.Time) time.Duration { return at.Sub(l.Now()) }

// Wall translates a time of the line into what the wall clock shows then, if nobody sets it
// any more. The wall clock's steps count in whole seconds, so that a time is translated into
// itself where there was none. A line that does not hold is taken for the wall clock.
func (l Timeline) Wall(at time.Time) time.Time {
	now, ok := l.now()
	if !ok {
		return at
	}
	return at.Add(Now().Sub(now).Round(time.Second))
}

// Boot is an id that differs after each boot of the machine; "" where it cannot be known.
func Boot() string {
	boot, _ := machine()
	return boot
}
