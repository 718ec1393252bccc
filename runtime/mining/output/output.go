package output

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/harbor"
	"github.com/assayd/assayd/runtime/task/sforge"
	"github.com/assayd/assayd/runtime/task/swebench"
	"github.com/assayd/assayd/runtime/task/sweforge"
)

// Mined is a task and where it comes from.
type Mined struct {
	Task       task.Task // complete: all that a format may hold
	Provenance Provenance
}

// Described is the task with its provenance in the metadata, as it is written.
func (m Mined) Described() task.Task { return m.Provenance.in(m.Task) }

// Refused says that a format cannot hold a task.
type Refused struct {
	Format, Task string
	Why          []string // in the words of the format; never empty
}

// Error names the format, the task and the reasons.
func (r *Refused) Error() string {
	return fmt.Sprintf("the format %s cannot hold the task %s: %s", r.Format, r.Task, strings.Join(r.Why, "; "))
}

// format is one that tasks are written in.
type format struct {
	write func(dir string, tasks []task.Task, trees task.Trees) ([]task.Problem, error)
	// read gives the tasks of a dataset whose files hold more than one; nil = each task is a
	// folder.
	read func(dir string, o task.ReadOptions) task.Dataset
	// marks are the files by which there is such a dataset.
	marks []string
	// parts are what a task is made of in the dataset, in the order in which they appear.
	parts func(name string) []string
	// about is the folder that takes the provenance; nil = there is none.
	about func(name string) string
}

// Names of files of datasets.
const (
	benchmarkFile  = "BENCHMARK.yaml"
	repositoryFile = "sweb.yaml"
	linesFile      = "instances.jsonl"
	tableFile      = "test.parquet"
	aboutFile      = "provenance.json"
)

// formats are those of a mining block, by its names.
func formats() map[string]format {
	itself := func(name string) []string { return []string{name} }
	folder := func(name string) string { return name }
	below := func(name string) string { return filepath.Join("tasks", name) }
	return map[string]format{
		"sweforge": {write: sweforge.Write, parts: itself, about: folder},
		"harbor":   {write: harbor.Write, parts: itself, about: folder},
		"sforge": {
			write: sforge.Write, read: sforge.Read, marks: []string{benchmarkFile},
			parts: func(name string) []string { return []string{benchmarkFile, name + ".json"} },
		},
		"swebench": {
			write: swebench.Write, read: swebench.Read, marks: []string{repositoryFile, linesFile, tableFile}, about: below,
			parts: func(name string) []string { return []string{below(name), linesFile, tableFile, repositoryFile} },
		},
		"parquet": {
			write: swebench.Write, read: table, marks: []string{tableFile}, about: nil,
			parts: func(string) []string { return []string{tableFile} },
		},
	}
}

// table reads a dataset of one table. The folder may hold other files, which are none of it.
func table(dir string, o task.ReadOptions) task.Dataset {
	return swebench.Read(filepath.Join(dir, tableFile), o)
}

// Write writes a task in all the formats, below dir as the package says. If one of them cannot
// hold it that is a *Refused, and it is written in none. Calls for one folder take turns, also
// those of several processes.
func Write(ctx context.Context, dir string, names []string, m Mined, trees task.Trees) (err error) {
	return in(ctx, dir, names, m, trees, writer.write)
}

// in has something done with a task in all the formats while the folder is locked.
func in(ctx context.Context, dir string, names []string, m Mined, trees task.Trees, do func(writer, context.Context, []target) error) (err error) {
	known := formats()
	names = slices.Clone(names)
	slices.Sort(names)
	names = slices.Compact(names)
	for _, name := range names {
		if _, ok := known[name]; !ok {
			return fmt.Errorf("write the task %s: there is no format %q", m.Task.Name, name)
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("write the task %s: no format is named", m.Task.Name)
	}
	if !filepath.IsLocal(m.Task.Name) || strings.ContainsAny(m.Task.Name, `/\`) || strings.HasPrefix(m.Task.Name, ".") {
		return fmt.Errorf("write the task %q: that is no name for a file", m.Task.Name)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of mined tasks: %w", err)
	}
	unlock, err := lock(ctx, dir)
	if err != nil {
		return fmt.Errorf("lock the folder of mined tasks: %w", err)
	}
	defer func() { err = errors.Join(err, unlock()) }()
	s, err := newStage(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	w := writer{stage: s, task: m.Described(), about: m.Provenance, trees: trees}
	var to []target
	for _, name := range names {
		t := target{format: known[name], name: name, dir: dir, staged: filepath.Join(s.dir, name)}
		if len(names) > 1 {
			t.dir = filepath.Join(dir, name)
		}
		to = append(to, t)
	}
	if err := inside(dir, to, m.Task.Name); err != nil {
		return err
	}
	return do(w, ctx, to)
}

// inside refuses datasets that lie elsewhere, over a link in the folder: who may write there may not
// say what else this process writes.
func inside(dir string, to []target, name string) error {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return fmt.Errorf("find the folder of mined tasks: %w", err)
	}
	for _, t := range to {
		for _, part := range t.parts(name) {
			real, err := filepath.EvalSymlinks(filepath.Dir(filepath.Join(t.dir, part)))
			if errors.Is(err, fs.ErrNotExist) {
				continue // it is made, and a link to nothing is no place to make it
			}
			if err != nil {
				return fmt.Errorf("find where the task %s goes: %w", name, err)
			}
			if rel, err := filepath.Rel(dir, real); err != nil || !filepath.IsLocal(rel) {
				return fmt.Errorf("write the task %s: %s is a link that leaves the folder of mined tasks", name, filepath.Dir(filepath.Join(t.dir, part)))
			}
		}
	}
	return nil
}

// target is a dataset that gets the task.
type target struct {
	format
	name   string
	dir    string
	staged string // where it is made
}

// writer writes one task.
type writer struct {
	stage *stage
	task  task.Task
	about Provenance
	trees task.Trees
}

// write makes the task in every format before any of them appears.
func (w writer) write(ctx context.Context, to []target) error {
	for _, t := range to {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := w.make(t); err != nil {
			return err
		}
	}
	for _, t := range to {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		for _, part := range t.parts(w.task.Name) {
			if err := w.stage.publish(filepath.Join(t.staged, part), filepath.Join(t.dir, part)); err != nil {
				return fmt.Errorf("write the task %s as %s: %w", w.task.Name, t.name, err)
			}
		}
	}
	return nil
}

// make makes what the dataset will be with the task.
func (w writer) make(t target) error {
	tasks, err := w.others(t)
	if err != nil {
		return err
	}
	problems, err := t.format.write(t.staged, append(tasks, w.task), w.trees)
	if err != nil {
		return fmt.Errorf("write the task %s as %s: %w", w.task.Name, t.name, err)
	}
	refused := &Refused{Format: t.name, Task: w.task.Name}
	for _, p := range problems {
		if p.Task != w.task.Name {
			return fmt.Errorf("write the task %s as %s: the task %s, which is there, cannot be written again: %s", w.task.Name, t.name, p.Task, p.Text)
		}
		refused.Why = append(refused.Why, p.Text)
	}
	if len(refused.Why) > 0 {
		return refused
	}
	if t.about == nil {
		return nil
	}
	text, err := w.about.json()
	if err == nil {
		err = os.WriteFile(filepath.Join(t.staged, t.about(w.task.Name), aboutFile), text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("write where the task %s comes from: %w", w.task.Name, err)
	}
	return nil
}

// others are the other tasks of a dataset whose files hold more than one. One that cannot be
// read would be lost, and so nothing is written then.
func (w writer) others(t target) ([]task.Task, error) {
	there := slices.ContainsFunc(t.marks, func(name string) bool {
		_, err := os.Lstat(filepath.Join(t.dir, name))
		return err == nil
	})
	if t.read == nil || !there {
		return nil, nil
	}
	all := t.read(t.dir, task.ReadOptions{Trees: w.trees, Wanted: func(name string) bool { return name != w.task.Name }})
	if len(all.Problems) > 0 {
		p := all.Problems[0]
		return nil, fmt.Errorf("add the task %s to the %s dataset in %s: %s %s: %s", w.task.Name, t.name, t.dir, p.File, p.Task, p.Text)
	}
	return all.Tasks, nil
}
