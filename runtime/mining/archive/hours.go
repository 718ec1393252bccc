package archive

import (
	"fmt"
	"strings"
	"time"
)

const (
	// behind is how long after its beginning an hour can be expected: it is published some
	// minutes after its end, or later.
	behind = 2 * time.Hour
	// fresh is how long after its beginning an hour that is missing or damaged may still come, or be mended.
	fresh = 48 * time.Hour
	// between is how long an hour that is missing or damaged is left alone.
	between = 15 * time.Minute
)

// First is the first hour whose events have a form that can be read.
func First() time.Time { return time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC) }

// State is what is known of an hour.
type State int

// The states of an hour.
const (
	Unread  State = iota // nothing: it was never read to its end
	Read                 // all of it was told
	Missing              // ErrMissing
	Broken               // a *Damaged, or ErrTimeline; what could be read was told
)

// String names the state for people.
func (s State) String() string {
	switch s {
	case Read:
		return "read"
	case Missing:
		return "missing"
	case Broken:
		return "damaged"
	default:
		return "not read"
	}
}

// Past is what a caller has kept of an hour.
type Past struct {
	State State
	At    time.Time // when it was asked for the last time
}

// Source says which hours are wanted: those of the last Lookback, or those from From to To.
type Source struct {
	Lookback time.Duration // at least one hour is wanted; not looked at if From is there
	Since    time.Time     // a lookback reaches the hour that it is in, at the least; zero = no more than it says
	From     time.Time     // the hour that it is in is the first
	To       time.Time     // hours that begin at it or later are not wanted; zero = all there will be
}

// Span returns the wanted hours that can be there: those that begin at from or later and
// before to. It is empty if from is not before to.
func (s Source) Span(now time.Time) (from, to time.Time) {
	to = hourOf(now.Add(-behind)).Add(time.Hour)
	if s.From.IsZero() {
		from = to.Add(-max(time.Hour, s.Lookback+time.Hour-1).Truncate(time.Hour))
		if !s.Since.IsZero() && s.Since.Before(from) {
			from = hourOf(s.Since)
		}
		return from, to
	}
	if !s.To.IsZero() && s.To.Before(to) {
		to = hourOf(s.To.Add(time.Hour - 1))
	}
	return hourOf(s.From), to
}

// Hours returns the wanted hours to read now, in UTC: the newest first for a lookback, else the oldest.
// An hour that was missing or damaged is read again until it is two days old, after a
// while, also when the lookback does not reach it any more: archives are late at times.
func (s Source) Hours(now time.Time, past func(hour time.Time) Past) (hours []time.Time) {
	from, to := s.Span(now)
	if !s.From.IsZero() {
		for hour := from; hour.Before(to); hour = hour.Add(time.Hour) {
			if p := past(hour); p.State == Unread || again(hour, p, now) {
				hours = append(hours, hour)
			}
		}
		return hours
	}
	for hour := to.Add(-time.Hour); !hour.Before(from) || now.Sub(hour) < fresh; hour = hour.Add(-time.Hour) {
		if p := past(hour); p.State == Unread && !hour.Before(from) || again(hour, p, now) {
			hours = append(hours, hour)
		}
	}
	return hours
}

// again tells whether an hour that could not be read is to be tried now.
func again(hour time.Time, p Past, now time.Time) bool {
	return p.State != Unread && !final(hour, p.State, now) && now.Sub(p.At) >= between
}

// Gap is a row of hours that are in the same state, which is not Read.
type Gap struct {
	State State
	From  time.Time // beginning of the first hour
	To    time.Time // end of the last one
}

// Hours counts the hours of the gap.
func (g Gap) Hours() int { return int(g.To.Sub(g.From) / time.Hour) }

// String shows the gap with hours as files are named.
func (g Gap) String() string {
	first, last := strings.TrimSuffix(Name(g.From), extension), strings.TrimSuffix(Name(g.To.Add(-time.Hour)), extension)
	if first == last {
		return fmt.Sprintf("%s %v", first, g.State)
	}
	return fmt.Sprintf("%s to %s %v (%d hours)", first, last, g.State, g.Hours())
}

// Gaps returns what was not read of the hours from the one that from is in to the last that
// begins before to, in their order.
func Gaps(from, to time.Time, past func(hour time.Time) Past) (gaps []Gap) {
	for hour := hourOf(from); hour.Before(to); hour = hour.Add(time.Hour) {
		state := past(hour).State
		if state == Read {
			continue
		}
		if n := len(gaps); n > 0 && gaps[n-1].State == state && gaps[n-1].To.Equal(hour) {
			gaps[n-1].To = hour.Add(time.Hour)
		} else {
			gaps = append(gaps, Gap{State: state, From: hour, To: hour.Add(time.Hour)})
		}
	}
	return gaps
}

// final tells whether the state of an hour will stay.
func final(hour time.Time, s State, now time.Time) bool {
	return s == Read || s != Unread && now.Sub(hour) >= fresh
}

func hourOf(t time.Time) time.Time { return t.UTC().Truncate(time.Hour) }
