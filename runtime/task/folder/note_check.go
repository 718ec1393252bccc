package folder

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/assayd/assayd/runtime/task"
)

// remote matches the addresses of repositories that are not on this machine.
var remote = regexp.MustCompile(`^(https?|ssh|git)://|^[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:`)

// CheckNote says what is wrong with a task that stands in a note as a whole. Notes come from
// strangers: they name no repository of this machine and, where the format holds text only,
// no folder that was kept for somebody else.
func CheckNote(t task.Task, text bool) error {
	if t.Repo != nil && !remote.MatchString(t.Repo.URL) {
		return fmt.Errorf("the repository %q is none of a remote machine", Shown(t.Repo.URL))
	}
	named := []task.Tree{t.Work.Context, t.Judge.Context}
	if t.Private != nil {
		named = append(named, t.Private.Context)
	}
	if t.Solution != nil {
		named = append(named, t.Solution.Context)
	}
	for _, s := range []*task.Stage{t.Judge.Run, t.Judge.Grade} {
		if s != nil {
			named = append(named, s.Context)
		}
	}
	if text && slices.ContainsFunc(named, func(tree task.Tree) bool { return tree.Digest != "" }) {
		return errors.New("it names folders, and there are none")
	}
	return Check(t)
}
