package swebench

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/folder"
)

// split is the name of the only split that is written.
const split = "test"

// Write writes tasks to a folder in every form: as a task repository, as instances.jsonl and
// as test.parquet. These files appear whole or not at all, and the task.yaml of a task when all
// else of it is there. What no row can hold of a task is a problem, and the task is left out.
func Write(dir string, tasks []task.Task, _ task.Trees) ([]task.Problem, error) {
	tasks = slices.Clone(tasks)
	sortTasks(tasks)
	var problems []task.Problem
	var kept []row
	seen := map[string]bool{}
	for _, t := range tasks {
		r, beyond := newRow(t)
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
		kept = append(kept, r)
		if err := writeTask(filepath.Join(dir, tasksName, t.Name), r, dockerfile(t)); err != nil {
			return problems, err
		}
	}
	return problems, writeTables(dir, kept)
}

// writeTask writes the folder of one task.
func writeTask(dir string, r row, dockerfile string) error {
	yaml, err := taskYAML(r, split)
	if err != nil {
		return err
	}
	f2p, _ := r.list(colF2P)
	p2p, _ := r.list(colP2P)
	files := map[string][]byte{
		"tests.json": row{colF2P: {listText(f2p), true}, colP2P: {listText(p2p), true}}.json(),
		"Dockerfile": []byte(dockerfile),
	}
	for name, column := range textFiles() {
		if text := r.text(column); text != "" {
			files[name] = []byte(text)
		}
	}
	if more := r.more(); len(more) > 0 {
		files[moreFile] = more.json()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of %s: %w", filepath.Base(dir), err)
	}
	for name, data := range files {
		mode := os.FileMode(0o644)
		if strings.HasSuffix(name, ".sh") {
			mode = 0o755
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, mode); err != nil {
			return fmt.Errorf("write %s of %s: %w", name, filepath.Base(dir), err)
		}
	}
	return writeFile(filepath.Join(dir, taskFile), yaml)
}

// writeTables writes all rows as one file of each kind.
func writeTables(dir string, rows []row) error {
	var lines, table bytes.Buffer
	for _, r := range rows {
		lines.Write(r.json())
		lines.WriteByte('\n')
	}
	if err := writeParquet(&table, rows); err != nil {
		return err
	}
	for name, data := range map[string][]byte{
		"instances.jsonl": lines.Bytes(), split + ".parquet": table.Bytes(),
		repoFile: []byte("datasets: [assayd]\nsplits: [" + split + "]\n"),
	} {
		if err := writeFile(filepath.Join(dir, name), data); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("make the folder of %s: %w", filepath.Base(name), err)
	}
	if err := renameio.WriteFile(name, data, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(name), err)
	}
	return nil
}
