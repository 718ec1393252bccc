package swebench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"strings"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/folder"
)

// Bounds of what is read.
const (
	maxTasks   = 100_000
	maxRows    = 1_000_000
	maxFile    = 2 << 30   // of one file
	maxJSON    = 512 << 20 // of one that is not read line by line
	maxRow     = 16 << 20
	maxDataset = 1 << 30 // of the rows that are wanted
)

// found is one row, or why there is none.
type found struct {
	file string
	line int
	row  row
	err  error
}

// Read reads the tasks of a file or of a folder: a task repository if it holds sweb.yaml, else
// its *.jsonl, or its *.parquet, or its *.json files, whichever there are first.
func Read(dir string, o task.ReadOptions) task.Dataset {
	src, err := folder.OpenSource(dir, maxFile)
	if err != nil {
		return task.Dataset{Problems: []task.Problem{{Text: err.Error()}}}
	}
	defer src.Close()
	c := collector{options: o, room: maxDataset, seen: map[string]bool{}}
	for f := range rows(src) {
		if !c.add(f) {
			break
		}
	}
	return c.dataset()
}

// rows reads all rows of a source.
func rows(src *folder.Root) iter.Seq[found] {
	return func(yield func(found) bool) {
		if src.Has(repoFile) {
			repository(src, yield)
			return
		}
		names, err := src.Names()
		if err != nil {
			yield(found{err: err})
			return
		}
		for _, kind := range []string{".jsonl", ".parquet", ".json"} {
			some := false
			for _, name := range names {
				if strings.EqualFold(path.Ext(name), kind) {
					some = true
					if !readFile(src, name, yield) {
						return
					}
				}
			}
			if some {
				return
			}
		}
		yield(found{err: errors.New("holds no instances: neither sweb.yaml nor a .jsonl, .parquet or .json file")})
	}
}

// readFile reads the rows of one file; false ends all reading.
func readFile(src *folder.Root, name string, yield func(found) bool) bool {
	file, size, err := src.Open(name, maxFile)
	if err != nil {
		return yield(found{file: name, err: err})
	}
	defer file.Close()
	named := func(f found) bool {
		f.file = name
		return yield(f)
	}
	switch strings.ToLower(path.Ext(name)) {
	case ".parquet":
		return readParquet(file, size, named)
	case ".json":
		if size > maxJSON {
			return named(found{err: fmt.Errorf("is larger than %d MiB; write it as JSON Lines", maxJSON>>20)})
		}
		return readJSON(file, named)
	}
	return readLines(file, named)
}

// readLines reads one row a line.
func readLines(r io.Reader, yield func(found) bool) bool {
	for line, f := range lines(r) {
		if line == 1 {
			f.text = bytes.TrimPrefix(f.text, []byte("\xef\xbb\xbf"))
		}
		switch {
		case f.err != nil:
		case len(bytes.TrimSpace(f.text)) == 0:
			continue
		default:
			var got row
			if got, f.err = parseRow(f.text); f.err != nil {
				f.err = fmt.Errorf("is no JSON object: %w", f.err)
			}
			if !yield(found{line: line, row: got, err: f.err}) {
				return false
			}
			continue
		}
		if !yield(found{line: line, err: f.err}) {
			return false
		}
	}
	return true
}

// textLine is one line, or why it is left out.
type textLine struct {
	text []byte
	err  error
}

// lines reads a text line by line, numbered from 1. A line that is too long is skipped.
func lines(r io.Reader) iter.Seq2[int, textLine] {
	return func(yield func(int, textLine) bool) {
		in := bufio.NewReaderSize(r, 1<<20)
		for number := 1; ; number++ {
			text, err := boundedLine(in)
			if errors.Is(err, io.EOF) && len(text) == 0 {
				return
			}
			end := err != nil && !errors.Is(err, errLong)
			if errors.Is(err, io.EOF) {
				err = nil
			}
			if !yield(number, textLine{text, err}) || end {
				return
			}
		}
	}
}

var errLong = fmt.Errorf("is longer than %d MiB", maxRow>>20)

// boundedLine reads to the end of a line, and keeps it unless it is too long.
func boundedLine(in *bufio.Reader) (line []byte, err error) {
	long := false
	for {
		part, err := in.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxRow; !long {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("read a line: %w", err)
		case long:
			return nil, errLong
		}
		return line, err
	}
}

// readJSON reads a list of rows, or an object that holds them by their names.
func readJSON(r io.ReadSeeker, yield func(found) bool) bool {
	index := &lineIndex{r: r}
	d := json.NewDecoder(index)
	start, err := d.Token()
	if err != nil || start != json.Delim('[') && start != json.Delim('{') {
		return yield(found{err: errors.New("is neither a list nor an object of instances in JSON")})
	}
	number := 0
	for d.More() {
		name := ""
		if start == json.Delim('{') {
			key, err := d.Token()
			if err != nil {
				return yield(found{err: fmt.Errorf("is no JSON: %w", err)})
			}
			name, _ = key.(string)
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return yield(found{err: fmt.Errorf("is no JSON after %d instances: %w", number, err)})
		}
		if number == 0 && name != "" && raw[0] != '{' {
			return readOne(r, yield)
		}
		number++
		one := keyed(raw, name, number)
		one.line = index.line(d.InputOffset() - int64(len(raw)))
		if !yield(one) {
			return false
		}
	}
	if _, err := d.Token(); err != nil {
		return yield(found{err: fmt.Errorf("is cut short after %d instances: %w", number, err)})
	}
	return true
}

// readOne reads a file that is a single row.
func readOne(r io.ReadSeeker, yield func(found) bool) bool {
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return yield(found{err: fmt.Errorf("read from the start: %w", err)})
	}
	data, err := io.ReadAll(io.LimitReader(r, maxRow+1))
	switch {
	case err != nil:
		return yield(found{err: fmt.Errorf("read: %w", err)})
	case len(data) > maxRow:
		return yield(found{err: fmt.Errorf("is larger than %d MiB", maxRow>>20)})
	}
	got, err := parseRow(data)
	if err != nil {
		return yield(found{err: fmt.Errorf("is no JSON: %w", err)})
	}
	return yield(found{row: got})
}

// keyed is a row of a list, or of an object that has its name.
func keyed(raw []byte, name string, number int) found {
	if len(raw) > maxRow {
		return found{err: fmt.Errorf("instance %d is larger than %d MiB", number, maxRow>>20)}
	}
	got, err := parseRow(raw)
	if err != nil {
		return found{err: fmt.Errorf("instance %d is no JSON object: %w", number, err)}
	}
	if _, ok := got[colID]; !ok && name != "" {
		got[colID] = value{text: name}
	}
	return found{row: got}
}

// collector makes a dataset of rows.
type collector struct {
	options task.ReadOptions
	room    int
	rows    int
	seen    map[string]bool
	out     task.Dataset
}

// add takes one row; false says that no more are taken.
func (c *collector) add(f found) bool {
	if c.rows++; c.rows > maxRows {
		f.err = fmt.Errorf("has more than %d rows; those that follow are left out", maxRows)
	}
	if f.err != nil {
		say := folder.Findings{Problems: []task.Problem{{File: f.file, Line: f.line, Text: folder.Shown(f.err.Error())}}}
		say.Add(&c.out, task.Task{})
		return c.rows <= maxRows
	}
	name := f.row.taskName()
	if c.options.Wanted != nil && name != "" && !c.options.Wanted(name) {
		return true
	}
	say := folder.Findings{File: f.file, Task: folder.Shown(name)}
	if c.room -= f.row.size(); c.room < 0 || len(c.out.Tasks) >= maxTasks {
		say.Problem("is left out with all that follow: the tasks before it are %d, or %d MiB", len(c.out.Tasks), maxDataset>>20)
		say.Add(&c.out, task.Task{})
		return false
	}
	t := f.row.task(c.options, &say)
	if len(say.Problems) == 0 && c.seen[t.Name] {
		say.Problem("is there twice")
	}
	c.seen[t.Name] = true
	for _, list := range [][]task.Problem{say.Problems, say.Notices} {
		for i := range list {
			list[i].Line = f.line
		}
	}
	say.Add(&c.out, t)
	return true
}

func (c *collector) dataset() task.Dataset {
	sortTasks(c.out.Tasks)
	return c.out
}

func (r row) size() int {
	n := 0
	for name, v := range r {
		n += len(name) + len(v.text)
	}
	return n
}
