package drive

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/assayd/assayd/reconcile/admission"
	"github.com/assayd/assayd/reconcile/cheatscan"
	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/troubles"
	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial"
)

// Options are what Trials are made of.
type Options struct {
	Store     *store.Store
	Ledger    *ledger.Submissions
	Host      *trial.Host
	Admission *admission.Controller
	Waitlist  *admission.Waitlist
	Scans     *cheatscan.Scanner
	Troubles  *troubles.Troubles
	Log       *slog.Logger
	TraceID   func(trial string, try int) string                // of a try's trace, for the log; nil = there are no traces
	Staged    func(stage trial.Phase, took time.Duration)       // a trial has left a phase that it was in for so long
	Desired   func(address string) *plan.Run                    // the run as it is wanted; nil = it is not
	Place     func(address string, execution int) control.Place // of records about who changed how a trial goes on
	Go        func(f func(ctx context.Context))                 // runs f beside the loop, until the loop ends
	Touch     func(address, id string)                          // a trial is to be read again
	Due       func(address string)                              // a run is to be looked at
	Note      func(address, why string)                         // what a run waits for
	Verdict   func(address string)                              // the verdict of a trial in single mode was stored, or not
	Kept      func()                                            // a container that stays after its trial came or went
	Now       func() time.Time                                  // of the loop
}

// Trials are those that goroutines drive.
type Trials struct {
	Orders *control.Orders // what users ask of trials; its own methods say who may call them
	o      Options
	live   map[string]*driven
	ended  chan string // ids of trials whose goroutine has ended
}

// driven is a trial that a goroutine drives.
type driven struct {
	machine   *trial.Machine
	need      admission.Need
	spec      string
	slot      plan.Slot
	cancelled bool
}

// New returns no trials.
func New(o Options) *Trials {
	t := &Trials{o: o, live: map[string]*driven{}, ended: make(chan string)}
	t.Orders = control.NewOrders(control.OrderOptions{
		Store: o.Store, Trial: t.Stored, Again: storedState, Now: clock.Now, Tell: t.tell,
		Place: func(s trial.State) control.Place { return o.Place(s.Spec, s.Execution) },
	})
	return t
}

// Ended has the ids of trials whose goroutine has ended, each for Release.
func (t *Trials) Ended() <-chan string { return t.ended }

// Len is how many trials are driven.
func (t *Trials) Len() int { return len(t.live) }

// Drives reports whether a goroutine drives a trial.
func (t *Trials) Drives(id string) bool { return t.live[id] != nil }

// Driven is what plans know of a trial that is driven; false = it is not.
func (t *Trials) Driven(id string) (slot plan.Slot, cancelled, ok bool) {
	l, ok := t.live[id]
	if !ok {
		return plan.Slot{}, false, false
	}
	return l.slot, l.cancelled, true
}

// Of are the ids of the trials of a run that are driven.
func (t *Trials) Of(address string) (ids []string) {
	for id, l := range t.live {
		if l.spec == address {
			ids = append(ids, id)
		}
	}
	return ids
}

// Start admits and starts a trial, its next try, or one that a former daemon drove. It reports whether it did: where
// there is no room it notes why, and does nothing.
func (t *Trials) Start(ctx context.Context, address string, a plan.Action) (started bool, err error) {
	state, stored, err := t.nextState(ctx, address, a)
	if err != nil {
		return false, err
	}
	need, err := t.needOf(ctx, state)
	if err != nil {
		return false, err
	}
	if state.Container != "" {
		need = t.o.Waitlist.Take(state.ID, need) // it runs already
	} else if why, ok := t.o.Waitlist.Admit(address, need, t.o.Now()); !ok {
		if why != "" {
			t.o.Note(address, why)
		}
		return false, nil
	}
	state.DiskHeld = need.Disk
	if err := t.commitChanged(ctx, state, stored); err != nil {
		t.o.Admission.ReleaseWork(need)
		return false, err
	}
	t.drive(state, need)
	return true, nil
}

// tell has a trial do what a user asks of it, at once where it is driven, or else as it goes on.
func (t *Trials) tell(ctx context.Context, id string, o control.Order) error {
	if o.Action == control.Cancel {
		return t.Cancel(ctx, plan.Action{Kind: plan.CancelTrial, Trial: id, Cause: o.String()})
	}
	if l := t.live[id]; l != nil {
		l.tell(o)
	}
	return nil
}

// Cancel asks a trial to end; one that no goroutine drives is driven to its end.
func (t *Trials) Cancel(ctx context.Context, a plan.Action) error {
	l, ok := t.live[a.Trial]
	if !ok {
		state, err := t.Stored(ctx, a.Trial)
		if err != nil {
			return err
		}
		switch {
		case state.Phase == trial.Done && state.Result.Final:
			return isOver(a.Trial)
		case state.Phase == trial.Done: // between two tries
			return t.giveUp(ctx, state, a)
		}
		need, err := t.needOf(ctx, state)
		if err != nil {
			return err
		}
		l = t.drive(state, t.o.Waitlist.Take(state.ID, need))
	}
	l.cancelled = true
	t.o.Touch(l.spec, a.Trial)
	l.machine.Cancel(trial.Cancellation{Cause: a.Cause, Unwanted: a.Unwanted})
	return nil
}

func isOver(id string) error { return fmt.Errorf("cancel %s: it is over", id) }

// giveUp makes the last try of a trial count, because there will be no other.
func (t *Trials) giveUp(ctx context.Context, s trial.State, a plan.Action) error {
	final := *s.Result
	final.Final, final.Detail = true, a.Cause+"; "+final.Detail
	if err := t.o.Host.Charge(ctx, s, &final); err != nil { // what it took is not lost any more
		return err
	}
	s.Result, s.Unwanted = &final, a.Unwanted
	t.o.Touch(s.Spec, s.ID)
	t.o.Due(s.Spec) // no goroutine ends that would ask for it
	return t.commit(ctx, s, []trial.Effect{{Type: "trial.finished", Fields: final}})
}

// Release takes in that a trial's goroutine has ended.
func (t *Trials) Release(id string) {
	l, ok := t.live[id]
	if !ok {
		return
	}
	delete(t.live, id)
	t.o.Waitlist.Count(l.spec, -1)
	t.o.Waitlist.Freed()
	t.o.Touch(l.spec, id)
	t.o.Admission.ReleaseWork(l.need)
	t.o.Due(l.spec)
}

// Restore opens again what trials had that a former daemon drove: the judge gets its sessions and those of the
// unjudged rounds that go on, before any trial does, and their containers keep their room.
func (t *Trials) Restore(ctx context.Context) error {
	unjudged, err := t.o.Ledger.Unjudged(ctx)
	if err != nil {
		return err
	}
	open, err := history.OpenTrials(ctx, t.o.Store)
	if err != nil {
		return err
	}
	sessions := map[string]int{} // try by trial
	for _, s := range open {
		if s.JudgeImage.ID != "" && (s.Token != "" || s.Phase == trial.Sane) {
			t.o.Host.Judge.Open(trial.Session(t.o.Host.Owner, s))
			sessions[s.ID] = s.Try
		}
		if s.Container != "" { // before anything else is admitted
			need, err := t.needOf(ctx, s)
			if err != nil {
				return err
			}
			t.o.Waitlist.Reserve(s.ID, need)
		}
	}
	var resumable []round.Submission
	for _, s := range unjudged {
		if sessions[s.Trial] == s.Try {
			resumable = append(resumable, s)
			continue
		}
		if err := t.o.Host.Judge.Abandon(ctx, s.Trial, s.Try, "no daemon ran"); err != nil {
			return err
		}
	}
	err = t.o.Host.Judge.Resume(ctx, resumable)
	fault.Reached(fault.RoundsRestored)
	return err
}
