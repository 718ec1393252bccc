package swebench

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/folder"
)

// newRow writes a task as a row, or says what of it no row can hold.
func newRow(t task.Task) (row, []string) {
	t = folder.Unnamed(t)
	if title, ok := sameTitles(t); ok {
		return nil, []string{fmt.Sprintf("it has two tests with the title %q, by which SWE-bench tells tests of jest apart", title)}
	}
	if problems := beyond(t); len(problems) > 0 {
		return nil, problems
	}
	r := plainRow(t)
	if reflect.DeepEqual(r.task(task.ReadOptions{}, &folder.Findings{}), t) {
		return r, nil
	}
	r[colOurs] = newNote(t, r)
	if again, err := parseNote(r[colOurs].text, r); err != nil {
		return nil, []string{err.Error()}
	} else if !reflect.DeepEqual(again, t) || !encodable(r) {
		return nil, []string{"it holds text that is no UTF-8"}
	}
	return r, nil
}

// encodable reports whether the row is the same after it has been written.
func encodable(r row) bool {
	again, err := parseRow(r.json())
	return err == nil && maps.Equal(again, r)
}

// beyond says what a row cannot hold of a task.
func beyond(t task.Task) (problems []string) {
	j := t.Judge
	for _, c := range []struct {
		yes  bool
		text string
	}{
		{t.Repo == nil && t.Image == "", "it has neither a repository nor an image that holds one"},
		{hasTrees(t), "it has folders of files; rows hold text only"},
		{t.Work.Dockerfile+j.Dockerfile != "", "it has a Dockerfile with a build context"},
		{t.Work.Image+j.Image != "" || j.FromBase, "it is judged in an image of its own; SWE-bench judges where the agent worked"},
		{t.Private != nil, "it has a private set"},
		{j.Game != "", "it is a game"},
		{j.Staged(), "it is judged in stages"},
		{j.Command.Empty() && j.Game == "" && !j.Staged(), "it is judged by commands; SWE-bench counts named tests"},
		{!j.Command.Empty() && theirs(j.Parser) == "", "SWE-bench has no log parser for the output of " + j.Parser},
		{len(t.FailToPass) == 0, "it names no test that has to be made to pass"},
		{t.Instruction == "", "it has no instruction"},
		{t.Solution != nil && len(t.Solution.Patch) == 0, "its reference solution is no patch"},
	} {
		if c.yes {
			problems = append(problems, c.text)
		}
	}
	return problems
}

func hasTrees(t task.Task) bool {
	none := task.Tree{}
	return t.Work.Context != none || t.Judge.Context != none || t.Solution != nil && t.Solution.Context != none
}

// plainRow fills the columns that SWE-bench knows, and those that the metadata came from.
func plainRow(t task.Task) row {
	r := row{}
	var raw []string
	_ = json.Unmarshal([]byte(t.Metadata[rawColumns]), &raw) // whoever edits it has texts instead
	for name, text := range t.Metadata {
		if v := (value{text, slices.Contains(raw, name)}); name != rawColumns && (!v.raw || compactJSON(text)) {
			r[name] = v
		}
	}
	set := func(name, text string) { r[name] = value{text: text} }
	for _, name := range []string{colRepo, colCommit, colTests, colHints, colCreated, colVersion, colSetup} {
		if _, ok := r[name]; !ok {
			set(name, "")
		}
	}
	set(colID, t.Name)
	set(colStatement, t.Instruction)
	set(colPatch, "")
	if t.Solution != nil {
		set(colPatch, string(t.Solution.Patch))
	}
	set(colF2P, listText(theirNames(t.Judge.Parser, t.FailToPass)))
	set(colP2P, listText(theirNames(t.Judge.Parser, t.PassToPass)))
	if ours(r.text(colParser)) != t.Judge.Parser {
		set(colParser, theirs(t.Judge.Parser))
	}
	set(colType, passAndFail)
	if t.Repo != nil {
		set(colRepo, repoOf(t.Repo.URL))
		set(colCommit, t.Repo.Commit)
	}
	if len(t.Judge.Patch) > 0 {
		set(colTests, string(t.Judge.Patch))
	}
	if text, ok := t.Judge.Files[evalFile]; ok && isScript(t) {
		set(colImage, t.Image)
		set(colScript, reopened(text))
		return r
	}
	set(colImage, imageName(t.Name))
	set(colScript, evalScript(t))
	return r
}

// compactJSON reports whether a text is JSON as newValue leaves it.
func compactJSON(text string) bool {
	v, ok, err := newValue([]byte(text))
	return err == nil && ok && v == value{text, true}
}

// isScript reports whether a task is judged in its image by a script that does all.
func isScript(t task.Task) bool {
	return t.Repo == nil && t.Image != "" && t.Workdir == workdir && len(t.Judge.Patch) == 0 && len(t.Judge.Files) == 1 &&
		slices.Equal(t.Judge.Command.Argv, []string{"/bin/bash", evalFile}) &&
		len(t.Judge.Setup)+len(t.Work.Setup)+len(t.Work.Files) == 0
}

// repoOf is owner/name of a repository's address.
func repoOf(url string) string {
	parts := strings.Split(strings.TrimSuffix(strings.Trim(url, "/"), ".git"), "/")
	if len(parts) < 2 {
		return path.Base(url)
	}
	return strings.Join(parts[len(parts)-2:], "/")
}

// imageName is the name that SWE-bench gives the image it builds of an instance.
func imageName(id string) string {
	return "sweb.eval.x86_64." + strings.ReplaceAll(strings.ToLower(id), "__", "_1776_") + ":latest"
}
