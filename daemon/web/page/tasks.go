package page

import "github.com/assayd/assayd/reconcile/query"

// Tasks are the tasks of benchmarks, and those that were mined.
type Tasks struct {
	Frame
	Of          string // a benchmark or a mining spec; "" = all
	Items       []query.TaskInfo
	Next, First string
}

// NewTasks makes a page of the list of tasks.
func NewTasks(f Frame, of string, items []query.TaskInfo, next, first string) *Tasks {
	f.Title, f.Nav, f.Topics = "tasks", "tasks", []string{"specs"}
	return &Tasks{f, of, items, next, first}
}
