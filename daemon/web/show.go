package web

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/daemon/web/page"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/store"
)

// How much a page of a list has.
const (
	runsOnPage   = 100
	trialsOnPage = 200
	roundsOnPage = 200
	testsOnPage  = 200
	specsOnPage  = 50
	pullsOnPage  = 100
	filesOnPage  = 200
	stepsOnPage  = 50
	stepsBeside  = 25 // of each of two trials
	executions   = 20
)

// errNoPage says that an address is that of no page.
var errNoPage = history.Unknown("there is no page at this address")

// pages are all pages by their pattern.
func (s *Server) pages() map[string]show {
	return map[string]show{
		"/{$}":                                 s.overview,
		"/runs":                                s.runs,
		"/runs/{run}":                          s.run,
		"/runs/{run}/{execution}":              s.run,
		"/trials/{trial}":                      s.trial,
		"/trials/{trial}/log":                  s.log,
		"/trials/{trial}/files":                s.files,
		"/trials/{trial}/steps":                s.steps,
		"/trials/{trial}/between/{a}/{b}":      s.between,
		"/trials/{trial}/rounds/{round}":       s.round,
		"/tasks":                               s.tasks,
		"/machine":                             s.machine,
		"/activity":                            s.activity,
		"/spending":                            s.spending,
		"/specs":                               s.specs,
		"/mining":                              s.minings,
		"/mining/{mining}":                     s.mining,
		"/mining/{mining}/tasks":               s.benchmark,
		"/mining/{mining}/tasks/{task}":        s.task,
		"/benchmarks/{benchmark}":              s.benchmark,
		"/benchmarks/{benchmark}/tasks/{task}": s.task,
		"/compare":                             s.compare,
		"/compare/steps":                       s.compareSteps,
	}
}

func (s *Server) overview(q *http.Request, f page.Frame) (string, page.View, error) {
	o, err := s.o.Reader.Overview(q.Context())
	if err != nil {
		return "", nil, err
	}
	h, err := s.o.Reader.HealthOf(q.Context(), o)
	if err != nil {
		return "", nil, err
	}
	return "overview", page.NewOverview(f, o, h, s.o.Watches), nil
}

func (s *Server) runs(q *http.Request, f page.Frame) (string, page.View, error) {
	items, next, err := list(q, runsOnPage, s.o.Reader.RunsAfter, func(r query.RunInfo) string { return r.Address })
	if err != nil {
		return "", nil, err
	}
	return "overview", page.NewRuns(f, items, next), nil
}

// list reads a page of a list that is ordered by texts, and says where the next one is.
func list[T any](q *http.Request, limit int, read func(ctx context.Context, after string, n int) ([]T, error), key func(T) string) (items []T, next string, err error) {
	if items, err = read(q.Context(), q.FormValue("after"), limit+1); err != nil {
		return nil, "", err
	}
	if len(items) > limit {
		items = items[:limit]
		next = behind(q.URL, key(items[limit-1]))
	}
	return items, next, nil
}

// behind is the address of the page of a list behind an item.
func behind(u *url.URL, key string) string {
	v := u.Query()
	v.Del("part")
	v.Set("after", key)
	return u.Path + "?" + v.Encode()
}

// first is the address of the first page of a list, where this is another one.
func first(u *url.URL) string {
	v := u.Query()
	if v.Get("after") == "" {
		return ""
	}
	v.Del("part")
	v.Del("after")
	return strings.TrimSuffix(u.Path+"?"+v.Encode(), "?")
}

func (s *Server) specs(q *http.Request, f page.Frame) (string, page.View, error) {
	items, next, err := list(q, specsOnPage, s.o.Reader.SpecsAfter, func(x query.SpecInfo) string { return x.Path })
	if err != nil {
		return "", nil, err
	}
	return "specs", page.NewSpecs(f, items, s.o.Reader.GitNow(), next, first(q.URL)), nil
}

func (s *Server) tasks(q *http.Request, f page.Frame) (string, page.View, error) {
	of := q.FormValue("of")
	read := func(ctx context.Context, after string, n int) ([]query.TaskInfo, error) {
		return s.o.Reader.TasksAfter(ctx, of, after, n)
	}
	items, next, err := list(q, runsOnPage, read, func(t query.TaskInfo) string { return t.Address })
	if err != nil {
		return "", nil, err
	}
	return "tasks", page.NewTasks(f, of, items, next, first(q.URL)), nil
}

func (s *Server) activity(q *http.Request, f page.Frame) (string, page.View, error) {
	read := func(ctx context.Context, after string, n int) ([]query.ActivityInfo, error) {
		before, err := strconv.ParseInt(cmp.Or(after, "0"), 10, 64)
		if err != nil {
			return nil, errNoPage
		}
		return s.o.Reader.ActivityBefore(ctx, before, n)
	}
	items, next, err := list(q, pullsOnPage, read, func(x query.ActivityInfo) string { return strconv.FormatInt(x.N, 10) })
	if err != nil {
		return "", nil, err
	}
	return "activity", page.NewActivity(f, items, next, first(q.URL)), nil
}

func (s *Server) spending(q *http.Request, f page.Frame) (string, page.View, error) {
	now, err := s.o.Reader.Spending(q.Context())
	if err != nil {
		return "", nil, err
	}
	return "spending", page.NewSpending(f, now), nil
}

func (s *Server) machine(q *http.Request, f page.Frame) (string, page.View, error) {
	var load page.Load
	if s.o.Load != nil {
		load = s.o.Load()
	}
	o, err := s.o.Reader.Overview(q.Context())
	if err != nil {
		return "", nil, err
	}
	h, err := s.o.Reader.HealthOf(q.Context(), o)
	if err != nil {
		return "", nil, err
	}
	return "machine", page.NewMachine(f, load, o.Runs, h), nil
}

func (s *Server) minings(q *http.Request, f page.Frame) (string, page.View, error) {
	items, next, err := list(q, runsOnPage, s.o.Reader.MiningsAfter, func(m query.MiningInfo) string { return m.Address })
	if err != nil {
		return "", nil, err
	}
	return "minings", page.NewMinings(f, items, next, first(q.URL)), nil
}

func (s *Server) mining(q *http.Request, f page.Frame) (string, page.View, error) {
	address := "mining." + q.PathValue("mining")
	m, err := s.o.Reader.MiningOf(q.Context(), address)
	if err != nil {
		return "", nil, err
	}
	before, err := api.Number(q, "after", 0)
	if err != nil {
		return "", nil, err
	}
	only := func(name string) *string {
		if value := q.FormValue(name); value != "" {
			return &value
		}
		return nil
	}
	pulls, err := s.o.Reader.PullsBefore(q.Context(), address, store.PullFilter{Stage: only("stage"), Reason: only("reason"), Verdict: only("verdict")}, int64(before), pullsOnPage+1)
	if err != nil {
		return "", nil, err
	}
	next := ""
	if len(pulls) > pullsOnPage {
		pulls = pulls[:pullsOnPage]
		next = behind(q.URL, strconv.FormatInt(pulls[pullsOnPage-1].N, 10)) + "#pulls"
	}
	return "mining", page.NewMining(f, m, q.URL, pulls, next, first(q.URL)), nil
}
