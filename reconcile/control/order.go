package control

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/trial"
)

// Order is what a user asks of a trial that is open. It is kept until the trial is over, so that it outlives a daemon
// that is killed before the trial has taken it in.
type Order struct {
	Action string    `json:"action"`        // stop, cancel
	Try    int       `json:"try,omitempty"` // of which it is asked; 0 = of whichever comes
	By     string    `json:"by"`
	Via    string    `json:"via"`
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at"`
}

// String says in a line what is asked, by whom, and why.
func (o Order) String() string {
	text := "stopped"
	if o.Action == Cancel {
		text = "cancelled"
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
		return query.Mistakef("the reason must be one line of printable text of at most %d bytes", maxReason)
	}
	return nil
}

// States of a trial that a verb was about.
const (
	Stopping   = "stopping"
	Stopped    = "stopped"
	Cancelling = "cancelling"
	Cancelled  = "cancelled"
)

// OrderOptions are what Orders are made of. All functions are called in the loop.
type OrderOptions struct {
	Store *store.Store
	Trial func(ctx context.Context, id string) (trial.State, error) // as the store has it
	Place func(s trial.State) Place
	Tell  func(ctx context.Context, id string, o Order) error // has the trial do as it is asked
	Now   func() time.Time
}

// Orders are what users ask of trials that are open. Its methods belong to the loop, but for Of, Drop and Forget.
type Orders struct {
	o OrderOptions

	mu  sync.Mutex
	all map[string]Order // by trial
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
			return fmt.Errorf("read what was asked of %s: %w", key[len(orderKeys):], err)
		}
		k.all[key[len(orderKeys):]] = o
	}
	return nil
}

// Tell has trials do what was asked of them before Load. A trial that is at work is told as it goes on.
func (k *Orders) Tell(ctx context.Context) error {
	k.mu.Lock()
	var cancelled []string
	for id, o := range k.all {
		if o.Action == Cancel {
			cancelled = append(cancelled, id)
		}
	}
	k.mu.Unlock()
	for _, id := range cancelled {
		if o, is := k.Of(id, 0); is {
			if err := k.o.Tell(ctx, id, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// Of is what is asked of a try of a trial.
func (k *Orders) Of(id string, try int) (o Order, is bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	o, is = k.all[id]
	return o, is && (o.Try == 0 || o.Try == try)
}

// Drop forgets in a transaction what was asked of a trial that is over by it; when it is stored, Forget does so here.
func (k *Orders) Drop(tx *store.Tx, id string) error {
	k.mu.Lock()
	_, is := k.all[id]
	k.mu.Unlock()
	if !is {
		return nil
	}
	return tx.DropMeta(orderKeys + id)
}

// Forget forgets what was asked of a trial that is over.
func (k *Orders) Forget(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.all, id)
}

// Stop makes the time of a trial's agent be over now. What is so already stays as it is; a trial whose agent is not at
// work is a *query.Conflict.
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
		return Changed{}, query.Conflictf("stop %s: it is being cancelled", s.ID)
	case s.Reason == trial.ReasonStopped && s.Phase == trial.Done:
		return Changed{Target: s.ID, State: Stopped, Says: fmt.Sprintf("%s is %s", s.ID, s.Detail)}, nil
	case s.Reason == trial.ReasonStopped:
		return Changed{Target: s.ID, State: Stopping, Says: fmt.Sprintf("%s is %s", s.ID, s.Detail)}, nil
	case asked:
		return Changed{Target: s.ID, State: Stopping, Says: fmt.Sprintf("%s is %s", s.ID, was)}, nil
	}
	if err := mayStop(s); err != nil {
		return Changed{}, err
	}
	return k.put(ctx, s, a, Order{Action: Stop, Try: s.Try}, Stopping)
}

// mayStop fails for a trial whose agent is not at work.
func mayStop(s trial.State) error {
	switch s.Phase {
	case trial.Running:
		return nil
	case trial.Pending, trial.Images, trial.Sane, trial.Create, trial.Await:
		return query.Conflictf("stop %s: its agent has not begun, so there is nothing to judge; to end it: assayd cancel %s", s.ID, s.ID)
	case trial.Done:
		if s.Result != nil && s.Result.Final {
			return query.Conflictf("stop %s: it is over", s.ID)
		}
		return query.Conflictf("stop %s: it waits for its next try; to end it: assayd cancel %s", s.ID, s.ID)
	}
	return query.Conflictf("stop %s: its agent has ended (%s); it is being judged", s.ID, s.Reason)
}

// Cancel ends a trial without a verdict. One that is over otherwise is a *query.Conflict.
func (k *Orders) Cancel(ctx context.Context, a Ask) (Changed, error) {
	s, err := k.o.Trial(ctx, a.Target)
	if err == nil {
		err = a.Check()
	}
	if err != nil {
		return Changed{}, err
	}
	over := s.Phase == trial.Done && s.Result != nil && s.Result.Final
	was, asked := k.Of(s.ID, s.Try)
	switch {
	case over && s.Result.Status == trial.Cancelled:
		return Changed{Target: s.ID, State: Cancelled, Says: s.ID + " is cancelled"}, nil
	case over:
		return Changed{}, query.Conflictf("cancel %s: it is over", s.ID)
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
	if o.Action == Stop {
		r.Before, r.After = Deadline{s.Deadline}, Deadline{o.At}
	}
	if err := k.o.Store.Do(ctx, func(tx *store.Tx) error {
		if err := tx.PutMeta(orderKeys+s.ID, string(text)); err != nil {
			return err
		}
		if err := r.Append(tx, k.o.Place(s)); err != nil {
			return err
		}
		fault.Reached(fault.OrderWritten)
		return nil
	}); err != nil {
		return Changed{}, fmt.Errorf("%s %s: %w", o.Action, s.ID, err)
	}
	fault.Reached(fault.OrderStored)
	k.mu.Lock()
	k.all[s.ID] = o
	k.mu.Unlock()
	return c, k.o.Tell(ctx, s.ID, o)
}

// Deadline is what a record says of when an agent's time is over.
type Deadline struct {
	Deadline time.Time `json:"deadline"`
}
