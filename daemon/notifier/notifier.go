package notifier

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sync/errgroup"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/change"
	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/pause"
)

// How records are read and notices are sent.
const (
	atOnce      = 200                    // records in one transaction
	rest        = 200 * time.Millisecond // after what there was is told
	perMinute   = 5                      // messages; what is beyond is told together
	firstPause  = time.Second            // before a message is sent again
	longestTry  = time.Hour              // between two attempts
	giveUp      = 24 * time.Hour         // a message that is not taken for so long is dropped
	keepAtLeast = time.Minute            // how often a cursor is stored while there is nothing to tell
)

// Outcomes of what was to be told.
const (
	Sent    = "sent"    // a notice that was taken
	Failed  = "failed"  // a call that was not
	Dropped = "dropped" // a notice that was not taken for a day
)

// Outcomes are all of them.
func Outcomes() []string { return []string{Sent, Failed, Dropped} }

// Options are what notifiers work with.
type Options struct {
	Settings map[string]config.Notifier
	Store    *store.Store
	Secret   func(name string) (string, bool)
	Told     func(notifier, outcome string, n int)
	Watched  Watched // what is in no record
	Version  string
	Log      *slog.Logger

	Pause time.Duration // before a message is sent again, the first time; 0 = a second
}

// Notifiers are all that the settings have.
type Notifiers struct {
	o   Options
	all []*notifier
	machine
}

// notifier is one of them. Its fields are of the goroutine that runs it.
type notifier struct {
	o        *Options
	name     string
	settings config.Notifier
	client   *http.Client
	watcher  *change.Watcher
	log      *slog.Logger

	read    int64    // number of the last change that is read
	known   known    // after it
	pending []Notice // that it has not told
	at      store.Delivery
	kept    time.Time   // when the cursor was stored
	sent    []time.Time // the last messages
}

// deliveryName is under what name a notifier has its cursor.
func deliveryName(name string) string { return "notifier." + name }

// Open reads how far each notifier has got. A new one begins with what is stored from now on; one that the settings
// do not have any more is forgotten.
func Open(ctx context.Context, o Options) (*Notifiers, error) {
	if o.Pause == 0 {
		o.Pause = firstPause
	}
	all := &Notifiers{o: o, machine: newMachine()}
	for name, settings := range o.Settings {
		all.all = append(all.all, &notifier{
			o: &all.o, name: name, settings: settings, client: newClient(), watcher: o.Store.Watch(), log: o.Log.With("notifier", name), known: known{},
		})
	}
	err := o.Store.Do(ctx, func(tx *store.Tx) error {
		if err := forget(tx, o.Settings); err != nil {
			return err
		}
		for _, n := range all.all {
			if err := n.begin(tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("open the notifiers: %w", err)
	}
	return all, nil
}

// forget drops the cursors of notifiers that are not in the settings.
func forget(tx *store.Tx, settings map[string]config.Notifier) error {
	all, err := tx.Deliveries()
	if err != nil {
		return err
	}
	for _, d := range all {
		name, is := strings.CutPrefix(d.Name, deliveryName(""))
		if _, declared := settings[name]; is && !declared {
			if err := tx.DropDelivery(d.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin reads where a notifier goes on.
func (n *notifier) begin(tx *store.Tx) (err error) {
	if n.at, err = tx.BeginDelivery(deliveryName(n.name)); err != nil {
		return err
	}
	n.read = n.at.N
	if json.Unmarshal([]byte(n.at.State), &n.known) != nil || n.known == nil {
		n.known = known{} // of another version
	}
	return nil
}

// Run tells what happens until the context ends.
func (n *Notifiers) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, one := range n.all {
		g.Go(func() error { return one.run(ctx) })
	}
	if len(n.all) > 0 {
		g.Go(func() error { return n.watch(ctx) })
	}
	return g.Wait()
}

func (n *notifier) run(ctx context.Context) error {
	defer n.watcher.Close()
	defer n.client.CloseIdleConnections()
	again := pause.Growing{}
	for ctx.Err() == nil {
		more, err := n.fill(ctx)
		if err == nil && len(n.pending) == 0 && !more && n.read > n.at.N && time.Since(n.kept) > keepAtLeast {
			err = n.keep(ctx, n.read, n.state())
		}
		if err != nil {
			if ctx.Err() == nil {
				n.log.Warn("read what to tell; it is tried again", "error", err)
			}
			again.Wait(ctx)
			continue
		}
		again.Reset()
		if len(n.pending) > 0 {
			n.tell(ctx)
		} else if !more {
			if n.watcher.Await(ctx, change.Records) == nil {
				_ = clock.Sleep(ctx, rest) // what comes together is told together
			}
		}
	}
	return nil
}

// fill reads on, unless there is enough to tell, and says whether there may be more to read.
func (n *notifier) fill(ctx context.Context) (more bool, err error) {
	if len(n.pending) >= maxDigest {
		return true, nil
	}
	var lines []store.NumberedLine
	var notices []store.Notice
	err = n.o.Store.View(ctx, func(tx *store.Tx) (err error) {
		if lines, err = tx.LinesAfter(n.read, atOnce); err != nil {
			return err
		}
		last := int64(math.MaxInt64)
		if len(lines) > 0 {
			last = lines[len(lines)-1].N
		}
		notices, err = tx.NoticesBetween(n.read, last, atOnce)
		return err
	})
	if err != nil {
		return false, err
	}
	if len(notices) == atOnce { // there may be more of them before the lines that come then
		last := notices[atOnce-1].N
		lines = slices.DeleteFunc(lines, func(l store.NumberedLine) bool { return l.N > last })
	}
	for len(lines)+len(notices) > 0 {
		if len(lines) == 0 || len(notices) > 0 && notices[0].N < lines[0].N {
			n.add(notices[0].N, noticeOf(notices[0]))
			notices = notices[1:]
			more = true
			continue
		}
		n.add(lines[0].N, n.known.notices(lines[0])...)
		lines = lines[1:]
		more = true
	}
	return more, nil
}

// add notes that a change is read, and what is to be told of it.
func (n *notifier) add(change int64, made ...Notice) {
	n.read = change
	for _, x := range made {
		if n.settings.Wants(x.Kind, x.Spec) {
			x.then = n.state()
			n.pending = append(n.pending, x)
		}
	}
}

func (n *notifier) state() string {
	text, _ := json.Marshal(n.known) // it has a form
	return string(text)
}

// tell sends the next message, in the end: it returns when it is taken, or dropped, or with the context.
func (n *notifier) tell(ctx context.Context) {
	m, wait, err := n.next(time.Now())
	if err != nil {
		n.log.Error("a notice has no form; it is left out", "error", err) // it cannot be: texts and numbers have one
		n.pending = n.pending[1:]
		return
	}
	if wait > 0 {
		_ = clock.Sleep(ctx, wait)
		return
	}
	outcome := n.deliver(ctx, m)
	if outcome == "" {
		return
	}
	n.o.Told(n.name, outcome, len(m.of))
	n.sent = append(n.sent, time.Now())
	n.sent = n.sent[max(0, len(n.sent)-perMinute):]
	last := m.of[len(m.of)-1]
	n.pending = n.pending[len(m.of):]
	upTo := last.n
	if len(n.pending) > 0 && n.pending[0].n == upTo {
		return // the same record has more to tell
	}
	n.insist(ctx, func() error { return n.keep(ctx, upTo, last.then) })
}

// next makes the next message, or says how long to wait for it: no more than five go out in a minute.
func (n *notifier) next(now time.Time) (m message, wait time.Duration, err error) {
	room := perMinute
	for _, at := range n.sent {
		if age := now.Sub(at); age >= 0 && age < time.Minute {
			room--
			if wait == 0 {
				wait = time.Minute - age
			}
		}
	}
	if room <= 0 {
		return m, wait, nil
	}
	of := n.pending[:1]
	if len(n.pending) > room {
		of = n.pending[:min(len(n.pending), maxDigest)]
	}
	m, err = compose(n.settings.Format, of)
	return m, 0, err
}

// deliver sends a message until it is taken or was not for a day; "" = the context has ended.
func (n *notifier) deliver(ctx context.Context, m message) (outcome string) {
	pauses := &backoff.ExponentialBackOff{InitialInterval: n.o.Pause, Multiplier: 2, MaxInterval: longestTry, RandomizationFactor: 0.25}
	pauses.Reset()
	for began := time.Now(); ; {
		err := n.post(ctx, m)
		if ctx.Err() != nil {
			return ""
		}
		if err == nil {
			if !n.at.Failing.IsZero() {
				n.log.Info("the receiver takes notices again")
			}
			n.at.Failing, n.at.Why = time.Time{}, ""
			return Sent
		}
		n.o.Told(n.name, Failed, 1)
		n.failed(ctx, err)
		if time.Since(began) > giveUp {
			n.log.Error("notices are dropped: the receiver did not take them for a day", "notices", len(m.of), "error", err)
			return Dropped
		}
		if clock.Sleep(ctx, pauses.NextBackOff()) != nil {
			return ""
		}
	}
}

// failed notes why a call failed, for the status of the daemon.
func (n *notifier) failed(ctx context.Context, err error) {
	if why := plain(err.Error()); n.at.Failing.IsZero() || n.at.Why != why {
		if n.at.Failing.IsZero() {
			n.at.Failing = clock.Now()
		}
		n.at.Why = why
		n.log.Warn("a receiver does not take notices; they are sent again", "error", why)
		if err := n.o.Store.Do(ctx, func(tx *store.Tx) error { return tx.PutDelivery(n.at) }); err != nil && ctx.Err() == nil {
			n.log.Warn("store why notices are not taken", "error", err)
		}
	}
}

// keep stores how far the receiver was told.
func (n *notifier) keep(ctx context.Context, upTo int64, state string) error {
	at := n.at
	at.N, at.State = upTo, state
	if err := n.o.Store.Do(ctx, func(tx *store.Tx) error { return tx.PutDelivery(at) }); err != nil {
		return err
	}
	n.at, n.kept = at, time.Now()
	return nil
}

// insist does something until it succeeds.
func (n *notifier) insist(ctx context.Context, do func() error) {
	again := pause.Growing{}
	for ctx.Err() == nil {
		err := do()
		if err == nil {
			return
		}
		if ctx.Err() == nil {
			n.log.Warn("store the cursor of a notifier; it is tried again", "error", err)
		}
		again.Wait(ctx)
	}
}
