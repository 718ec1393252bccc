package page

import (
	"fmt"
	"net/url"
	"time"

	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/summary"
)

// Run is an execution of a run.
type Run struct {
	Frame
	query.RunInfo
	N          int // the execution that is shown; 0 = none has begun
	Latest     bool
	Executions []query.ExecutionInfo
	Began      time.Time
	Ended      time.Time
	Cells      []Segment // in their order
	Bar        []Segment
	Findings   []query.Finding
	Report     *summary.Report // nil = nothing is over
	Matrix     *Matrix
	Trials     Trials
}

// Trials is a page of the table of trials.
type Trials struct {
	URL    *url.URL
	Items  []query.CellInfo
	Next   string // address of the next page; "" = this is the last one
	First  string // address of the first page, where this is another one
	States []Segment
	Filter query.CellFilter
}

// RunData are the answers of which the page of a run is made.
type RunData struct {
	Run        query.RunInfo
	Execution  int
	Executions []query.ExecutionInfo
	Counts     map[string]int
	Cells      []query.MatrixCell
	Report     *summary.Report
	Trials     Trials
	Now        time.Time
}

// NewRun makes the page of a run.
func NewRun(f Frame, d RunData) *Run {
	f.Title, f.Nav, f.Topics, f.Plots = d.Run.Address, "runs", []string{d.Run.Address}, true
	v := &Run{
		Frame: f, RunInfo: d.Run, N: d.Execution, Latest: d.Execution == d.Run.Execution, Executions: d.Executions, Bar: bar(d.Counts),
		Report: d.Report, Matrix: newMatrix(d.Cells), Trials: d.Trials,
	}
	if d.Execution > 0 {
		v.Title += fmt.Sprintf(" e%d", d.Execution)
	}
	for _, state := range states() {
		if n := d.Counts[state]; n > 0 {
			v.Cells = append(v.Cells, Segment{State: state, Cells: n})
		}
	}
	v.Trials.States = v.Cells
	for _, e := range d.Executions {
		if e.Execution == d.Execution {
			v.Began, v.Ended = e.StartedAt, e.FinishedAt
		}
	}
	if v.Latest {
		s := query.Standing{State: d.Run.State, Note: d.Run.Note, Execution: d.Run.Execution, Wanted: d.Run.Wanted, Cells: d.Counts, Began: v.Began, Holds: d.Run.Holds, Paused: d.Run.Paused, Left: d.Run.Left, AtLimit: d.Run.AtLimit}
		if d.Report != nil {
			s.CostUSD = d.Report.Summary.Usage.CostUSD
		}
		v.Findings = query.Explain(s, d.Now)
	}
	return v
}

// Lasts is how long the execution has lasted until now, or until its end.
func (v *Run) Lasts() string {
	if v.Began.IsZero() {
		return ""
	}
	end := v.AsOf
	if !v.Ended.IsZero() {
		end = v.Ended
	}
	return lasts(end.Sub(v.Began))
}

// Filtered reports whether the table leaves trials out.
func (t Trials) Filtered() bool {
	f := t.Filter
	return f.State != "" || f.Agent != "" || f.Task != "" || f.Flag != "" || f.Tag != "" || f.Model != ""
}

// Without is the address of the table without its filters.
func (t Trials) Without() string { return t.URL.Path + "#trials" }
