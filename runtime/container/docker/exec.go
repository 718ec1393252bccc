package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"

	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/container"
)

const (
	// How often an exec is looked at while its stream is open.
	minPoll, maxPoll = 20 * time.Millisecond, 500 * time.Millisecond
	// After the process has exited its stream may stay open for ever, because a child
	// has it. What the process wrote is still on its way: the stream is given up once
	// nothing came for quiet, or after longest if somebody goes on writing.
	quiet, longest = 300 * time.Millisecond, 5 * time.Second
)

// Exec implements container.Execer. It is not for long jobs: after a restart of the
// engine nothing is known about the command, and the call fails. Stdin is read by a
// goroutine that ends, after Exec has returned, with the next Read that returns. A container
// that another process freezes while the command is being started is ErrConflict.
func (e *Engine) Exec(ctx context.Context, id string, c container.Command) (int, error) {
	full, err := e.fullID(ctx, id)
	if err != nil {
		return 0, fmt.Errorf("run in container: %w", err)
	}
	c.Argv = inOrder(c)
	for pauses := growing(minPoll, maxPoll); ; {
		s, err := e.begin(ctx, full, c)
		if err == nil {
			return e.finish(ctx, s, id, c)
		}
		err = failure(ctx, err, "run %q in container %q", c.Argv, id)
		if !errors.Is(err, container.ErrConflict) || !e.frozen(ctx, full) {
			return 0, err
		}
		if err := clock.Sleep(ctx, pauses.NextBackOff()); err != nil {
			return 0, fmt.Errorf("run %q in container %q: wait for its thaw: %w", c.Argv, id, err)
		}
	}
}

// frozen says whether a command that is refused may be let in later. One that runs was frozen
// a moment ago.
func (e *Engine) frozen(ctx context.Context, id string) bool {
	inst, err := e.Inspect(ctx, id)
	return err == nil && inst.Phase == container.PhaseRunning
}

// begin starts a command that finish must be called for.
func (e *Engine) begin(ctx context.Context, id string, c container.Command) (*execStream, error) {
	leave, err := e.gates.starting(ctx, id)
	if err != nil {
		return nil, err
	}
	made, err := e.calls.ExecCreate(ctx, id, client.ExecCreateOptions{
		Cmd: c.Argv, Env: assignments(c.Env), User: c.User, WorkingDir: c.Workdir,
		AttachStdin: c.Stdin != nil, AttachStdout: true, AttachStderr: true,
		TTY: c.Terminal != nil, DetachKeys: noDetachKeys,
	})
	if err != nil {
		leave()
		return nil, err
	}
	conn, err := e.streams.ExecAttach(ctx, made.ID, client.ExecAttachOptions{TTY: c.Terminal != nil})
	switch {
	case err == nil:
		s := attach(conn.HijackedResponse, c, made.ID, leave)
		if c.Terminal != nil {
			s.sizes.Go(func() { e.resize(ctx, s, c.Terminal) })
		}
		return s, nil
	case ctx.Err() != nil || unreachable(err):
		e.leaveStarted(made.ID, leave)
	default: // the engine has refused it
		leave()
	}
	return nil, err
}

// noDetachKeys are nobody's keys. The engine's own, ^P^Q, would hold ^P back from a shell.
const noDetachKeys = "ctrl-^,ctrl-^,ctrl-^,ctrl-^,ctrl-^"

// resize passes the sizes of the caller's terminal on until there is no more output. A size
// that the engine does not take, because the process is not there yet, is tried again.
func (e *Engine) resize(ctx context.Context, s *execStream, sizes <-chan container.Size) {
	var size container.Size
	for pending := false; ; {
		var again <-chan time.Time
		if pending {
			again = time.After(minPoll)
		}
		select {
		case next, ok := <-sizes:
			if !ok {
				return
			}
			size = next
		case <-again:
		case <-s.ended:
			return
		case <-ctx.Done():
			return
		}
		_, err := e.calls.ExecResize(ctx, s.exec, client.ExecResizeOptions{Width: size.Columns, Height: size.Rows})
		pending = err != nil
	}
}

// finish waits for the end of a command that was begun.
func (e *Engine) finish(ctx context.Context, s *execStream, id string, c container.Command) (int, error) {
	defer s.close()
	state, err := e.follow(ctx, id, s)
	s.leave(e, state)
	if err != nil {
		return 0, failure(ctx, err, "run %q in container %q", c.Argv, id)
	}
	s.drain(ctx)
	s.close()
	return s.result(ctx, state, c, id)
}

// follow returns once the process has exited, or is known never to have started: then it
// has no PID. Neither can be told from one answer of the engine, which says "not running"
// also before it has begun, and may know the exit before it has noted the PID; a command
// whose stream has ended gets a moment for that. Otherwise the end of the stream is only
// a reason to look at once, for a process may close its output and go on.
func (e *Engine) follow(ctx context.Context, id string, s *execStream) (client.ExecInspectResult, error) {
	polls, ended := growing(minPoll, maxPoll), s.ended
	var silentSince time.Time
	for {
		state, err := e.calls.ExecInspect(ctx, s.exec, client.ExecInspectOptions{})
		if err == nil && state.PID != 0 {
			s.leave(e, state)
		}
		switch {
		case err != nil && errors.Is(kindOf(err), container.ErrNotFound) && ctx.Err() == nil:
			return state, e.lostCommand(ctx, id)
		case err != nil:
			return state, err
		case state.Running:
		case state.PID != 0, ended == nil && time.Since(silentSince) > s.benefitOfDoubt():
			return state, nil
		}
		timer := time.NewTimer(polls.NextBackOff())
		select {
		case <-ended:
			ended, silentSince = nil, time.Now()
			polls.Reset()
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		if err := s.writerFailure(); err != nil {
			return state, err
		}
		if ctx.Err() != nil {
			return state, context.Cause(ctx)
		}
	}
}

// lostCommand explains why the engine knew a command and does not now: its container was
// removed, or the engine was restarted, which ends every command.
func (e *Engine) lostCommand(ctx context.Context, id string) error {
	if _, err := e.Inspect(ctx, id); err != nil {
		return err
	}
	return fmt.Errorf("%w: it forgot the command; was it restarted?", container.ErrUnavailable)
}

// execStream moves the bytes of one exec.
type execStream struct {
	exec  string
	gate  func() // leaves the container's gate; nil = it was left
	conn  client.HijackedResponse
	ended chan struct{}  // closed when no more output will come
	err   error          // of the output; valid after ended
	bytes atomic.Int64   // of output so far
	sizes sync.WaitGroup // passes those of a terminal on
	head  prefix         // of standard output, where the engine tells why it did not start
}

func attach(conn client.HijackedResponse, c container.Command, exec string, gate func()) *execStream {
	s := &execStream{exec: exec, gate: gate, conn: conn, ended: make(chan struct{})}
	if c.Stdin != nil {
		go func() {
			// An error is one of the connection, which its reader sees as well, or one of
			// the caller's reader, for which the process sees the end of its input.
			_, _ = io.Copy(conn.Conn, c.Stdin)
			_ = conn.CloseWrite()
		}()
	}
	out, errs := s.counted(c.Stdout), s.counted(c.Stderr)
	go func() {
		defer close(s.ended)
		if c.Terminal != nil { // one stream, as it is
			_, s.err = io.Copy(io.MultiWriter(&s.head, out), conn.Reader)
			return
		}
		_, s.err = stdcopy.StdCopy(io.MultiWriter(&s.head, out), errs, conn.Reader)
	}()
	return s
}

// counted marks the errors of the caller's own writer, to tell them from the stream's.
func (s *execStream) counted(w io.Writer) io.Writer {
	if w == nil {
		w = io.Discard
	}
	return writerFunc(func(p []byte) (int, error) {
		n, err := w.Write(p)
		s.bytes.Add(int64(n))
		if err != nil {
			err = outputError{err}
		}
		return n, err
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// outputError is a refusal of the caller's writer.
type outputError struct{ error }

func (e outputError) Unwrap() error { return e.error }

// writerFailure returns what the caller's writer said, if it has refused something.
func (s *execStream) writerFailure() error {
	select {
	case <-s.ended:
		if _, ok := errors.AsType[outputError](s.err); ok {
			return fmt.Errorf("write its output: %w", s.err)
		}
	default:
	}
	return nil
}

// benefitOfDoubt is how long a command without a PID may have one that is not noted yet:
// short when its output is the engine's own complaint.
func (s *execStream) benefitOfDoubt() time.Duration {
	if commandMissing(s.head.String()) {
		return quiet
	}
	return longest
}

// drain waits for the rest of the output of a process that has exited.
func (s *execStream) drain(ctx context.Context) {
	deadline := time.NewTimer(longest)
	defer deadline.Stop()
	for seen := int64(-1); seen != s.bytes.Load(); {
		seen = s.bytes.Load()
		silence := time.NewTimer(quiet)
		select {
		case <-s.ended:
			silence.Stop()
			return
		case <-ctx.Done():
			silence.Stop()
			return
		case <-deadline.C:
			silence.Stop()
			return
		case <-silence.C:
		}
	}
}

// leave lets the container be frozen again, once the start of the command is over: at once if
// the engine has said so.
func (s *execStream) leave(e *Engine, state client.ExecInspectResult) {
	switch {
	case s.gate == nil:
		return
	case begun(state):
		s.gate()
	default:
		e.leaveStarted(s.exec, s.gate)
	}
	s.gate = nil
}

// close gives the connection up and returns when no writer is used any more.
func (s *execStream) close() {
	s.conn.Close()
	<-s.ended
	s.sizes.Wait()
}

// result reads the exit code. A process that never had a number did not start.
func (s *execStream) result(ctx context.Context, state client.ExecInspectResult, c container.Command, id string) (int, error) {
	if err := s.writerFailure(); err != nil {
		return 0, failure(ctx, err, "run %q in container %q", c.Argv, id)
	}
	if state.PID != 0 {
		return state.ExitCode, nil
	}
	text := errors.New(s.head.String())
	if s.head.len() == 0 {
		text = errors.New("the engine does not say why")
	}
	return 0, failure(ctx, text, "start %q in container %q", c.Argv, id)
}

// prefix keeps the first bytes that are written to it.
type prefix struct{ kept []byte }

func (p *prefix) Write(b []byte) (int, error) {
	const enough = 1024
	if room := enough - len(p.kept); room > 0 {
		p.kept = append(p.kept, b[:min(room, len(b))]...)
	}
	return len(b), nil
}

func (p *prefix) len() int { return len(p.kept) }

func (p *prefix) String() string { return trimmed(p.kept) }
