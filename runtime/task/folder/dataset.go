package folder

import (
	"fmt"
	"path"
	"path/filepath"

	"github.com/assayd/assayd/runtime/task"
)

// maxTasks bounds a folder of tasks.
const maxTasks = 10_000

// ReadEach reads a folder of a task, or a folder of such folders: each has the file of that
// name. read adds the task in the folder at, which is wanted by its name.
func ReadEach(dir, file string, o task.ReadOptions, read func(root *Root, at, name string, all *task.Dataset)) (all task.Dataset) {
	failed := func(err error) task.Dataset {
		return task.Dataset{Problems: []task.Problem{{Text: Shown(err.Error())}}}
	}
	root, err := Open(dir)
	if err != nil {
		return failed(err)
	}
	defer root.Close()
	wanted := func(name string) bool { return o.Wanted == nil || o.Wanted(name) }
	if root.Has(file) {
		whole, err := filepath.Abs(dir)
		if err != nil {
			return failed(err)
		}
		if name := filepath.Base(whole); wanted(name) {
			read(root, ".", name, &all)
		}
		return all
	}
	names, err := root.Folders(".")
	if err != nil {
		return failed(err)
	}
	found := 0
	for _, name := range names {
		if !root.Has(path.Join(name, file)) {
			continue
		}
		if found++; found > maxTasks {
			all.Problems = append(all.Problems, task.Problem{Text: fmt.Sprintf("holds more than %d tasks; the others are left out", maxTasks)})
			break
		}
		if wanted(name) {
			read(root, name, name, &all)
		}
	}
	if found == 0 {
		return failed(fmt.Errorf("holds no folder with a %s", file))
	}
	return all
}

// WriteEach writes each task as a folder of its name below dir. write says why the format
// cannot hold a task, which is left out then.
func WriteEach(dir string, tasks []task.Task, write func(dir string, t task.Task) (why string, err error)) (problems []task.Problem, err error) {
	for _, t := range tasks {
		why, err := write(filepath.Join(dir, t.Name), t)
		if err != nil {
			return problems, err
		}
		if why != "" {
			problems = append(problems, task.Problem{Task: t.Name, Text: why})
		}
	}
	return problems, nil
}

// Beyond says what of a task no foreign format holds that is a folder or a file a task. The
// format is called as people call it.
func Beyond(t task.Task, format string) string {
	if err := Check(t); err != nil {
		return err.Error()
	}
	switch {
	case t.Private != nil:
		return "has a private set, which " + format + " does not know"
	case t.Judge.Staged():
		return "is judged in two containers, which " + format + " does not do"
	}
	return ""
}
