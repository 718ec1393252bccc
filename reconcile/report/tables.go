package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/assayd/assayd/reconcile/summary"
)

// alike reports whether a run has trials that are not independent.
func alike(r summary.Report) bool {
	return slices.ContainsFunc(r.Agents, func(a summary.AgentReport) bool { return a.Summary.ResolvedByTask != nil })
}

// clusters is how many repositories the tasks of a run are of; 0 where that is of no
// importance.
func clusters(r summary.Report) (most int) {
	for _, a := range r.Agents {
		if i := a.Summary.ResolvedByTask; i != nil {
			most = max(most, i.Clusters)
		}
	}
	return most
}

// Headings of scores.
const (
	rescaled = "mean best score, 0–100"
	unscaled = "mean best score"
	raw      = "score, of the tasks that have one by then"
)

// scale is the heading of a run's scores; "" = it has none.
func scale(r summary.Report) string {
	has := func(of func(summary.Summary) *summary.Interval) bool {
		return slices.ContainsFunc(r.Agents, func(a summary.AgentReport) bool { return of(a.Summary) != nil })
	}
	switch {
	case has(func(s summary.Summary) *summary.Interval { return s.Score100 }):
		return rescaled
	case has(func(s summary.Summary) *summary.Interval { return s.Score }):
		return unscaled
	}
	return ""
}

// scored is the mean score of an agent, rescaled where there is such.
func scored(s summary.Summary) *summary.Interval {
	if s.Score100 != nil {
		return s.Score100
	}
	return s.Score
}

// ks are the numbers of attempts of which something is shown.
func ks(r summary.Report) (all []int) {
	for _, a := range r.Agents {
		for i, of := range summary.Some(a.PassAtK) {
			if i >= len(all) {
				all = append(all, of.K)
			}
		}
	}
	return all
}

// row is a task with what each agent has come to on it, in the order of the agents.
type row struct {
	Task, Repo string
	Agents     []*summary.TaskReport // nil = the agent has no trial of it
}

// rows are the tasks of a run.
func rows(r summary.Report) (all []row) {
	byTask := map[string]*row{}
	for i, a := range r.Agents {
		for _, t := range a.Tasks {
			if byTask[t.Task] == nil {
				byTask[t.Task] = &row{t.Task, t.Repo, make([]*summary.TaskReport, len(r.Agents))}
			}
			byTask[t.Task].Agents[i] = &t
		}
	}
	for _, task := range slices.Sorted(maps.Keys(byTask)) {
		all = append(all, *byTask[task])
	}
	return all
}

// statuses are those of the attempts at a task: its name where there is one attempt.
func statuses(c summary.Counts) string {
	solved, counted := c.Resolved, c.Resolved+c.Unresolved+c.AgentError+c.TestError
	var parts []string
	if counted > 1 {
		parts = append(parts, fmt.Sprintf("%d of %d resolved", solved, counted))
	}
	for _, s := range []struct {
		n      int
		name   string
		common bool // and told of by the first part
	}{
		{c.Resolved, "resolved", true},
		{c.Unresolved, "unresolved", true},
		{c.AgentError, "agent_error", false},
		{c.TestError, "test_error", false},
		{c.SetupError, "setup_error", false},
		{c.SanityFail, "sanity_fail", false},
		{c.InfraError, "infra_error", false},
		{c.Cancelled, "cancelled", false},
	} {
		switch {
		case s.n == 0 || counted > 1 && s.common:
		case s.n == 1:
			parts = append(parts, s.name)
		default:
			parts = append(parts, fmt.Sprintf("%d %s", s.n, s.name))
		}
	}
	return strings.Join(parts, ", ")
}

// verdict is the class of such a cell.
func verdict(c summary.Counts) string {
	switch counted := c.Resolved + c.Unresolved + c.AgentError + c.TestError; {
	case counted == 0:
		return "out"
	case c.Resolved == counted:
		return "good"
	case c.Resolved == 0:
		return "bad"
	}
	return ""
}

// timeTable is one measure at 1/6 … 6/6 of the time, a row an agent.
type timeTable struct {
	Title string
	Times []float64
	Rows  []timeRow
}

type timeRow struct {
	Agent  string
	Colour int
	Values []*float64
}

func timeTables(r summary.Report) (all []timeTable) {
	for _, m := range []struct {
		title string
		of    func(summary.TimePoint) *float64
	}{
		{"pass rate", func(p summary.TimePoint) *float64 { return p.PassRate }},
		{"score 0–100", func(p summary.TimePoint) *float64 { return p.Score100 }},
		{raw, func(p summary.TimePoint) *float64 { return p.Score }},
	} {
		if m.title == raw && scale(r) == rescaled {
			continue
		}
		t := timeTable{Title: m.title}
		for _, p := range r.Times() {
			t.Times = append(t.Times, p.ElapsedS)
		}
		there := false
		for i, a := range r.Agents {
			line := timeRow{Agent: a.Agent, Colour: colour(i)}
			for _, p := range a.Summary.ScoreByTime {
				v := m.of(p)
				there = there || v != nil
				line.Values = append(line.Values, v)
			}
			if len(line.Values) > 0 {
				t.Rows = append(t.Rows, line)
			}
		}
		if there {
			all = append(all, t)
		}
	}
	return all
}
