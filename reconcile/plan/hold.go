package plan

import (
	"cmp"
	"fmt"
	"slices"
)

// Hold is what users hold back of a run. What is at work goes on.
type Hold struct {
	Bounded   bool // at most Most trials are at work at once
	Most      int
	Providers []string // no trial begins whose agent asks models of one of these
	Why       string   // by whom, since when, and why; "" = nothing is held back
}

// PausedInFile is why a spec is held whose file says so.
const PausedInFile = "its file says paused = true"

// holdOf is what is held back of a run, by users and by its file.
func holdOf(d *Run, h Hold) Hold {
	if d.Paused {
		h.Bounded, h.Most = true, 0
		if h.Why != "" {
			h.Why = PausedInFile + "; " + h.Why
		}
		h.Why = cmp.Or(h.Why, PausedInFile)
	}
	return h
}

// HeldBack is how the cause of a wait begins that is for a hold.
const HeldBack = "held: "

// Stopped reports whether some trials of the run do not start for as long as it is held so, or its budget is not raised.
func (d *Run) Stopped(o Observed) bool {
	h := holdOf(d, o.Hold)
	return h.Bounded && h.Most == 0 || len(h.Providers) > 0 || d.Holds() && o.Funds.Over()
}

// places are those that trials of a run may still take in a plan.
type places struct {
	Hold
	run    *Run
	funds  Funds
	wanted *WantedCells
	left   int // by parallel
	free   int // of them, where the hold is bounded
	held   int // trials that would start if nothing were held back
	unpaid int // trials that would start if there were more to spend
}

func newPlaces(d *Run, w Worklist) *places {
	l := &places{Hold: holdOf(d, w.Hold), run: d, funds: w.Funds, wanted: w.wanted, left: d.Parallel}
	l.free = l.Most
	for _, t := range w.Trials {
		if t.Running() {
			l.left--
			l.free--
		}
	}
	return l
}

// take takes a place for the cell at a place of the run, and reports whether its trial may start. One that waits
// for its provider or cannot be paid for takes none from those behind it.
func (l *places) take(place int) bool {
	provider := ""
	if len(l.Providers) > 0 || l.funds.Limited {
		provider = l.wanted.provider(place)
	}
	if provider != "" && slices.Contains(l.Providers, provider) {
		l.held++
		return false
	}
	pays := l.funds.Limited && provider != ""
	if pays && l.funds.Trials <= 0 && (l.funds.Later || l.run.Holds()) { // else it begins, and ends as it cannot be paid for
		l.unpaid++
		return false
	}
	l.left--
	if l.Bounded && l.free <= 0 {
		l.held++
		return false
	}
	l.free--
	if pays {
		l.funds.Trials--
		l.funds.Later = l.funds.Later || l.funds.Trials >= 0 && l.run.Reserves()
	}
	return true
}

// explain adds to a plan what is held back by it.
func (l *places) explain(p *Plan) {
	if l.unpaid > 0 {
		p.add(Action{Kind: Wait, Cause: l.run.unpaid(l.unpaid, l.funds)})
	}
	if l.held > 0 {
		p.add(Action{Kind: Wait, Cause: fmt.Sprintf("%s%d would start; %s", HeldBack, l.held, l.Why)})
	}
}

// Providers are those whose models the agents of the run ask, each once, in order.
func (d *Run) Providers() []string { return d.Wanted().providers() }
