package control

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/assayd/assayd/reconcile/hold"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/fault"
)

// maxReason bounds a reason, in bytes: it is shown wherever the hold is.
const maxReason = 500

// Options are what a Desk is made of. All functions are called in the loop.
type Options struct {
	Store *store.Store
	// Change has f done in the loop.
	Change func(ctx context.Context, f func() error) error
	// Target says what may be held under a name. Another is an error that names what was probably meant.
	Target func(name string) (Target, error)
	// Place says where records about a target go, which may be gone.
	Place func(target string) Place
	// Look has the loop look at what a target is about.
	Look func(target string)
	// Drained ends the process when nothing works any more; nil = it stays.
	Drained func()
	Now     func() time.Time
}

// Drain pauses everything; a process that was started to drain ends then, when nothing works any more. Asked again of a
// process that was killed meanwhile, it ends that one, too.
func (d *Desk) Drain(ctx context.Context, a Ask) (Changed, error) {
	c, err := d.Hold(ctx, Asked{Target: hold.All, Reason: a.Reason, DryRun: a.DryRun})
	if err != nil || d.o.Drained == nil {
		return c, err
	}
	c.State = Draining
	if !a.DryRun {
		d.o.Drained()
	}
	return c, nil
}

// Target is something that can be held.
type Target struct {
	Parallel int // trials of a run that its file lets be at work at once; 0 = it is no run
}

// Desk sets and lifts holds. The loop asks it what is held, and so may any goroutine.
type Desk struct {
	o Options

	mu      sync.Mutex
	holds   hold.Set
	changed chan struct{} // closed with the next change
	failed  time.Time     // until when a hold that cannot be ended is left alone
}

// NewDesk returns a desk without holds; Load reads them.
func NewDesk(o Options) *Desk { return &Desk{o: o, changed: make(chan struct{})} }

// Load reads the holds from the store.
func (d *Desk) Load(ctx context.Context) error {
	return d.o.Store.View(ctx, func(tx *store.Tx) error {
		set, err := hold.Read(tx)
		if err == nil {
			d.put(set)
		}
		return err
	})
}

// Holds are the holds of now, and what is closed when they may be others.
func (d *Desk) Holds() (hold.Set, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.holds, d.changed
}

// Nudge has those look again that wait for a hold to end.
func (d *Desk) Nudge() {
	set, _ := d.Holds()
	d.put(set)
}

func (d *Desk) put(set hold.Set) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.holds = set
	close(d.changed)
	d.changed = make(chan struct{})
}

// Asked is a hold that somebody asks for.
type Asked struct {
	Target string    `json:"target"`
	Most   int       `json:"most,omitempty"`   // trials at once, of a throttle; 0 = a pause
	Calls  bool      `json:"calls,omitempty"`  // of a pause: requests for models are held, too, and answered as in an outage
	Until  time.Time `json:"until,omitzero"`   // when it ends by itself; absent = never
	Reason string    `json:"reason,omitempty"` // shown wherever the hold is
	DryRun bool      `json:"dry_run,omitempty"`
}

// States of a target by its own holds.
const (
	Open      = "open"
	Paused    = "paused"
	Throttled = "throttled"
	Draining  = "draining" // all is paused, and the process ends when nothing works any more
)

// Changed is what a verb came to.
type Changed struct {
	Target  string `json:"target"`
	Changed bool   `json:"changed"` // false: it was so before
	State   string `json:"state"`   // of a target that can be held by its own holds: open, paused, throttled; of others what it comes to
	Says    string `json:"says"`    // the state in words; "" = nothing is held
}

func changedTo(target string, changed bool, set hold.Set) Changed {
	set = slices.DeleteFunc(slices.Clone(set), func(h hold.Hold) bool { return h.Target != target })
	c := Changed{Target: target, Changed: changed, State: Open, Says: set.String()}
	switch {
	case set.Of(target, hold.Pause) != nil, set.Of(target, hold.Budget) != nil:
		c.State = Paused
	case set.Of(target, hold.Throttle) != nil:
		c.State = Throttled
	}
	return c
}

// Hold pauses or throttles a target. What is so already stays as it is; another time, reason, or number takes the
// place of the former one.
func (d *Desk) Hold(ctx context.Context, a Asked) (c Changed, err error) {
	return c, d.o.Change(ctx, func() (err error) {
		c, err = d.hold(ctx, a)
		return err
	})
}

func (d *Desk) hold(ctx context.Context, a Asked) (Changed, error) {
	now := d.o.Now().UTC()
	if err := d.check(a, now); err != nil {
		return Changed{}, err
	}
	actor := Of(ctx)
	h := hold.Hold{Target: a.Target, Kind: hold.Pause, Most: a.Most, Calls: a.Calls, By: actor.By, Via: string(actor.Via), Reason: a.Reason, Since: now, Until: a.Until.UTC()}
	if a.Until.IsZero() {
		h.Until = time.Time{}
	}
	r := NewRecord(ctx, Pause, a.Target)
	if a.Most > 0 {
		h.Kind, r.Action = hold.Throttle, Throttle
	}
	r.Reason = a.Reason
	set, _ := d.Holds()
	was := set.Of(h.Target, h.Kind)
	if was != nil {
		if h.Calls = h.Calls || was.Calls; same(*was, h) { // only a resume lets requests through again
			return changedTo(h.Target, false, set), nil
		}
		h.Since = was.Since // it has been held since then
		r.Before = was
	}
	r.After = h
	next := slices.DeleteFunc(slices.Clone(set), func(o hold.Hold) bool { return o.Target == h.Target && o.Kind == h.Kind })
	next = append(next, h)
	return d.store(ctx, next, r, a.DryRun, func(tx *store.Tx) error { return tx.PutHold(h.Row()) })
}

// same reports whether a hold asks for nothing that another does not do already.
func same(was, h hold.Hold) bool {
	return was.Most == h.Most && was.Calls == h.Calls && was.Until.Equal(h.Until) && (h.Reason == "" || was.Reason == h.Reason)
}

// check fails for what cannot be held so.
func (d *Desk) check(a Asked, now time.Time) error {
	t, err := d.o.Target(a.Target)
	switch {
	case err != nil:
		return err
	case !a.Until.IsZero() && !a.Until.After(now):
		return request.Mistakef("hold %s until %s: that is over", a.Target, a.Until.UTC().Format(time.RFC3339))
	case !printable(a.Reason, maxReason):
		return request.Mistakef("the reason must be one line of printable text of at most %d bytes", maxReason)
	case a.Most < 0:
		return request.Mistakef("throttle %s to %d: give a whole number from 1 on, or off", a.Target, a.Most)
	case a.Most > 0 && a.Calls:
		return request.Mistakef("throttle %s: requests for models are held by a pause alone: assayd pause %s --calls", a.Target, a.Target)
	case a.Most > 0 && t.Parallel == 0:
		return request.Mistakef("throttle %s: only a run can be throttled; pause it instead", a.Target)
	case a.Most > 0 && a.Most >= t.Parallel:
		return request.Mistakef("throttle %s to %d: its file says parallel = %d, and a throttle must be below that; to have more at once, edit the file", a.Target, a.Most, t.Parallel)
	}
	return nil
}

// printable reports whether a text is one line that steers nothing, of at most so many bytes.
func printable(text string, most int) bool {
	return len(text) <= most && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError })
}

// Lift lifts the hold of a kind that a target has. One that has none stays as it is.
func (d *Desk) Lift(ctx context.Context, target string, kind hold.Kind, dry bool) (c Changed, err error) {
	return c, d.o.Change(ctx, func() (err error) {
		c, err = d.lift(ctx, target, kind, dry)
		return err
	})
}

func (d *Desk) lift(ctx context.Context, target string, kind hold.Kind, dry bool) (Changed, error) {
	set, _ := d.Holds()
	was := set.Of(target, kind)
	if was == nil {
		_, err := d.o.Target(target)
		return changedTo(target, false, set), err
	}
	r := NewRecord(ctx, Resume, target)
	if kind == hold.Throttle {
		r.Action = Lift
	}
	r.Before = was
	return d.store(ctx, without(set, *was), r, dry, func(tx *store.Tx) error { return tx.DropHold(target, string(kind)) })
}

func without(set hold.Set, gone hold.Hold) hold.Set {
	return slices.DeleteFunc(slices.Clone(set), func(h hold.Hold) bool { return h == gone })
}

// store stores a change together with its record, and has the loop look at its target.
func (d *Desk) store(ctx context.Context, next hold.Set, r Record, dry bool, change func(*store.Tx) error) (Changed, error) {
	c := changedTo(r.Target, true, next)
	if dry {
		return c, nil
	}
	err := d.o.Store.Do(ctx, func(tx *store.Tx) error {
		if err := change(tx); err != nil {
			return err
		}
		if err := r.Append(tx, d.o.Place(r.Target)); err != nil {
			return err
		}
		fault.Reached(fault.HoldWritten)
		return nil
	})
	if err != nil {
		return Changed{}, fmt.Errorf("%s %s: %w", r.Action, r.Target, err)
	}
	fault.Reached(fault.HoldStored)
	d.put(next)
	d.o.Look(r.Target)
	return c, nil
}

// Next is when Expire has something to do; zero = when there is another hold.
func (d *Desk) Next() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := d.holds.Next()
	if !next.IsZero() && next.Before(d.failed) {
		return d.failed
	}
	return next
}

// expiresAgain is how long a hold is left alone that could not be ended.
const expiresAgain = time.Second

// Expire ends the holds whose time is over. For the loop.
func (d *Desk) Expire(ctx context.Context) error {
	now := d.o.Now()
	if next := d.Next(); next.IsZero() || next.After(now) {
		return nil
	}
	set, _ := d.Holds()
	for _, h := range set.Over(now) {
		r := Record{Action: Expire, Target: h.Target, By: h.By, Via: Daemon, Reason: "its time is over", Before: h}
		if _, err := d.store(ctx, without(set, h), r, false, func(tx *store.Tx) error { return tx.DropHold(h.Target, string(h.Kind)) }); err != nil {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.failed = now.Add(expiresAgain)
			return err
		}
		set, _ = d.Holds()
	}
	return nil
}

// Budget puts in force what a budget of the settings that is used up comes to, and ends it where the settings allow
// more; nil = none is used up. For the loop.
func (d *Desk) Budget(ctx context.Context, want *hold.Hold) error {
	set, _ := d.Holds()
	was := set.Of(hold.All, hold.Budget)
	r := Record{Target: hold.All, By: "assayd", Via: Daemon}
	if was != nil {
		r.Before = was
	}
	switch {
	case want == nil && was == nil || want != nil && was != nil && want.Until.Equal(was.Until) && limitOf(*want) == limitOf(*was):
		return nil
	case want == nil:
		r.Action, r.Reason = Expire, "the settings allow more"
		_, err := d.store(ctx, without(set, *was), r, false, func(tx *store.Tx) error { return tx.DropHold(was.Target, string(was.Kind)) })
		return err
	}
	h := *want
	h.Via, r.Action, r.Reason = string(Daemon), Budget, h.Reason
	if was != nil {
		h.Since = was.Since
		set = without(set, *was)
	}
	r.After = h
	_, err := d.store(ctx, append(slices.Clone(set), h), r, false, func(tx *store.Tx) error { return tx.PutHold(h.Row()) })
	return err
}

// limitOf is the limit that a budget's hold is for; what is spent goes on.
func limitOf(h hold.Hold) string {
	limit, _, _ := strings.Cut(h.Reason, hold.Figures)
	return limit
}

// Forget ends the holds of a target that is no more, in the transaction that forgets it; when that is stored, done
// makes it known. For the loop.
func (d *Desk) Forget(tx *store.Tx, target string) (done func(), err error) {
	set, _ := d.Holds()
	for _, kind := range []hold.Kind{hold.Pause, hold.Throttle} {
		h := set.Of(target, kind)
		if h == nil {
			continue
		}
		r := Record{Action: Expire, Target: target, By: h.By, Via: Daemon, Reason: "no file declares it", Before: h}
		if err := tx.DropHold(target, string(kind)); err != nil {
			return nil, err
		}
		if err := r.Append(tx, d.o.Place(target)); err != nil {
			return nil, err
		}
		set = without(set, *h)
	}
	return func() { d.put(set) }, nil
}
