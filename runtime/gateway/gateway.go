package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/assayd/assayd/runtime/gateway/transcript"
)

// Options are what a gateway is made with.
type Options struct {
	Providers []Provider
	Ledger    Ledger
	Log       *slog.Logger
	// Hold is how long a request is kept back and retried before its first byte, until it is
	// answered as by a provider that is overloaded; 0 = a minute. The agents' own patience
	// is short.
	Hold time.Duration
}

// Gateway serves all sessions. Its methods may be called from any goroutine.
type Gateway struct {
	opts      Options
	providers map[string]*provider

	mu    sync.Mutex
	pools map[pool]*spending // by execution, while a session of it is open
}

// pool is what shares a total budget.
type pool struct {
	spec      string
	execution int
}

// spending is what an execution has spent, and who wants to know when it is too much. Its
// fields are guarded by the gateway's mu.
type spending struct {
	usage    Usage
	sessions map[*Session]bool
}

// New returns a gateway for these providers.
func New(o Options) (*Gateway, error) {
	if o.Hold == 0 {
		o.Hold = time.Minute
	}
	g := &Gateway{opts: o, providers: map[string]*provider{}, pools: map[pool]*spending{}}
	for _, p := range o.Providers {
		made, err := newProvider(p)
		if err != nil {
			return nil, err
		}
		g.providers[p.Name] = made
	}
	return g, nil
}

// Close ends what runs without a session.
func (g *Gateway) Close() {
	for _, p := range g.providers {
		p.line.stop()
		p.client.CloseIdleConnections()
	}
}

// Protocol is what a provider speaks, OpenAI or Anthropic; "" = there is no such provider.
func (g *Gateway) Protocol(provider string) string {
	if p := g.providers[provider]; p != nil {
		return p.Protocol
	}
	return ""
}

// Grant is the right of one try to use a provider.
type Grant struct {
	Account
	Provider string
	Model    string // of the run; requests for others are passed on, and told; "" = any
	Each     Budget // of the try
	Total    Budget // of its whole execution
	Dir      string // where the transcript is kept
}

// TranscriptFile is the transcript's name in a grant's folder.
const TranscriptFile = "transcript.jsonl"

// maxTranscript bounds a transcript, in bytes.
const maxTranscript = 4 << 30

// Open begins or takes up the session of a try.
func (g *Gateway) Open(ctx context.Context, grant Grant) (*Session, error) {
	p := g.providers[grant.Provider]
	if p == nil {
		return nil, fmt.Errorf("open a session with provider %q: the settings have none of this name", grant.Provider)
	}
	spent, err := g.opts.Ledger.Spent(ctx, grant.Account)
	if err != nil {
		return nil, err
	}
	file, err := transcript.Create(filepath.Join(grant.Dir, TranscriptFile), maxTranscript)
	if err != nil {
		return nil, err
	}
	s := &Session{
		gateway: g, provider: p, grant: grant, file: file, spent: spent, others: map[string]bool{},
		room: semaphore.NewWeighted(maxBodies), over: make(chan struct{}), log: g.opts.Log.With("spec", grant.Spec, "trial", grant.Trial),
	}
	if err := g.join(ctx, s); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	s.life, s.end = context.WithCancelCause(context.WithoutCancel(ctx))
	return s, nil
}

// Spent is what an account was charged with so far.
func (g *Gateway) Spent(ctx context.Context, a Account) (Usage, error) {
	return g.opts.Ledger.Spent(ctx, a)
}

// Broke says whether an execution has used its budget up, as Session.Reason does.
func (g *Gateway) Broke(ctx context.Context, a Account, total Budget) (reason, detail string, err error) {
	if total == (Budget{}) {
		return "", "", nil
	}
	usage, err := g.Spent(ctx, Account{Spec: a.Spec, Execution: a.Execution})
	if err != nil {
		return "", "", err
	}
	reason = total.over(usage)
	return reason, usedUp(reason, "run", total), nil
}

// usedUp says in words whose budget it is.
func usedUp(reason, whose string, limit Budget) string {
	switch reason {
	case OverUSD:
		return fmt.Sprintf("the %s's budget of %s USD is used up", whose, strconv.FormatFloat(limit.USD, 'f', -1, 64))
	case OverTokens:
		return fmt.Sprintf("the %s's budget of %d tokens is used up", whose, limit.Tokens)
	}
	return ""
}

// join counts a session among those of its execution.
func (g *Gateway) join(ctx context.Context, s *Session) error {
	at := pool{s.grant.Spec, s.grant.Execution}
	g.mu.Lock()
	defer g.mu.Unlock()
	together := g.pools[at]
	if together == nil {
		usage, err := g.opts.Ledger.Spent(ctx, Account{Spec: at.spec, Execution: at.execution})
		if err != nil {
			return err
		}
		together = &spending{usage: usage, sessions: map[*Session]bool{}}
		g.pools[at] = together
	}
	together.sessions[s] = true
	g.check(s, together)
	return nil
}

// leave takes a session out.
func (g *Gateway) leave(s *Session) {
	at := pool{s.grant.Spec, s.grant.Execution}
	g.mu.Lock()
	defer g.mu.Unlock()
	together := g.pools[at]
	delete(together.sessions, s)
	if len(together.sessions) == 0 {
		delete(g.pools, at)
	}
}

// spend counts what a session spent, and tells whoever has nothing left.
func (g *Gateway) spend(s *Session, u Usage) {
	g.mu.Lock()
	defer g.mu.Unlock()
	together := g.pools[pool{s.grant.Spec, s.grant.Execution}]
	s.spent.Add(u)
	together.usage.Add(u)
	for other := range together.sessions {
		g.check(other, together)
	}
}

// check ends what a session may spend when a limit is reached. The gateway's mu is held.
func (g *Gateway) check(s *Session, together *spending) {
	if s.reason != "" {
		return
	}
	reason, whose := s.grant.Each.over(s.spent), "trial"
	if reason == "" {
		reason, whose = s.grant.Total.over(together.usage), "run"
	}
	if reason != "" {
		s.reason, s.whose = reason, whose
		close(s.over)
	}
}

// Session is what one try has of the gateway: an HTTP handler for its agent. It is open
// until Close.
type Session struct {
	gateway  *Gateway
	provider *provider
	grant    Grant
	file     *transcript.Writer
	log      *slog.Logger
	life     context.Context
	end      context.CancelCauseFunc
	under    sync.WaitGroup      // exchanges under way
	room     *semaphore.Weighted // for the bodies of their requests, in bytes
	over     chan struct{}       // closed when a budget is used up

	// Guarded by the gateway's mu.
	closed bool
	spent  Usage
	reason string // why over is closed
	whose  string // whose budget it was
	others map[string]bool
	silent string // what the provider has against us, since its last answer
	full   bool   // the transcript
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
		limit = s.grant.Total
	}
	return s.reason, usedUp(s.reason, s.whose, limit)
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
	return left.tighter(s.grant.Total.less(together.usage))
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

// Silent says what the provider had against us in all requests since its last answer: it is
// overloaded, not there, or does not take the key. "" = it answers.
func (s *Session) Silent() string {
	s.gateway.mu.Lock()
	defer s.gateway.mu.Unlock()
	return s.silent
}

// Others are the models that the agent asked for beside the run's.
func (s *Session) Others() []string {
	s.gateway.mu.Lock()
	defer s.gateway.mu.Unlock()
	return sortedKeys(s.others)
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
	return s.file.Close()
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

// note keeps what a finished exchange says of the provider: "" = it has answered.
func (s *Session) note(silent string) {
	s.gateway.mu.Lock()
	s.silent = silent
	s.gateway.mu.Unlock()
}

// kept logs once that the transcript cannot be kept.
func (s *Session) kept(err error) {
	if err == nil {
		return
	}
	s.gateway.mu.Lock()
	told := s.full
	s.full = true
	s.gateway.mu.Unlock()
	if !told {
		s.log.Warn("the transcript is not kept any more", "error", err)
	}
}

// other notes a request for a model that is not the run's.
func (s *Session) other(model string) {
	if s.grant.Model == "" || model == s.grant.Model {
		return
	}
	s.gateway.mu.Lock()
	defer s.gateway.mu.Unlock()
	if len(s.others) < maxOthers {
		s.others[model] = true
	}
}

// maxOthers bounds what an agent can have noted of it.
const maxOthers = 20

// Prefixes under which sessions are served, by protocol; agents are told of the one that they
// speak.
const (
	OpenAIPrefix    = "/openai"
	AnthropicPrefix = "/anthropic"
)

// prefix is where the session's provider is found.
func (s *Session) prefix() string {
	if s.provider.Protocol == Anthropic {
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
