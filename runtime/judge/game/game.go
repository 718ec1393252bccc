package game

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/sandbox"
	"github.com/assayd/assayd/runtime/task"
)

// Bounds on sessions with game servers.
const (
	PerTrial = 3
	InAll    = 200
	idleTime = 10 * time.Minute // without a call, then the session ends
	WaitTime = 30 * time.Second // for room, before a session is refused
)

// Game is one session with a game server: a row of the ledger, and a container of its own
// for as long as it is open. One goroutine of Run brings it from its start to its verdict;
// requests are made by whoever has the turn.
type Game struct {
	games   *Games
	session Session
	ID      string
	ctx     context.Context // ends when the session is over; its cause says why
	end     context.CancelCauseFunc
	turn    chan struct{} // full while somebody is at it, first of all the start
	ready   chan struct{} // closed when the start has come out
	failure error         // of the start; valid once ready
	ended   chan struct{} // closed when the verdict is stored

	// The turn's.
	sub        round.Submission // as it was when the game began
	server     *server
	now        standing
	unsaved    bool // the ledger does not have the peak yet
	transcript *transcript
	used       time.Time
}

// ending is why a session is over. Its text is for the agent too.
type ending struct {
	text    string
	problem bool // it was not the agent's doing
	engine  bool // nor the game server's
}

func (e *ending) Error() string { return e.text }

var (
	endClosed   = &ending{text: "it was closed"}
	endDone     = &ending{text: "the game is done"}
	endIdle     = &ending{text: fmt.Sprintf("nothing was asked of it for %d minutes", idleTime/time.Minute)}
	endDeadline = &ending{text: "the time was over"}
	endTrial    = &ending{text: "the trial was over"}
	endNobody   = &ending{text: "whoever asked for it went away"}
	endDaemon   = &ending{text: "the daemon was stopped", problem: true}
)

// Options are what games are played with.
type Options struct {
	Host   *sandbox.Host
	CPUs   *sandbox.CPUs
	Ledger round.Ledger
	Blobs  round.Blobs
	Dial   []string // with an address added, a connection to it from inside a container
	// Room waits for the trial's turn, and then for room for its game. It is ErrBusy where other
	// games would have to end first.
	Room    func(ctx context.Context, trial, id string, need task.Part) (release func(), err error)
	Publish func(context.Context, round.Submission, round.Report) error // stores a verdict, once
	Task    func(trial string) task.Task                                // the zero one of a trial without a session
}

// Session are the terms on which a trial plays.
type Session struct {
	round.Session
	Container sandbox.Terms
	DiskLimit func() int64                          // bytes that the container may hold
	User      func(context.Context) (string, error) // of the game server, as the engine is to be told
	Playable  func() error                          // refuses what the agent may not begin any more
}

// Games are the sessions that are open or on their way to it.
type Games struct {
	o Options

	mu     sync.Mutex
	open   map[string]*Game // by id
	starts chan *Game       // to Run
}

// New makes games; Play brings them from their start to their end.
func New(o Options) *Games {
	return &Games{o: o, open: map[string]*Game{}, starts: make(chan *Game)}
}

// enter takes a place for a session. Nobody's session is closed to make one.
func (g *Games) enter(n *Game) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	own := g.own(n.session.Trial)
	switch {
	case len(own) >= PerTrial:
		return round.Refuse(429, "%d sessions are open, and no more may be: close one of %s first", len(own), strings.Join(own, ", "))
	case len(g.open) >= InAll:
		return &round.Refusal{Code: 503, RetryAfter: round.RetryBusy, Detail: "the judge has too many games open; try again later"}
	}
	g.open[n.ID] = n
	return nil
}

// leave gives the place back; by then the session has its verdict.
func (g *Games) leave(n *Game) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.open, n.ID)
	close(n.ended)
}

// Of returns the ids of a trial's sessions.
func (g *Games) Of(trial string) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.own(trial)
}

func (g *Games) own(trial string) (ids []string) {
	for id, o := range g.open {
		if o.session.Trial == trial {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Find returns a session of the trial, or nil.
func (g *Games) Find(trial, id string) *Game {
	g.mu.Lock()
	defer g.mu.Unlock()
	if o := g.open[id]; o != nil && o.session.Trial == trial {
		return o
	}
	return nil
}

// Finish ends all sessions of the trial's try and of those before it, and returns them.
func (g *Games) Finish(trial string, try int) (all []*Game) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, o := range g.open {
		if o.session.Trial == trial && o.session.Try <= try {
			o.end(endTrial)
			all = append(all, o)
		}
	}
	return all
}

// ErrOver says that the session is over and has its verdict.
var ErrOver = errors.New("the session is over")

// Take waits for the turn. When it returns nil, the caller gives the turn back.
func (g *Game) Take(ctx context.Context) error {
	select {
	case g.turn <- struct{}{}:
		if g.ctx.Err() == nil {
			return nil
		}
		<-g.turn
	case <-g.ctx.Done():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return g.Over(ctx)
}

// Over waits for the verdict on a session that is over.
func (g *Game) Over(ctx context.Context) error {
	select {
	case <-g.ended:
		return ErrOver
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Give ends a turn.
func (g *Game) Give() {
	g.used = time.Now()
	<-g.turn
}
