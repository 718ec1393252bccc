package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/guest/protocol"
	"github.com/assayd/assayd/runtime/judge/scoring"
	"github.com/assayd/assayd/runtime/trial/link"
	"github.com/assayd/assayd/runtime/trial/record"
	"github.com/assayd/assayd/runtime/truncate"
)

// How often the size of a container is looked at, and how long the guest's own word is
// waited for.
const (
	meterEvery    = 10 * time.Second
	helloPatience = 2 * time.Minute  // for its hello
	endPatience   = 5 * time.Second  // for the agent's end, after the deadline
	queuePatience = 10 * time.Second // for what it has to tell a daemon that was away
	wordsPatience = 3 * time.Second  // for the agent's last output
	guestSilence  = 2 * time.Minute  // for its heartbeat, which is held for a quarter of a minute at most
	restartPause  = 3 * time.Second  // before a container that was stopped is started again
)

// Bounds on what hostile ground may make a trial record.
const (
	maxGuestEvents = 10_000
	maxRestarts    = 20
)

// supervise waits for the next thing that changes a trial whose container is up.
func (m *Machine) supervise(ctx context.Context, s State) (State, []Effect, error) {
	if err := m.attach(ctx, s); err != nil {
		return m.lost(ctx, s, err)
	}
	m.foresee(s)
	l := m.handle
	wake := time.NewTimer(s.Line.Until(m.nextWake(s)))
	defer wake.Stop()
	select {
	case <-ctx.Done():
		return s, nil, context.Cause(ctx)
	case msg := <-l.link.Inbox():
		m.losses, m.retrying = 0, retryWindow{}
		next, effects := m.handleMessage(s, msg)
		return next, effects, nil
	case err := <-l.exits:
		return m.exited(ctx, s, err)
	case <-m.overWhile(s):
		next, effects := m.overspent(s)
		return next, effects, nil
	case why := <-m.stopped(s):
		next, effects := m.stop(s, why)
		return next, effects, nil
	case x := <-m.extended(s):
		next, effects := m.extend(s, x)
		return next, effects, nil
	case <-wake.C:
		m.losses, m.retrying = 0, retryWindow{}
		return m.woke(ctx, s)
	}
}

// overWhile is closed when a trial that runs has nothing left to spend.
func (m *Machine) overWhile(s State) <-chan struct{} {
	if s.Phase != Running {
		return nil
	}
	return m.handle.over()
}

// stopped tells why the agent of a trial that runs is to be ended by a user.
func (m *Machine) stopped(s State) <-chan string {
	if s.Phase != Running {
		return nil
	}
	return m.stops
}

// stop ends the agent as the deadline does, with another reason.
func (m *Machine) stop(s State, why string) (State, []Effect) {
	s.Reason, s.Detail, s.EndedAt, s.Phase = ReasonStopped, why, endOf(s, time.Time{}), Closing
	s.Outage = m.outage(false)
	s.Flags = appendOnce(s.Flags, ReasonStopped)
	return s, []Effect{m.happened(s, ReasonStopped, why)}
}

// patience is when the guest is not waited for any longer. What it has to tell may have
// waited for a daemon that was away, even beyond the deadline.
func (m *Machine) patience(s State) time.Time {
	if s.Phase == Await {
		return m.handle.since.Add(helloPatience)
	}
	end, heard := s.Deadline.Add(endPatience), m.handle.since.Add(queuePatience)
	if heard.After(end) {
		return heard
	}
	return end
}

// nextWake is the earliest moment at which there is something to do without being told.
func (m *Machine) nextWake(s State) time.Time {
	next := m.patience(s)
	if s.Phase == Await {
		return next
	}
	for _, due := range []time.Time{s.NextAuto, s.declares(), m.handle.nextMeter} {
		if !due.IsZero() && due.Before(next) {
			next = due
		}
	}
	return next
}

// handleMessage takes in what the guest says.
func (m *Machine) handleMessage(s State, msg link.Message) (State, []Effect) {
	if msg.Hello != nil {
		return m.handleHello(s, msg)
	}
	m.handle.spoken = m.handle.spoken || msg.Event.Type == protocol.EventEnded
	return m.handleEvent(s, msg)
}

// handleHello answers a hello. The first one fixes the deadline, which only a user moves.
func (m *Machine) handleHello(s State, msg link.Message) (State, []Effect) {
	var effects []Effect
	if s.Phase == Await {
		now := s.Line.Now()
		s.Phase, s.StartedAt, s.Deadline = Running, now, now.Add(s.Cell.Timeout)
		s.NextAuto, s.GuestVersion = nextAuto(s, now), msg.Hello.Version
		m.openSession(s) // with the deadline
		m.handle.link.Due(s.Deadline)
		effects = append(effects, Effect{"trial.started", m.started(s)})
		m.acks = append(m.acks, func() { fault.Reached(fault.TrialStarted) })
	} else if !m.met {
		effects = append(effects, m.adopted(s))
	}
	m.met = true
	l := m.handle
	welcome := protocol.Welcome{Version: protocol.Version, Deadline: s.Deadline, LogNext: l.log.Size(), EventNext: s.EventSeq + 1}
	m.acks = append(m.acks, func() {
		welcome.Now = s.Line.Now()
		msg.Welcome <- welcome
	})
	return s, effects
}

// adopted tells how a daemon that was started again has found the trial.
func (m *Machine) adopted(s State) Effect {
	if m.handle.raised {
		return m.happened(s, "engine_lost", "the daemon was started again, found the container stopped, and started it from its layer")
	}
	return m.happened(s, "adopted", "the daemon was started again; the agent goes on as it was")
}

func (m *Machine) started(s State) record.Started {
	t := s.Cell.Task
	setup, images := 0.0, 0.0
	if !s.BegunAt.IsZero() {
		setup, images = seconds(s.StartedAt.Sub(s.BegunAt)), seconds(s.ImagesAt.Sub(s.BegunAt))
	}
	names, source := scoring.Manifest(t, s.Reference)
	return record.Started{
		Trial: s.ID, Try: s.Try, Deadline: s.Deadline, Task: t.Name, Agent: s.Cell.Agent.Title(),
		Model: s.Cell.Agent.Model, Attempt: s.Cell.Attempt,
		Images:   map[string]string{"work": s.WorkImage.ID, "judge": s.JudgeImage.ID},
		Limits:   record.Limits{CPUs: t.Work.CPUs, Memory: t.Work.Memory, PIDs: t.Work.PIDs, Disk: t.Work.Disk},
		Manifest: record.Manifest{Source: source, Tests: len(names)}, SetupS: max(setup, 0), ImagesS: max(images, 0),
	}
}

// handleEvent stores an event of the guest. One that is stored already is answered again.
func (m *Machine) handleEvent(s State, msg link.Message) (State, []Effect) {
	m.acks = append(m.acks, func() { fault.Reached(fault.GuestHeard); close(msg.Stored) })
	e := msg.Event
	if s.Phase != Running || e.Seq <= s.EventSeq || e.Seq > maxGuestEvents {
		return s, nil
	}
	s.EventSeq = e.Seq
	switch e.Type {
	case protocol.EventStarted:
		if e.Count == 0 {
			return s, nil
		}
		s.Resumes++
		reason := e.Reason
		if reason == "" {
			reason = ReasonAgentExit
		}
		return s, []Effect{{"trial.resumed", record.Resumed{Trial: s.ID, Count: s.Resumes, ExitCode: s.LastExit, Reason: reason}}}
	case protocol.EventExited:
		s.LastExit = e.ExitCode
		return s, nil
	case protocol.EventEnded:
		return m.ended(s, e), nil
	case protocol.EventTrouble:
		if slices.Contains(flagged, e.Reason) {
			s.Flags = appendOnce(s.Flags, e.Reason)
		}
		return s, []Effect{m.happened(s, e.Reason, e.Detail)}
	}
	return s, nil
}

// flagged are the troubles that say something of what the agent is worth: what it ran into.
var flagged = []string{protocol.TroubleOOM, protocol.TroublePIDs, protocol.TroubleZombies}

// shellSays explains the exit codes with which a shell ends that cannot run a command.
func shellSays(detail string) string {
	switch {
	case strings.HasSuffix(detail, "exit code 126"):
		return ", as of a shell that may not execute a command; the agent's log says which"
	case strings.HasSuffix(detail, "exit code 127"):
		return ", as of a shell that does not find a command; the agent's log says which"
	}
	return ""
}

// ended takes the agent's end from the guest's word.
func (m *Machine) ended(s State, e *protocol.Event) State {
	s.Detail = e.Detail
	switch e.Reason {
	case protocol.EndedDeadline:
		s.Reason, s.TimedOut = ReasonDeadline, true
	case protocol.EndedIdle:
		s.Reason = ReasonIdle
	case protocol.EndedError:
		s.Reason, s.Crashed = ReasonAgent, true
		if s.Detail != "" {
			s.Detail += shellSays(s.Detail)
			s.Detail = m.host.at(errors.New(s.Detail), "agent", s.Cell.Agent.Name, "", "command").Error()
		}
	default:
		s.Reason = ReasonAgentExit
	}
	s.Outage = m.outage(s.Crashed || e.Reason == protocol.EndedExit && s.LastExit != 0)
	s.EndedAt, s.Phase = endOf(s, e.Time), Closing
	return s
}

// heldEvery is what is lost at most of the time for which requests were held, where a daemon is killed.
const heldEvery = time.Minute

// held is for how long users held requests for models of the agent back, all in all.
func (m *Machine) held(s State) time.Duration {
	if m.handle == nil || m.handle.session == nil {
		return s.Held
	}
	took, _ := m.handle.session.HeldBack()
	return m.handle.before + took
}

// outage is what the provider has against us, where that is why the agent ended: it failed for
// good, or it never had an answer, however it ended then. What others left is worth what it is, whether or not there
// was an answer at their end.
func (m *Machine) outage(failed bool) string {
	session := m.handle.session
	if session != nil && (failed || session.Usage().OutputTokens == 0) {
		if _, why := session.HeldBack(); why != "" {
			return "requests for models were held back, and the agent did not wait: " + why
		}
	}
	if session != nil && session.Unanswered() != "" {
		return cmp.Or(session.Silent(), session.Unanswered())
	}
	if session == nil || !failed && session.Usage().OutputTokens > 0 {
		return ""
	}
	return session.Silent()
}

// endOf is when the agent ended by the guest's clock, within what is possible: a daemon
// may hear of it late.
func endOf(s State, at time.Time) time.Time {
	if now := s.Line.Now(); at.IsZero() || at.After(now) {
		at = now
	}
	switch {
	case at.Before(s.StartedAt):
		return s.StartedAt
	case s.Extension != nil && s.Extension.Passed && !at.After(s.Extension.Declared): // it was seen at work after that
		return s.Extension.Declared.Add(time.Nanosecond)
	case at.After(s.Deadline):
		return s.Deadline
	}
	return at.UTC()
}

func (m *Machine) happened(s State, event, detail string) Effect { return happened(s, event, detail) }

func happened(s State, event, detail string) Effect {
	return Effect{"trial.event", record.Happened{Trial: s.ID, Event: event, Detail: clip(detail, 2000)}}
}

func clip(text string, n int) string {
	return truncate.Text(text, n)
}

// woke does what is due: the end, a look at what the container uses, a snapshot.
func (m *Machine) woke(ctx context.Context, s State) (State, []Effect, error) {
	now := s.Line.Now()
	switch {
	case s.Phase == Await:
		if now.Before(m.patience(s)) {
			return s, nil, nil
		}
		return fail(s, InfraError, ReasonGuestLost, fmt.Errorf("the guest of trial %s said nothing for %s", s.ID, helloPatience)), nil, nil
	case !s.declares().IsZero() && !now.Before(s.declares()):
		return m.declared(ctx, s)
	case !now.Before(m.patience(s)):
		s.Reason, s.TimedOut, s.EndedAt, s.Phase = ReasonDeadline, true, s.Deadline, Closing
		s.Outage = m.outage(false)
		return s, nil, nil
	case !s.NextAuto.IsZero() && !now.Before(s.NextAuto):
		return m.autoEval(ctx, s)
	}
	next, effects := m.meter(ctx, s)
	if held := m.held(s); held >= next.Held+heldEvery { // each is stored
		next.Held = held
	}
	effects = slices.Concat(effects, m.forgotten(s), m.silence(s))
	if m.handle.mute && !m.handle.roused {
		m.rouse(ctx, s)
	}
	return next, effects, nil
}

// rouse freezes the container of a silent guest for a moment. An engine that was killed while it froze a container
// may have forgotten that, and finds it out only so: it kills the container then, which is started again from its layer.
func (m *Machine) rouse(ctx context.Context, s State) {
	m.handle.roused = true
	f, ok := m.host.Engine.(container.Freezer)
	if !ok {
		return
	}
	thaw, err := m.freeze(ctx, f, s)
	if err == nil {
		if err = thaw(); err != nil {
			m.drop() // the next step attaches to it again, and thaws it
		}
	}
	if err != nil {
		m.log.Info("looked whether the engine has forgotten that it froze the container", "error", err)
	}
}

// forgotten tells once that the log has got longer than what is kept of it.
func (m *Machine) forgotten(s State) []Effect {
	if m.handle.short || !m.handle.log.Dropped() {
		return nil
	}
	m.handle.short = true
	return []Effect{m.happened(s, protocol.TroubleLogTruncated, "of the agent's log the first 512 MiB are kept, and the last")}
}

// silence tells once that a guest which should speak every few seconds does not, and once
// that it does again. It is the first process of a container that runs: what keeps it silent
// (a frozen container, a machine without air) may pass, and ends no trial.
func (m *Machine) silence(s State) []Effect {
	quiet := time.Since(m.handle.heard())
	if m.handle.mute == (quiet > guestSilence) {
		return nil
	}
	if m.handle.mute = !m.handle.mute; m.handle.mute {
		return []Effect{m.happened(s, "guest_silent", fmt.Sprintf("the guest has said nothing for %s", quiet.Round(time.Second)))}
	}
	m.handle.roused = false
	return []Effect{m.happened(s, "guest_back", "the guest speaks again")}
}

// meter looks at what the container uses; where the storage driver has no quota this is
// what bounds the disk.
func (m *Machine) meter(ctx context.Context, s State) (State, []Effect) {
	m.handle.nextMeter = s.Line.Now().Add(meterEvery)
	engine, ok := m.host.Engine.(container.Meter)
	limit := s.Workload.Limits.Disk
	if !ok || limit == 0 {
		return s, nil
	}
	usage, err := engine.Usage(ctx, s.Container)
	if err != nil {
		m.log.Debug("container usage is not known", "error", err)
		return s, nil
	}
	if usage.DiskBytes > s.DiskSeen+s.DiskSeen/10 { // each is stored
		s.DiskSeen = usage.DiskBytes
	}
	if s.DiskHeld > 0 && m.host.Scarce != nil && m.host.Scarce() { // one that took more than its share goes before the disk is full for all
		limit = min(limit, s.DiskHeld)
	}
	if usage.DiskBytes <= limit {
		return s, nil
	}
	s.Reason, s.EndedAt, s.Phase = ReasonDisk, s.Line.Now(), Closing
	detail := fmt.Sprintf("%d bytes written, %d allowed", usage.DiskBytes, limit)
	s.Detail = detail
	s.Flags = append(s.Flags, ReasonDisk)
	return s, []Effect{m.happened(s, "disk", detail)}
}

// exited starts a container that was stopped again from its own layer; the guest goes on
// with the time that is left. Only a container that is gone costs a try.
func (m *Machine) exited(ctx context.Context, s State, err error) (State, []Effect, error) {
	if err != nil {
		return m.lost(ctx, s, err)
	}
	// An engine that goes down ends its containers first. One that is started again just then
	// can be left in a state in which it never starts any more.
	select {
	case <-time.After(restartPause):
	case <-ctx.Done():
		return s, nil, context.Cause(ctx)
	}
	c, err := m.host.Engine.Inspect(ctx, s.Container)
	if err != nil {
		return m.lost(ctx, s, err)
	}
	s.Restarts++
	if s.Restarts > maxRestarts {
		return wrecked(s, fmt.Errorf("the container stopped %d times, last with exit code %d", s.Restarts, c.Exit.Code)), nil, nil
	}
	event := "engine_lost"
	if c.Exit.OOM {
		event = ReasonOOM
		s.Flags = appendOnce(s.Flags, ReasonOOM)
	}
	if err := m.watch(ctx, s); err != nil {
		return m.lost(ctx, s, err)
	}
	m.handle.since = s.Line.Now()
	detail := fmt.Sprintf("the container stopped with exit code %d and was started again from its layer", c.Exit.Code)
	return s, []Effect{m.happened(s, event, detail)}, nil
}

// lost decides what an engine's error means for the trial: one that cannot be asked is
// waited for, a container that is gone ends the try, and all else is tried again before
// it is believed.
func (m *Machine) lost(ctx context.Context, s State, err error) (State, []Effect, error) {
	if ctx.Err() != nil {
		return s, nil, context.Cause(ctx)
	}
	m.drop()
	if container.Unavailable(err) || ownTrouble(err) {
		return s, nil, err
	}
	_, gone := m.host.Engine.Inspect(ctx, s.Container)
	switch {
	case errors.Is(gone, container.ErrNotFound):
		return fail(s, InfraError, ReasonGuestLost, gone), nil, nil
	case gone != nil:
		return s, nil, errors.Join(err, gone)
	}
	if m.losses++; m.losses < maxAgain || errors.Is(err, container.ErrNoSpace) && m.waits(s) {
		return s, nil, err
	}
	if _, ok := errors.AsType[*notStarted](err); ok && !errors.Is(err, container.ErrNoSpace) {
		return wrecked(s, err), nil, nil
	}
	return fail(s, InfraError, ReasonGuestLost, err), nil, nil
}

// wrecked ends a trial whose container is there and does not stay up. Once an agent has
// worked in it that is the agent's doing, or else it could have its time anew; the last
// snapshot is taken from what is left.
func wrecked(s State, err error) State {
	if s.Phase == Await {
		return fail(s, InfraError, ReasonGuestLost, err)
	}
	s.Reason, s.Detail, s.Crashed = ReasonGuestLost, err.Error(), true
	s.EndedAt, s.Phase = endOf(s, time.Time{}), Closing
	return s
}

func appendOnce(flags []string, flag string) []string {
	if slices.Contains(flags, flag) {
		return flags
	}
	return append(flags, flag)
}
