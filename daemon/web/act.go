package web

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/daemon/web/page"
	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/request"
)

// Action is what a page asks for.
type Action struct {
	Verb, Target string
	Text         string // the reason, the note, or the tag
	Amount       string // by how long to extend, to how many to throttle
	Dry          bool   // only say what would change
}

// Act does an action.
type Act func(ctx context.Context, a Action) (control.Changed, error)

// actor is who acts on a page. The role is that of the session.
func (s *Server) actor(q *http.Request) (who control.Actor, role Role) {
	c, err := q.Cookie(s.cookie())
	if err != nil {
		return who, ""
	}
	role, by := s.o.Sessions.of(q.Context(), c.Value)
	return control.Actor{By: string(role) + " (" + by + ")", Via: control.Page}, role
}

// asksToAct reads which verb is asked for about what. It answers itself who may not, and reports so.
func (s *Server) asksToAct(w http.ResponseWriter, q *http.Request) (ctx context.Context, verb, target string, ok bool) {
	who, role := s.actor(q)
	switch {
	case role == "":
		http.Redirect(w, q, "/login", http.StatusSeeOther)
		return nil, "", "", false
	case role != Operator:
		s.send(w, q, http.StatusForbidden, draw("problem", "", page.NewProblem(s.frame(role), http.StatusForbidden, "Not allowed", "a "+string(role)+" only looks")))
		return nil, "", "", false
	case s.o.Act == nil:
		s.problem(w, q, role, request.ErrIdle)
		return nil, "", "", false
	}
	verb, target = q.FormValue("verb"), strings.TrimSpace(q.FormValue("target"))
	if !slices.Contains(page.Verbs, verb) || target == "" {
		s.problem(w, q, role, request.Mistakef("there is no verb %q; a verb is one of %s, and has a target", verb, strings.Join(page.Verbs, ", ")))
		return nil, "", "", false
	}
	return control.As(q.Context(), who), verb, target, true
}

// showAct serves the page that says what a verb would do.
func (s *Server) showAct(w http.ResponseWriter, q *http.Request) {
	if ctx, verb, target, ok := s.asksToAct(w, q); ok {
		s.confirm(w, q.WithContext(ctx), verb, target, http.StatusOK, "")
	}
}

// act does what a form asks for.
func (s *Server) act(w http.ResponseWriter, q *http.Request) {
	q.Body = http.MaxBytesReader(w, q.Body, maxForm)
	ctx, verb, target, ok := s.asksToAct(w, q)
	if !ok {
		return
	}
	if verb == "cancel" && q.PostFormValue("typed") != target {
		s.confirm(w, q.WithContext(ctx), verb, target, http.StatusBadRequest, "Type "+target+" exactly as it is to confirm.")
		return
	}
	a := Action{Verb: verb, Target: target, Text: strings.TrimSpace(q.PostFormValue("text")), Amount: strings.TrimSpace(q.PostFormValue("amount"))}
	if _, err := s.o.Act(ctx, a); err != nil {
		status, _ := api.Classify(err)
		s.confirm(w, q.WithContext(ctx), verb, target, status, err.Error())
		return
	}
	http.Redirect(w, q, s.pageOf(ctx, target), http.StatusSeeOther)
}

// confirm serves the page of a verb.
func (s *Server) confirm(w http.ResponseWriter, q *http.Request, verb, target string, status int, problem string) {
	ctx := q.Context()
	v := page.NewAct(s.frame(Operator), verb, target, s.effect(ctx, verb, target), s.pageOf(ctx, target))
	v.Problem = problem
	s.send(w, q, status, draw("act", "", v))
}

// pageOf is the page of a target, or the overview.
func (s *Server) pageOf(ctx context.Context, target string) string {
	if to, err := s.resolve(ctx, target); err == nil {
		return to
	}
	return "/"
}

// effect says what a verb would do.
func (s *Server) effect(ctx context.Context, verb, target string) string {
	switch verb {
	case "note":
		return "The note is shown with " + target + " and recorded. It stays."
	case "tag", "untag":
		return "Trials are listed by their tags; a tag decides nothing."
	case "throttle":
		return "So many trials of it are at work at once, at most. Trials at work go on."
	case "extend":
		return "Its deadline moves, and it gets the flag extended. Its result at the declared deadline stays the one that is reported; the later result stands beside it."
	}
	c, err := s.o.Act(ctx, Action{Verb: verb, Target: target, Dry: true})
	switch {
	case err != nil:
		return "It cannot be done now: " + err.Error() + "."
	case !c.Changed:
		return "Nothing changes: " + c.Says + "."
	}
	if run, err := s.o.Reader.RunOf(ctx, target); err == nil {
		return ofRun(verb, run)
	}
	return map[string]string{
		"pause":      "Nothing new of it begins. Trials at work go on, and are judged.",
		"resume":     "What waits may begin, as far as nothing else holds it.",
		"stop":       "The time of its agent is over now. What it has is judged and counts, with the reason and the flag stopped.",
		"drain":      "Nothing new begins anywhere. A daemon of serve --drain ends when nothing works any more.",
		"unthrottle": "As many trials of it are at work at once as its file lets be.",
		"cancel":     "It ends where it is. A trial has no verdict then, and is in no rate.",
	}[verb]
}

// ofRun says what a verb would do to a run.
func ofRun(verb string, run query.RunInfo) string {
	work, wait := page.Works(run)
	switch verb {
	case "pause":
		return fmt.Sprintf("Nothing new begins: %d trials work on, and are judged; %d wait.", work, wait)
	case "resume", "unthrottle":
		return fmt.Sprintf("%d trials that wait may begin, as far as nothing else holds them; %d work.", wait, work)
	}
	return fmt.Sprintf("%d trials end without a verdict, and %d do not begin. Verdicts stay.", work, wait)
}
