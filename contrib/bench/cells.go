package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/assayd/assayd/contrib/bench/cellhost"
	"github.com/assayd/assayd/contrib/bench/result"
	"github.com/assayd/assayd/runtime/container/docker"
)

// cellCounts are how many finished cells are in the store.
var cellCounts = []int{100, 1_000, 10_000, 100_000}

const (
	// cellsBound is by how much what an event or a list costs may grow from the first of these
	// counts to the last.
	cellsBound = 2
	// Bounds on the absolute figures, at largeRun cells.
	largeRun    = 10_000
	statusBound = 200.0  // ms until a status is answered
	waitBound   = 50.0   // ms that another request waits meanwhile
	reportBound = 2000.0 // ms of CPU
	pageRows    = 200    // of a page
)

// cells measures what an event and an answer cost by how many cells of the run are finished, on the
// packages of this tree and an engine in memory. All figures but the wait are of CPU.
func cells(ctx context.Context, _ options, _ *docker.Engine) (all []result.Result, err error) {
	pattern, err := cellhost.OnePattern(ctx)
	if err != nil {
		return nil, err
	}
	costs := map[string]map[int]float64{}
	for _, n := range cellCounts {
		of, err := costsWith(ctx, pattern, n)
		if err != nil {
			return nil, fmt.Errorf("with %d finished cells: %w", n, err)
		}
		for name, cost := range of {
			if costs[name] == nil {
				costs[name] = map[int]float64{}
			}
			costs[name][n] = cost
		}
	}
	for _, c := range cellCosts {
		all = append(all, c.result(costs[c.name]))
	}
	return append(all,
		absolute("cells_status_10000", "status of a run of 10,000 → answered", costs["status_wall"][largeRun], statusBound),
		absolute("cells_wait_10000", "the longest wait of another request meanwhile", costs["wait"][largeRun], waitBound),
		absolute("cells_report_10000", "report of 10,000, CPU", costs["report"][largeRun], reportBound),
	), nil
}

// cellCosts are what is shown by the number of cells.
var cellCosts = []cellCost{
	{"ended", "CPU of the loop for each ended trial", true},
	{"accepted", "CPU of the loop for an accepted file of another run", true},
	{"status", "status of the run, CPU", true},
	{"page", "a page of 200 trials, CPU", true},
	{"report", "report, CPU", false},
	{"first_start", "first start after the migration, CPU until all cells are filled", false},
	{"start", "later start, CPU until ready", true},
}

// cellCost is one of them.
type cellCost struct {
	name, what string
	bounded    bool // it must not grow
}

func (c cellCost) result(by map[int]float64) result.Result {
	few, many := cellCounts[0], cellCounts[len(cellCounts)-1]
	r := result.Compare("ms", []float64{by[many]}, []float64{by[few]}).
		Called("cells_"+c.name, fmt.Sprintf("%s, with %d finished cells", c.what, many), fmt.Sprintf("with %d", few))
	if c.bounded {
		r.Bound = cellsBound
	}
	r.Parts = map[string]float64{}
	for n, cost := range by {
		r.Parts[fmt.Sprintf("with %d", n)] = cost
	}
	return r
}

// absolute is a figure with a bound of its own.
func absolute(name, what string, ms, bound float64) result.Result {
	r := result.Compare("ms", []float64{ms}, []float64{bound}).Called(name, what, "its bound")
	r.Bound = 1
	return r
}

// costsWith measures with so many finished cells, in milliseconds.
func costsWith(ctx context.Context, pattern *cellhost.Pattern, n int) (costs map[string]float64, err error) {
	dir, err := os.MkdirTemp("/tmp", "bc") // short, because sockets lie in it
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	h, err := cellhost.New(ctx, dir, n+cellhost.Endings)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	if err := pattern.Fill(ctx, h, n); err != nil {
		return nil, err
	}
	costs = map[string]float64{}
	if costs["first_start"], err = h.Started(ctx, h.Filled); err != nil {
		return nil, err
	}
	h.Stop()
	starts := []float64{}
	for range 3 {
		cost, err := h.Started(ctx, func(context.Context) error { return nil })
		if err != nil {
			return nil, err
		}
		starts = append(starts, cost)
		h.Stop()
	}
	costs["start"] = slices.Min(starts)
	if _, err := h.Started(ctx, func(context.Context) error { return nil }); err != nil {
		return nil, err
	}
	defer h.Stop()
	return costs, errors.Join(asked(ctx, h, n, costs), h.Events(ctx, costs))
}

// asked measures answers. Of each the least counts: others work on the machine, too.
func asked(ctx context.Context, h *cellhost.Host, finished int, costs map[string]float64) error {
	const status, report = "/v1/status?address=run.r&trials=50", "/v1/report?run=run.r" // as the command line asks
	var err error
	if costs["report"], costs["report_wall"], err = h.Ask(ctx, report); err != nil { // it is kept from now on
		return err
	}
	if _, _, err := h.Ask(ctx, status); err != nil { // has the summary made
		return err
	}
	if err := h.Quiet(ctx); err != nil {
		return err
	}
	for name, path := range map[string]string{"status": status, "page": fmt.Sprintf("/v1/trials?run=run.r&limit=%d", pageRows), "report_kept": report} {
		var cpu, wall []float64
		for range cellhost.Repeats {
			c, w, err := h.Ask(ctx, path)
			if err != nil {
				return err
			}
			cpu, wall = append(cpu, c), append(wall, w)
		}
		costs[name], costs[name+"_wall"] = slices.Min(cpu), slices.Min(wall)
	}
	costs["page"] *= pageRows / float64(min(pageRows, finished)) // the page of a small run has fewer rows
	return meanwhile(ctx, h, status, costs)
}

// meanwhile measures how long another request waits while a status is asked for again and again.
func meanwhile(ctx context.Context, h *cellhost.Host, status string, costs map[string]float64) (err error) {
	asking, stop := context.WithCancel(ctx)
	var others sync.WaitGroup
	var failed error
	others.Go(func() {
		for asking.Err() == nil && failed == nil {
			if _, _, err := h.Ask(asking, status); err != nil && asking.Err() == nil {
				failed = err
			}
		}
	})
	defer func() { stop(); others.Wait(); err = errors.Join(err, failed) }()
	var waits []float64
	for range 5 * cellhost.Repeats {
		_, wall, err := h.Ask(ctx, "/v1/status?address=run.other")
		if err != nil {
			return err
		}
		waits = append(waits, wall)
	}
	costs["wait"] = result.Quantile(waits, 0.9)
	return nil
}
