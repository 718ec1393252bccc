package link

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/egress"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/guest/protocol"
	"github.com/assayd/assayd/runtime/trial/agentlog"
)

// Options are what a link serves, and to whom it tells what it hears.
type Options struct {
	Dir    string           // folder of the sockets, which must be there
	Judge  http.Handler     // answers what is for the judge
	Models *gateway.Session // nil = the agent has no model
	Egress *egress.Proxy    // nil = the task has no network list
	Log    *agentlog.Log    // takes the agent's output; the caller closes it after the link
	Report *slog.Logger
	Logged func() // hears that Log has grown

	Line     clock.Timeline // of Deadline
	Deadline time.Time      // zero = the agent has not begun
	Timeout  time.Duration  // of the agent: what is left before it has begun
}

// Link serves one container. The methods may be called from any goroutine, but for Due.
type Link struct {
	o       Options
	inbox   chan Message
	end     chan struct{}
	endOnce sync.Once
	ctx     context.Context // the owner's: when it ends no answer is owed any more
	sockets *sockets

	deadline atomic.Pointer[dueTime]   // nil = the agent has not begun
	heard    atomic.Pointer[time.Time] // when the guest last said anything
}

// Open opens the sockets of a container. What the guest says is answered until ctx ends, which has to
// be before Close.
func Open(ctx context.Context, o Options) (*Link, error) {
	l := &Link{o: o, inbox: make(chan Message), end: make(chan struct{}), ctx: ctx}
	l.hears() // from here on it is listened to
	l.Due(o.Deadline)
	agents := &router{judge: o.Judge, session: o.Models, egress: o.Egress, left: l.left}
	var err error
	l.sockets, err = openSockets(o.Dir, agents, l.guestHandler())
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Inbox has what the guest says that changes the trial.
func (l *Link) Inbox() <-chan Message { return l.inbox }

// Heard is when the guest last said anything, or when the link was opened.
func (l *Link) Heard() time.Time { return *l.heard.Load() }

// Close ends all connections, and returns when no request is under way any more.
func (l *Link) Close() { l.sockets.close() }

// hears notes that the guest says something.
func (l *Link) hears() {
	now := time.Now()
	l.heard.Store(&now)
}

// dueTime is a deadline, until it is moved.
type dueTime struct {
	at    time.Time
	moved chan struct{} // closed when there is a later one
}

// Due notes the deadline, where there is one by now, for the guest and for who asks what time is left. It belongs to the
// machine's goroutine.
func (l *Link) Due(deadline time.Time) {
	if deadline.IsZero() {
		return
	}
	if old := l.deadline.Swap(&dueTime{deadline, make(chan struct{})}); old != nil {
		close(old.moved)
	}
}

// later is the deadline where it is later than the one that a guest knows, and else hears when it is moved.
func (l *Link) later(known time.Time) (order protocol.Order, moved <-chan struct{}) {
	due := l.deadline.Load()
	switch {
	case due == nil:
		return order, nil
	case !known.IsZero() && due.at.After(known):
		return protocol.Order{Deadline: due.at}, due.moved
	}
	return order, due.moved
}

// Message is a request of the guest that changes the state: it is answered when the new
// state is stored.
type Message struct {
	Hello   *protocol.Hello
	Event   *protocol.Event
	Welcome chan protocol.Welcome // answers Hello
	Stored  chan struct{}         // answers Event
}

// OrderEnd tells the guest to kill what is left of the agent.
func (l *Link) OrderEnd() { l.endOnce.Do(func() { close(l.end) }) }

// guestHandler answers the guest. Everything the guest says is a hint from hostile
// ground: it can only end or harm its own trial.
func (l *Link) guestHandler() *protocol.Host {
	return protocol.NewHost(protocol.HostOptions{
		Hello: func(ctx context.Context, h protocol.Hello) (protocol.Welcome, error) {
			msg := Message{Hello: &h, Welcome: make(chan protocol.Welcome, 1)}
			if err := l.post(ctx, msg); err != nil {
				return protocol.Welcome{}, err
			}
			select {
			case w := <-msg.Welcome:
				return w, nil
			case <-ctx.Done():
				return protocol.Welcome{}, ctx.Err()
			case <-l.ctx.Done():
				return protocol.Welcome{}, errClosed
			}
		},
		Event: func(ctx context.Context, e protocol.Event) error {
			l.hears()
			msg := Message{Event: &e, Stored: make(chan struct{})}
			if err := l.post(ctx, msg); err != nil {
				return err
			}
			select {
			case <-msg.Stored:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			case <-l.ctx.Done():
				return errClosed
			}
		},
		Log: func(_ context.Context, offset int64, r io.Reader) (int64, error) {
			l.hears()
			next, err := l.o.Log.Store(offset, r)
			if err != nil {
				l.o.Report.Warn("the agent's log could not be kept; the guest sends it again", "error", err)
			}
			if next > offset {
				l.o.Logged()
			}
			return next, err
		},
		Beat: l.beat,
	})
}

// beat answers a heartbeat with what the daemon wants, or with nothing new after a while.
func (l *Link) beat(ctx context.Context, b protocol.Beat) (order protocol.Order, err error) {
	l.hears()
	hold := beatHold
	order, moved := l.later(b.Deadline)
	if order != (protocol.Order{}) { // a guest that forgets it again and again does not keep the daemon busy
		hold, moved = orderHold, nil
	}
	select {
	case <-l.end:
		return protocol.Order{End: true}, nil
	case <-moved:
		order, _ = l.later(b.Deadline)
	case <-ctx.Done():
	case <-l.ctx.Done():
	case <-time.After(hold):
	}
	return order, nil
}

// How long a heartbeat is held before it is answered with nothing new, and with a deadline that was later already.
const (
	beatHold  = 15 * time.Second
	orderHold = 100 * time.Millisecond
)

var errClosed = errors.New("the daemon lets go of this trial")

func (l *Link) post(ctx context.Context, msg Message) error {
	select {
	case l.inbox <- msg:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-l.ctx.Done():
		return errClosed
	}
}
