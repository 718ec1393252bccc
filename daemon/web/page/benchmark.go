package page

import (
	"net/url"
	"strings"

	"github.com/assayd/assayd/reconcile/query"
)

// Benchmark is a benchmark with a page of its tasks.
type Benchmark struct {
	Frame
	query.BenchmarkInfo
	Items       []query.TaskInfo
	Next, First string
}

// NewBenchmark makes the page of a benchmark.
func NewBenchmark(f Frame, b query.BenchmarkInfo, items []query.TaskInfo, next, first string) *Benchmark {
	f.Title, f.Nav, f.Topics = b.Address, "tasks", []string{"specs"}
	return &Benchmark{f, b, items, next, first}
}

// TaskDetail is one task with the results of all runs on it.
type TaskDetail struct {
	Frame
	query.TaskDetail
	Text        Clipped // the instruction
	Trials      []query.CellInfo
	Next, First string
}

// NewTaskDetail makes the page of a task.
func NewTaskDetail(f Frame, d query.TaskDetail, trials []query.CellInfo, next, first string) *TaskDetail {
	f.Title, f.Nav, f.Topics = d.Address, "tasks", []string{"specs", d.Of}
	return &TaskDetail{f, d, clip("", d.Instruction), trials, next, first}
}

// BenchmarkPath is the address of the page of a benchmark, or of a mining spec by what it has mined.
func BenchmarkPath(address string) string {
	if name, is := strings.CutPrefix(address, "mining."); is {
		return "/mining/" + url.PathEscape(name) + "/tasks"
	}
	return "/benchmarks/" + url.PathEscape(nameOf(address))
}

// TaskPath is the address of the page of a task of a benchmark or a mining spec.
func TaskPath(of, task string) string {
	at := BenchmarkPath(of)
	if strings.HasPrefix(at, "/mining/") {
		return at + "/" + url.PathEscape(task)
	}
	return at + "/tasks/" + url.PathEscape(task)
}

// taskAt is TaskPath where only the name of the benchmark, or of the mining spec, is known; "" = not even that.
func taskAt(benchmark, task string) string {
	if benchmark == "" {
		return ""
	}
	return TaskPath("benchmark."+benchmark, task)
}

// taskOf is TaskPath of a task in a list.
func taskOf(t query.TaskInfo) string {
	of, _, _ := strings.Cut(t.Address, "[")
	return TaskPath(of, t.ID)
}
