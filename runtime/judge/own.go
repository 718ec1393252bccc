package judge

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/sandbox"
	"github.com/assayd/assayd/runtime/judge/sanitize"
	"github.com/assayd/assayd/runtime/judge/scoring"
	"github.com/assayd/assayd/runtime/judge/steer"
	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/runner"
)

// runners names the parsers whose runners a judge starts: its parser's, and those that its
// command names.
func runners(t task.Task) []string {
	found := []string{scoring.ParserName(t.Judge.Parser)}
	tests := t.Judge.Tests()
	commands := []string{tests.Line()}
	if scoring.ByCommands(t) {
		commands = scoring.CommandsOf(t)
	}
	for _, command := range commands {
		found = append(found, steer.Runners(command)...)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// steered are globs of what steers these runners. What of it is a test itself (of Go) is the
// judge's only where its parser says so.
func steered(names []string) []string {
	globs := steer.KeptAlways()
	for _, name := range names {
		globs = append(globs, steer.Kept(name)...)
		if p, ok := parser.Lookup(name); ok && name != "gotest" {
			globs = append(globs, p.Protect...)
		}
	}
	return globs
}

// owned is what a submission leaves to the session's image beside what is hidden there. What
// a run stage makes is another matter: a task may want just what a tool has built.
func (s *session) owned(p *sandbox.Profile) *sanitize.Own {
	if s.grades {
		return nil
	}
	env := s.Task.Judge.Env
	names := runners(s.Task)
	own := &sanitize.Own{
		Runners: names, Kept: steered(names), Folders: s.folders, Free: s.free, Marks: p.Marks, Settings: p.Mixed,
	}
	for _, name := range steer.CacheVariables() {
		if dir, ok := inWorkdir(s.Task.Workdir, env[name]); ok && dir != "." {
			own.Caches = append(own.Caches, dir)
		}
	}
	for _, dir := range filepath.SplitList(env["PYTHONPATH"]) {
		if dir, ok := inWorkdir(s.Task.Workdir, dir); ok {
			own.Python = append(own.Python, dir)
		}
	}
	return own
}

// inWorkdir is a path of the environment, relative to workdir, if it is there.
func inWorkdir(workdir, name string) (string, bool) {
	if name == "" {
		return "", false
	}
	if path.IsAbs(name) {
		rest, ok := strings.CutPrefix(path.Clean(name)+"/", strings.TrimSuffix(path.Clean(workdir), "/")+"/")
		if !ok {
			return "", false
		}
		name = rest
	}
	name = path.Clean(name)
	return name, filepath.IsLocal(name)
}

// testFolders are the folders from which the hidden tests of a pull request load what they
// need, and the files that its solution changes, there or elsewhere: those are code that is
// asked for. Where a script lays the tests, what is excluded names them.
func testFolders(t task.Task) (folders, free []string) {
	if t.Solution == nil || len(t.Solution.Patch) == 0 {
		return nil, nil
	}
	var tests []string
	switch {
	case t.Judge.Window != nil:
		tests = t.Submit.Exclude
	case len(t.Judge.Patch) > 0:
		var err error
		if tests, err = patch.Paths(t.Judge.Patch); err != nil {
			return nil, nil // the image cannot be made then either
		}
	}
	free, err := patch.Paths(t.Solution.Patch)
	if err != nil {
		return nil, nil // nobody can say what of them is asked for
	}
	return runner.TestFolders(tests), free
}
