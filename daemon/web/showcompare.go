package web

import (
	"net/http"
	"slices"
	"strings"

	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/daemon/web/page"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/reconcile/request"
)

// compare shows how sides compare that the address names.
func (s *Server) compare(q *http.Request, f page.Frame) (string, page.View, error) {
	var names []string
	for _, key := range page.SideNames() {
		if name := strings.TrimSpace(q.FormValue(key)); name != "" {
			names = append(names, name)
		}
	}
	if len(names) < 2 {
		return "compare", page.NewCompare(f, names, nil, ""), nil
	}
	boards, err := s.o.Summaries.Pairwise(q.Context(), names)
	if err != nil {
		if status, _ := api.Classify(err); status >= http.StatusInternalServerError {
			return "", nil, err
		}
		return "compare", page.NewCompare(f, names, nil, err.Error()), nil // with the form to name others
	}
	return "compare", page.NewCompare(f, names, boards, ""), nil
}

// compareSteps shows the steps of two sides at the same task.
func (s *Server) compareSteps(q *http.Request, f page.Frame) (string, page.View, error) {
	task := q.FormValue("task")
	if task == "" {
		return "", nil, request.Mistakef("task is missing: a task with its benchmark, as edge.rotate")
	}
	var sides []page.SideSteps
	for _, key := range page.SideNames()[:2] {
		side, err := s.stepsOf(q, f, key, task)
		if err != nil {
			return "", nil, err
		}
		sides = append(sides, side)
	}
	return "comparesteps", page.NewCompareSteps(f, q.URL, task, sides, stepsBeside), nil
}

// stepsOf reads the steps of the side that the address names by key.
func (s *Server) stepsOf(q *http.Request, f page.Frame, key, task string) (d page.SideSteps, err error) {
	if d.Name = q.FormValue(key); d.Name == "" {
		return d, request.Mistakef("%s is missing: a side, as run.nightly.e2/codex", key)
	}
	if d.Trials, err = s.o.Reader.SideTrials(q.Context(), d.Name, task); err != nil {
		return d, err
	}
	slices.SortStableFunc(d.Trials, func(a, b query.CellInfo) int { return a.Attempt - b.Attempt })
	if d.Shown, err = api.Number(q, "trial_"+key, 0); err != nil {
		return d, err
	}
	d.Shown = min(d.Shown, len(d.Trials)-1)
	from, err := api.Number(q, "from_"+key, 0)
	if err != nil {
		return d, err
	}
	d.Steps, err = s.o.Trials.Steps(q.Context(), d.Trials[d.Shown].Trial, trialview.StepQuery{From: from, Limit: stepsBeside, Within: firstReading(f)})
	return d, err
}
