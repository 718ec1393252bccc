package game

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/assayd/assayd/runtime/judge/round"
)

// Close ends the sessions of the trial's try and of those before it and returns when they have their verdicts.
func (g *Games) Close(ctx context.Context, trial string, try int) error {
	for _, o := range g.Finish(trial, try) {
		select {
		case <-o.ended:
		case <-ctx.Done():
			return fmt.Errorf("end game session %s of trial %s: %w", o.ID, trial, context.Cause(ctx))
		}
	}
	return nil
}

// Play brings sessions from their start to their end, until the context ends and with it
// all of them.
func (g *Games) Play(ctx context.Context) {
	var sessions sync.WaitGroup
	defer sessions.Wait()
	g.sweepTranscripts(ctx)
	for {
		select {
		case n := <-g.starts:
			sessions.Go(func() { n.live(ctx) })
		case <-ctx.Done():
			return
		}
	}
}

// Begin opens a session and returns it once its server has begun the game.
func (g *Games) Begin(ctx context.Context, s Session) (*Game, error) {
	if err := s.Playable(); err != nil {
		return nil, err
	}
	n := &Game{
		games: g, session: s, ID: round.NewID(), turn: make(chan struct{}, 1), ready: make(chan struct{}), ended: make(chan struct{}),
	}
	n.turn <- struct{}{}
	n.ctx, n.end = context.WithCancelCause(context.Background())
	if err := g.enter(n); err != nil {
		return nil, err
	}
	if err := g.hand(ctx, n); err != nil {
		g.leave(n)
		return nil, err
	}
	select {
	case <-n.ready:
		return n, n.failure
	case <-ctx.Done():
		n.end(endNobody)
		return nil, context.Cause(ctx)
	}
}

// hand gives a session to Run.
func (g *Games) hand(ctx context.Context, n *Game) error {
	timer := time.NewTimer(WaitTime)
	defer timer.Stop()
	select {
	case g.starts <- n:
		return nil
	case <-timer.C:
		return &round.Refusal{Code: 503, RetryAfter: round.RetryBusy, Detail: "the judge does not take games (yet); try again later"}
	case <-n.ctx.Done():
		return round.Refuse(403, "the session is over: %v", context.Cause(n.ctx))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
