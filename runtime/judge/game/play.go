package game

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/sandbox"
)

// View answers a call of a game.
type View struct {
	ID          string   `json:"session_id"`
	Observation *string  `json:"observation,omitempty"`
	Score       *float64 `json:"score,omitempty"`
	FinalScore  *float64 `json:"final_score,omitempty"`
	PeakScore   float64  `json:"peak_score"`
	MaxScore    float64  `json:"max_score"`
	Done        *bool    `json:"done,omitempty"`
	Moves       int      `json:"moves"`
}

// Step makes a move.
func (g *Game) Step(action string) (any, error) {
	if err := g.ask(http.MethodPost, "/step", map[string]string{"action": action}, StepTime); err != nil {
		return nil, err
	}
	g.transcript.add(action, g.now)
	fault.Reached(fault.GameMoved)
	if g.now.done {
		g.end(endDone) // what was seen last is answered all the same
	}
	return g.View(true), nil
}

// Status asks the server where the game is.
func (g *Game) Status() (any, error) {
	if err := g.ask(http.MethodGet, "/status", nil, serverStatus); err != nil {
		return nil, err
	}
	return g.View(false), nil
}

// ask calls the server and notes what it says. An answer that is none leaves the session
// open.
func (g *Game) ask(method, path string, body any, limit time.Duration) error {
	reply, err := g.server.call(method, path, body, limit)
	if _, ok := errors.AsType[*round.Refusal](err); ok {
		return err
	}
	if err != nil {
		g.games.o.Host.Log.Debug("a call of a game failed", "session", g.ID, "path", path, "error", err)
		switch {
		case g.ctx.Err() != nil:
			return round.Refuse(502, "the session is over: %v", context.Cause(g.ctx))
		case errors.Is(err, context.DeadlineExceeded):
			return round.Refuse(504, "the game server did not answer within %s; the session is still open", limit)
		}
		return round.Refuse(502, "the game server failed; the session is still open")
	}
	if risen := g.now.take(reply); risen || g.unsaved {
		g.save()
	}
	return nil
}

// save stores a peak, so that it survives a crash. The score was reached now, which is
// what a curve over time is to show.
func (g *Game) save() {
	r := g.now.report(g.session.Task)
	ctx, cancel := sandbox.CleanupContext(g.ctx)
	defer cancel()
	_, err := g.games.o.Ledger.Update(ctx, g.ID, func(u *round.Submission) error {
		if u.State != round.StateRunning {
			return round.ErrUnchanged
		}
		u.AcceptedAt, u.Report = g.session.Line.Now(), &r
		return nil
	})
	fault.Reached(fault.GameSaved)
	if g.unsaved = err != nil; g.unsaved {
		g.games.o.Host.Log.Warn("the peak of a game could not be stored", "session", g.ID, "error", err)
	}
}

// Close lets the server know and ends the session.
func (g *Game) Close() View {
	if _, err := g.server.call(http.MethodPost, "/close", struct{}{}, StepTime); err != nil {
		g.games.o.Host.Log.Debug("a game server was not closed", "session", g.ID, "error", err) // it need not know how
	}
	g.end(endClosed)
	score := g.now.score
	return View{ID: g.ID, FinalScore: &score, PeakScore: g.now.peak, MaxScore: g.now.max, Moves: g.now.moves}
}

// View is where the game is, with what is seen of it if that is asked for.
func (g *Game) View(observed bool) View {
	n := g.now
	v := View{ID: g.ID, Score: &n.score, PeakScore: n.peak, MaxScore: n.max, Done: &n.done, Moves: n.moves}
	if observed {
		v.Observation = &n.observation
	}
	return v
}
