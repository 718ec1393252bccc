package workbench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/mining/reason"
	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/task/runner"
)

// Bounds of a proposal.
const (
	maxSetup   = 50
	maxCommand = 8 << 10 // bytes of one of its commands
	maxFiles   = 20
	maxTests   = 256 << 10 // bytes of one file
)

// parsers are those that tell of each test by itself: without names there is nothing that
// fails before and passes after.
func parsers() []string {
	return slices.DeleteFunc(parser.Names(), func(name string) bool {
		return slices.Contains([]string{"exit_code", "reward", "score_sum", "structured_json"}, name)
	})
}

// submission is what submit_tests takes.
type submission struct {
	Install     []string
	TestCommand string `json:"test_command"`
	Parser      string
	Files       []string
	Impossible  string
}

// submit has a proposal proved.
func (b *bench) submit(ctx context.Context, s submission) (result, error) {
	if s.Impossible != "" && s.TestCommand == "" {
		return result{}, reason.Reject(GaveUp, "%s", cut(legible(s.Impossible), 1000, 0))
	}
	p := Proposal{Environment: Environment{Setup: s.Install, Test: strings.TrimSpace(s.TestCommand), Parser: s.Parser}}
	p.Environment, s.Impossible = settle(p.Environment)
	if s.Impossible != "" {
		return toolError("not accepted: %s", s.Impossible), nil
	}
	files, wrong, err := b.written(ctx, s.Files)
	if err != nil {
		return result{}, err
	}
	if wrong != "" {
		return toolError("not accepted: %s", wrong), nil
	}
	p.Files = files
	return b.prove(ctx, p)
}

// prove has a proposal proved that was not yet.
func (b *bench) prove(ctx context.Context, p Proposal) (result, error) {
	key, err := json.Marshal(p)
	if err != nil {
		return result{}, fmt.Errorf("encode a proposal of %s: %w", b.job.Repo, err)
	}
	if wrong, known := b.refused[string(key)]; known {
		return reply("not accepted, like before: %s", wrong), nil
	}
	wrong, err := b.try(ctx, p)
	if err != nil {
		if reason.Of(err) == nil {
			err = fmt.Errorf("prove a proposal of %s: %w", b.job.Repo, err)
		}
		return result{}, err
	}
	if wrong == "" {
		b.done = &p
		return reply("accepted"), nil
	}
	wrong = shown([]byte(wrong))
	b.refused[string(key)] = wrong
	if b.tries++; b.tries == maxTries {
		return result{}, reason.Reject(Unproved, "the last of %d proposals: %s", maxTries, wrong)
	}
	return reply("not accepted: %s", wrong), nil
}

// settle checks an environment and says which parser it has.
func settle(e Environment) (Environment, string) {
	if len(e.Setup) > maxSetup {
		return e, fmt.Sprintf("more than %d commands in install", maxSetup)
	}
	for i, command := range append(slices.Clone(e.Setup), e.Test) {
		name := fmt.Sprintf("command %d of install", i+1)
		if i == len(e.Setup) {
			name = "test_command"
		}
		if wrong := line(name, strings.TrimSpace(command)); wrong != "" {
			return e, wrong
		}
		if len(command) > maxCommand || strings.ContainsAny(command, "\n\r") {
			return e, fmt.Sprintf("%s is not one line of at most %d bytes", name, maxCommand)
		}
	}
	if e.Parser == "" {
		e.Parser = runner.Guess(e.Test)
	}
	if e.Parser == "" {
		return e, "the test command does not show who understands its output: name a parser, one of " + strings.Join(parsers(), ", ")
	}
	if _, ok := parser.Lookup(e.Parser); !ok || !slices.Contains(parsers(), e.Parser) {
		return e, fmt.Sprintf("%q is no parser that tells of each test; there are %s", cut(legible(e.Parser), 100, 0), strings.Join(parsers(), ", "))
	}
	return e, ""
}

// touched notes the files of the pull request, which no test of the model's may replace.
func (b *bench) touched() error {
	if !b.job.Write {
		return nil
	}
	b.taken = slices.Clone(b.job.TestFiles)
	for _, diff := range [][]byte{b.job.Source, b.job.Tests} {
		names, err := patch.Paths(diff)
		if err != nil && !errors.Is(err, patch.ErrEmpty) {
			return fmt.Errorf("read the patches of %s: %w", b.job.Repo, err)
		}
		b.taken = append(b.taken, names...)
	}
	return nil
}

// written reads the tests of a proposal from the work directory.
func (b *bench) written(ctx context.Context, names []string) (files map[string]string, wrong string, err error) {
	switch {
	case !b.job.Write && len(names) > 0:
		return nil, "no tests are to be written: the pull request has its own; leave files away", nil
	case b.job.Write && len(names) == 0:
		return nil, "files is missing: tests are to be written", nil
	case len(names) > maxFiles:
		return nil, fmt.Sprintf("more than %d files", maxFiles), nil
	}
	for _, name := range names {
		file, wrong := b.locate(name)
		if wrong != "" {
			return nil, wrong, nil
		}
		below, ok := strings.CutPrefix(file, b.job.Workdir+"/")
		if !ok || slices.Contains(strings.Split(below, "/"), ".git") {
			return nil, fmt.Sprintf("%q is no file of the repository", below), nil
		}
		if slices.Contains(b.taken, below) {
			return nil, fmt.Sprintf("%s is changed by the pull request itself: write your tests to a file of their own", below), nil
		}
		var content []byte
		err := b.within(ctx, &b.spent.Worked, func(ctx context.Context) (err error) {
			content, err = b.room.Read(ctx, file)
			return err
		})
		switch {
		case errors.Is(err, ErrFile):
			return nil, fmt.Sprintf("%s: %s", path.Clean(below), err), nil
		case err != nil:
			return nil, "", err
		case len(strings.TrimSpace(string(content))) == 0 || len(content) > maxTests || !utf8.Valid(content) || slices.Contains(content, 0):
			return nil, fmt.Sprintf("%s is no text of at most %d bytes", below, maxTests), nil
		}
		if files == nil {
			files = map[string]string{}
		}
		files[below] = string(content)
	}
	return files, "", nil
}
