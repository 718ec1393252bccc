package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	// Drain is how long the answer to an agent that has hung up is read on, so that its provider
	// tells what it takes; 0 = two minutes.
	Drain time.Duration
	// HeldBack says why users hold requests of an account for models of a provider back, "" = they do not, and
	// closes changed when that may be otherwise. Nil = none is ever held.
	HeldBack func(a Account, provider string) (why string, changed <-chan struct{})
	// Ended is told of each request for a model, once it is in the ledger. It must not block. Nil tells nobody.
	Ended func(Ended)
}

// Gateway serves all sessions. Its methods may be called from any goroutine.
type Gateway struct {
	opts      Options
	providers map[string]*provider

	joining chan struct{} // has a place that is taken by who may add a pool

	mu    sync.Mutex
	pools map[pool]*spending // by execution, while a session of it is open
	total map[pool]Budget    // of executions whose budget was set after they had begun
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
	held     reservation
	freed    chan struct{} // closed when something of held is given back
	sessions map[*Session]bool
}

// New returns a gateway for these providers.
func New(o Options) (*Gateway, error) {
	if o.Hold == 0 {
		o.Hold = time.Minute
	}
	if o.Drain == 0 {
		o.Drain = drainTime
	}
	if o.Ended == nil {
		o.Ended = func(Ended) {}
	}
	g := &Gateway{opts: o, providers: map[string]*provider{}, pools: map[pool]*spending{}, total: map[pool]Budget{}, joining: make(chan struct{}, 1)}
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
	Dir      string // where the transcript is kept; "" = none is
	// Closed is set for an agent without a network, so that the provider opens none for it: what
	// it would have to search, open or run by itself is refused, and told in the transcript.
	Closed bool
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
	var file *transcript.Writer
	if grant.Dir != "" {
		if file, err = transcript.Create(filepath.Join(grant.Dir, TranscriptFile), maxTranscript); err != nil {
			return nil, err
		}
	}
	s := &Session{
		gateway: g, provider: p, grant: grant, file: file, spent: spent,
		room: semaphore.NewWeighted(maxBodies), drains: semaphore.NewWeighted(maxDrains), over: make(chan struct{}), asking: make(chan struct{}, 1), log: g.opts.Log.With("spec", grant.Spec, "trial", grant.Trial),
	}
	s.heard.before = spent.OutputTokens > spent.EstimatedTokens
	if err := g.join(ctx, s); err != nil {
		return nil, errors.Join(err, s.keepNoMore())
	}
	s.life, s.end = context.WithCancelCause(context.WithoutCancel(ctx))
	return s, nil
}

// Spent is what an account was charged with so far: a try, or where its trial is "" a whole
// execution of its spec.
func (g *Gateway) Spent(ctx context.Context, a Account) (Usage, error) {
	return g.opts.Ledger.Spent(ctx, a)
}

// OverBudget says whether an execution has used its budget up, as Session.Reason does, or has less left than a
// try may spend; each is zero of what needs not fit.
func (g *Gateway) OverBudget(ctx context.Context, a Account, each, total Budget) (reason, detail string, err error) {
	g.mu.Lock()
	if set, ok := g.total[pool{a.Spec, a.Execution}]; ok {
		total = set
	}
	g.mu.Unlock()
	if total == (Budget{}) {
		return "", "", nil
	}
	usage, err := g.Spent(ctx, Account{Spec: a.Spec, Execution: a.Execution})
	if err != nil {
		return "", "", err
	}
	if reason = total.over(usage); reason != "" {
		return reason, usedUp(reason, "run", total), nil
	}
	reason, detail = total.short(usage, each)
	return reason, detail, nil
}

// short says in which limit less is left than a try may spend, "" if in none.
func (b Budget) short(u Usage, each Budget) (reason, detail string) {
	const rounding = 1e-9
	switch left := b.less(u); {
	case b.USD > 0 && each.USD > left.USD*(1+rounding):
		return OverUSD, fmt.Sprintf("the run's budget of %.6g USD has %.6g left, and a trial may spend %.6g", b.USD, left.USD, each.USD)
	case b.Tokens > 0 && each.Tokens > left.Tokens:
		return OverTokens, fmt.Sprintf("the run's budget of %d tokens has %d left, and a trial may spend %d", b.Tokens, left.Tokens, each.Tokens)
	}
	return "", ""
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

// join counts a session among those of its execution. Nobody else adds the execution, or spends
// for it, while its ledger is read; all others go on meanwhile.
func (g *Gateway) join(ctx context.Context, s *Session) error {
	select {
	case g.joining <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-g.joining }()
	if g.joins(s, nil) {
		return nil
	}
	at := pool{s.grant.Spec, s.grant.Execution}
	usage, err := g.opts.Ledger.Spent(ctx, Account{Spec: at.spec, Execution: at.execution})
	if err != nil {
		return err
	}
	g.joins(s, &spending{usage: usage, freed: make(chan struct{}), sessions: map[*Session]bool{}})
	return nil
}

// joins adds a session to its execution, or to a new one, nil = there is none to be added, and
// says whether it did.
func (g *Gateway) joins(s *Session, fresh *spending) bool {
	at := pool{s.grant.Spec, s.grant.Execution}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pools[at] == nil {
		if fresh == nil {
			return false
		}
		g.pools[at] = fresh
	}
	g.pools[at].sessions[s] = true
	g.check(s, g.pools[at])
	return true
}

// SetTotal says what an execution may spend from now on, whatever the grants of its sessions say.
// A session that has nothing left by then stays so.
func (g *Gateway) SetTotal(spec string, execution int, total Budget) {
	at := pool{spec, execution}
	g.mu.Lock()
	defer g.mu.Unlock()
	if set, ok := g.total[at]; ok && set == total {
		return
	}
	g.total[at] = total
	together := g.pools[at]
	if together == nil {
		return
	}
	for s := range together.sessions {
		g.check(s, together)
	}
	together.free()
}

// free lets those look again who wait for a part of the budget. The gateway's mu is held.
func (p *spending) free() {
	close(p.freed)
	p.freed = make(chan struct{})
}

// total is the budget of the session's execution. The gateway's mu is held.
func (s *Session) total() Budget {
	if set, ok := s.gateway.total[pool{s.grant.Spec, s.grant.Execution}]; ok {
		return set
	}
	return s.grant.Total
}

// limits are the budgets of the session.
func (s *Session) limits() (each, total Budget) {
	s.gateway.mu.Lock()
	defer s.gateway.mu.Unlock()
	return s.grant.Each, s.total()
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
		reason, whose = s.total().over(together.usage), "run"
	}
	if reason != "" {
		s.reason, s.whose = reason, whose
		close(s.over)
	}
}
