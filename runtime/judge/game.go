package judge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds on sessions with game servers.
const (
	gamesPerTrial = 3
	gamesInAll    = 200
	gameIdle      = 10 * time.Minute // without a call, then the session ends
	gameWait      = 30 * time.Second // for room, before a session is refused
)

// game is one session with a game server: a row of the ledger, and a container of its own
// for as long as it is open. One goroutine of Run brings it from its start to its verdict;
// requests are made by whoever has the turn.
type game struct {
	judge   *Judge
	session *session
	id      string
	ctx     context.Context // ends when the session is over; its cause says why
	end     context.CancelCauseFunc
	turn    chan struct{} // full while somebody is at it, first of all the start
	ready   chan struct{} // closed when the start has come out
	failure error         // of the start; valid once ready
	ended   chan struct{} // closed when the verdict is stored

	// The turn's.
	sub        Submission // as it was when the game began
	server     *gameServer
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
	endIdle     = &ending{text: fmt.Sprintf("nothing was asked of it for %d minutes", gameIdle/time.Minute)}
	endDeadline = &ending{text: "the time was over"}
	endTrial    = &ending{text: "the trial was over"}
	endNobody   = &ending{text: "whoever asked for it went away"}
	endDaemon   = &ending{text: "the daemon was stopped", problem: true}
)

// games are the sessions that are open or on their way to it.
type games struct {
	mu     sync.Mutex
	open   map[string]*game // by id
	starts chan *game       // to Run
}

func newGames() *games { return &games{open: map[string]*game{}, starts: make(chan *game)} }

// enter takes a place for a session. Nobody's session is closed to make one.
func (g *games) enter(n *game) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	own := g.own(n.session.Trial)
	switch {
	case len(own) >= gamesPerTrial:
		return refuse(429, "%d sessions are open, and no more may be: close one of %s first", len(own), strings.Join(own, ", "))
	case len(g.open) >= gamesInAll:
		return &Refusal{503, retryBusy, "the judge has too many games open; try again later"}
	}
	g.open[n.id] = n
	return nil
}

// leave gives the place back; by then the session has its verdict.
func (g *games) leave(n *game) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.open, n.id)
	close(n.ended)
}

// of returns the ids of a trial's sessions.
func (g *games) of(trial string) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.own(trial)
}

func (g *games) own(trial string) (ids []string) {
	for id, o := range g.open {
		if o.session.Trial == trial {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// find returns a session of the trial, or nil.
func (g *games) find(trial, id string) *game {
	g.mu.Lock()
	defer g.mu.Unlock()
	if o := g.open[id]; o != nil && o.session.Trial == trial {
		return o
	}
	return nil
}

// finish ends all sessions of the trial's try and of those before it, and returns them.
func (g *games) finish(trial string, try int) (all []*game) {
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

// finishGames ends the sessions and returns when they have their verdicts.
func (j *Judge) finishGames(ctx context.Context, trial string, try int) error {
	for _, g := range j.games.finish(trial, try) {
		select {
		case <-g.ended:
		case <-ctx.Done():
			return fmt.Errorf("end game session %s of trial %s: %w", g.id, trial, context.Cause(ctx))
		}
	}
	return nil
}

// play brings sessions from their start to their end, until the context ends and with it
// all of them.
func (j *Judge) play(ctx context.Context) {
	var sessions sync.WaitGroup
	defer sessions.Wait()
	j.sweepTranscripts(ctx)
	for {
		select {
		case g := <-j.games.starts:
			sessions.Go(func() { g.live(ctx) })
		case <-ctx.Done():
			return
		}
	}
}

// newGame opens a session and returns it once its server has begun the game.
func (j *Judge) newGame(ctx context.Context, s *session) (*game, error) {
	if err := j.playable(s); err != nil {
		return nil, err
	}
	g := &game{
		judge: j, session: s, id: newID(), turn: make(chan struct{}, 1), ready: make(chan struct{}), ended: make(chan struct{}),
	}
	g.turn <- struct{}{}
	g.ctx, g.end = context.WithCancelCause(context.Background())
	if err := j.games.enter(g); err != nil {
		return nil, err
	}
	if err := j.hand(ctx, g); err != nil {
		j.games.leave(g)
		return nil, err
	}
	select {
	case <-g.ready:
		return g, g.failure
	case <-ctx.Done():
		g.end(endNobody)
		return nil, context.Cause(ctx)
	}
}

// playable refuses what the agent may not begin any more.
func (j *Judge) playable(s *session) error {
	switch {
	case j.shut(s, KindGame):
		return refuse(403, "the session is closed: nothing is accepted any more")
	case late(s.Session, s.Line.Now()):
		return refuse(403, "the time is over: nothing is accepted after the deadline")
	case j.opts.Full != nil && j.opts.Full():
		return &Refusal{503, retryFull, "the judge's disk is almost full; try again later"}
	}
	return nil
}

// hand gives a session to Run.
func (j *Judge) hand(ctx context.Context, g *game) error {
	timer := time.NewTimer(gameWait)
	defer timer.Stop()
	select {
	case j.games.starts <- g:
		return nil
	case <-timer.C:
		return &Refusal{503, retryBusy, "the judge does not take games (yet); try again later"}
	case <-g.ctx.Done():
		return refuse(403, "the session is over: %v", context.Cause(g.ctx))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// errOver says that the session is over and has its verdict.
var errOver = errors.New("the session is over")

// take waits for the turn. When it returns nil, the caller gives the turn back.
func (g *game) take(ctx context.Context) error {
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
	return g.over(ctx)
}

// over waits for the verdict on a session that is over.
func (g *game) over(ctx context.Context) error {
	select {
	case <-g.ended:
		return errOver
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// give ends a turn.
func (g *game) give() {
	g.used = time.Now()
	<-g.turn
}
