package swebench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/folder"
)

// note is what column "assayd" holds: the task without what stands in other columns.
type note struct {
	Task    task.Task `json:"task"`
	Patched bool      `json:"test_patch,omitempty"` // that column is the judge's patch
}

// newNote is the note of a task whose row is otherwise r.
func newNote(t task.Task, r row) value {
	n := note{Task: folder.Unnamed(t), Patched: len(t.Judge.Patch) > 0}
	n.Task.Instruction, n.Task.Solution, n.Task.Judge.Patch = "", nil, nil
	if list, ok := r.list(colF2P); ok && reflect.DeepEqual(list, t.FailToPass) {
		n.Task.FailToPass = nil
	}
	if list, ok := r.list(colP2P); ok && reflect.DeepEqual(list, t.PassToPass) {
		n.Task.PassToPass = nil
	}
	if t.PassToPass != nil && len(t.PassToPass) == 0 {
		n.Task.PassToPass = []string{}
	}
	return value{text: string(jsonText(n))}
}

// parseNote is the task of a note and of the columns beside it.
func parseNote(text string, r row) (task.Task, error) {
	var n note
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields() // of a later version of ours: half of it would be another task
	if err := d.Decode(&n); err != nil {
		return task.Task{}, fmt.Errorf("it cannot be read: %w", err)
	}
	t := folder.Unnamed(n.Task)
	t.Instruction = r.text(colStatement)
	if patch := r.text(colPatch); patch != "" {
		t.Solution = &task.Solution{Patch: []byte(patch)}
	}
	if n.Patched {
		t.Judge.Patch = []byte(r.text(colTests))
	}
	if list, ok := r.list(colF2P); ok && t.FailToPass == nil {
		t.FailToPass = list
	}
	if list, ok := r.list(colP2P); ok && t.PassToPass == nil && len(list) > 0 {
		t.PassToPass = list
	}
	return t, folder.CheckNote(t, true)
}
