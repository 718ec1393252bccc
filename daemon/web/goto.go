package web

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/assayd/assayd/daemon/web/page"
	"github.com/assayd/assayd/reconcile/history"
)

// goTo leads to what somebody has typed: a run, an execution, a mining spec, a benchmark, a task, a trial, or a round of one.
func (s *Server) goTo(w http.ResponseWriter, q *http.Request) {
	role := s.roleOf(q)
	if role == "" {
		http.Redirect(w, q, "/login", http.StatusSeeOther)
		return
	}
	to, err := s.resolve(s.seenBy(role, q).Context(), strings.TrimSpace(q.FormValue("to")))
	if err != nil {
		s.problem(w, q, role, err)
		return
	}
	http.Redirect(w, q, to, http.StatusSeeOther)
}

func (s *Server) resolve(ctx context.Context, name string) (string, error) {
	now, err := s.o.Reader.Snapshots.Wait(ctx)
	if err != nil {
		return "", err
	}
	for _, address := range []string{name, "run." + name} {
		if now.Knows(address) {
			return page.RunPath(address, 0), nil
		}
		if i := strings.LastIndex(address, ".e"); i > 0 && now.Knows(address[:i]) {
			if n, err := strconv.Atoi(address[i+2:]); err == nil && n > 0 {
				return page.RunPath(address[:i], n), nil
			}
		}
	}
	for _, address := range []string{name, "mining." + name} {
		if now.Mines(address) {
			return page.MiningPath(address), nil
		}
	}
	if file, _, ok := strings.Cut(name, ".hcl"); ok && file != "" {
		return "/specs", nil
	}
	if to, err := s.taskNamed(ctx, strings.Replace(name, "/", ".", 1)); to != "" || err != nil {
		return to, err
	}
	trial, round, _ := strings.Cut(name, " ")
	t, err := s.o.Trials.Info(ctx, trial)
	switch {
	case errors.Is(err, history.ErrUnknown):
		return "", history.Unknown("%s is no run, trial, task, benchmark, or mining spec%s", name, now.Suggest(name))
	case err != nil:
		return "", err
	case round != "":
		return page.RoundPath(t.ID, strings.TrimSpace(round)), nil
	}
	return page.TrialPath(t.ID), nil
}
