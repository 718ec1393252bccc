package plan

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/assayd/assayd/runtime/trial"
)

// fixture is a model of what plans act on: a store, trials, a user and a clock.
type fixture struct {
	desired   *Run
	observed  Observed
	now       time.Time
	forgotten bool
}

// apply carries out a plan as the reconciler would, and reports whether it did anything.
func (w *fixture) apply(t *rapid.T, p Plan) (acted bool) {
	for _, a := range p.Actions {
		switch a.Kind {
		case Begin:
			w.observed.Execution = &Execution{N: a.Execution, StartedAt: w.now, Only: a.Only}
			w.observed.Trials, w.observed.Rerun = nil, nil
			if !a.At.IsZero() {
				w.observed.LastFired = a.At
			}
		case Skip:
			w.observed.LastFired = a.At
		case StartTrial:
			w.start(t, a)
		case CancelTrial:
			w.cancel(t, a)
		case Supersede, Reinstate:
			x := w.find(a.Trial)
			if x.Open() || x.Superseded == (a.Kind == Supersede) {
				t.Fatalf("%s, which is %+v", a, *x)
			}
			x.Superseded = a.Kind == Supersede
			w.observed.Execution.Finished = false
		case Finish:
			for _, x := range w.observed.Trials {
				if x.Open() {
					t.Fatalf("%s while %s is open", a, x.ID)
				}
			}
			w.observed.Execution.Finished = true
		case Forget:
			w.forgotten = true
		case Wait, Blocked:
			continue
		}
		acted = true
	}
	return acted
}

func (w *fixture) find(id string) *Trial {
	for i := range w.observed.Trials {
		if w.observed.Trials[i].ID == id {
			return &w.observed.Trials[i]
		}
	}
	return nil
}

func (w *fixture) start(t *rapid.T, a Action) {
	x := w.find(a.Trial)
	if x == nil {
		w.observed.Trials = append(w.observed.Trials, Trial{ID: a.Trial, Key: a.Cell.Key})
		x = w.find(a.Trial)
	} else if x.Live || x.Final && !x.Unwanted {
		t.Fatalf("%s, which is %+v", a, *x)
	}
	*x = Trial{ID: x.ID, Key: x.Key, Try: a.Try, Live: true}
	w.observed.Execution.Finished = false
}

func (w *fixture) cancel(t *rapid.T, a Action) {
	x := w.find(a.Trial)
	switch {
	case x == nil || x.Cancelled || !x.Open():
		t.Fatalf("%s, which is %+v", a, x)
	case x.Running():
		x.Live, x.Cancelled, x.Unwanted = true, true, a.Unwanted
	default: // between two tries
		x.Final, x.Unwanted = true, a.Unwanted
	}
}

// end gives a running trial its verdict.
func (w *fixture) end(x *Trial, s trial.Status) {
	if x.Cancelled {
		s = trial.Cancelled
	} else {
		x.Unwanted = false
	}
	*x = Trial{ID: x.ID, Key: x.Key, Try: x.Try, Slot: x.Slot, Status: s, Unwanted: x.Unwanted, EndedAt: w.now, Final: !s.Retryable() || x.Try > 2}
}

// happen lets one thing happen that nobody planned.
func (w *fixture) happen(t *rapid.T) {
	switch rapid.SampledFrom([]string{"end", "end", "end", "edit", "vanish", "time", "restart", "rerun", "cancel", "only"}).Draw(t, "event") {
	case "end":
		running := slices.DeleteFunc(slices.Clone(w.observed.Trials), func(x Trial) bool { return !x.Live })
		if len(running) > 0 {
			x := rapid.SampledFrom(running).Draw(t, "trial")
			w.end(w.find(x.ID), rapid.SampledFrom([]trial.Status{trial.Resolved, trial.Unresolved, trial.InfraError}).Draw(t, "status"))
		}
	case "edit":
		schedule, places := w.desired, 2
		w.desired = wantedRun(rapid.StringMatching(`a?b?c?d?`).Draw(t, "cells"), parallel(places))
		if schedule != nil {
			w.desired.Schedule, w.desired.Stagger = schedule.Schedule, schedule.Stagger
		}
		w.observed.GoneSince, w.forgotten = time.Time{}, false
	case "vanish":
		if w.desired != nil {
			w.desired, w.observed.GoneSince = nil, w.now
		}
	case "time":
		w.now = w.now.Add(time.Duration(rapid.IntRange(1, 7200).Draw(t, "seconds")) * time.Second)
	case "restart":
		for i := range w.observed.Trials {
			if x := &w.observed.Trials[i]; x.Live {
				x.Live, x.Cancelled, x.Unwanted = false, false, false
			}
		}
	case "rerun", "only":
		if e := w.observed.Execution; e != nil && e.Finished {
			w.observed.Rerun = &Rerun{}
		}
	case "cancel":
		if e := w.observed.Execution; e != nil && !e.Finished {
			e.Cancelled = true
		}
	}
}

// TestPlansAreIdempotent holds what makes a reconciler one: what a plan says is done once,
// and then nothing is left to do until time passes or something happens.
func TestPlansAreIdempotent(t *testing.T) {
	hourly := scheduled(t, "0 * * * *")
	rapid.Check(t, func(t *rapid.T) {
		w := &fixture{now: noon, desired: wantedRun("ab", parallel(2)), observed: Observed{LastFired: noon}}
		if rapid.Bool().Draw(t, "scheduled") {
			hourly(w.desired)
		}
		w.desired.Stagger = time.Duration(rapid.IntRange(0, 2).Draw(t, "stagger")) * time.Hour
		for range rapid.IntRange(1, 30).Draw(t, "events") {
			w.happen(t)
			for passes := 0; !w.forgotten; passes++ {
				plan := Diff("run.r", w.desired, w.observed, w.now)
				if again := Diff("run.r", w.desired, w.observed, w.now); plan.String() != again.String() {
					t.Fatalf("one state, two plans:\n%s%s", plan, again)
				}
				if !plan.Wake.IsZero() && !plan.Wake.After(w.now) {
					t.Fatalf("the next look is at %s, and it is %s", plan.Wake, w.now)
				}
				if !w.apply(t, plan) {
					break
				}
				if passes > 3 {
					t.Fatalf("after %d passes there is still something to do:\n%s", passes, plan)
				}
			}
			running := 0
			for _, x := range w.observed.Trials {
				if x.Running() {
					running++
				}
			}
			if running > 2 {
				t.Fatalf("%d trials run, 2 may: %+v", running, w.observed.Trials)
			}
		}
	})
}
