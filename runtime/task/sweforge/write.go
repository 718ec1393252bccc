package sweforge

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/folder"
)

// Write writes a workspace folder for each task, named as its id. workspace.yaml appears whole or
// not at all, when all else of the task is there. What no workspace can hold of a task is a problem, and the
// task is left out.
func Write(dir string, tasks []task.Task, _ task.Trees) ([]task.Problem, error) {
	var problems []task.Problem
	seen := map[string]bool{}
	for _, t := range tasks {
		w, beyond := newWorkspace(t)
		var data []byte
		if len(beyond) == 0 {
			var err error
			if data, err = w.yaml(); err != nil {
				beyond = append(beyond, err.Error())
			}
		}
		if seen[t.Name] {
			beyond = append(beyond, "there is another task of its name")
		}
		seen[t.Name] = true
		for _, text := range beyond {
			problems = append(problems, task.Problem{Task: t.Name, Text: folder.Shown(text)})
		}
		if len(beyond) > 0 {
			continue
		}
		if err := writeFolder(filepath.Join(dir, folderOf(w.ID)), w, data); err != nil {
			return problems, err
		}
	}
	return problems, nil
}

// folderOf is the folder of an id, below those that it is nested in. An id is a stranger's: one that
// could lead elsewhere, or be hidden, has one folder.
func folderOf(id string) string {
	for part := range strings.SplitSeq(id, "/") {
		if !folder.TaskName.MatchString(part) {
			return TaskName(id)
		}
	}
	return filepath.FromSlash(id)
}

// writeFolder writes the files of a workspace. Those beside workspace.yaml are for people.
func writeFolder(dir string, w workspace, data []byte) error {
	files := map[string]string{
		"prompt.md":  w.Prompt,
		"checks.txt": strings.Join(append(slices.Clone(w.FailToPass), w.PassToPass...), "\n"),
	}
	if w.OriginalPRBody != "" {
		files["original_pr.md"] = w.OriginalPRBody
	}
	for kind, commands := range map[string][]string{"fail_to_pass": w.FailToPass, "pass_to_pass": w.PassToPass} {
		for i, command := range commands {
			files[fmt.Sprintf("tests/%s_%d.sh", kind, i+1)] = "#!/bin/bash\n# " + strings.ReplaceAll(kind, "_", " ") + ", in the repository\n" + command + "\n"
		}
	}
	for count, test := range filesOf(w.Meta[testFiles]) {
		name := "tests/" + path.Base(test.Path)
		if _, ok := files[name]; ok {
			name = fmt.Sprintf("tests/%d_%s", count, path.Base(test.Path))
		}
		files[name] = test.Content
	}
	if err := os.MkdirAll(filepath.Join(dir, "tests"), 0o755); err != nil {
		return fmt.Errorf("make the folder of %s: %w", w.ID, err)
	}
	for name, text := range files {
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			return fmt.Errorf("write %s of %s: %w", name, w.ID, err)
		}
	}
	if err := renameio.WriteFile(filepath.Join(dir, workspaceFile), data, 0o644); err != nil {
		return fmt.Errorf("write %s of %s: %w", workspaceFile, w.ID, err)
	}
	return nil
}
