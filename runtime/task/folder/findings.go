package folder

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/truncate"
)

// Findings gathers what is to be said of one task.
type Findings struct {
	File, Task        string
	Problems, Notices []task.Problem
}

// AskedFor tells of a file of a solution that its hidden tests may load.
const AskedFor = "the solution changes %q in a folder of hidden tests: that file is left to submissions, all others there are the judge's"

// Problem says why the task cannot be used.
func (f *Findings) Problem(format string, args ...any) {
	f.Problems = append(f.Problems, f.say(format, args))
}

// Notice says what the task loses or needs.
func (f *Findings) Notice(format string, args ...any) {
	f.Notices = append(f.Notices, f.say(format, args))
}

func (f *Findings) say(format string, args []any) task.Problem {
	return task.Problem{File: f.File, Task: f.Task, Text: Shown(fmt.Sprintf(format, args...))}
}

// In is the same task in another of its files.
func (f *Findings) In(file string, say func(*Findings)) {
	was := f.File
	f.File = file
	say(f)
	f.File = was
}

// Add puts a task with all that was found into a dataset. One with a problem is left out.
func (f *Findings) Add(d *task.Dataset, t task.Task) {
	d.Problems = listed(d.Problems, f.Problems)
	if len(f.Problems) == 0 {
		d.Notices = listed(d.Notices, f.Notices)
		d.Tasks = append(d.Tasks, t)
	}
}

// maxListed bounds what is told of one dataset: each finding is kept, shown and stored.
const maxListed = 1000

// listed adds findings up to the bound, and says once that there are more.
func listed(all, more []task.Problem) []task.Problem {
	switch room := maxListed - len(all); {
	case len(more) == 0 || room < 0:
		return all
	case len(more) > room:
		return append(append(all, more[:room]...), task.Problem{Text: fmt.Sprintf("more is to be said than these %d findings", maxListed)})
	}
	return append(all, more...)
}

// Shown is a text without what would command a terminal, and bounded.
func Shown(text string) string {
	return Printable(truncate.Marked(text, 2000, "…"))
}

// Printable is a text without what would command a terminal.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}
