package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/harbor"
	"github.com/assayd/assayd/runtime/task/remote"
	"github.com/assayd/assayd/runtime/task/sforge"
	"github.com/assayd/assayd/runtime/task/swebench"
	"github.com/assayd/assayd/runtime/task/sweforge"
	"github.com/assayd/assayd/runtime/task/terminalbench"
)

// Format is one of others' formats of tasks.
type Format struct {
	// marks are patterns of which one is in a folder of tasks: those of the first list, if
	// there is such a folder at all. None = any folder may be one.
	marks [][]string
	Read  func(dir string, o task.ReadOptions) task.Dataset
	Write func(dir string, tasks []task.Task, trees task.Trees) ([]task.Problem, error)
}

// Formats are those that can be read and written, by the name that import blocks have.
func Formats() map[string]Format {
	return map[string]Format{
		"harbor":         {[][]string{{"task.toml", "*/task.toml"}}, harbor.Read, harbor.Write},
		"sforge":         {[][]string{{"BENCHMARK.yaml"}}, sforge.Read, sforge.Write},
		"swebench":       {[][]string{{"sweb.yaml", "*.jsonl", "*.parquet"}, {"*.json"}}, swebench.Read, swebench.Write},
		"sweforge":       {nil, sweforge.Read, sweforge.Write},
		"terminal-bench": {[][]string{{"task.yaml", "*/task.yaml"}}, terminalbench.Read, terminalbench.Write},
	}
}

// deep is how many folders down the tasks of a copy are looked for.
const deep = 3

// Find returns the folder of the tasks in a dataset that was fetched or unpacked, which may have
// others around it. It is the one that is nearest to the top.
func (f Format) Find(dir string) (string, error) {
	for _, marks := range f.marks {
		level := []string{dir}
		for range deep {
			holds := slices.DeleteFunc(slices.Clone(level), func(d string) bool { return !marked(d, marks) })
			if len(holds) == 1 {
				return holds[0], nil
			}
			if len(holds) > 1 {
				return "", several(dir, holds)
			}
			level = foldersIn(level)
		}
	}
	return dir, nil // its reader says what is missing
}

func marked(dir string, marks []string) bool {
	return slices.ContainsFunc(marks, func(mark string) bool {
		found, _ := fs.Glob(os.DirFS(dir), mark)
		return len(found) > 0
	})
}

// several asks which of some folders is meant.
func several(dir string, holds []string) error {
	var names []string
	for _, d := range holds {
		rel, _ := filepath.Rel(dir, d)
		names = append(names, filepath.ToSlash(rel))
	}
	return fmt.Errorf("there are tasks in %s: name one of these folders, after # in a URL (#dir=%s) or after the name of a dataset (OWNER/NAME/%s)",
		strings.Join(names[:min(len(names), 5)], ", "), names[0], names[0])
}

// foldersIn lists the folders in some folders, without those that are hidden and without links.
func foldersIn(dirs []string) (below []string) {
	for _, dir := range dirs {
		entries, _ := os.ReadDir(dir) // what cannot be read holds nothing
		for _, e := range entries {
			if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
				below = append(below, filepath.Join(dir, e.Name()))
			}
		}
	}
	return below
}

// FormatNames are the names of Formats, sorted.
func FormatNames() []string { return slices.Sorted(maps.Keys(Formats())) }

// Importer reads the datasets of import blocks.
type Importer struct {
	Trees task.Trees // keeps the folders that tasks refer to
	Forge string     // base URL of repositories that are named as owner/name; "" = GitHub

	ctx      context.Context // of the daemon: an import has none of its own
	datasets *fetcher        // nil = what lies elsewhere is not fetched
	begin    bool            // fetch what is not here
}

// Import is config.Options.Import. What of a dataset cannot be used is told file by file.
func (m Importer) Import(i config.Import) (tasks []config.Imported, problems []config.Problem) {
	format, ok := Formats()[i.Format]
	if !ok {
		return nil, nil // told as something that this version does not do
	}
	if i.Remote() {
		return m.remote(i, format)
	}
	if info, err := os.Stat(i.Path); err != nil || info.IsDir() || !remote.IsArchive(i.Path) {
		return m.read(i, format, i.Path, i.Path)
	}
	err := m.unpacked(i.Path, func(c remote.Copy) error {
		tasks, problems = m.copied(i, format, c, i.Path)
		return nil
	})
	if err != nil {
		problems = append(problems, config.Problem{File: i.Path, Text: err.Error()})
	}
	return tasks, problems
}

// unpacked lays out an archive of this machine: for good in a daemon, for a moment elsewhere.
func (m Importer) unpacked(path string, use func(remote.Copy) error) (err error) {
	if m.datasets != nil {
		return m.datasets.store.Unpack(m.ctx, path, use)
	}
	dir, err := os.MkdirTemp("", "assayd-archive-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	store, err := remote.Open(remote.Options{Dir: dir})
	if err != nil {
		return err
	}
	return store.Unpack(context.Background(), path, use)
}

// remote reads a dataset that lies elsewhere, or says that it is not here yet.
func (m Importer) remote(i config.Import, format Format) (tasks []config.Imported, problems []config.Problem) {
	src := sourceOf(i)
	one := func(p config.Problem) []config.Problem {
		p.File = src.String()
		return []config.Problem{p}
	}
	switch err := src.Check(); {
	case err != nil:
		return nil, one(config.Problem{Text: err.Error()})
	case m.datasets == nil:
		return nil, one(config.Problem{Pending: true, Text: "a daemon would fetch it"})
	}
	var failed error
	if m.begin {
		current, err := m.datasets.current(i)
		if !current {
			return nil, one(config.Problem{Pending: true, Text: "it is being fetched"})
		}
		failed = err
	}
	err := m.datasets.store.Use(src, func(c remote.Copy) error {
		tasks, problems = m.copied(i, format, c, src.String())
		if failed != nil {
			problems = append(problems, config.Problem{File: src.String(), Notice: true, Text: fmt.Sprintf("it could not be looked at again, and is as it was at %s: %v", c.Revision, failed)})
		}
		return nil
	})
	if errors.Is(err, remote.ErrAbsent) {
		if !m.begin {
			return nil, one(config.Problem{Pending: true, Text: "it would be fetched"})
		}
		if err = m.datasets.missing(i); err == nil {
			return nil, one(config.Problem{Pending: true, Text: "it is being fetched"})
		}
	}
	if err != nil {
		return nil, one(config.Problem{Text: err.Error()})
	}
	return tasks, problems
}

// copied reads a copy of a dataset.
func (m Importer) copied(i config.Import, format Format, c remote.Copy, shown string) ([]config.Imported, []config.Problem) {
	dir, err := format.Find(c.Dir)
	if err != nil {
		return nil, []config.Problem{{File: shown, Text: err.Error()}}
	}
	if rel, err := filepath.Rel(c.Dir, dir); err == nil && rel != "." {
		shown += "/" + filepath.ToSlash(rel)
	}
	tasks, problems := m.read(i, format, dir, shown)
	if n := len(c.LeftOut); n > 0 {
		text := "left out: " + strings.Join(c.LeftOut[:min(n, 5)], "; ")
		if n > 5 {
			text += fmt.Sprintf("; and %d more", n-5)
		}
		problems = append(problems, config.Problem{File: shown, Notice: true, Text: text})
	}
	return tasks, problems
}

// read reads a folder or a file, which is shown as a name of its own.
func (m Importer) read(i config.Import, format Format, dir, shown string) (tasks []config.Imported, problems []config.Problem) {
	found := format.Read(dir, task.ReadOptions{Wanted: i.Selects, Trees: m.Trees, Image: i.Image, Forge: m.Forge})
	whole := true
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		whole = false
	}
	for _, p := range found.Problems {
		problems = append(problems, problem(shown, whole, p, false))
	}
	for _, p := range found.Notices {
		problems = append(problems, problem(shown, whole, p, true))
	}
	for _, t := range found.Tasks {
		compiled, err := json.Marshal(t)
		if err != nil {
			problems = append(problems, config.Problem{File: shown, Task: t.Name, Text: t.Name + ": " + err.Error()})
			continue
		}
		tasks = append(tasks, config.Imported{Name: t.Name, Work: resources(t.Work), Judge: resources(t.Judge.Part), Task: compiled})
	}
	return tasks, problems
}

// problem names the file as people find it; the source may be one.
func problem(source string, whole bool, p task.Problem, notice bool) config.Problem {
	file := source
	if !whole && p.File != "" {
		file = strings.TrimSuffix(source, "/") + "/" + p.File
	}
	return config.Problem{File: file, Line: p.Line, Task: p.Task, Text: p.Text, Notice: notice}
}

func resources(p task.Part) config.Resources {
	return config.Resources{CPUs: p.CPUs, Memory: p.Memory, PIDs: p.PIDs, Disk: p.Disk}
}

// ReadFolder reads a dataset on this machine without keeping the folders of its tasks.
func ReadFolder(format, path string) task.Dataset {
	return Formats()[format].Read(path, task.ReadOptions{Trees: named{}, Image: DefaultImage})
}

// DefaultImage is that of import blocks.
const DefaultImage = "python:3.12-slim"
