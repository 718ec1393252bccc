package guest

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/assayd/assayd/runtime/guest/protocol"
)

// start makes a process of the agent, unless it is too late.
func (s *supervisor) start() {
	m := s.notes.look()
	if s.pid != 0 || m.Ended != "" {
		return
	}
	now := s.line.Now()
	if !m.Deadline.IsZero() && !now.Before(m.Deadline) {
		s.end(protocol.EndedDeadline, "")
		return
	}
	argv := s.config.Command
	if m.Starts > 0 && len(s.config.Resume) > 0 {
		argv = s.config.Resume
	}
	c, err := newCommand(s.config, argv, os.Environ(), s.at.etc, s.line.Wall(now), s.line.Wall(m.Deadline))
	if err == nil {
		s.pid, err = c.spawn(s.sink)
	}
	switch {
	case errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ENOMEM):
		// What earlier runs left behind uses up what the next one needs.
		s.trouble(protocol.TroubleSpawn, err.Error())
		s.killRest()
		s.resume.Reset(spawnPause)
	case err != nil:
		s.end(protocol.EndedError, err.Error())
	default:
		s.started(now)
	}
}

func (s *supervisor) started(now time.Time) {
	s.began = time.Now()
	s.alive.Store(true)
	again := protocol.AgainAfterExit
	if s.restarted {
		again = protocol.AgainAfterRestart
	}
	s.restarted = false
	s.change(func(m *memory) {
		e := protocol.Event{Time: now, Type: protocol.EventStarted, Count: m.Starts}
		if m.Starts > 0 {
			e.Reason = again
		}
		m.add(e)
		m.Starts++
	})
}

// exited notes how the agent ended and decides what follows.
func (s *supervisor) exited(ws syscall.WaitStatus) {
	r := s.over(ws)
	if s.config.Policy.Idle > 0 {
		s.lookAtTree(func(changed bool) {
			r.Changed = changed
			s.decide(r)
		})
		return
	}
	r.Changed = true
	s.decide(r)
}

// over records the end of a run.
func (s *supervisor) over(ws syscall.WaitStatus) run {
	code, how := exitCode(ws)
	r := run{Code: code, Runtime: time.Since(s.began)}
	s.pid = 0
	s.alive.Store(false)
	s.change(func(m *memory) {
		m.add(protocol.Event{Time: s.line.Now(), Type: protocol.EventExited, ExitCode: code, Runtime: r.Runtime, Reason: how})
	})
	return r
}

func (s *supervisor) decide(r run) {
	m := s.notes.look()
	if m.Ended != "" {
		return // meanwhile
	}
	next, what := policy(s.config.Policy).after(m.Streaks, r, m.Starts, len(s.config.Resume) > 0)
	s.change(func(m *memory) { m.Streaks = next })
	if what.End != "" {
		s.end(what.End, what.Detail)
		return
	}
	s.resume.Reset(what.Pause)
}

// end ends the agent for good: nothing but the guest lives when the event is written.
func (s *supervisor) end(reason, detail string) {
	if s.notes.look().Ended != "" {
		return
	}
	s.resume.Stop()
	s.killRest()
	s.drain()
	s.change(func(m *memory) {
		m.Ended = reason
		m.add(protocol.Event{Time: s.line.Now(), Type: protocol.EventEnded, Reason: reason, Detail: detail})
	})
}

// killRest kills everything else in the container.
func (s *supervisor) killRest() {
	ctx, cancel := context.WithTimeout(context.Background(), killPatience)
	defer cancel()
	ws, found, err := killAll(ctx, s.pid)
	if found {
		s.over(ws)
	}
	if err != nil {
		s.trouble(protocol.TroubleUnkillable, err.Error())
	}
}

// drain keeps what is still in the pipe. After it the agent cannot be started any more.
func (s *supervisor) drain() {
	if s.sink >= 0 {
		_ = syscall.Close(s.sink) // the last writer: the reader sees the end
		s.sink = -1
	}
	select {
	case <-s.drained:
	case <-time.After(drainPatience):
	}
}
