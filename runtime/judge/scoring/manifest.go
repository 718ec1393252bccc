package scoring

import (
	"slices"

	"github.com/assayd/assayd/runtime/task"
)

// Where the manifest of a task comes from.
const (
	Declared      = "declared"  // by judge.expect, or fail_to_pass and pass_to_pass
	FromReference = "reference" // the names of a reference run
	NoManifest    = "none"
)

// Manifest returns the names of all tests that a judging counts and where they come from:
// what the task declares, else what a reference run of its judge showed.
func Manifest(t task.Task, reference []string) (names []string, source string) {
	switch names = DeclaredTests(t); {
	case len(names) > 0:
		return names, Declared
	case len(reference) > 0 && NamesTests(t.Judge.Parser):
		return reference, FromReference
	}
	return nil, NoManifest
}

// NamesTests reports whether the tests that a parser of that name sees are called the same
// in each run, so that the names of one can be expected of the next.
func NamesTests(name string) bool {
	return !slices.Contains([]string{"exit_code", "score_sum", "reward"}, ParserName(name))
}

// FixesTotal reports whether a task's rate is comparable without a manifest: it is no matter
// of how many tests were seen, or the grader itself says what it is.
func FixesTotal(t task.Task) bool {
	return !NamesTests(t.Judge.Parser) || t.Judge.Game != "" || ByCommands(t) || ParserName(t.Judge.Parser) == "structured_json"
}

// DeclaredTests returns the names of all tests that a task counts, or nil if unknown.
func DeclaredTests(t task.Task) []string {
	if len(t.Judge.Expect) > 0 {
		return t.Judge.Expect
	}
	if ParserName(t.Judge.Parser) == "exit_code" {
		return nil // the lists name commands then, or what nobody can see
	}
	return append(slices.Clone(t.FailToPass), t.PassToPass...)
}

// WithoutManifest is the task as its private set is judged: the names are of the open one.
func WithoutManifest(t task.Task) task.Task {
	t.Judge.Expect, t.FailToPass, t.PassToPass = nil, nil, nil
	return t
}

// ParserName is the name of the parser that a task uses: exit_code where it names none.
func ParserName(name string) string {
	if name == "" {
		return "exit_code"
	}
	return name
}
