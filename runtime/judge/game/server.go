package game

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/sandbox"
)

// How long a game server may take.
const (
	serverStart  = 30 * time.Second
	serverPoll   = 250 * time.Millisecond
	StepTime     = 10 * time.Second
	serverStatus = 5 * time.Second
	// serverKeep is how long a connection is kept for the next call: less than what any
	// server keeps one, for a call on a connection that ends meanwhile is lost.
	serverKeep = 3 * time.Second
)

// Bounds on what a game server says.
const (
	maxReply   = 4 << 20
	maxDetail  = 2048
	maxGameLog = 8 << 10 // of either end of its output
)

// server is the program of the judge image that plays with the agent. Nothing leads to
// its container but commands executed there, so each connection is one: the guest that
// dials, with its input and output for the wire. That needs no network and no engine's help.
type server struct {
	game      *Game
	container string
	user      string
	client    *http.Client
	output    *sandbox.Capture

	mu      sync.Mutex
	stopped bool
	wg      sync.WaitGroup // of commands; added to under mu
}

// notServed says that the game server itself is at fault.
type notServed struct{ error }

func (n *notServed) Unwrap() error { return n.error }

func newServer(g *Game, name, user string) *server {
	s := &server{game: g, container: name, user: user, output: sandbox.NewCapture(maxGameLog)}
	s.client = &http.Client{
		Transport: &http.Transport{DialContext: s.dial, DisableCompression: true, IdleConnTimeout: serverKeep},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
	return s
}

// command runs do in the background until the server is stopped.
func (s *server) command(do func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopped {
		s.wg.Go(do)
	}
	return !s.stopped
}

// stop returns when no command is under way any more; the session must be over.
func (s *server) stop() {
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	s.client.CloseIdleConnections()
	s.wg.Wait()
}

// start runs the server; its end is the session's.
func (s *server) start(c container.Command) {
	c.Stdout, c.Stderr = s.output, s.output
	s.command(func() {
		ctx, unwatch := container.WatchDisk(s.game.ctx, s.game.games.o.Host.Engine, s.container, s.game.session.DiskLimit, s.game.games.o.Host.Log)
		code, err := s.game.games.o.Host.Execer.Exec(ctx, s.container, c)
		unwatch()
		why := &ending{text: "the game server ended by itself", problem: true}
		full, overfull := errors.AsType[*container.DiskError](context.Cause(ctx))
		switch {
		case err != nil && overfull:
			why.text = "the game server was stopped: " + full.Error()
		case err != nil:
			why.engine = !errors.Is(err, container.ErrCommandNotFound)
		default:
			why.text += fmt.Sprintf(" with exit code %d", code)
		}
		if s.game.ctx.Err() == nil {
			s.game.games.o.Host.Log.Warn("a game server ended", "session", s.game.ID, "exit_code", code, "error", err, "output", round.LastLine(s.output.Bytes()))
		}
		s.game.end(why)
	})
}

// address is where the server is to listen, in its container.
func (s *server) address() string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.game.session.Task.Judge.Port))
}

// dial makes a connection to the server's port, which the guest waits for.
func (s *server) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	o := s.game.games.o
	trouble := sandbox.NewCapture(maxDetail)
	begun := s.command(func() {
		defer context.AfterFunc(s.game.ctx, func() { _ = far.Close() })()
		defer far.Close() //nolint:errcheck // a pipe in memory
		code, err := o.Host.Execer.Exec(s.game.ctx, s.container, container.Command{
			Argv: append(append([]string{}, o.Dial...), s.address()),
			User: s.user, Stdin: far, Stdout: far, Stderr: trouble,
		})
		if err != nil || code != 0 {
			o.Host.Log.Debug("a connection to a game server ended", "session", s.game.ID, "exit_code", code, "error", err, "output", string(trouble.Bytes()))
		}
	})
	if !begun {
		return nil, net.ErrClosed
	}
	return near, nil
}

// begin waits for the server and has it begin a game.
func (s *server) begin() (reply, error) {
	ctx, cancel := context.WithTimeout(s.game.ctx, serverStart)
	defer cancel()
	err := s.healthy(ctx)
	for err != nil && ctx.Err() == nil {
		pause := time.NewTimer(serverPoll)
		select {
		case <-pause.C:
			if now := s.healthy(ctx); ctx.Err() == nil {
				err = now // one that was broken off says nothing
			}
		case <-ctx.Done():
			pause.Stop()
		}
	}
	var reply reply
	if err == nil {
		reply, err = s.call(http.MethodPost, "/new", struct{}{}, StepTime)
	}
	if err == nil && reply.Score == nil {
		err = errors.New("it tells no score")
	}
	if err != nil {
		return reply, s.fault(err)
	}
	return reply, nil
}

// fault tells whose fault it is that the game could not begin.
func (s *server) fault(err error) error {
	why, ok := errors.AsType[*ending](context.Cause(s.game.ctx))
	if ok && (!why.problem || why.engine) {
		return fmt.Errorf("start the game server: %w", errors.Join(why, err))
	}
	if ok {
		err = why
	}
	if said := round.LastLine(s.output.Bytes()); said != "" {
		err = fmt.Errorf("%w; its output ends with %q", err, said)
	}
	return &notServed{fmt.Errorf("the game server did not start: %w", err)}
}

func (s *server) healthy(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://game/health", nil)
	if err != nil {
		return err
	}
	answer, err := s.client.Do(r)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("nothing answered GET /health on %s (judge.port) within %s", s.address(), serverStart)
	}
	if err != nil {
		return fmt.Errorf("ask for its health: %w", err)
	}
	defer answer.Body.Close()                                      //nolint:errcheck // only read
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<16)) // so that the connection is of use again
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("its health is %s", answer.Status)
	}
	return nil
}

// reply is what a server answers; what it leaves out has not changed.
type reply struct {
	Observation string   `json:"observation"`
	Score       *float64 `json:"score"`
	MaxScore    *float64 `json:"max_score"`
	Done        bool     `json:"done"`
	Moves       *float64 `json:"moves"`
}

// call asks the server. Whoever asked the judge may go away meanwhile: a move that was
// made counts. A *Refusal is the server's; other errors are failures.
func (s *server) call(method, path string, body any, limit time.Duration) (reply reply, err error) {
	ctx, cancel := context.WithTimeout(s.game.ctx, limit)
	defer cancel()
	text, err := json.Marshal(body)
	if err != nil {
		return reply, err
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://game"+path, bytes.NewReader(text))
	if err != nil {
		return reply, err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := s.client.Do(r)
	if err != nil {
		return reply, fmt.Errorf("call the game server: %w", err)
	}
	defer answer.Body.Close() //nolint:errcheck // only read
	content, err := io.ReadAll(io.LimitReader(answer.Body, maxReply+1))
	switch {
	case err != nil:
		return reply, fmt.Errorf("read the game server's answer: %w", err)
	case answer.StatusCode >= 400 && answer.StatusCode < 500:
		return reply, round.Refuse(400, "the game refuses: %s", refusalText(content))
	case answer.StatusCode != http.StatusOK:
		return reply, fmt.Errorf("the game server answers %s", answer.Status)
	case len(content) > maxReply:
		return reply, fmt.Errorf("the game server answers more than %d bytes", maxReply)
	}
	if err := json.Unmarshal(content, &reply); err != nil {
		return reply, fmt.Errorf("understand the game server's answer: %w", err)
	}
	return reply, nil
}

// refusalText finds the words in an error's answer.
func refusalText(content []byte) string {
	var told struct {
		Detail string `json:"detail"`
	}
	if json.Unmarshal(content, &told) == nil && told.Detail != "" {
		return round.Clip(told.Detail, maxDetail)
	}
	return round.Clip(string(content), maxDetail)
}
