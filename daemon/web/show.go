package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

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
	stepsOnPage  = 50
	executions   = 20
)

// errNoPage says that an address is that of no page.
var errNoPage = history.Unknown("there is no page at this address")

// pages are all pages by their pattern.
func (s *Server) pages() map[string]show {
	return map[string]show{
		"/{$}":                            s.overview,
		"/runs":                           s.runs,
		"/runs/{run}":                     s.run,
		"/runs/{run}/{execution}":         s.run,
		"/trials/{trial}":                 s.trial,
		"/trials/{trial}/log":             s.log,
		"/trials/{trial}/steps":           s.steps,
		"/trials/{trial}/between/{a}/{b}": s.between,
		"/trials/{trial}/rounds/{round}":  s.round,
		"/tasks":                          s.tasks,
		"/machine":                        s.machine,
		"/specs":                          s.specs,
		"/mining":                         s.minings,
		"/mining/{mining}":                s.mining,
		"/compare":                        s.compare,
	}
}

func (s *Server) overview(q *http.Request, f page.Frame) (string, page.View, error) {
	o, err := s.o.Reader.Overview(q.Context())
	if err != nil {
		return "", nil, err
	}
	return "overview", page.NewOverview(f, o, s.o.Watches), nil
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

// number reads a parameter that is a whole number; 0 where it is missing.
func number(q *http.Request, name string) (int, error) {
	text := q.FormValue(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, query.Mistakef("%s=%q is no whole number", name, text)
	}
	return n, nil
}

// execution reads which execution of a run is asked for; 0 = the latest.
func execution(q *http.Request) (address string, n int, err error) {
	address = "run." + q.PathValue("run")
	text := q.PathValue("execution")
	if text == "" {
		return address, 0, nil
	}
	if n, err = strconv.Atoi(strings.TrimPrefix(text, "e")); err != nil || n < 1 || !strings.HasPrefix(text, "e") {
		return address, 0, history.Unknown("%s has no execution %q", address, text)
	}
	return address, n, nil
}

func (s *Server) run(q *http.Request, f page.Frame) (string, page.View, error) {
	address, n, err := execution(q)
	if err != nil {
		return "", nil, err
	}
	ctx, r := q.Context(), s.o.Reader
	d := page.RunData{Now: time.Now()}
	if d.Run, err = r.RunOf(ctx, address); err != nil {
		return "", nil, err
	}
	if d.Execution = n; n == 0 {
		d.Execution = d.Run.Execution
	}
	d.Trials.URL = &url.URL{Path: page.RunPath(address, n)}
	if d.Execution == 0 {
		return "run", page.NewRun(f, d), nil
	}
	if d.Executions, err = r.ExecutionsBefore(ctx, address, 0, executions); err != nil {
		return "", nil, err
	}
	if d.Trials, err = s.trials(q, address, d.Execution); err != nil {
		return "", nil, err
	}
	if d.Counts, d.Cells, err = r.Cells(ctx, address, d.Execution); err != nil {
		return "", nil, err
	}
	if d.Execution == d.Run.Execution {
		d.Counts = d.Run.Cells
	}
	report, err := r.Report(ctx, fmt.Sprintf("%s.e%d", address, d.Execution))
	if err != nil {
		return "", nil, err
	}
	if report.Summary.Total > 0 {
		d.Report = &report
	}
	return "run", page.NewRun(f, d), nil
}

// trials reads the page of the table of trials that is asked for.
func (s *Server) trials(q *http.Request, address string, n int) (t page.Trials, err error) {
	t.URL = &url.URL{Path: page.RunPath(address, n)}
	t.Filter = query.CellFilter{
		Run: address, Execution: n, State: q.FormValue("status"), Agent: q.FormValue("agent"), Task: q.FormValue("task"),
		Flag: q.FormValue("flag"), Latest: q.FormValue("sort") == "changed",
	}
	after, err := query.ParseCellKey(q.FormValue("after"))
	if err != nil {
		return t, query.Mistakef("after is no place in the list: %w", err)
	}
	items, err := s.o.Reader.CellsAfter(q.Context(), t.Filter, after, trialsOnPage+1)
	if err != nil {
		return t, err
	}
	if len(items) > trialsOnPage {
		items = items[:trialsOnPage]
		t.Next = behind(q.URL, items[trialsOnPage-1].Key().String()) + "#trials"
	}
	t.Items = items
	if t.First = first(q.URL); t.First != "" {
		t.First += "#trials"
	}
	return t, nil
}

// cell leads from a place in a matrix to its trial.
func (s *Server) cell(w http.ResponseWriter, q *http.Request) {
	role := s.roleOf(q)
	if role == "" {
		http.Redirect(w, q, "/login", http.StatusSeeOther)
		return
	}
	address, n, err := execution(q)
	var x, row int
	if err == nil {
		x, err = number(q, "x")
	}
	if err == nil {
		row, err = number(q, "row")
	}
	var cells []query.MatrixCell
	if err == nil {
		_, cells, err = s.o.Reader.Cells(q.Context(), address, n)
	}
	if err != nil {
		s.problem(w, q, role, err)
		return
	}
	to := page.RunPath(address, n)
	if id, ok := page.CellAt(cells, float64(x), row); ok {
		to = page.TrialPath(id)
	}
	http.Redirect(w, q, to, http.StatusSeeOther)
}

func (s *Server) trial(q *http.Request, f page.Frame) (string, page.View, error) {
	ctx, r, id := q.Context(), s.o.Reader, q.PathValue("trial")
	var d page.TrialData
	var err error
	if d.Trial, err = r.TrialOf(ctx, id); err != nil {
		return "", nil, err
	}
	after, err := number(q, "after")
	if err != nil {
		return "", nil, err
	}
	if d.Rounds, err = r.RoundsAfter(ctx, id, after, roundsOnPage+1); err != nil {
		return "", nil, err
	}
	if len(d.Rounds) > roundsOnPage {
		d.Rounds = d.Rounds[:roundsOnPage]
		d.Next = behind(q.URL, strconv.Itoa(d.Rounds[roundsOnPage-1].N))
	}
	d.First = first(q.URL)
	if d.Trial.Best == "" {
		return "trial", page.NewTrial(f, d), nil
	}
	best, err := r.RoundOf(ctx, id, d.Trial.Best)
	if err != nil {
		return "", nil, err
	}
	if d.Best = best.Report; best.Report == nil {
		return "trial", page.NewTrial(f, d), nil
	}
	for _, status := range []string{"failed", "error"} {
		tests, err := r.TestsAfter(ctx, id, d.Trial.Best, status, "", 0, page.MaxFailing)
		if err != nil {
			return "", nil, err
		}
		d.Failing = append(d.Failing, tests...)
	}
	return "trial", page.NewTrial(f, d), nil
}

func (s *Server) round(q *http.Request, f page.Frame) (string, page.View, error) {
	ctx, r, id, name := q.Context(), s.o.Reader, q.PathValue("trial"), q.PathValue("round")
	d := page.RoundData{Status: q.FormValue("status"), Search: q.FormValue("name")}
	var err error
	if d.Trial, err = r.TrialOf(ctx, id); err != nil {
		return "", nil, err
	}
	if d.Round, err = r.RoundOf(ctx, id, name); err != nil {
		return "", nil, err
	}
	after, err := number(q, "after")
	if err != nil {
		return "", nil, err
	}
	offset, err := number(q, "offset")
	if err != nil || d.Round.Report == nil {
		d.NoOutput = "The judge command has not ended yet."
		return "round", page.NewRound(f, d), err
	}
	if d.Tests, err = r.TestsAfter(ctx, id, name, d.Status, d.Search, after, testsOnPage+1); err != nil {
		return "", nil, err
	}
	if len(d.Tests) > testsOnPage {
		d.Tests = d.Tests[:testsOnPage]
		d.Next = behind(q.URL, strconv.Itoa(d.Tests[testsOnPage-1].N)) + "#tests"
	}
	d.First = first(q.URL)
	output, err := r.OutputAt(ctx, id, name, int64(offset))
	var conflict *query.Conflict
	switch {
	case err == nil:
		d.Output = &output
	case errors.As(err, &conflict):
		d.NoOutput = "There is none: no judge command has ended in this round."
	case errors.Is(err, fs.ErrNotExist):
		d.NoOutput = "It is not kept any more: gc has removed it. The report stays."
	default:
		return "", nil, err
	}
	return "round", page.NewRound(f, d), nil
}

func (s *Server) log(q *http.Request, f page.Frame) (string, page.View, error) {
	ctx, id := q.Context(), q.PathValue("trial")
	t, err := s.o.Reader.TrialOf(ctx, id)
	if err != nil {
		return "", nil, err
	}
	end, err := s.logEnd(ctx, id)
	if err != nil {
		return "", nil, err
	}
	from := max(0, end-query.OutputPageSize)
	if q.FormValue("offset") != "" {
		n, err := number(q, "offset")
		if err != nil {
			return "", nil, err
		}
		from = min(int64(n), end)
	}
	log, _, _, err := s.o.Reader.OpenLog(ctx, id, 0, from)
	if errors.Is(err, fs.ErrNotExist) {
		return "log", page.NewLog(f, t, "", 0, 0, 0), nil
	}
	if err != nil {
		return "", nil, err
	}
	text, err := io.ReadAll(io.LimitReader(log, query.OutputPageSize))
	if err = errors.Join(err, log.Close()); err != nil {
		return "", nil, fmt.Errorf("read the log of %s: %w", id, err)
	}
	return "log", page.NewLog(f, t, strings.ToValidUTF8(string(text), "\uFFFD"), from, from+int64(len(text)), max(end, from+int64(len(text)))), nil
}

// logEnd is how long the log of a trial is, in bytes.
func (s *Server) logEnd(ctx context.Context, id string) (int64, error) {
	log, end, _, err := s.o.Reader.OpenLog(ctx, id, 0, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return end, log.Close()
}

func (s *Server) steps(q *http.Request, f page.Frame) (string, page.View, error) {
	ctx, id := q.Context(), q.PathValue("trial")
	t, err := s.o.Reader.TrialOf(ctx, id)
	if err != nil {
		return "", nil, err
	}
	asked := query.StepQuery{Limit: stepsOnPage, Tool: q.FormValue("tool"), Failed: q.FormValue("errors") != ""}
	if asked.From, err = number(q, "from"); err != nil {
		return "", nil, err
	}
	if at := q.FormValue("at"); at != "" {
		since, err := time.ParseDuration(at)
		if err != nil {
			return "", nil, query.Mistakef("at=%q is no time since the trial began: write it as in 2h19m", at)
		}
		asked.At = t.Started.Add(since)
	}
	p, err := s.o.Reader.Steps(ctx, id, asked)
	if err != nil {
		return "", nil, err
	}
	return "steps", page.NewSteps(f, t, p, q.URL, stepsOnPage), nil
}

func (s *Server) between(q *http.Request, f page.Frame) (string, page.View, error) {
	ctx, id := q.Context(), q.PathValue("trial")
	t, err := s.o.Reader.TrialOf(ctx, id)
	if err != nil {
		return "", nil, err
	}
	d, err := s.o.Reader.BetweenRounds(ctx, id, q.PathValue("a"), q.PathValue("b"))
	if err != nil {
		return "", nil, err
	}
	moment := func(r query.RoundInfo) time.Time {
		return t.Started.Add(time.Duration(r.ElapsedS * float64(time.Second)))
	}
	p, err := s.o.Reader.Steps(ctx, id, query.StepQuery{Try: d.B.Try, At: moment(d.A), Until: moment(d.B), Limit: stepsOnPage})
	if err != nil {
		return "", nil, err
	}
	return "between", page.NewBetween(f, t, d, p), nil
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

func (s *Server) machine(q *http.Request, f page.Frame) (string, page.View, error) {
	var load page.Load
	if s.o.Load != nil {
		load = s.o.Load()
	}
	o, err := s.o.Reader.Overview(q.Context())
	if err != nil {
		return "", nil, err
	}
	return "machine", page.NewMachine(f, load, o.Runs), nil
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
	before, err := number(q, "after")
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

func (s *Server) compare(q *http.Request, f page.Frame) (string, page.View, error) {
	a, b := q.FormValue("a"), q.FormValue("b")
	if a == "" || b == "" {
		return "compare", page.NewCompare(f, a, b, nil, ""), nil
	}
	c, err := s.o.Reader.Compare(q.Context(), a, b, nil)
	if err != nil {
		if status, _ := api.Classify(err); status >= http.StatusInternalServerError {
			return "", nil, err
		}
		return "compare", page.NewCompare(f, a, b, nil, err.Error()), nil // with the form to name others
	}
	return "compare", page.NewCompare(f, a, b, c.Comparisons, ""), nil
}

// goTo leads to what somebody has typed: a run, an execution, a mining spec, a trial, or a round of one.
func (s *Server) goTo(w http.ResponseWriter, q *http.Request) {
	role := s.roleOf(q)
	if role == "" {
		http.Redirect(w, q, "/login", http.StatusSeeOther)
		return
	}
	to, err := s.resolve(q.Context(), strings.TrimSpace(q.FormValue("to")))
	if err != nil {
		s.problem(w, q, role, err)
		return
	}
	http.Redirect(w, q, to, http.StatusSeeOther)
}

func (s *Server) resolve(ctx context.Context, name string) (string, error) {
	now, err := s.o.Reader.Snapshot(ctx)
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
	trial, round, _ := strings.Cut(name, " ")
	t, err := s.o.Reader.TrialOf(ctx, trial)
	switch {
	case errors.Is(err, history.ErrUnknown):
		return "", history.Unknown("%s is no run, trial, or mining spec%s", name, now.Suggest(name))
	case err != nil:
		return "", err
	case round != "":
		return page.RoundPath(t.ID, strings.TrimSpace(round)), nil
	}
	return page.TrialPath(t.ID), nil
}
