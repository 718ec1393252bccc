package workbench

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/mining/reason"
	"github.com/assayd/assayd/runtime/task/runner"
)

// tryHint proves the environment of an earlier pull request. Where tests are to be written it
// cannot be proved alone, and the model gets to see it. One that is refused says nothing of the
// pull request, whatever the reason: it may have run the tests of the other one.
func (b *bench) tryHint(ctx context.Context) (Proposal, bool, error) {
	if b.job.Hint == nil || b.job.Write {
		return Proposal{}, false, nil
	}
	e, wrong := settle(*b.job.Hint)
	if wrong != "" {
		b.hint = wrong
		return Proposal{}, false, nil
	}
	p := Proposal{Environment: refit(e, b.job.TestFiles)}
	wrong, err := b.try(ctx, p)
	if rejected := reason.Of(err); rejected != nil {
		wrong, err = rejected.Error(), nil
	}
	if err != nil {
		return Proposal{}, false, fmt.Errorf("prove a known environment of %s: %w", b.job.Repo, err)
	}
	b.hint = shown([]byte(wrong))
	return p, wrong == "", nil
}

// refit makes an environment that names the tests of another pull request name those of this
// one, in the place of the first. A line that is more than words, or names no tests, stays.
func refit(e Environment, files []string) Environment {
	var ours []string
	for _, file := range files {
		if runner.IsTest(e.Parser, file) {
			if e.Parser == "gotest" {
				file = "./" + path.Dir(file)
			}
			ours = append(ours, runner.Quote(file))
		}
	}
	slices.Sort(ours)
	ours = slices.Compact(ours)
	if len(ours) == 0 || strings.ContainsAny(e.Test, "'\"\\`$;&|<>(){}*?[]") {
		return e
	}
	var line []string
	at := -1
	for _, word := range strings.Fields(e.Test) {
		if !names(e.Parser, word) {
			line = append(line, word)
		} else if at < 0 {
			at = len(line)
		}
	}
	if at < 0 {
		return e
	}
	e.Test = strings.Join(slices.Insert(line, at, ours...), " ")
	return e
}

// names tells whether a word of a command names files of tests. One that means all of them
// does not.
func names(parser, word string) bool {
	if strings.HasPrefix(word, "-") || strings.Contains(word, "=") {
		return false
	}
	switch parser {
	case "gotest":
		return strings.HasPrefix(word, "./") && !strings.HasSuffix(word, "...")
	case "pytest", "pytest_v", "jest", "mocha", "node":
		if parser == "pytest_v" {
			parser = "pytest"
		}
		file, _, _ := strings.Cut(word, "::")
		return runner.IsTest(parser, file)
	}
	return false
}
