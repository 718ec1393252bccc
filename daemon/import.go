package daemon

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/harbor"
	"github.com/assayd/assayd/runtime/task/sforge"
	"github.com/assayd/assayd/runtime/task/swebench"
	"github.com/assayd/assayd/runtime/task/sweforge"
	"github.com/assayd/assayd/runtime/task/terminalbench"
)

// Format is one of others' formats of tasks.
type Format struct {
	Read  func(dir string, o task.ReadOptions) task.Dataset
	Write func(dir string, tasks []task.Task, trees task.Trees) ([]task.Problem, error)
}

// Formats are those that can be read and written, by the name that import blocks have.
func Formats() map[string]Format {
	return map[string]Format{
		"harbor":         {harbor.Read, harbor.Write},
		"sforge":         {sforge.Read, sforge.Write},
		"swebench":       {swebench.Read, swebench.Write},
		"sweforge":       {sweforge.Read, sweforge.Write},
		"terminal-bench": {terminalbench.Read, terminalbench.Write},
	}
}

// FormatNames are the names of Formats, sorted.
func FormatNames() []string { return slices.Sorted(maps.Keys(Formats())) }

// Importer reads the datasets of import blocks.
type Importer struct {
	Trees task.Trees // keeps the folders that tasks refer to
	Forge string     // base URL of repositories that are named as owner/name; "" = GitHub
}

// Import is config.Options.Import. What of a dataset cannot be used is told file by file.
func (m Importer) Import(i config.Import) ([]config.Imported, []config.Problem) {
	format, ok := Formats()[i.Format]
	if !ok {
		return nil, nil // told as something that this version does not do
	}
	found := format.Read(i.Path, task.ReadOptions{Wanted: i.Selects, Trees: m.Trees, Image: i.Image, Forge: m.Forge})
	var tasks []config.Imported
	var problems []config.Problem
	for _, p := range found.Problems {
		problems = append(problems, problem(i.Path, p, false))
	}
	for _, p := range found.Notices {
		problems = append(problems, problem(i.Path, p, true))
	}
	for _, t := range found.Tasks {
		compiled, err := json.Marshal(t)
		if err != nil {
			problems = append(problems, config.Problem{File: i.Path, Task: t.Name, Text: t.Name + ": " + err.Error()})
			continue
		}
		tasks = append(tasks, config.Imported{Name: t.Name, Work: resources(t.Work), Judge: resources(t.Judge.Part), Task: compiled})
	}
	return tasks, problems
}

// problem names the file as people find it; the source may be one.
func problem(source string, p task.Problem, notice bool) config.Problem {
	file := source
	if info, err := os.Stat(source); err == nil && info.IsDir() {
		file = filepath.Join(source, p.File)
	}
	return config.Problem{File: file, Line: p.Line, Task: p.Task, Text: p.Text, Notice: notice}
}

func resources(p task.Part) config.Resources {
	return config.Resources{CPUs: p.CPUs, Memory: p.Memory, PIDs: p.PIDs, Disk: p.Disk}
}
