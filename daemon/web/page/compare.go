package page

import (
	"cmp"
	"slices"

	"github.com/assayd/assayd/reconcile/summary"
)

// Compare is two executions beside each other.
type Compare struct {
	Frame
	A, B    string // as they are named in the address
	Pairs   []summary.Comparison
	Problem string // why they cannot be compared
}

// maxPairedTasks is how many tasks of a pair the page shows.
const maxPairedTasks = 500

// NewCompare makes the page that compares two executions. The tasks that differ most come first.
func NewCompare(f Frame, a, b string, pairs []summary.Comparison, problem string) *Compare {
	f.Title, f.Nav = "compare "+a+" with "+b, "runs"
	v := &Compare{Frame: f, A: a, B: b, Problem: problem}
	for _, pair := range pairs {
		pair.Tasks = slices.Clone(pair.Tasks)
		slices.SortStableFunc(pair.Tasks, func(x, y summary.PairedTask) int { return cmp.Compare(gap(y), gap(x)) })
		pair.Tasks = pair.Tasks[:min(maxPairedTasks, len(pair.Tasks))]
		v.Pairs = append(v.Pairs, pair)
	}
	return v
}

// gap is how far two sides are apart at a task.
func gap(t summary.PairedTask) float64 {
	rate := func(r summary.TaskReport) float64 {
		n := r.Resolved + r.Unresolved + r.AgentError + r.TestError
		if n == 0 {
			return 0
		}
		solved := float64(r.Resolved) / float64(n)
		if r.PassRate != nil {
			return solved + *r.PassRate
		}
		return solved
	}
	return max(rate(t.A)-rate(t.B), rate(t.B)-rate(t.A))
}

// Gap is the difference of a task's pass rates, B less A; nil where a side has none.
func (v *Compare) Gap(t summary.PairedTask) *float64 {
	if t.A.PassRate == nil || t.B.PassRate == nil {
		return nil
	}
	d := *t.B.PassRate - *t.A.PassRate
	return &d
}
