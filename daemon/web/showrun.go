package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/daemon/web/page"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/request"
)

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
	if err := s.runParts(q, address, &d); err != nil {
		return "", nil, err
	}
	return "run", page.NewRun(f, d), nil
}

// runParts reads what the parts of the page show that are asked for: with many cells the matrix takes longer than all else.
func (s *Server) runParts(q *http.Request, address string, d *page.RunData) (err error) {
	asked := q.FormValue("part")
	shows := func(parts ...string) bool { return asked == "" || slices.Contains(parts, asked) }
	if shows("trials") {
		if d.Trials, err = s.trials(q, address, d.Execution); err != nil {
			return err
		}
	}
	latest := d.Execution == d.Run.Execution
	if shows("matrix") || !latest {
		if d.Counts, d.Cells, err = s.o.Reader.Cells(q.Context(), address, d.Execution); err != nil {
			return err
		}
	}
	if latest {
		d.Counts = d.Run.Cells
	}
	if !shows("board", "numbers") {
		return nil
	}
	report, err := s.o.Summaries.Report(q.Context(), fmt.Sprintf("%s.e%d", address, d.Execution))
	if err == nil && report.Summary.Total > 0 {
		d.Report = &report
	}
	return err
}

// trials reads the page of the table of trials that is asked for.
func (s *Server) trials(q *http.Request, address string, n int) (t page.Trials, err error) {
	t.URL = &url.URL{Path: page.RunPath(address, n)}
	t.Filter = query.CellFilter{
		Run: address, Execution: n, State: q.FormValue("status"), Agent: q.FormValue("agent"), Task: q.FormValue("task"),
		Flag: q.FormValue("flag"), Tag: q.FormValue("tag"), Latest: q.FormValue("sort") == "changed",
	}
	after, err := query.ParseCellKey(q.FormValue("after"))
	if err != nil {
		return t, request.Mistakef("after is no place in the list: %w", err)
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

// cells reads those of a matrix, in a turn of its own.
func (s *Server) cells(ctx context.Context, address string, n int) ([]query.MatrixCell, error) {
	done, err := s.turn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	_, cells, err := s.o.Reader.Cells(ctx, address, n)
	return cells, err
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
		x, err = api.Number(q, "x", 0)
	}
	if err == nil {
		row, err = api.Number(q, "row", 0)
	}
	var cells []query.MatrixCell
	if err == nil {
		cells, err = s.cells(q.Context(), address, n)
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
