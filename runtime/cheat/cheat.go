package cheat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Names of the rules.
const (
	FutureHistory = "future_history" // Git objects that the base does not reach
	Upstream      = "upstream"       // the repository or a package of the same project, from outside
	WebTools      = "web_tools"      // a web tool although there is to be none
	JudgePaths    = "judge_paths"    // hidden tests, files that steer a runner, what is assayd's
	ResultMarkers = "result_markers" // code that prints results, ends a runner or patches it
	SpecialCasing = "special_casing" // code that knows the tests
	Answers       = "answers"        // answers that are printed or decoded
	Models        = "models"         // other models than the run's
)

// Facts are what the rules have to know of a task and a trial. What is empty is not known,
// and nothing is found by it.
type Facts struct {
	Workdir     string   // absolute
	Instruction string   // all that the agent was told: what is in it is nobody's secret
	Repo        string   // URL of the repository that the task was made of
	Base        string   // the commit at which it was cut
	Upstreams   []string // further names of the project: owner/name, or that of a package
	Hidden      []string // files that the judge lays over workdir, or folders, with a slash at the end: relative to it, or absolute
	Protected   []string // globs of files that steer the runner, at any depth
	Tests       []string // names of the tests that count
	Answers     []string // texts that only the judge has
	Parser      string   // says which results are read; "" = any
	WebOff      bool     // the agent was to have no web tools
	Model       string   // of the run
}

// Sources are what is looked at. Each may be absent, and is read once, in a stream.
type Sources struct {
	Transcript io.Reader // of the model gateway
	Log        io.Reader // of the agent: for where there is no transcript, or not all of it
	Patch      io.Reader // what changed in the work directory, as a diff in Git's format
	Archives   []Archive // of rounds that Patch does not tell of
	// Untouched returns a file that the agent began with, by its path relative to workdir: it
	// is not hidden, and its lines are not the agent's. It may be nil.
	Untouched func(name string) ([]byte, bool)
}

// Archive is one that was submitted: a tar, as the judge keeps it, opened when its turn comes.
// What it has in common with what was looked at before is not told again.
type Archive struct {
	Round string
	Open  func() (io.ReadCloser, error)
}

// Finding is something that those who cheat do, and where it was seen. Others may have a
// reason to do it, too.
type Finding struct {
	Rule     string
	Where    string // "exchange 12", "log line 3", "patch", "archive agent-2"; "" = Evidence counts the rest
	Evidence string // one line of at most 300 bytes
}

// Look returns what the rules find, by rule and in the order in which it was seen: the first
// 20 findings of a rule, and how many more there are. It ends early with ctx. The error tells
// what could not be looked at; the findings are good all the same.
func Look(ctx context.Context, facts Facts, sources Sources) ([]Finding, error) {
	return newSearch(ctx.Err, facts, sources.Untouched).look(sources)
}

func (s *search) look(sources Sources) ([]Finding, error) {
	var errs []error
	read := func(what string, r io.Reader, f func(io.Reader) error) {
		if r == nil {
			return
		}
		if err := f(&ending{r, s.ended}); err != nil {
			errs = append(errs, fmt.Errorf("look through the %s: %w", what, err))
		}
	}
	read("transcript", sources.Transcript, s.transcript)
	read("log", sources.Log, s.log)
	read("patch", sources.Patch, func(r io.Reader) error { return s.patch(patchPlace, r) })
	for _, a := range sources.Archives {
		what := "archive of " + a.Round
		if err := s.ended(); err != nil {
			errs = append(errs, fmt.Errorf("look through the %s and what came after it: %w", what, err))
			break
		}
		tar, err := a.Open()
		if err != nil {
			errs = append(errs, fmt.Errorf("open the %s: %w", what, err))
			continue
		}
		read(what, tar, func(r io.Reader) error { return s.archive(archivePlace+a.Round, r) })
		_ = tar.Close() // only read
	}
	return s.found(), errors.Join(append(errs, s.unread()...)...)
}

// ending is a source that ends when there is no time left to look at it.
type ending struct {
	source io.Reader
	ended  func() error
}

// Read implements io.Reader.
func (e *ending) Read(p []byte) (int, error) {
	if err := e.ended(); err != nil {
		return 0, err
	}
	return e.source.Read(p)
}

// Flags are the names by which a trial is marked, "cheat:" with a rule, sorted and each once.
func Flags(findings []Finding) []string {
	flags := make([]string, len(findings))
	for i, f := range findings {
		flags[i] = "cheat:" + f.Rule
	}
	slices.Sort(flags)
	return slices.Compact(flags)
}
