package sforge

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/folder"
)

// noteKey is the key of a task file under which assayd keeps what the format has no place for.
// SForge does not look at it.
const noteKey = "assayd"

// note is a folder's note with the trees, which have no folder here.
type note struct {
	folder.Note
	Trees map[string]string `json:"trees,omitempty"` // digest -> tar, in base64
}

// Sums in a note: of the task file, and of the base image that it names.
const (
	fileSum = "="
	baseSum = "=base"
)

// sumOf is the checksum of what a task file says beside the note and the prompt.
func sumOf(data []byte) (string, error) {
	var all map[string]any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&all); err != nil {
		return "", fmt.Errorf("read a task file: %w", err)
	}
	delete(all, noteKey)
	if work, ok := all["work"].(map[string]any); ok {
		delete(work, "agent_query")
	}
	return hashOf(plainValue(all)), nil
}

// plainValue has numbers as texts, which is all that a checksum needs.
func plainValue(v any) any {
	switch v := v.(type) {
	case json.Number:
		return string(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = plainValue(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = plainValue(v[k])
		}
		return out
	}
	return v
}

// restore returns the task of the note of a file, if it has one, with the prompt of the file.
func restore(data []byte, t task.Task, trees task.Trees) (task.Task, error) {
	var file struct {
		Note json.RawMessage `json:"assayd"`
	}
	if !bytes.Contains(data, []byte(`"`+noteKey+`"`)) || json.Unmarshal(data, &file) != nil || len(file.Note) == 0 {
		return t, nil
	}
	found, err := folder.ParseNote(string(file.Note), t.Name)
	if err != nil {
		return t, err
	}
	n := note{Note: found}
	if err := json.Unmarshal(file.Note, &n); err != nil {
		return t, fmt.Errorf("the note of assayd cannot be read: %w", err)
	}
	sum, err := sumOf(data)
	switch {
	case err != nil:
		return t, err
	case sum != n.Sums[fileSum] || t.Base == nil || t.Base.Ref != n.Sums[baseSum]:
		return t, folder.Changed("the file, or its base image,")
	}
	out := found.Task
	out.Instruction = t.Instruction
	for _, tree := range treesOf(&out) {
		if *tree, err = n.keep(*tree, trees); err != nil {
			return t, err
		}
	}
	return out, nil
}

// treesOf are those that a note can hold.
func treesOf(t *task.Task) []*task.Tree {
	all := []*task.Tree{&t.Work.Context, &t.Judge.Context}
	if t.Solution != nil {
		all = append(all, &t.Solution.Context)
	}
	return all
}

// keep stores a tree of the note, which must come out as what it is called.
func (n note) keep(tree task.Tree, trees task.Trees) (_ task.Tree, err error) {
	if tree.Digest == "" {
		return tree, nil
	}
	content, err := base64.StdEncoding.DecodeString(n.Trees[tree.Digest])
	if err != nil || len(content) == 0 || trees == nil {
		return tree, errors.New("the note of assayd lacks a folder")
	}
	dir, err := os.MkdirTemp("", "assayd-import-")
	if err != nil {
		return tree, fmt.Errorf("unpack a folder of a note: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	at := filepath.Join(dir, "tree")
	if err := folder.Unpack(at, bytes.NewReader(content)); err != nil {
		return tree, err
	}
	kept, err := trees.Keep(at)
	if err == nil && kept != tree {
		err = errors.New("the note of assayd has a folder that is not what it is called")
	}
	return kept, err
}
