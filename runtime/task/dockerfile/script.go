package dockerfile

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/folder"
)

// Overlay writes into dir what the judge image of a task has beside its work image, and
// returns the lines of a shell that put it over the working folder, which they run in. There
// dir is found at mount.
func Overlay(w *folder.Writer, dir, mount string, t task.Task, trees task.Trees) string {
	var b strings.Builder
	at := path.Join(mount, aside)
	if t.Judge.Context.Digest != "" {
		w.Tree(path.Join(dir, aside, "context"), t.Judge.Context, trees)
		fmt.Fprintf(&b, "cp -a %s/context/. . || exit 1\n", at)
	}
	for i, target := range slices.Sorted(maps.Keys(t.Judge.Files)) {
		name := fmt.Sprintf("files/%03d", i)
		w.Made(path.Join(dir, aside, name), t.Judge.Files[target])
		to := Place(t.Workdir, target)
		fmt.Fprintf(&b, "mkdir -p %s && cp %s/%s %s || exit 1\n", Quote(path.Dir(to)), at, name, Quote(to))
		if strings.HasPrefix(t.Judge.Files[target], "#!") {
			fmt.Fprintf(&b, "chmod 755 %s\n", Quote(to))
		}
	}
	if t.Judge.Patch != nil {
		w.Made(path.Join(dir, aside, "hidden.patch"), string(t.Judge.Patch))
		fmt.Fprintf(&b, "git -c safe.directory='*' apply --whitespace=nowarn %s/hidden.patch || exit 1\n", at)
	}
	for _, command := range t.Judge.Setup {
		fmt.Fprintf(&b, "%s || exit 1\n", Run(command))
	}
	return b.String()
}

// Run is a command as it is run by us, as a line for a shell.
func Run(command string) string { return "/bin/sh -c " + Quote(command) }

// RunAs is Run for root, to run commands as somebody else.
func RunAs(user string) func(command string) string {
	if user == "" || user == "root" || user == "0" {
		return Run
	}
	return func(command string) string { return "runuser -u " + Quote(user) + " -- " + Run(command) }
}
