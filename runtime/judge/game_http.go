package judge

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"time"

	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/task"
)

// Bounds on what an agent says in a game.
const (
	maxAction = 8 << 10
	maxMove   = 64 << 10 // of JSON around an action, with room for escapes; no other body is as large
)

// gameView answers a call of a game.
type gameView struct {
	ID          string   `json:"session_id"`
	Observation *string  `json:"observation,omitempty"`
	Score       *float64 `json:"score,omitempty"`
	FinalScore  *float64 `json:"final_score,omitempty"`
	PeakScore   float64  `json:"peak_score"`
	MaxScore    float64  `json:"max_score"`
	Done        *bool    `json:"done,omitempty"`
	Moves       int      `json:"moves"`
}

// routeGames adds the routes of games. The trial and the task in their paths must be the
// agent's own.
func (a *agentAPI) routeGames(mux *http.ServeMux) {
	const base = "/api/v1/game/{run}/{task}"
	for route, serve := range map[string]func(*http.Request, *session) (any, error){
		"POST " + base + "/new":         a.newGame,
		"POST " + base + "/{sid}/step":  a.step,
		"GET " + base + "/{sid}/status": a.gameStatus,
		"POST " + base + "/{sid}/close": a.closeGame,
		"POST " + base + "/close-all":   a.closeGames,
	} {
		mux.HandleFunc(route, a.authorized(func(w http.ResponseWriter, r *http.Request, s *session) {
			if s.Task.Judge.Game == "" || r.PathValue("run") != a.trial || r.PathValue("task") != s.Task.Name {
				answerDetail(w, 404, "there is no such game here")
				return
			}
			reply, err := serve(r, s)
			if errors.Is(err, errOver) {
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

func tooLong() *Refusal { return refuse(413, "an action is a text of at most %d bytes", maxAction) }

func (a *agentAPI) newGame(r *http.Request, s *session) (any, error) {
	g, err := a.judge.newGame(r.Context(), s)
	if err != nil {
		return nil, err
	}
	if err := g.take(r.Context()); err != nil {
		return nil, a.lost(r.Context(), s, g, err)
	}
	defer g.give()
	return g.view(true), nil
}

// lost tells of a session that was over before its first answer.
func (a *agentAPI) lost(ctx context.Context, s *session, g *game, err error) error {
	if errors.Is(err, errOver) {
		return a.gone(ctx, s, g.id)
	}
	return err
}

// playing calls do in turn, with the session that the request names.
func (a *agentAPI) playing(r *http.Request, do func(*game) (any, error)) (any, error) {
	g := a.judge.games.find(a.trial, r.PathValue("sid"))
	if g == nil {
		return nil, errOver
	}
	if err := g.take(r.Context()); err != nil {
		return nil, err
	}
	defer g.give()
	return do(g)
}

func (a *agentAPI) step(r *http.Request, _ *session) (any, error) {
	var move struct {
		Action *string `json:"action"`
	}
	err := json.NewDecoder(r.Body).Decode(&move)
	switch {
	case move.Action != nil && len(*move.Action) > maxAction:
		return nil, tooLong()
	case err != nil:
		return nil, refuse(400, `the body is not a JSON object with a text as its "action"`)
	case move.Action == nil:
		return nil, refuse(400, `the body has no "action"`)
	}
	return a.playing(r, func(g *game) (any, error) { return g.step(*move.Action) })
}

func (a *agentAPI) gameStatus(r *http.Request, _ *session) (any, error) {
	return a.playing(r, func(g *game) (any, error) {
		if err := g.ask(http.MethodGet, "/status", nil, serverStatus); err != nil {
			return nil, err
		}
		return g.view(false), nil
	})
}

func (a *agentAPI) closeGame(r *http.Request, _ *session) (any, error) {
	var g *game
	closed, err := a.playing(r, func(found *game) (any, error) { g = found; return g.close(), nil })
	if err != nil {
		return nil, err
	}
	if err := g.over(r.Context()); !errors.Is(err, errOver) {
		return nil, err
	}
	return closed, nil
}

// closeGames closes what is open. A session that ends meanwhile need not be closed.
func (a *agentAPI) closeGames(r *http.Request, s *session) (any, error) {
	closed := []any{}
	for _, id := range a.judge.games.of(a.trial) {
		r.SetPathValue("sid", id)
		view, err := a.closeGame(r, s)
		if errors.Is(err, errOver) {
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
func (a *agentAPI) gone(ctx context.Context, s *session, id string) error {
	sub, err := a.judge.opts.Ledger.Submission(ctx, id)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && !a.played(s, sub):
		return refuse(404, "there is no session %q", id)
	case err != nil:
		return err
	case sub.State != StateJudged:
		return refuse(410, "the session %s ended with the daemon that held it; %s so far", sub.Round, sub.Report.Summary)
	}
	return refuse(410, "the session %s is over: %s", sub.Round, sub.Report.Summary)
}

// played reports whether the row is a session that the agent had in this try.
func (a *agentAPI) played(s *session, sub Submission) bool {
	return sub.Trial == a.trial && sub.Kind == KindGame && sub.Try == s.Try && sub.State != StateReserved &&
		sub.Report != nil && !sub.Report.NotRun
}

// step makes a move.
func (g *game) step(action string) (any, error) {
	if err := g.ask(http.MethodPost, "/step", map[string]string{"action": action}, serverStep); err != nil {
		return nil, err
	}
	g.transcript.add(action, g.now)
	fault.Reached(fault.GameMoved)
	if g.now.done {
		g.end(endDone) // what was seen last is answered all the same
	}
	return g.view(true), nil
}

// ask calls the server and notes what it says. An answer that is none leaves the session
// open.
func (g *game) ask(method, path string, body any, limit time.Duration) error {
	reply, err := g.server.call(method, path, body, limit)
	if _, ok := errors.AsType[*Refusal](err); ok {
		return err
	}
	if err != nil {
		g.judge.opts.Log.Debug("a call of a game failed", "session", g.id, "path", path, "error", err)
		switch {
		case g.ctx.Err() != nil:
			return refuse(502, "the session is over: %v", context.Cause(g.ctx))
		case errors.Is(err, context.DeadlineExceeded):
			return refuse(504, "the game server did not answer within %s; the session is still open", limit)
		}
		return refuse(502, "the game server failed; the session is still open")
	}
	if risen := g.now.take(reply); risen || g.unsaved {
		g.save()
	}
	return nil
}

// save stores a peak, so that it survives a crash. The score was reached now, which is
// what a curve over time is to show.
func (g *game) save() {
	r := g.now.report(g.session.Task)
	ctx, cancel := cleanupContext(g.ctx)
	defer cancel()
	_, err := g.judge.opts.Ledger.Update(ctx, g.id, func(u *Submission) error {
		if u.State != StateRunning {
			return errUnchanged
		}
		u.AcceptedAt, u.Report = g.session.Line.Now(), &r
		return nil
	})
	fault.Reached(fault.GameSaved)
	if g.unsaved = err != nil; g.unsaved {
		g.judge.opts.Log.Warn("the peak of a game could not be stored", "session", g.id, "error", err)
	}
}

// close lets the server know and ends the session.
func (g *game) close() gameView {
	if _, err := g.server.call(http.MethodPost, "/close", struct{}{}, serverStep); err != nil {
		g.judge.opts.Log.Debug("a game server was not closed", "session", g.id, "error", err) // it need not know how
	}
	g.end(endClosed)
	score := g.now.score
	return gameView{ID: g.id, FinalScore: &score, PeakScore: g.now.peak, MaxScore: g.now.max, Moves: g.now.moves}
}

func (g *game) view(observed bool) gameView {
	n := g.now
	v := gameView{ID: g.id, Score: &n.score, PeakScore: n.peak, MaxScore: n.max, Done: &n.done, Moves: n.moves}
	if observed {
		v.Observation = &n.observation
	}
	return v
}

// gameEntry is a session in an agent's history, without its moves.
type gameEntry struct {
	Type       string  `json:"type"`
	Status     string  `json:"status"` // running, completed, error
	Round      string  `json:"round"`
	ID         string  `json:"session_id"`
	TaskID     string  `json:"task_id"`
	MaxScore   float64 `json:"max_score"`
	PeakScore  float64 `json:"peak_score"`
	FinalScore float64 `json:"final_score"`
	Score      float64 `json:"score"` // what counts: the peak
	Moves      int     `json:"moves"`
	PassRate   float64 `json:"pass_rate"`
	Summary    string  `json:"summary"`
}

func newGameEntry(t task.Task, s Submission) gameEntry {
	m := s.Report.Metrics
	e := gameEntry{
		Type: "game", Status: "running", Round: s.Round, ID: s.ID, TaskID: t.Name,
		MaxScore: m[metricMax], PeakScore: m[metricPeak], FinalScore: m[metricFinal], Score: m[metricPeak],
		Moves: int(m[metricMoves]), PassRate: s.Report.PassRate, Summary: s.Report.Summary,
	}
	switch {
	case spoilt(s):
		e.Status = "error"
	case s.State == StateJudged:
		e.Status = "completed"
	}
	return e
}
