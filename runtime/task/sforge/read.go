package sforge

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/folder"
)

// Bounds of what is read.
const (
	maxTasks     = 10_000
	maxTaskFile  = 4 << 20
	maxBenchmark = 1 << 20
	maxDataset   = 256 << 20 // of all task files; the instructions stay in memory
)

// benchmarkFile names the benchmark and its base images.
const benchmarkFile = "BENCHMARK.yaml"

// Read reads the tasks that are wanted by name. The files of the others are not looked at.
func Read(dir string, o task.ReadOptions) task.Dataset {
	root, err := folder.Open(dir)
	if err != nil {
		return task.Dataset{Problems: []task.Problem{{Text: err.Error()}}}
	}
	defer root.Close()
	names, err := taskFiles(root, o.Wanted)
	if err != nil {
		return task.Dataset{Problems: []task.Problem{{Text: err.Error()}}}
	}
	bench, problem := readBenchmark(root)
	if problem != nil {
		return task.Dataset{Problems: []task.Problem{*problem}}
	}
	var all task.Dataset
	room := int64(maxDataset)
	for _, name := range names {
		t, notice, problem := readTask(root, name, bench, o.Trees, &room)
		if problem != nil {
			all.Problems = append(all.Problems, *problem)
			continue
		}
		if notice != nil {
			all.Notices = append(all.Notices, *notice)
		}
		all.Tasks = append(all.Tasks, t)
	}
	return all
}

// taskFiles returns the names of the files that are to hold the wanted tasks, in order.
// What begins with a dot is some editor's.
func taskFiles(root *folder.Root, wanted func(string) bool) ([]string, error) {
	entries, err := root.Entries(".")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if ok && !strings.HasPrefix(id, ".") && (wanted == nil || wanted(id)) {
			names = append(names, e.Name())
		}
	}
	if len(names) > maxTasks {
		return nil, fmt.Errorf("more than %d tasks", maxTasks)
	}
	return names, nil
}

func readBenchmark(root *folder.Root) (*benchmark, *task.Problem) {
	data, err := root.Read(benchmarkFile, maxBenchmark)
	if err != nil {
		return nil, &task.Problem{File: benchmarkFile, Text: err.Error()}
	}
	bench, err := parseBenchmark(data)
	if err != nil {
		return nil, asProblem(benchmarkFile, err)
	}
	return bench, nil
}

func readTask(root *folder.Root, name string, bench *benchmark, trees task.Trees, room *int64) (t task.Task, notice, problem *task.Problem) {
	id := strings.TrimSuffix(name, ".json")
	if folder.Printable(name) != name {
		return t, nil, &task.Problem{Text: fmt.Sprintf("%q is no name for the file of a task", cut(name))}
	}
	data, err := root.Read(name, maxTaskFile)
	if err != nil {
		return t, nil, &task.Problem{File: name, Task: id, Text: err.Error()}
	}
	if *room -= int64(len(data)); *room < 0 {
		return t, nil, &task.Problem{File: name, Task: id, Text: fmt.Sprintf("is left out: the tasks before it are %d MiB", maxDataset>>20)}
	}
	t, odd, err := parseTask(data, id, bench)
	if err == nil {
		t, err = restore(data, t, trees)
	}
	if err != nil {
		problem = asProblem(name, err)
		problem.Task = id
		return t, nil, problem
	}
	if odd != nil {
		notice = asProblem(name, odd)
		notice.Task = id
	}
	return t, notice, nil
}

// fault is something wrong with a file, at a line where that is known.
type fault struct {
	line int
	text string
}

// Error implements error.
func (f *fault) Error() string { return f.text }

func faultf(line int, format string, args ...any) *fault {
	return &fault{line, fmt.Sprintf(format, args...)}
}

func asProblem(file string, err error) *task.Problem {
	p := &task.Problem{File: file, Text: folder.Printable(err.Error())}
	if f, ok := errors.AsType[*fault](err); ok {
		p.Line = f.line
	}
	return p
}

// lineAt returns the number, from 1, of the line that holds the byte at offset.
func lineAt(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(max(offset, 0), int64(len(data)))], []byte("\n"))
}
