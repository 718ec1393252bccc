package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/egress"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/guest/protocol"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/scoring"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial/agentlog"
)

// handle is what a daemon holds on a running container: the door, the log, and a goroutine
// that waits for its end. All of it can be dropped and made again.
type handle struct {
	socket  *trialSocket
	inbox   chan message
	exits   chan error // nil: exited; the wait of the present start
	end     chan struct{}
	endOnce sync.Once
	ctx     context.Context // ends with the handles
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	log     *agentlog.Log
	session *gateway.Session // nil = the agent has no model
	before  time.Duration    // State.Held before the session
	egress  *egress.Proxy    // nil = the task has no network list

	// On the trial's line of time.
	since     time.Time // when the guest could first be heard
	nextMeter time.Time // when to look at the container's size again

	raised bool // its container did not run and was started
	spoken bool // the guest said that the agent has ended, or had its time to

	deadline atomic.Pointer[dueTime] // nil = the agent has not begun

	heard atomic.Pointer[time.Time] // when the guest last said anything
	mute  bool                      // that it does not is told
	short bool                      // that its log is not kept whole is told
}

// hears notes that the guest says something.
func (l *handle) hears() {
	now := time.Now()
	l.heard.Store(&now)
}

// dueTime is a deadline, until it is moved.
type dueTime struct {
	at    time.Time
	moved chan struct{} // closed when there is a later one
}

// due notes the deadline, where there is one by now, for the guest and for who asks what time is left. It belongs to the
// machine's goroutine.
func (l *handle) due(deadline time.Time) {
	if deadline.IsZero() {
		return
	}
	if old := l.deadline.Swap(&dueTime{deadline, make(chan struct{})}); old != nil {
		close(old.moved)
	}
}

// later is the deadline where it is later than the one that a guest knows, and else hears when it is moved.
func (l *handle) later(known time.Time) (order protocol.Order, moved <-chan struct{}) {
	due := l.deadline.Load()
	switch {
	case due == nil:
		return order, nil
	case !known.IsZero() && due.at.After(known):
		return protocol.Order{Deadline: due.at}, due.moved
	}
	return order, due.moved
}

// message is a request of the guest that changes the state: it is answered when the new
// state is stored.
type message struct {
	hello   *protocol.Hello
	event   *protocol.Event
	welcome chan protocol.Welcome // answers hello
	stored  chan struct{}         // answers event
}

// attach makes the handles unless they are there: it registers the judge session, opens
// the door, and makes the container run, which adopts it after a restart of the daemon
// and starts it again from its own layer after one of the engine.
func (m *Machine) attach(ctx context.Context, s State) error {
	if m.handle != nil {
		return nil
	}
	logFile, err := agentlog.Open(m.host.dir(s).Log())
	if err != nil {
		return &hostError{fmt.Errorf("open the agent's log: %w", err)}
	}
	now := s.Line.Now()
	l := &handle{
		inbox: make(chan message), exits: make(chan error, 1), end: make(chan struct{}), log: logFile,
		since: now, nextMeter: now.Add(meterEvery),
	}
	l.hears() // from here on it is listened to
	l.due(s.Deadline)
	l.ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	m.openSession(s)
	l.before = s.Held
	if l.session, err = m.openModels(ctx, s); err != nil {
		l.close()
		return &hostError{err}
	}
	if l.egress, err = m.openEgress(s); err != nil {
		l.close()
		return err
	}
	front := &router{judge: m.host.Judge.Handler(s.ID), session: l.session, egress: l.egress, left: l.left(s.Line, s.Cell.Timeout)}
	l.socket, err = openTrialSocket(m.host.dir(s).Sockets(), front, l.guestHandler(m.log, func() {
		if m.host.Logged != nil {
			m.host.Logged(s.ID)
		}
	}))
	if err != nil {
		l.close()
		return err
	}
	fault.Reached(fault.TrialSocketOpened)
	m.handle = l
	return m.watch(ctx, s)
}

// watch makes sure that the container runs and waits for its exit in the background.
func (m *Machine) watch(ctx context.Context, s State) error {
	l := m.handle
	c, err := m.host.Engine.Inspect(ctx, s.Container)
	if err != nil {
		return err
	}
	if c.Phase != container.PhaseRunning {
		if _, err := m.host.Engine.Start(ctx, s.Workload); err != nil {
			return &notStarted{err}
		}
		l.raised = true
	}
	if f, ok := m.host.Engine.(container.Freezer); ok && c.Frozen {
		if err := f.Thaw(ctx, s.Container); err != nil { // a crash left it frozen
			return err
		}
	}
	l.wg.Go(func() {
		_, err := m.host.Engine.Wait(l.ctx, s.Container)
		l.exits <- err
	})
	return nil
}

// notStarted says that a container which is there could not be started again.
type notStarted struct{ error }

func (n *notStarted) Unwrap() error { return n.error }

// openSession lets the trial submit.
func (m *Machine) openSession(s State) { m.host.Judge.Open(Session(m.host.Owner, s)) }

// Session is the right to submit of a trial whose images are made.
func Session(owner string, s State) round.Session {
	c := s.Cell
	return round.Session{
		Trial: s.ID, Try: s.Try, Labels: labels(owner, s, container.RoleJudge), Token: s.Token, Task: asJudged(s), Once: single(s), Keep: s.MayKeep(),
		JudgeImage: s.JudgeImage.ID, HiddenPaths: s.Hidden, Deadline: s.Deadline, Max: c.Max, Cooldown: c.Cooldown,
		RunImage: s.RunImage, GradeImage: s.GradeImage, Reference: s.Reference, Outcomes: s.Outcomes, Expected: s.Expected, Line: s.Line,
	}
}

// asJudged is the task as the judge takes it: where its tests are commands, a run in single
// mode says how long each may take.
func asJudged(s State) task.Task {
	t := s.Cell.Task
	if single(s) && scoring.ByCommands(t) && s.Cell.TestTimeout > 0 {
		t.Judge.Timeout = s.Cell.TestTimeout
	}
	return t
}

// orderEnd tells the guest to kill what is left of the agent.
func (l *handle) orderEnd() { l.endOnce.Do(func() { close(l.end) }) }

// over is closed when there is nothing left to spend.
func (l *handle) over() <-chan struct{} {
	if l.session == nil {
		return nil
	}
	return l.session.Over()
}

func (l *handle) close() {
	l.cancel()
	if l.session != nil {
		_ = l.session.Close() // before the door, which waits for the requests under way
	}
	if l.egress != nil {
		l.egress.Close() // the same
	}
	if l.socket != nil {
		l.socket.close()
	}
	l.wg.Wait()
	l.log.Close()
}

// guestHandler answers the guest. Everything the guest says is a hint from hostile
// ground: it can only end or harm its own trial. Logged is told when its log has grown.
func (l *handle) guestHandler(log *slog.Logger, logged func()) *protocol.Host {
	return protocol.NewHost(protocol.HostOptions{
		Hello: func(ctx context.Context, h protocol.Hello) (protocol.Welcome, error) {
			msg := message{hello: &h, welcome: make(chan protocol.Welcome, 1)}
			if err := l.post(ctx, msg); err != nil {
				return protocol.Welcome{}, err
			}
			select {
			case w := <-msg.welcome:
				return w, nil
			case <-ctx.Done():
				return protocol.Welcome{}, ctx.Err()
			case <-l.ctx.Done():
				return protocol.Welcome{}, errClosed
			}
		},
		Event: func(ctx context.Context, e protocol.Event) error {
			l.hears()
			msg := message{event: &e, stored: make(chan struct{})}
			if err := l.post(ctx, msg); err != nil {
				return err
			}
			select {
			case <-msg.stored:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			case <-l.ctx.Done():
				return errClosed
			}
		},
		Log: func(_ context.Context, offset int64, r io.Reader) (int64, error) {
			l.hears()
			next, err := l.log.Store(offset, r)
			if err != nil {
				log.Warn("the agent's log could not be kept; the guest sends it again", "error", err)
			}
			if next > offset {
				logged()
			}
			return next, err
		},
		Beat: l.beat,
	})
}

// beat answers a heartbeat with what the daemon wants, or with nothing new after a while.
func (l *handle) beat(ctx context.Context, b protocol.Beat) (order protocol.Order, err error) {
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

func (l *handle) post(ctx context.Context, msg message) error {
	select {
	case l.inbox <- msg:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-l.ctx.Done():
		return errClosed
	}
}
