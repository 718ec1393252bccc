package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/assayd/assayd/runtime/gateway/transcript"
	"github.com/assayd/assayd/runtime/gateway/wire"
)

// Session is what one try has of the gateway: an HTTP handler for its agent. It is open
// until Close.
type Session struct {
	gateway  *Gateway
	provider *provider
	grant    Grant
	file     *transcript.Writer // nil = no transcript is kept
	log      *slog.Logger
	life     context.Context
	end      context.CancelCauseFunc
	under    sync.WaitGroup      // exchanges under way
	room     *semaphore.Weighted // for the bodies of their requests, in bytes
	drains   *semaphore.Weighted // for exchanges that go on without their agent
	over     chan struct{}       // closed when a budget is used up

	// Guarded by the gateway's mu.
	closed bool
	spent  Usage
	held   reservation // for exchanges under way
	reason string      // why over is closed
	whose  string      // whose budget it was
	full   bool        // the transcript
	heard  heard
	back   heldBack

	asking  chan struct{} // has a place that is taken while it is found out whether the provider answers
	silence silence
}

// Over is closed when a budget is used up; Reason says which.
func (s *Session) Over() <-chan struct{} { return s.over }

// Reason says which budget is used up, as OverUSD or OverTokens and in words; "" if none is.
func (s *Session) Reason() (reason, detail string) {
	s.gateway.mu.Lock()
	defer s.gateway.mu.Unlock()
	if s.reason == "" {
		return "", ""
	}
	limit := s.grant.Each
	if s.whose == "run" {
		limit = s.total()
	}
	return s.reason, usedUp(s.reason, s.whose, limit)
}

// Shared reports whether the budget that is used up is that of all trials of the execution.
func (s *Session) Shared() bool {
	s.gateway.mu.Lock()
	defer s.gateway.mu.Unlock()
	return s.whose == "run"
}

// Usage is what the try has spent so far.
func (s *Session) Usage() Usage {
	s.gateway.mu.Lock()
	defer s.gateway.mu.Unlock()
	return s.spent
}

// Left is what the try may still spend, of its own budget and of the run's; zero is no limit.
func (s *Session) Left() Budget {
	s.gateway.mu.Lock()
	defer s.gateway.mu.Unlock()
	together := s.gateway.pools[pool{s.grant.Spec, s.grant.Execution}]
	left := s.grant.Each.less(s.spent)
	if together == nil {
		return left
	}
	return left.tighter(s.total().less(together.usage))
}

// less is what is left of a budget after u. What is used up is not zero, which would be no
// limit: it is the least there is.
func (b Budget) less(u Usage) Budget {
	if b.USD > 0 {
		b.USD = max(b.USD-u.CostUSD, 1e-9)
	}
	if b.Tokens > 0 {
		b.Tokens = max(b.Tokens-u.Tokens(), 1)
	}
	return b
}

// tighter is the tighter of two budgets, limit by limit.
func (b Budget) tighter(o Budget) Budget {
	if b.USD == 0 || o.USD > 0 && o.USD < b.USD {
		b.USD = o.USD
	}
	if b.Tokens == 0 || o.Tokens > 0 && o.Tokens < b.Tokens {
		b.Tokens = o.Tokens
	}
	return b
}

// Close ends the exchanges under way, which are charged with what has passed, and the
// session.
func (s *Session) Close() error {
	s.gateway.mu.Lock()
	was := s.closed
	s.closed = true
	s.gateway.mu.Unlock()
	if was {
		return nil
	}
	s.end(errClosed)
	s.under.Wait()
	s.gateway.leave(s)
	return s.keepNoMore()
}

// Flush writes what the transcript has waiting for its disk.
func (s *Session) Flush() error {
	if s.file == nil {
		return nil
	}
	return s.file.Flush()
}

// keepNoMore closes the transcript, where there is one.
func (s *Session) keepNoMore() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	if err != nil {
		s.log.Warn("the end of the transcript is lost", "error", err)
	}
	return err
}

var errClosed = errors.New("the session is closed")

// admit begins an exchange, unless the session is closed.
func (s *Session) admit() bool {
	s.gateway.mu.Lock()
	defer s.gateway.mu.Unlock()
	if s.closed {
		return false
	}
	s.under.Add(1)
	return true
}

// kept logs that a line of the transcript waits, and once that one cannot be kept.
func (s *Session) kept(err error) {
	if err == nil {
		return
	}
	if errors.Is(err, transcript.ErrHeld) {
		s.log.Warn("cannot write a line of the transcript now", "error", err)
		return
	}
	s.gateway.mu.Lock()
	told := s.full
	s.full = true
	s.gateway.mu.Unlock()
	if !told {
		s.log.Warn("the transcript lacks lines from here on", "error", err)
	}
}

// Prefixes under which sessions are served, by protocol; agents are told of the one that they
// speak.
const (
	OpenAIPrefix    = "/openai"
	AnthropicPrefix = "/anthropic"
)

// prefix is where the session's provider is found.
func (s *Session) prefix() string {
	if s.provider.Protocol == wire.Anthropic {
		return AnthropicPrefix
	}
	return OpenAIPrefix
}

// ServeHTTP implements http.Handler.
func (s *Session) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.admit() {
		overloaded(s.provider.Protocol, "the trial is over").write(w)
		return
	}
	defer s.under.Done()
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	control, ended := http.NewResponseController(w), make(chan struct{})
	watch := context.AfterFunc(s.life, func() {
		defer close(ended)
		cancel(context.Cause(s.life))
		_ = control.SetWriteDeadline(time.Now().Add(lastWord)) // a server without deadlines is a test
	})
	defer func() {
		if !watch() {
			<-ended
		}
		_ = control.SetWriteDeadline(time.Time{}) // the connection may be used again, and not for us
	}()
	serve(ctx, cancel, s, w, r)
}

// lastWord is how long an agent has to take what it is told at the end of a session.
const lastWord = time.Second
