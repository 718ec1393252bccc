package swebench

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/assayd/assayd/runtime/task/folder"
)

// Files of the task repository of version 5.
const (
	repoFile  = "sweb.yaml"
	taskFile  = "task.yaml"
	moreFile  = "columns.json" // of ours: the columns that have no file of their own
	maxYAML   = 1 << 20
	maxSmall  = 16 << 20
	tasksName = "tasks"
)

// textFiles are those of a task that hold a column each.
func textFiles() map[string]string {
	return map[string]string{
		"problem_statement.md": colStatement, "hints.md": colHints, "gold.patch": colPatch, "test.patch": colTests, "eval.sh": colScript,
	}
}

// yamlColumns are those of task.yaml, in order.
func yamlColumns() []string {
	return []string{colID, colRepo, colVersion, colCommit, colSetup, colCreated, colImage, colParser, colType}
}

// repository reads the tasks of a task repository.
func repository(src *folder.Root, yield func(found) bool) {
	names, err := src.Find(taskFile)
	if err != nil {
		yield(found{err: err})
		return
	}
	for _, name := range names {
		if !strings.HasPrefix(name, tasksName+"/") {
			continue
		}
		r, err := readTask(src, path.Dir(name))
		if !yield(found{file: name, row: r, err: err}) {
			return
		}
	}
}

// readTask reads the folder of one task as a row.
func readTask(src *folder.Root, dir string) (row, error) {
	data, err := src.Read(path.Join(dir, taskFile), maxYAML)
	if err != nil {
		return nil, err
	}
	r, err := parseTaskFile(data)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"tests.json", moreFile} {
		data, err := src.Read(path.Join(dir, name), maxRow)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var more row
		if err == nil {
			more, err = parseRow(data)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for column, v := range more {
			if _, ok := r[column]; !ok {
				r[column] = v
			}
		}
	}
	for _, column := range []string{colF2P, colP2P} { // lists here, texts in a row
		if v, ok := r[column]; ok && v.raw {
			list, _ := r.list(column)
			r[column] = value{text: listText(list)}
		}
	}
	delete(r, "split") // of the repository, not of the task
	delete(r, "datasets")
	for name, column := range textFiles() {
		data, err := src.Read(path.Join(dir, name), maxSmall)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("%s: %w", name, err)
		default:
			r[column] = value{text: string(data)}
		}
	}
	return r, nil
}

// parseTaskFile reads the texts of a YAML map; lists of texts are kept as JSON.
func parseTaskFile(data []byte) (row, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, fmt.Errorf("is no YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("is no map")
	}
	r := row{}
	content := document.Content[0].Content
	for i := 0; i+1 < len(content); i += 2 {
		key, v := content[i], content[i+1]
		switch {
		case key.Kind != yaml.ScalarNode || key.Value == "":
		case v.Kind == yaml.ScalarNode && v.Tag != "!!null":
			r[key.Value] = value{text: v.Value}
		case v.Kind == yaml.SequenceNode:
			var list []string
			for _, item := range v.Content {
				if item.Kind == yaml.ScalarNode {
					list = append(list, item.Value)
				}
			}
			r[key.Value] = value{string(jsonText(append([]string{}, list...))), true}
		}
	}
	return r, nil
}

// taskYAML writes task.yaml.
func taskYAML(r row, split string) ([]byte, error) {
	node := yaml.Node{Kind: yaml.MappingNode}
	add := func(name, text string) {
		var key, v yaml.Node
		key.SetString(name)
		v.SetString(text)
		node.Content = append(node.Content, &key, &v)
	}
	for _, name := range yamlColumns() {
		if v, ok := r[name]; ok && !v.raw {
			add(name, v.text)
		}
	}
	if _, ok := r["split"]; !ok {
		add("split", split)
	}
	out, err := yaml.Marshal(&node)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", taskFile, err)
	}
	return out, nil
}

// more are the columns of a row that have no file of their own.
func (r row) more() row {
	rest := row{}
	used := append(yamlColumns(), colF2P, colP2P)
	for _, name := range textFiles() {
		used = append(used, name)
	}
	for name, v := range r {
		if v.raw || !slices.Contains(used, name) {
			rest[name] = v
		}
	}
	return rest
}
