package harbor

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pelletier/go-toml/v2"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/dockerfile"
	"github.com/assayd/assayd/runtime/task/folder"
)

// places of the trees of a task.
func places(t *task.Task) []folder.Place {
	work := folder.Place{Tree: &t.Work.Context, At: []folder.Piece{{From: "environment/.assayd/context", To: "."}}, Exact: "assayd/work"}
	if t.Work.Dockerfile != "" {
		work.At[0].From = "environment"
	}
	judge := folder.Place{Tree: &t.Judge.Context, At: []folder.Piece{{From: "tests/.assayd/context", To: "."}}, Exact: "assayd/judge"}
	switch {
	case moved(*t):
		judge.At[0] = folder.Piece{From: "tests", To: testsAside}
	case t.Judge.Dockerfile != "":
		judge.At[0].From = "tests"
	}
	all := []folder.Place{work, judge}
	if t.Solution != nil {
		all = append(all, folder.Place{Tree: &t.Solution.Context, At: []folder.Piece{{From: "solution/tree", To: "."}}, Exact: "assayd/solution"})
	}
	return all
}

// moved reports whether the tests of a task are those of a folder of this format, which are
// moved to /tests.
func moved(t task.Task) bool {
	return native(t) && dockerfile.OnWork(t) && slices.Equal(t.Judge.Setup, moving()) &&
		len(t.Judge.Files) == 0 && t.Judge.Patch == nil
}

// native reports whether a task is judged as all of this format are.
func native(t task.Task) bool {
	return t.Judge.Command.Shell == testCommand && t.Judge.Parser == "reward"
}

// moving are the commands that put the tests where Harbor has them.
func moving() []string {
	return []string{"rm -rf /tests /logs/verifier && mv " + testsAside + " /tests && chmod -R a+rX /tests"}
}

// noteKeys are where in task.toml the note is.
const noteTable, noteKey = "assayd", "note"

func noteOf(c config) (text string, ok bool) {
	table, _ := c.Metadata[noteTable].(map[string]any)
	text, ok = table[noteKey].(string)
	return text, ok
}

// configSum is the checksum of what task.toml says beside the note, however it is written.
func configSum(data []byte) (string, error) {
	var all map[string]any
	if err := toml.Unmarshal(data, &all); err != nil {
		return "", fmt.Errorf("read task.toml: %w", err)
	}
	if m, ok := all["metadata"].(map[string]any); ok {
		if delete(m, noteTable); len(m) == 0 {
			delete(all, "metadata")
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		return "", fmt.Errorf("read task.toml: %w", err)
	}
	return folder.Sum(text), nil
}

// configName is under which the sum of task.toml is noted.
const configName = "=" + configFile

// restore takes the task from its note, its trees and its instruction.
func (r *reader) restore(text, name string, data []byte) {
	note, err := folder.ParseNote(text, name)
	if err != nil {
		r.Problem("%v", err)
		return
	}
	root := r.Root
	if r.dir != "." {
		if root, err = root.Sub(r.dir); err != nil {
			r.Problem("%v", err)
			return
		}
		defer root.Close()
	}
	if err = note.Holds(root); err == nil {
		var sum string
		if sum, err = configSum(data); err == nil && sum != note.Sums[configName] {
			err = folder.Changed(configFile)
		}
	}
	if err != nil {
		r.Problem("%v", err)
		return
	}
	r.t = note.Task
	if err := root.Restore(places(&r.t), r.o.Trees); err != nil {
		r.Problem("%v", err)
	}
	r.at = r.dir
	r.instruction()
	if err := folder.Check(r.t); err != nil {
		r.Problem("%v", err)
	}
}
