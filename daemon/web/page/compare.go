package page

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/assayd/assayd/reconcile/report"
	"github.com/assayd/assayd/reconcile/summary"
)

// Compare is two to six sides beside each other.
type Compare struct {
	Frame
	Fields  []SideField // of the form that names sides
	Boards  []SideBoard
	Problem string // why they cannot be compared
}

// SideField names a side in the form, and in the address.
type SideField struct {
	Name, Label, Value string
	Required           bool
}

// SideBoard is how sides compare, each by one agent.
type SideBoard struct {
	Sides    []BoardSide
	Pair     *summary.Comparison // of two sides; nil = there are more
	Matrices []DifferenceMatrix  // of more than two
	Pairs    int
	Steps    bool        // who looks may see what agents and models said
	Apart    []ApartLine // the first ones
	ApartAll int
	Changed  []string // the first ones
	Left     int      // of Changed, those that are not shown
}

// BoardSide is a side with its letter.
type BoardSide struct {
	Letter string
	summary.Side
}

// ApartLine is a task that some sides do not have.
type ApartLine struct {
	Task        string
	On, Missing string // letters of sides
}

// DifferenceMatrix has the differences of one measure.
type DifferenceMatrix struct {
	Measure string
	Columns []string
	Rows    []DifferenceRow
}

// DifferenceRow is a side beside those before it.
type DifferenceRow struct {
	Letter string
	Cells  []DifferenceCell
	Blank  int // cells behind, which would say the same with another sign
}

// DifferenceCell is a pair: the side of the row less that of the column.
type DifferenceCell struct {
	*summary.Paired // nil = no task has the measure on both sides
	At              string
	Tasks, Changed  int
}

// How much the page shows.
const (
	maxPairedTasks = 500 // tasks of a pair
	maxApartTasks  = 200
)

// SideNames are the parameters that name sides, in their order.
func SideNames() []string { return []string{"a", "b", "c", "d", "e", "f"}[:summary.MaxSides] }

func letter(side int) string { return strings.ToUpper(SideNames()[side]) }

// NewCompare makes the page that compares sides. The tasks that differ most come first.
func NewCompare(f Frame, names []string, boards []summary.Pairwise, problem string) *Compare {
	f.Title, f.Nav = strings.TrimSpace("compare "+strings.Join(names, " with ")), "runs"
	v := &Compare{Frame: f, Problem: problem}
	for i, name := range SideNames() {
		if i > max(1, len(names)) {
			break // one more than there are
		}
		field := SideField{Name: name, Label: letter(i), Required: i < 2}
		if i < len(names) {
			field.Value = names[i]
		}
		v.Fields = append(v.Fields, field)
	}
	for _, b := range boards {
		board := newSideBoard(b)
		board.Steps = f.Shows("steps")
		v.Boards = append(v.Boards, board)
	}
	return v
}

func newSideBoard(p summary.Pairwise) SideBoard {
	b := SideBoard{Pairs: len(p.Pairs), ApartAll: len(p.Apart), Changed: p.Changed[:min(maxApartTasks, len(p.Changed))]}
	b.Left = len(p.Changed) - len(b.Changed)
	for i, s := range p.Sides {
		b.Sides = append(b.Sides, BoardSide{letter(i), s})
	}
	for _, t := range p.Apart[:min(maxApartTasks, len(p.Apart))] {
		line := ApartLine{Task: t.Task}
		for i, on := range t.On {
			if on {
				line.On += " " + letter(i)
			} else {
				line.Missing += " " + letter(i)
			}
		}
		b.Apart = append(b.Apart, line)
	}
	if len(p.Pairs) == 1 {
		pair := p.Pairs[0]
		pair.Tasks = slices.Clone(pair.Tasks)
		slices.SortStableFunc(pair.Tasks, func(x, y summary.PairedTask) int { return cmp.Compare(gap(y), gap(x)) })
		pair.Tasks = pair.Tasks[:min(maxPairedTasks, len(pair.Tasks))]
		b.Pair = &pair
		return b
	}
	var measures []string
	for _, c := range p.Pairs {
		for _, m := range report.Measures(c) {
			if !slices.Contains(measures, m.Name) {
				measures = append(measures, m.Name)
			}
		}
	}
	for _, m := range measures {
		b.Matrices = append(b.Matrices, newDifferenceMatrix(p, m))
	}
	return b
}

func newDifferenceMatrix(p summary.Pairwise, measure string) DifferenceMatrix {
	m := DifferenceMatrix{Measure: measure}
	for j := range p.Sides {
		if j < len(p.Sides)-1 {
			m.Columns = append(m.Columns, letter(j))
		}
		if j == 0 {
			continue
		}
		row := DifferenceRow{Letter: letter(j), Blank: len(p.Sides) - 1 - j}
		for i := range j {
			c := p.Pair(i, j)
			cell := DifferenceCell{At: PairPath(c.A, c.B), Tasks: len(c.Tasks), Changed: len(c.Changed)}
			for _, of := range report.Measures(*c) {
				if of.Name == measure {
					cell.Paired = of.Paired
				}
			}
			row.Cells = append(row.Cells, cell)
		}
		m.Rows = append(m.Rows, row)
	}
	return m
}

// sideName is how an address names a side.
func sideName(s summary.Side) string { return fmt.Sprintf("%s.e%d/%s", s.Run, s.Execution, s.Agent) }

// PairPath is the address of the page that compares two sides.
func PairPath(a, b summary.Side) string {
	return "/compare?" + url.Values{"a": {sideName(a)}, "b": {sideName(b)}}.Encode()
}

// stepsAt is where the steps of two sides at a task are beside each other.
func stepsAt(a, b summary.Side, task string) string {
	return "/compare/steps?" + url.Values{"a": {sideName(a)}, "b": {sideName(b)}, "task": {task}}.Encode()
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

// gapOf is the difference of a task's pass rates, B less A; nil where a side has none.
func gapOf(t summary.PairedTask) *float64 {
	if t.A.PassRate == nil || t.B.PassRate == nil {
		return nil
	}
	d := *t.B.PassRate - *t.A.PassRate
	return &d
}
