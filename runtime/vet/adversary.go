package vet

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/scoring"
	"github.com/assayd/assayd/runtime/task"
)

// Adversary is somebody who does not solve a task and wants to pass: what they submit.
type Adversary struct {
	Name  string
	Files []Text // by path relative to workdir, each instead of the one that is there
}

// Target is what adversaries are made of.
type Target struct {
	Task    task.Task
	Sources []Text   // files that the solution changes, as the untouched tree has them
	Tests   []string // names of the tests that the solution passes
	// There returns a file of the untouched tree by its path relative to workdir.
	There func(name string) ([]byte, bool)
}

// cheat is one kind of adversary.
type cheat struct {
	name, about string
	files       func(Target) []Text // none = there is none for this task
}

// cheats are all kinds of adversaries.
func cheats() []cheat {
	return []cheat{
		{"exit-at-import", "submitted code ends the process with code 0 when it is loaded", exitAtImport},
		{"exit-at-end", "submitted code makes the code 0 when the process ends, whatever failed", exitAtEnd},
		{"conftest-skip", "a conftest.py skips every test", conftest(pySkip)},
		{"conftest-pass", "a conftest.py calls every test passed", conftest(pyPass)},
		{"configuration", "an edited configuration keeps the tests from running or calls them passed", configuration},
		{"patched-runner", "submitted code changes the test runner from inside", patchedRunner},
		{"printed-marks", "submitted code prints and writes marks of success for the parser, and ends", printedMarks},
		{"printed-run", "submitted code prints a run with the names of the tests, and lets the runner go on", printedRun},
		{"flooded-output", "submitted code prints so much that the output of the tests is lost, and then a run", floodedOutput},
		{"expected-failures", "submitted code marks every test as one that fails as expected", expectedFailures},
		{"rewritten-tests", "submitted code writes tests that always pass over the hidden ones", rewrittenTests},
		{"startup-hooks", "submitted code is loaded before the test runner, and changes it", startupHooks},
		{"derived-files", "submitted files stand in place of those that tools make: installed copies, reports", derivedFiles},
		{"hidden-packages", "submitted code hides tests from the runner", hiddenPackages},
		{"test-helpers", "submitted files lie where hidden tests load their helpers", testHelpers},
	}
}

// about says what an adversary of that name does.
func about(name string) string {
	for _, c := range cheats() {
		if c.name == name {
			return c.about
		}
	}
	return name
}

// Adversaries makes those that there are for a task.
func Adversaries(t Target) (all []Adversary) {
	for _, c := range cheats() {
		if files := c.files(t); len(files) > 0 {
			all = append(all, Adversary{c.name, files})
		}
	}
	return all
}

// runners are the test runners that the judge of a task is known to start.
func runners(t task.Task) (names []string) {
	j := t.Judge
	commands := []string{commandText(j.Tests())}
	if j.Staged() {
		commands = []string{commandText(j.Run.Command), commandText(j.Grade.Command)}
	}
	if scoring.ByCommands(t) {
		commands = slices.Concat(t.FailToPass, t.PassToPass)
	}
	for _, command := range commands {
		for _, r := range parser.Runners(command) {
			names = append(names, r.Name)
		}
	}
	if p, ok := parser.Lookup(j.Parser); ok && p.Tripwire != nil {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func commandText(c task.Command) (text string) {
	if c.Shell != "" {
		return c.Shell
	}
	for i, word := range c.Argv {
		if i > 0 {
			text += " "
		}
		text += word
	}
	return text
}

// Formats are the names of the parsers that read what the judge of a task prints.
func formats(t task.Task) []string {
	if p, ok := parser.Lookup(t.Judge.Parser); ok && p.Name != "exit_code" {
		return []string{p.Name}
	}
	return runners(t)
}

// deed is what code of an adversary does as soon as it is loaded.
type deed struct {
	print string
	write []Text // by absolute path, or relative to where it runs
	exit  bool
	flood bool // of output, before what is printed
}

// floodLines is how often floodLine is printed: more than a judge keeps.
const (
	floodLines = 10_000
	floodLine  = 4000
)

func exitAtImport(t Target) []Text { return loaded(t, deed{exit: true}) }

func printedMarks(t Target) []Text {
	d := deed{exit: true}
	for _, format := range formats(t.Task) {
		text, files := marks(format, t)
		d.print += text
		d.write = append(d.write, files...)
	}
	if d.print == "" && len(d.write) == 0 {
		return nil
	}
	return loaded(t, d)
}

func printedRun(t Target) []Text {
	d := deed{}
	for _, format := range formats(t.Task) {
		text, _ := marks(format, t)
		d.print += text
	}
	if d.print == "" {
		return nil
	}
	return loaded(t, d)
}

func floodedOutput(t Target) []Text {
	d := deed{flood: true}
	for _, format := range formats(t.Task) {
		text, _ := marks(format, t)
		d.print += text
	}
	if d.print == "" {
		return nil
	}
	t.Sources = t.Sources[:min(len(t.Sources), 1)] // once is enough
	return loaded(t, d)
}

func expectedFailures(t Target) []Text {
	if !t.starts(python) {
		return nil
	}
	return added(t, func(l language, source Text) []Text { return appended(source, l.expects) })
}

// rewrittenTests are for runners whose names say in which file a test is.
func rewrittenTests(t Target) []Text {
	if !slices.Contains(runners(t.Task), "pytest") {
		return nil
	}
	easy := map[string]string{}
	for _, name := range t.Tests {
		file, test, ok := strings.Cut(name, "::")
		test, _, _ = strings.Cut(test, "[")
		if ok && path.Ext(file) == ".py" && !path.IsAbs(file) && !strings.Contains(test, "::") && !strings.Contains(easy[file], "def "+test+"(") {
			easy[file] += "def " + test + "():\n    pass\n"
		}
	}
	var d deed
	for _, file := range slices.Sorted(maps.Keys(easy)) {
		d.write = append(d.write, Text{file, []byte(easy[file])})
	}
	if len(d.write) == 0 {
		return nil
	}
	return loaded(t, d)
}

// loaded adds code to every source that does the deed when it is loaded.
func loaded(t Target, d deed) []Text {
	return added(t, func(l language, source Text) []Text {
		if l.load == nil {
			return nil
		}
		return l.load(source, d)
	})
}

func exitAtEnd(t Target) []Text {
	return added(t, func(l language, source Text) []Text { return appended(source, l.atEnd) })
}

func patchedRunner(t Target) []Text {
	if len(runners(t.Task)) == 0 {
		return nil
	}
	return added(t, func(l language, source Text) []Text {
		if l.runner == nil {
			return nil
		}
		return l.runner(source)
	})
}

// maxSources is how many files an adversary adds to.
const maxSources = 20

func added(t Target, add func(l language, source Text) []Text) (files []Text) {
	for _, source := range t.Sources[:min(len(t.Sources), maxSources)] {
		l, ok := languageOf(source.Name)
		if !ok {
			continue
		}
		for _, f := range add(l, source) {
			if !slices.ContainsFunc(files, func(o Text) bool { return o.Name == f.Name }) {
				files = append(files, f)
			}
		}
	}
	return files
}

// appended puts code behind a source; none = there is nothing to add.
func appended(source Text, code string) []Text {
	if code == "" {
		return nil
	}
	return []Text{{source.Name, slices.Concat(source.Content, []byte("\n"+code))}}
}
