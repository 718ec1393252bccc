package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/assayd/assayd/reconcile/query"
)

// Matrix shows all cells of an execution at once: a row a task, a column an attempt of an agent. The height of a cell is
// its pass rate, a full one is resolved, a crossed one is in no number, and a dot has no outcome yet.
type Matrix struct {
	Width, Height float64
	Columns       []MatrixColumn
	Rows          []MatrixRow
	Paths         []MatrixPath // one for each state: ten thousand elements would take a second
	Cells         []MatrixLink // each by itself, where they are few
	Cut           int          // tasks that are not shown
}

// Room for names around the cells, in units of the matrix.
const (
	namesLeft = 220.0
	namesTop  = 18.0
	maxName   = 34 // characters of the name of a task that are shown
)

// Left is where the picture begins.
func (m *Matrix) Left() float64 { return -namesLeft }

// Full is how wide the picture is. The name of an agent may be wider than its column.
func (m *Matrix) Full() float64 { return namesLeft + max(m.Width, 60) + 60 }

// Tall is how high the picture is.
func (m *Matrix) Tall() float64 { return namesTop + m.Height + 4 }

// Short is as much of the name of a task as there is room for.
func (r MatrixRow) Short() string { return clipped(r.Task, maxName) }

// Short is as much of the name of an agent as there is room for.
func (c MatrixColumn) Short() string { return clipped(c.Agent, max(3, int(c.W/6))) }

func clipped(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// MatrixColumn is an agent, over the columns of its attempts.
type MatrixColumn struct {
	Agent string
	X, W  float64
}

// MatrixRow is a task.
type MatrixRow struct {
	Task string
	Y    float64
}

// MatrixPath is the outline of all cells in a state.
type MatrixPath struct {
	State string
	Cells int
	D     string
}

// MatrixLink is a cell that leads to its trial.
type MatrixLink struct {
	Trial, Label string
	X, Y         float64
}

// Sizes in units of the matrix.
const (
	cellSize   = 12.0
	cellGap    = 2.0
	agentGap   = 8.0
	maxLinks   = 200 // from more on a script leads from a cell to its trial
	matrixRows = 400
)

// newMatrix draws the cells of an execution, of which each has one trial that stands.
func newMatrix(cells []query.MatrixCell) *Matrix {
	if len(cells) == 0 {
		return nil
	}
	tasks, agents, attempts := axes(cells)
	m := &Matrix{Cut: max(0, len(tasks)-matrixRows)}
	tasks = tasks[:min(matrixRows, len(tasks))]
	row, column := map[string]float64{}, map[string]float64{}
	x := 0.0
	for _, agent := range agents {
		w := float64(attempts[agent])*(cellSize+cellGap) - cellGap
		m.Columns = append(m.Columns, MatrixColumn{agent, x, w})
		column[agent] = x
		x += w + agentGap
	}
	for i, task := range tasks {
		row[task] = float64(i) * (cellSize + cellGap)
		m.Rows = append(m.Rows, MatrixRow{task, row[task]})
	}
	m.Width, m.Height = x-agentGap, float64(len(tasks))*(cellSize+cellGap)-cellGap
	m.draw(cells, func(c query.MatrixCell) (x, y float64, ok bool) {
		y, ok = row[c.Task]
		return column[c.Agent] + float64(c.Attempt-1)*(cellSize+cellGap), y, ok
	})
	return m
}

// axes are the tasks and agents of cells by name, and how many attempts an agent has.
func axes(cells []query.MatrixCell) (tasks, agents []string, attempts map[string]int) {
	attempts = map[string]int{}
	seen := map[string]bool{}
	for _, c := range cells {
		if !seen[c.Task] {
			seen[c.Task] = true
			tasks = append(tasks, c.Task)
		}
		if attempts[c.Agent] == 0 {
			agents = append(agents, c.Agent)
		}
		attempts[c.Agent] = max(attempts[c.Agent], c.Attempt)
	}
	slices.Sort(tasks)
	slices.Sort(agents)
	return tasks, agents, attempts
}

// draw makes the outlines, and the links where cells are few.
func (m *Matrix) draw(cells []query.MatrixCell, at func(query.MatrixCell) (x, y float64, ok bool)) {
	outlines, counts := map[string]*strings.Builder{}, map[string]int{}
	for _, c := range cells {
		x, y, ok := at(c)
		if !ok {
			continue
		}
		if outlines[c.State] == nil {
			outlines[c.State] = &strings.Builder{}
		}
		counts[c.State]++
		outline(outlines[c.State], c, x, y)
		if len(cells) <= maxLinks {
			m.Cells = append(m.Cells, MatrixLink{c.Trial, label(c), x, y})
		}
	}
	for state, d := range outlines {
		m.Paths = append(m.Paths, MatrixPath{state, counts[state], d.String()})
	}
	slices.SortFunc(m.Paths, func(a, b MatrixPath) int {
		return cmp.Compare(slices.Index(barStates, a.State), slices.Index(barStates, b.State))
	})
}

// outline draws one cell.
func outline(b *strings.Builder, c query.MatrixCell, x, y float64) {
	switch stateClass(c.State) {
	case "out": // crossed
		fmt.Fprintf(b, "M%g %gl%g %gm0 %gl%g %g", x+1, y+1, cellSize-2, cellSize-2, 2-cellSize, 2-cellSize, cellSize-2)
		return
	case "open": // a dot, larger where something works
		size := 2.0
		if c.State != "waiting" {
			size = 5
		}
		fmt.Fprintf(b, "M%g %gh%gv%gh%gz", x+(cellSize-size)/2, y+(cellSize-size)/2, size, size, -size)
		return
	}
	height := 2.0 // of one that passes nothing: it is there
	if c.State == "resolved" {
		height = cellSize
	} else if c.PassRate != nil {
		height = max(height, float64(int(*c.PassRate*(cellSize-2)*10))/10)
	}
	fmt.Fprintf(b, "M%g %gh%gv%gh%gz", x, y+cellSize, cellSize, -height, -cellSize)
}

func label(c query.MatrixCell) string {
	return fmt.Sprintf("%s, %s, attempt %d: %s, passes %s", c.Task, c.Agent, c.Attempt, c.State, ratio(c.PassRate))
}

// CellAt is the trial at a place of the matrix of some cells: x in its units, and the number of a row from 0.
func CellAt(cells []query.MatrixCell, x float64, row int) (trial string, ok bool) {
	tasks, agents, attempts := axes(cells)
	if row < 0 || row >= len(tasks) {
		return "", false
	}
	left := 0.0
	for _, agent := range agents {
		w := float64(attempts[agent])*(cellSize+cellGap) - cellGap
		if x < left+w {
			attempt := int((x-left)/(cellSize+cellGap)) + 1
			for _, c := range cells {
				if c.Task == tasks[row] && c.Agent == agent && c.Attempt == attempt {
					return c.Trial, x >= left
				}
			}
			return "", false
		}
		left += w + agentGap
	}
	return "", false
}
