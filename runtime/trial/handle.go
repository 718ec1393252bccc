package trial

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/egress"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/scoring"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial/agentlog"
	"github.com/assayd/assayd/runtime/trial/link"
)

// handle is what a daemon holds on a running container: the door, the log, and a goroutine
// that waits for its end. All of it can be dropped and made again.
type handle struct {
	link    *link.Link
	heard   func() time.Time // when the guest last said anything
	exits   chan error       // nil: exited; the wait of the present start
	ctx     context.Context  // ends with the handles
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

	mute   bool // that the guest says nothing is told
	roused bool // since then its container was frozen for a moment
	short  bool // that its log is not kept whole is told
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
		exits: make(chan error, 1), log: logFile, since: now, nextMeter: now.Add(meterEvery),
	}
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
	l.link, err = link.Open(l.ctx, link.Options{
		Dir: m.host.dir(s).Sockets(), Judge: m.host.Judge.Handler(s.ID), Models: l.session, Egress: l.egress,
		Log: l.log, Report: m.log, Line: s.Line, Deadline: s.Deadline, Timeout: s.Cell.Timeout,
		Logged: func() {
			if m.host.Logged != nil {
				m.host.Logged(s.ID)
			}
		},
	})
	if err != nil {
		l.close()
		return err
	}
	l.heard = l.link.Heard
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
	if l.link != nil {
		l.link.Close()
	}
	l.wg.Wait()
	l.log.Close()
}
