package daemon

import (
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/sforge"
)

// ImportFormats are the formats that Import reads.
func ImportFormats() []string { return []string{"sforge"} }

// Import reads the dataset of an import block. What of it cannot be used is told file by
// file.
func Import(i config.Import) ([]config.Imported, []config.Problem) {
	if !slices.Contains(ImportFormats(), i.Format) {
		return nil, nil // told as something that this version does not do
	}
	found := sforge.Read(i.Path, task.ReadOptions{Wanted: i.Selects})
	var tasks []config.Imported
	var problems []config.Problem
	for _, p := range found.Problems {
		problems = append(problems, config.Problem{File: filepath.Join(i.Path, p.File), Line: p.Line, Task: p.Task, Text: p.Text})
	}
	for _, p := range found.Notices {
		problems = append(problems, config.Problem{
			File: filepath.Join(i.Path, p.File), Line: p.Line, Task: p.Task, Text: p.Text, Notice: true,
		})
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

func resources(p task.Part) config.Resources {
	return config.Resources{CPUs: p.CPUs, Memory: p.Memory, PIDs: p.PIDs, Disk: p.Disk}
}
