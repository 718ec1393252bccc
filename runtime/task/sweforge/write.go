package sweforge

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"

	"encoding/json"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/folder"
)

// Write writes a workspace folder for each task, named as it is. Each file appears whole or
// not at all, workspace.yaml last. What no workspace can hold of a task is a problem, and the
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
		if err := writeFolder(filepath.Join(dir, t.Name), w, data); err != nil {
			return problems, err
		}
	}
	return problems, nil
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
	var tests []struct{ Path, Content string }
	if text := w.Meta["test_files"]; text != "" {
		if err := json.Unmarshal([]byte(text), &tests); err != nil {
			return fmt.Errorf("read the test files of %s: %w", w.ID, err)
		}
	}
	for count, test := range tests {
		name := "tests/" + path.Base(test.Path)
		if _, ok := files[name]; ok {
			name = fmt.Sprintf("tests/%d_%s", count, path.Base(test.Path))
		}
		files[name] = test.Content
	}
	for name, text := range files {
		if err := writeFile(filepath.Join(dir, name), []byte(text)); err != nil {
			return err
		}
	}
	return writeFile(filepath.Join(dir, workspaceFile), data)
}

func writeFile(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("make the folder of %s: %w", filepath.Base(name), err)
	}
	mode := os.FileMode(0o644)
	if strings.HasSuffix(name, ".sh") {
		mode = 0o755
	}
	if err := renameio.WriteFile(name, data, mode); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(name), err)
	}
	return nil
}
