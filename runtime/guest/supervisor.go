package guest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/guest/protocol"
	"github.com/assayd/assayd/runtime/guest/worktree"
)

const (
	// deadlineLook is how often the clock is asked: timers stand still while the machine is
	// suspended.
	deadlineLook = 5 * time.Second
	// killPatience is how long processes may take to be gone after SIGKILL.
	killPatience = 10 * time.Second
	// drainPatience is how long the last output may take to be kept.
	drainPatience = 2 * time.Second
	// spawnPause is waited when the kernel cannot make a process.
	spawnPause = time.Second
)

// supervisor runs the agent of one trial. All its fields belong to the goroutine of run,
// which alone forks, reaps and kills, so that no exit code is lost; other goroutines hand
// it functions through todo.
type supervisor struct {
	at     layout
	config protocol.Config
	log    *slog.Logger
	notes  *stateFile
	output *output
	child  <-chan os.Signal // some child ended
	todo   chan func()

	pid       int // of the agent; 0 = none runs
	began     time.Time
	line      clock.Timeline // what Deadline and the times of events are of; zero until the Welcome
	alive     atomic.Bool    // the agent runs, for everybody
	welcomed  bool           // the daemon knows of this start
	restarted bool           // the container was stopped since the last start of the agent
	sink      int            // what the agent writes to; -1 = closed
	drained   chan struct{}
	deadline  *time.Timer
	resume    *time.Timer
	told      sync.Map                    // reasons of trouble already reported
	asking    []func(protocol.StopAnswer) // whether the agent may stop, while the tree is looked at
}

// supervise is the life of a work container's first process, which ends when it is killed:
// all goroutines here are as long as the process. It returns only if it could not begin.
func supervise(at layout, log *slog.Logger) error {
	s, err := newSupervisor(at, log)
	if err != nil {
		return err
	}
	l := &link{
		client: dialLink(at.guestSocket), log: log, notes: s.notes, output: s.output, boot: rand.Text(),
		change: s.change, trouble: s.trouble, running: s.alive.Load,
	}
	life := context.Background()
	go newRelay(at.judgeSocket, log).listenAndServe(life, at.relayAddr)
	go s.serveStops(life, at.stopAddr)
	go l.talk(life,
		func(w protocol.Welcome) { s.do(func() { s.welcome(w) }) },
		func(o protocol.Order) { s.do(func() { s.obey(o) }) })
	s.run()
	return nil
}

func newSupervisor(at layout, log *slog.Logger) (*supervisor, error) {
	if os.Getpid() != 1 {
		return nil, errors.New("only the first process of a container can supervise it")
	}
	config, err := readConfig(at.config)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(harden(), privateDir(at.state)); err != nil {
		return nil, err
	}
	notes, forgot := openStateFile(at.state, config.Trial)
	out, err := openOutput(at.state, config.LogBytes)
	if err != nil {
		return nil, err
	}
	s := &supervisor{
		at: at, config: config, log: log, notes: notes, output: out, child: catchSignals(), todo: make(chan func()),
		restarted: notes.look().Starts > 0, drained: make(chan struct{}),
		deadline: time.NewTimer(0), resume: time.NewTimer(0),
	}
	s.resume.Stop()
	if forgot != nil {
		s.trouble(protocol.TroubleState, forgot.Error())
	}
	return s, s.openSink()
}

func readConfig(path string) (c protocol.Config, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("read the guest's configuration: %w", err)
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("read the guest's configuration: %w", err)
	}
	if _, err := protocol.Negotiate(c.Version); err != nil {
		return c, fmt.Errorf("the guest's configuration: %w", err)
	}
	return c, nil
}

// privateDir makes a folder for root alone, whatever the image has in its place.
func privateDir(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	if info, err := os.Lstat(path); err != nil || !info.IsDir() {
		return errors.Join(err, fmt.Errorf("%s is not a directory", path))
	}
	return errors.Join(os.Chown(path, 0, 0), os.Chmod(path, 0o700))
}

// openSink makes the pipe that all runs of the agent write to, and reads it into output.
func (s *supervisor) openSink() error {
	var ends [2]int
	if err := pipe(&ends); err != nil {
		return fmt.Errorf("make a pipe for the agent's output: %w", err)
	}
	if err := syscall.SetNonblock(ends[0], true); err != nil { // the agent's end blocks
		return err
	}
	source := os.NewFile(uintptr(ends[0]), "agent output")
	s.sink = ends[1]
	go func() {
		defer close(s.drained)
		_, _ = io.Copy(s.output, source) // ends with the pipe
		_ = source.Close()
		s.output.close()
	}()
	return nil
}

// do has f run by the goroutine of run.
func (s *supervisor) do(f func()) { s.todo <- f }

// run is the loop of the first process.
func (s *supervisor) run() {
	for {
		if ws, ended := reap(s.pid); ended {
			s.exited(ws)
		}
		select {
		case <-s.child:
		case <-s.deadline.C:
			s.watchDeadline()
		case <-s.resume.C:
			s.start()
		case f := <-s.todo:
			f()
		}
	}
}

// watchDeadline ends the agent at the deadline, whoever is there to see it.
func (s *supervisor) watchDeadline() {
	deadline := s.notes.look().Deadline
	if !s.welcomed || deadline.IsZero() {
		return // nothing runs before the Welcome, which tells what the time is
	}
	left := s.line.Until(deadline)
	if left > 0 {
		s.deadline.Reset(min(left, deadlineLook))
		return
	}
	s.end(protocol.EndedDeadline, "")
}

// obey does what the daemon wants. A deadline only moves to a later time.
func (s *supervisor) obey(o protocol.Order) {
	if o.End {
		s.end(protocol.EndedOrdered, "")
	}
	if m := s.notes.look(); m.Ended == "" && o.Deadline.After(m.Deadline) {
		s.change(func(m *memory) { m.Deadline = o.Deadline })
		s.watchDeadline()
	}
}

// welcome begins: the daemon knows of this start of the container.
func (s *supervisor) welcome(w protocol.Welcome) {
	s.welcomed = true
	if s.line = clock.Begin(); !w.Now.IsZero() {
		s.line = clock.From(w.Now)
	}
	s.change(func(m *memory) {
		m.acknowledge(w.EventNext)
		if !w.Deadline.IsZero() {
			m.Deadline = w.Deadline
		}
	})
	if w.End {
		s.end(protocol.EndedOrdered, "")
	}
	s.watchDeadline()
	m := s.notes.look()
	if m.Ended != "" {
		return
	}
	if s.config.Policy.Idle > 0 && m.Tree == "" {
		s.lookAtTree(func(bool) { s.start() })
		return
	}
	s.start()
}

// lookAtTree hashes the tree beside the loop, which must not wait for a disk, and then
// tells whether it changed since the last look.
func (s *supervisor) lookAtTree(then func(changed bool)) {
	go func() {
		sum, whole := worktree.Hash(context.Background(), s.config.Workdir, s.config.WatchPaths)
		s.do(func() {
			changed := !whole || sum != s.notes.look().Tree
			s.change(func(m *memory) { m.Tree = sum })
			then(changed)
		})
	}()
}

// change changes the memory. That it cannot be written is a trouble and no more: the
// guest goes on with what it has.
func (s *supervisor) change(f func(*memory)) {
	if err := s.notes.update(f); err != nil {
		s.trouble(protocol.TroubleState, err.Error())
	}
}

// trouble reports something worth knowing, the first time since the start. It may be
// called from any goroutine.
func (s *supervisor) trouble(reason, detail string) {
	if _, again := s.told.LoadOrStore(reason, true); again {
		return
	}
	s.log.Warn(reason, "detail", detail)
	s.change(func(m *memory) {
		m.add(protocol.Event{Time: time.Now().UTC(), Type: protocol.EventTrouble, Reason: reason, Detail: detail})
	})
}
