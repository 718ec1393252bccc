package page

import (
	"slices"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/query"
)

// Overview is what there is to see at a glance.
type Overview struct {
	Frame
	Runs    []RunLine
	Minings []query.MiningInfo
	Specs   []FileCount
	Wrong   config.Diagnostics // errors first
	More    int                // diagnostics that are not shown
	Waits   []string           // what the daemon lacks
	Health  []query.HealthFinding
	Costs   query.SpendingNow
	Git     *query.GitStatus
	Watches []string
	Paused  bool   // a user has paused everything
	All     bool   // it is the list of all runs
	Next    string // address of the next page of that
}

// FileCount is how many spec files are in a state.
type FileCount struct {
	Status config.Status
	Files  int
}

// maxWrong is how many diagnostics the overview shows.
const maxWrong = 5

// NewOverview makes the overview.
func NewOverview(f Frame, o query.Overview, h query.Health, watches []string) *Overview {
	f.Title, f.Nav, f.Topics = "overview", "overview", []string{} // all of them
	v := &Overview{Frame: f, Minings: o.Minings, Waits: o.Waits, Health: h.Findings, Costs: o.Spending, Git: o.Git, Watches: watches, Paused: o.Paused}
	for _, r := range o.Runs {
		v.Runs = append(v.Runs, lineOf(r))
	}
	for _, s := range config.Statuses() {
		if n := o.Files[s]; n > 0 {
			v.Specs = append(v.Specs, FileCount{s, n})
		}
	}
	v.Wrong = slices.Clone(o.Diagnostics)
	slices.SortStableFunc(v.Wrong, func(a, b config.Diagnostic) int { return severity(a) - severity(b) })
	v.More = max(0, len(v.Wrong)-maxWrong)
	v.Wrong = v.Wrong[:min(maxWrong, len(v.Wrong))]
	return v
}

func severity(d config.Diagnostic) int {
	if d.Severity == config.Error {
		return 0
	}
	return 1
}

// RunLine is a run in a table.
type RunLine struct {
	query.RunInfo
	Done int
	Bar  []Segment
}

// Segment is a part of a bar: cells in one state.
type Segment struct {
	State string
	Cells int
	X, W  float64 // of 100
}

func lineOf(r query.RunInfo) RunLine {
	return RunLine{RunInfo: r, Done: query.Done(r.Cells), Bar: bar(r.Cells)}
}

// bar is how the cells of an execution are spread over their states.
func bar(cells map[string]int) (all []Segment) {
	total := 0
	for state, n := range cells {
		if state != "superseded" {
			total += n
		}
	}
	x := 0.0
	for _, state := range barStates {
		if n := cells[state]; n > 0 {
			w := 100 * float64(n) / float64(total)
			all = append(all, Segment{state, n, x, w})
			x += w
		}
	}
	return all
}

// barStates are the states in the order in which a bar has them: what is done comes first.
var barStates = []string{
	"resolved", "unresolved", "agent_error", "test_error", "setup_error", "sanity_fail", "infra_error", "cancelled",
	"judging", "working", "setup", "retrying", "waiting",
}

// NewRuns makes a page of the list of all runs.
func NewRuns(f Frame, runs []query.RunInfo, next string) *Overview {
	f.Title, f.Nav, f.Topics = "runs", "runs", []string{}
	v := &Overview{Frame: f, All: true, Next: next}
	for _, r := range runs {
		v.Runs = append(v.Runs, lineOf(r))
	}
	return v
}
