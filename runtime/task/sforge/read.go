package sforge

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"unicode"

	"github.com/assayd/assayd/runtime/task"
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

// Dataset is what a folder holds.
type Dataset struct {
	Tasks    []task.Task // by name; Benchmark is left to whoever imports them
	Problems []Problem   // at most one a file
	Notices  []Problem   // of files that can be used all the same, at most one each
}

// Problem says why a file, or all of the folder, cannot be used.
type Problem struct {
	File string // name in the folder; "" = the folder itself
	Line int    // 0 = not known
	Text string
}

// Read reads the tasks that are wanted by name. The files of the others are not looked at.
func Read(dir string, wanted func(task string) bool) Dataset {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Dataset{Problems: []Problem{{Text: plain(err).Error()}}}
	}
	defer root.Close()
	names, err := taskFiles(root, wanted)
	if err != nil {
		return Dataset{Problems: []Problem{{Text: plain(err).Error()}}}
	}
	bench, problem := readBenchmark(root)
	if problem != nil {
		return Dataset{Problems: []Problem{*problem}}
	}
	var all Dataset
	room := int64(maxDataset)
	for _, name := range names {
		t, notice, problem := readTask(root, name, bench, &room)
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
func taskFiles(root *os.Root, wanted func(string) bool) ([]string, error) {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if ok && !strings.HasPrefix(id, ".") && wanted(id) {
			names = append(names, e.Name())
		}
	}
	if len(names) > maxTasks {
		return nil, fmt.Errorf("more than %d tasks", maxTasks)
	}
	return names, nil
}

func readBenchmark(root *os.Root) (*benchmark, *Problem) {
	data, err := readFile(root, benchmarkFile, maxBenchmark)
	if err != nil {
		return nil, &Problem{File: benchmarkFile, Text: err.Error()}
	}
	bench, err := parseBenchmark(data)
	if err != nil {
		return nil, asProblem(benchmarkFile, err)
	}
	return bench, nil
}

func readTask(root *os.Root, name string, bench *benchmark, room *int64) (t task.Task, notice, problem *Problem) {
	if shown(name) != name {
		return t, nil, &Problem{Text: fmt.Sprintf("%q is no name for the file of a task", cut(name))}
	}
	data, err := readFile(root, name, maxTaskFile)
	if err != nil {
		return t, nil, &Problem{File: name, Text: err.Error()}
	}
	if *room -= int64(len(data)); *room < 0 {
		return t, nil, &Problem{File: name, Text: fmt.Sprintf("is left out: the tasks before it are %d MiB", maxDataset>>20)}
	}
	t, odd, err := parseTask(data, strings.TrimSuffix(name, ".json"), bench)
	if err != nil {
		return t, nil, asProblem(name, err)
	}
	if odd != nil {
		notice = asProblem(name, odd)
	}
	return t, notice, nil
}

// readFile reads a plain file of the folder. Opening does not wait, as it else would for
// the writer of a pipe.
func readFile(root *os.Root, name string, limit int64) ([]byte, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, plain(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, plain(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("is not a plain file")
	}
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, plain(err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("is larger than %d MiB", limit>>20)
	}
	return data, nil
}

// plain drops the operation and the path from an error of a file: both are told beside it.
func plain(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
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

func asProblem(file string, err error) *Problem {
	p := &Problem{File: file, Text: shown(err.Error())}
	if f, ok := errors.AsType[*fault](err); ok {
		p.Line = f.line
	}
	return p
}

// shown is a text without what would command a terminal.
func shown(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}

// lineAt returns the number, from 1, of the line that holds the byte at offset.
func lineAt(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(max(offset, 0), int64(len(data)))], []byte("\n"))
}
