package plan

import (
	"fmt"
	"strings"
	"time"
)

// Foresee is Diff carried on past the beginning of an execution: what would be done about
// a run from now on, without the limits of parallel and of a throttle.
func Foresee(address string, d *Run, o Observed, now time.Time) Plan {
	if d == nil {
		return Diff(address, d, o, now)
	}
	all := *d
	all.Parallel = d.cells.Len() + len(o.Trials) + 1
	if o.Hold.Most > 0 { // it bounds how many at once, as parallel does
		o.Hold.Bounded, o.Hold.Most = false, 0
	}
	if !o.Funds.Over() { // what trials leave of the budget is not known
		o.Funds = Funds{}
	}
	plan := Diff(address, &all, o, now)
	if !plan.Has(Begin) {
		return plan
	}
	begin := plan.Actions[0]
	o.Execution = &Execution{N: begin.Execution, Trigger: begin.Trigger, StartedAt: now, Only: begin.Only}
	o.Trials, o.Rerun, o.LastFired, o.Stale, o.Funds = nil, nil, now, nil, Funds{}
	after := Diff(address, &all, o, now)
	plan.Actions = append(plan.Actions, after.Actions...)
	return plan
}

// ForeseeMining is the plan for a mining spec of which nothing exists, as text.
func ForeseeMining(address string) string { return MiningAction(address, "begin", "the spec is new") }

// MiningAction is a line of the plan for a mining spec: what is to be done, and why.
func MiningAction(address, what, cause string) string {
	return fmt.Sprintf("%s: %s (%s)\n", address, what, cause)
}

// IsMining reports whether an address is that of a mining spec.
func IsMining(address string) bool { return strings.HasPrefix(address, "mining.") }
