package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"

	"github.com/assayd/assayd/runtime/judge/game"
	"github.com/assayd/assayd/runtime/judge/round"
)

// Bounds on what an agent says in a game.
const (
	MaxAction = 8 << 10
	maxMove   = 64 << 10 // of JSON around an action, with room for escapes; no other body is as large
)

// routeGames adds the routes of games. The trial and the task in their paths must be the
// agent's own.
func (a *agentAPI) routeGames(mux *http.ServeMux) {
	const base = "/api/v1/game/{run}/{task}"
	for route, serve := range map[string]func(*http.Request, Session) (any, error){
		"POST " + base + "/new":         a.newGame,
		"POST " + base + "/{sid}/step":  a.step,
		"GET " + base + "/{sid}/status": a.gameStatus,
		"POST " + base + "/{sid}/close": a.closeGame,
		"POST " + base + "/close-all":   a.closeGames,
	} {
		mux.HandleFunc(route, a.authorized(func(w http.ResponseWriter, r *http.Request, s Session) {
			if s.Task.Judge.Game == "" || r.PathValue("run") != a.o.Trial || r.PathValue("task") != s.Task.Name {
				answerDetail(w, 404, "there is no such game here")
				return
			}
			reply, err := serve(r, s)
			if errors.Is(err, game.ErrOver) {
				err = a.gone(r.Context(), s, r.PathValue("sid"))
			}
			if err != nil {
				a.fail(w, r, err)
				return
			}
			answer(w, 200, reply)
		}))
	}
}

func tooLong() *round.Refusal {
	return round.Refuse(413, "an action is a text of at most %d bytes", MaxAction)
}

func (a *agentAPI) newGame(r *http.Request, s Session) (any, error) {
	g, err := a.o.Games.Begin(r.Context(), s.Game)
	if err != nil {
		return nil, err
	}
	if err := g.Take(r.Context()); err != nil {
		return nil, a.lost(r.Context(), s, g, err)
	}
	defer g.Give()
	return g.View(true), nil
}

// lost tells of a session that was over before its first answer.
func (a *agentAPI) lost(ctx context.Context, s Session, g *game.Game, err error) error {
	if errors.Is(err, game.ErrOver) {
		return a.gone(ctx, s, g.ID)
	}
	return err
}

// playing calls do in turn, with the session that the request names.
func (a *agentAPI) playing(r *http.Request, do func(*game.Game) (any, error)) (any, error) {
	g := a.o.Games.Find(a.o.Trial, r.PathValue("sid"))
	if g == nil {
		return nil, game.ErrOver
	}
	if err := g.Take(r.Context()); err != nil {
		return nil, err
	}
	defer g.Give()
	return do(g)
}

func (a *agentAPI) step(r *http.Request, _ Session) (any, error) {
	var move struct {
		Action *string `json:"action"`
	}
	err := json.NewDecoder(r.Body).Decode(&move)
	switch {
	case move.Action != nil && len(*move.Action) > MaxAction:
		return nil, tooLong()
	case err != nil:
		return nil, round.Refuse(400, `the body is not a JSON object with a text as its "action"`)
	case move.Action == nil:
		return nil, round.Refuse(400, `the body has no "action"`)
	}
	return a.playing(r, func(g *game.Game) (any, error) { return g.Step(*move.Action) })
}

func (a *agentAPI) gameStatus(r *http.Request, _ Session) (any, error) {
	return a.playing(r, (*game.Game).Status)
}

func (a *agentAPI) closeGame(r *http.Request, _ Session) (any, error) {
	var g *game.Game
	closed, err := a.playing(r, func(found *game.Game) (any, error) { g = found; return g.Close(), nil })
	if err != nil {
		return nil, err
	}
	if err := g.Over(r.Context()); !errors.Is(err, game.ErrOver) {
		return nil, err
	}
	return closed, nil
}

// closeGames closes what is open. A session that ends meanwhile need not be closed.
func (a *agentAPI) closeGames(r *http.Request, s Session) (any, error) {
	closed := []any{}
	for _, id := range a.o.Games.Of(a.o.Trial) {
		r.SetPathValue("sid", id)
		view, err := a.closeGame(r, s)
		if errors.Is(err, game.ErrOver) {
			continue
		}
		if err != nil {
			return nil, err
		}
		closed = append(closed, view)
	}
	return map[string]any{"closed": len(closed), "sessions": closed}, nil
}

// gone says why a session is not there: it never was this agent's, or it is over.
func (a *agentAPI) gone(ctx context.Context, s Session, id string) error {
	sub, err := a.o.Ledger.Submission(ctx, id)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && !a.played(s, sub):
		return round.Refuse(404, "there is no session %q", id)
	case err != nil:
		return err
	case sub.State != round.StateJudged:
		return round.Refuse(410, "the session %s ended with the daemon that held it; %s so far", sub.Round, sub.Report.Summary)
	}
	return round.Refuse(410, "the session %s is over: %s", sub.Round, sub.Report.Summary)
}

// played reports whether the row is a session that the agent had in this try.
func (a *agentAPI) played(s Session, sub round.Submission) bool {
	return sub.Trial == a.o.Trial && sub.Kind == round.KindGame && sub.Try == s.Try && sub.State != round.StateReserved &&
		sub.Report != nil && !sub.Report.NotRun
}
