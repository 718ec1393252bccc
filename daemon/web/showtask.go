package web

import (
	"context"
	"errors"
	"net/http"

	"github.com/assayd/assayd/daemon/web/page"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/query/tasklookup"
	"github.com/assayd/assayd/reconcile/request"
)

// tasksAddress is the address of the benchmark or mining spec that a request names. Where a cell is all that is known, a
// mining spec is asked for as a benchmark.
func (s *Server) tasksAddress(q *http.Request) (string, error) {
	if name := q.PathValue("mining"); name != "" {
		return "mining." + name, nil
	}
	now, err := s.o.Reader.Snapshots.Wait(q.Context())
	if err != nil {
		return "", err
	}
	name := q.PathValue("benchmark")
	if now.Set != nil && now.Set.Benchmark(name) == nil && now.Set.Mining(name) != nil {
		return "mining." + name, nil
	}
	return "benchmark." + name, nil
}

// benchmark shows a benchmark with its tasks.
func (s *Server) benchmark(q *http.Request, f page.Frame) (string, page.View, error) {
	address, err := s.tasksAddress(q)
	if err != nil {
		return "", nil, err
	}
	b, err := s.o.Reader.BenchmarkOf(q.Context(), address)
	if err != nil {
		return "", nil, err
	}
	read := func(ctx context.Context, after string, n int) ([]query.TaskInfo, error) {
		return s.o.Reader.TasksAfter(ctx, address, after, n)
	}
	items, next, err := list(q, runsOnPage, read, func(t query.TaskInfo) string { return t.Address })
	if err != nil {
		return "", nil, err
	}
	return "benchmark", page.NewBenchmark(f, b, items, next, first(q.URL)), nil
}

// task shows a task with the results of all runs on it.
func (s *Server) task(q *http.Request, f page.Frame) (string, page.View, error) {
	address, err := s.tasksAddress(q)
	if err != nil {
		return "", nil, err
	}
	after, err := query.ParseCellKey(q.FormValue("after"))
	if err != nil {
		return "", nil, request.Mistakef("after is no place in the list: %w", err)
	}
	d, err := s.o.Reader.TaskOf(q.Context(), address, q.PathValue("task"))
	if err != nil {
		return "", nil, err
	}
	trials, err := s.o.Reader.TrialsAtTask(q.Context(), d.Benchmark, d.ID, after, runsOnPage+1)
	if err != nil {
		return "", nil, err
	}
	next := ""
	if len(trials) > runsOnPage {
		trials = trials[:runsOnPage]
		next = behind(q.URL, trials[runsOnPage-1].Key().String()) + "#results"
	}
	return "task", page.NewTaskDetail(f, d, trials, next, first(q.URL)), nil
}

// taskNamed is the page of the task or benchmark that a name means, "" if it means none: benchmark.edge, benchmark.edge["t"],
// benchmark.edge.t, edge, edge.t, or edge/t.
func (s *Server) taskNamed(ctx context.Context, name string) (string, error) {
	for _, full := range []string{name, "benchmark." + name, "mining." + name} {
		ref, err := tasklookup.Split(full)
		if err != nil {
			continue
		}
		of := ref.Kind + "." + ref.Name
		if ref.Task != "" {
			_, err = s.o.Reader.TaskOf(ctx, of, ref.Task)
		} else {
			_, err = s.o.Reader.BenchmarkOf(ctx, of)
		}
		switch {
		case errors.Is(err, history.ErrUnknown):
			continue
		case err != nil:
			return "", err
		case ref.Task != "":
			return page.TaskPath(of, ref.Task), nil
		}
		return page.BenchmarkPath(of), nil
	}
	return "", nil
}
