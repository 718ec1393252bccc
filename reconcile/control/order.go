package control

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/trial"
)

// Order is what a user asks of a trial that is open. It is kept until the trial is over, so that it outlives a daemon
// that is killed before the trial has taken it in.
type Order struct {
	Action string    `json:"action"`        // stop, cancel, extend
	Try    int       `json:"try,omitempty"` // of which it is asked; 0 = of whichever comes
	By     string    `json:"by"`
	Via    string    `json:"via"`
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at"`
	Until  time.Time `json:"until,omitzero"` // of extend: the new deadline
}

// String says in a line what is asked, by whom, and why.
func (o Order) String() string {
	text := map[string]string{Stop: "stopped", Cancel: "cancelled", Extend: "extended"}[o.Action]
	if o.Action == Extend {
		text += " until " + plan.Stamp(o.Until)
	}
	text += " by " + cmp.Or(o.By, "a user")
	if o.Reason != "" {
		text += ": " + o.Reason
	}
	return text
}

// Ask is a verb about one target.
type Ask struct {
	Target string `json:"target,omitempty"`
	Reason string `json:"reason,omitempty"`
	DryRun bool   `json:"dry_run,omitempty"`
}

// Check fails for a reason that cannot be shown.
func (a Ask) Check() error {
	if !printable(a.Reason, maxReason) {
		return request.Mistakef("the reason must be one line of printable text of at most %d bytes", maxReason)
	}
	return nil
}

// States of a trial that a verb was about.
const (
	Stopping   = "stopping"
	Stopped    = "stopped"
	Cancelling = "cancelling"
	Cancelled  = "cancelled"
	Extended   = "extended"
)

// OrderOptions are what Orders are made of. All functions are called in the loop.
type OrderOptions struct {
	Store *store.Store
	Trial func(ctx context.Context, id string) (trial.State, error) // as the store has it
	Again func(tx *store.Tx, id string) (trial.State, error)        // the same in a transaction
	Place func(s trial.State) Place
	Tell  func(ctx context.Context, id string, o Order) error // has the trial do as it is asked
	Now   func() time.Time
}

// Orders are what users ask of trials that are open. Its methods belong to the loop, but for Of, Drop and Forget.
type Orders struct {
	o OrderOptions

	mu      sync.Mutex
	all     map[string]Order // by trial
	storing string           // the trial of which an order is being stored; "" = none, or it has ended meanwhile
}

// NewOrders returns orders; Load reads them.
func NewOrders(o OrderOptions) *Orders { return &Orders{o: o, all: map[string]Order{}} }

// orderKeys is the prefix of orders in the store.
const orderKeys = "order/"

// Load reads what was asked of trials that a former daemon drove.
func (k *Orders) Load(ctx context.Context) error {
	var kept map[string]string
	if err := k.o.Store.View(ctx, func(tx *store.Tx) (err error) {
		kept, err = tx.MetaBelow(orderKeys)
		return err
	}); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for key, text := range kept {
		var o Order
		if err := json.Unmarshal([]byte(text), &o); err != nil {
			return fmt.Errorf("read the order to %s: %w", key[len(orderKeys):], err)
		}
		k.all[key[len(orderKeys):]] = o
	}
	return nil
}

// Tell has trials do what was asked of them before Load. A trial that is at work is told as it goes on; of one that is
// over, or that is not known, the order is forgotten.
func (k *Orders) Tell(ctx context.Context) error {
	k.mu.Lock()
	all := maps.Clone(k.all)
	k.mu.Unlock()
	for id, o := range all {
		s, err := k.o.Trial(ctx, id)
		switch {
		case err == nil && !final(s):
			if o.Action == Cancel {
				err = k.o.Tell(ctx, id, o)
			}
		case err == nil, errors.Is(err, store.ErrNotFound):
			err = k.o.Store.Do(ctx, func(tx *store.Tx) error { return tx.DropMeta(orderKeys + id) })
			k.forget(id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// final reports whether no try of a trial comes any more.
func final(s trial.State) bool { return s.Phase == trial.Done && s.Result != nil && s.Result.Final }

// Of is what is asked of a try of a trial.
func (k *Orders) Of(id string, try int) (o Order, is bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	o, is = k.all[id]
	return o, is && (o.Try == 0 || o.Try == try)
}

// Drop forgets in a transaction what was asked of a trial, or of its try, that is over by it; when it is stored, Forget
// does so here.
func (k *Orders) Drop(tx *store.Tx, s trial.State) error {
	if !k.settled(s) {
		return nil
	}
	return tx.DropMeta(orderKeys + s.ID)
}

// Forget forgets what was asked of a trial, or of its try, that is over.
func (k *Orders) Forget(s trial.State) {
	if k.settled(s) {
		k.forget(s.ID)
	}
}

// settled reports whether something is asked of a trial that is done with by the end of a try. To cancel it is asked of
// whichever try comes.
func (k *Orders) settled(s trial.State) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	o, is := k.all[s.ID]
	return is && o.Try != 0 || (is || k.storing == s.ID) && final(s)
}

func (k *Orders) forget(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.all, id)
	if k.storing == id {
		k.storing = ""
	}
}

// Stop makes the time of a trial's agent be over now. What is so already stays as it is; a trial whose agent is not at
// work is a *request.Conflict.
func (k *Orders) Stop(ctx context.Context, a Ask) (Changed, error) {
	s, err := k.o.Trial(ctx, a.Target)
	if err == nil {
		err = a.Check()
	}
	if err != nil {
		return Changed{}, err
	}
	was, asked := k.Of(s.ID, s.Try)
	switch {
	case asked && was.Action == Cancel:
		return Changed{}, request.Conflictf("stop %s: it is being cancelled", s.ID)
	case s.Reason == trial.ReasonStopped && s.Phase == trial.Done:
		return Changed{Target: s.ID, State: Stopped, Says: fmt.Sprintf("%s is %s", s.ID, s.Detail)}, nil
	case s.Reason == trial.ReasonStopped:
		return Changed{Target: s.ID, State: Stopping, Says: fmt.Sprintf("%s is %s", s.ID, s.Detail)}, nil
	case asked && was.Action == Stop:
		return Changed{Target: s.ID, State: Stopping, Says: fmt.Sprintf("%s is %s", s.ID, was)}, nil
	}
	if err := works(Stop, s); err != nil {
		return Changed{}, err
	}
	return k.put(ctx, s, a, Order{Action: Stop, Try: s.Try}, Stopping)
}

// works fails for a trial whose agent is not at work, about which a verb is asked.
func works(verb string, s trial.State) error {
	instead := ""
	if verb == Stop {
		instead = "; to end it: assayd cancel " + s.ID
	}
	switch s.Phase {
	case trial.Running:
		return nil
	case trial.Pending, trial.Images, trial.Sane, trial.Create, trial.Await:
		return request.Conflictf("%s %s: its agent has not begun%s", verb, s.ID, instead)
	case trial.Done:
		if final(s) {
			return request.Conflictf("%s %s: it is over", verb, s.ID)
		}
		return request.Conflictf("%s %s: it waits for its next try%s", verb, s.ID, instead)
	}
	return request.Conflictf("%s %s: its agent has ended (%s); it is being judged", verb, s.ID, s.Reason)
}

// MoreTime asks for a later deadline of a trial.
type MoreTime struct {
	Ask
	Seconds int64 `json:"for_s"` // beyond the deadline that the spec declares
}

// maxExtension bounds by how much a deadline is moved.
const maxExtension = 30 * 24 * time.Hour

// Check fails for a time that is none.
func (m MoreTime) Check() error {
	if m.Seconds < 1 || m.Seconds > int64(maxExtension/time.Second) {
		return request.Mistakef("the time must be from 1s to %dh, in whole seconds, such as 30m or 2h", int(maxExtension.Hours()))
	}
	return m.Ask.Check()
}

// Extend moves the deadline of a trial whose agent works to what its spec declares and some time more. Asking for the same
// once more changes nothing; an earlier deadline than the one in force, and a trial whose agent is not at work, are a
// *request.Conflict.
func (k *Orders) Extend(ctx context.Context, m MoreTime) (Changed, error) {
	s, err := k.o.Trial(ctx, m.Target)
	if err == nil {
		err = m.Check()
	}
	if err == nil {
		err = works(Extend, s)
	}
	if err != nil {
		return Changed{}, err
	}
	was, asked := k.Of(s.ID, s.Try)
	if asked && was.Action != Extend {
		return Changed{}, request.Conflictf("extend %s: it is %s", s.ID, was)
	}
	if !s.Line.Now().Before(s.Deadline) {
		return Changed{}, request.Conflictf("extend %s: its time is over", s.ID)
	}
	if why := s.MayExtend(); why != "" {
		return Changed{}, request.Conflictf("extend %s: %s", s.ID, why)
	}
	o, now := Order{Action: Extend, Try: s.Try, Until: s.DeclaredDeadline().Add(time.Duration(m.Seconds) * time.Second)}, s.Deadline
	if asked {
		now = was.Until
	}
	switch {
	case o.Until.Before(now):
		return Changed{}, request.Conflictf("extend %s: it has more time than that, until %s. Time is not taken away; to end it now: assayd stop %s", s.ID, plan.Stamp(now), s.ID)
	case o.Until.Equal(now):
		return Changed{Target: s.ID, State: Extended, Says: fmt.Sprintf("%s is %s", s.ID, was)}, nil
	}
	return k.put(ctx, s, m.Ask, o, Extended)
}

// Cancel ends a trial without a verdict. One that is over otherwise is a *request.Conflict.
func (k *Orders) Cancel(ctx context.Context, a Ask) (Changed, error) {
	s, err := k.o.Trial(ctx, a.Target)
	if err == nil {
		err = a.Check()
	}
	if err != nil {
		return Changed{}, err
	}
	was, asked := k.Of(s.ID, s.Try)
	switch {
	case final(s) && s.Result.Status == trial.Cancelled:
		return Changed{Target: s.ID, State: Cancelled, Says: s.ID + " is cancelled"}, nil
	case final(s):
		return Changed{}, request.Conflictf("cancel %s: it is over", s.ID)
	case asked && was.Action == Cancel:
		c := Changed{Target: s.ID, State: Cancelling, Says: fmt.Sprintf("%s is %s", s.ID, was)}
		return c, k.o.Tell(ctx, s.ID, was) // it may have failed before
	}
	return k.put(ctx, s, a, Order{Action: Cancel}, Cancelling)
}

// put stores an order together with its record, and has the trial do it.
func (k *Orders) put(ctx context.Context, s trial.State, a Ask, o Order, state string) (Changed, error) {
	who := Of(ctx)
	o.By, o.Via, o.Reason, o.At = who.By, string(who.Via), a.Reason, k.o.Now().UTC()
	c := Changed{Target: s.ID, Changed: true, State: state, Says: fmt.Sprintf("%s is %s", s.ID, o)}
	if a.DryRun {
		return c, nil
	}
	text, err := json.Marshal(o)
	if err != nil {
		return Changed{}, fmt.Errorf("encode an order: %w", err)
	}
	r := NewRecord(ctx, o.Action, s.ID)
	r.Reason = a.Reason
	switch o.Action {
	case Stop:
		r.Before, r.After = Deadline{s.Deadline}, Deadline{o.At}
	case Extend:
		r.Before, r.After = Deadline{s.Deadline}, Deadline{o.Until}
	}
	k.mu.Lock()
	k.storing = s.ID
	k.mu.Unlock()
	err = k.o.Store.Do(ctx, func(tx *store.Tx) error {
		now, err := k.o.Again(tx, s.ID)
		switch {
		case err != nil:
			return err
		case final(now): // while it was asked
			return request.Conflictf("it is over")
		}
		if err := tx.PutMeta(orderKeys+s.ID, string(text)); err != nil {
			return err
		}
		if err := r.Append(tx, k.o.Place(s)); err != nil {
			return err
		}
		fault.Reached(fault.OrderWritten)
		return nil
	})
	k.mu.Lock()
	open := k.storing == s.ID
	if k.storing = ""; err == nil && open {
		k.all[s.ID] = o
	}
	k.mu.Unlock()
	if err != nil {
		return Changed{}, fmt.Errorf("%s %s: %w", o.Action, s.ID, err)
	}
	fault.Reached(fault.OrderStored)
	if !open { // it has ended right behind the order
		return c, nil
	}
	return c, k.o.Tell(ctx, s.ID, o)
}

// Deadline is what a record says of when an agent's time is over.
type Deadline struct {
	Deadline time.Time `json:"deadline"`
}
