package scan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/assayd/assayd/runtime/cheat"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial/agentlog"
	"github.com/assayd/assayd/runtime/trial/trydir"
	"github.com/assayd/assayd/runtime/trial/worktree"
)

// Bounds of the look at what an agent did, which wrote what is looked at. The tree that agents begin
// with is read once for all trials of a task.
const (
	scanTime = time.Minute
	treeTime = 5 * time.Minute
)

// Subject is an ended try whose agent's work is looked at.
type Subject struct {
	Dir         trydir.Dir
	Task        task.Task
	WorkRef     string            // name of the work image
	WorkID      string            // its id
	Labels      map[string]string // of a container that the tree of that image is read from
	Model       string            // of the agent
	Instruction string            // what the agent was told
	Hidden      []string          // paths of hidden files
	Round       string            // whose tree says what the agent changed: the best round, else the last
}

// Scanner looks at what agents did.
type Scanner struct {
	Trees    worktree.Reader
	OpenBlob func(digest string) (io.ReadCloser, error)
}

// Scan looks for what those do who cheat, in what the agent of an ended try said and in what it left in
// the rounds of that try. The error says what could not be looked at: no finding is no clean record there.
func (c Scanner) Scan(ctx context.Context, of Subject, subs []round.Submission) ([]cheat.Finding, error) {
	sources, done, unread := sourcesOf(of.Dir)
	defer done()
	subs = slices.DeleteFunc(slices.Clone(subs), func(sub round.Submission) bool { return sub.Archive == "" || sub.Kind == round.KindMixed })
	findings, err := c.findings(ctx, of, subs, handedIn(of.Round, subs), sources)
	return findings, errors.Join(unread, err)
}

// sourcesOf are the files of a try that are looked at, until done is called. The error tells
// which are there and cannot be opened.
func sourcesOf(dir trydir.Dir) (sources cheat.Sources, done func(), err error) {
	var files []io.Closer
	open := func(what string, open func() (io.ReadCloser, error)) io.Reader {
		file, bad := open()
		if bad != nil {
			if !errors.Is(bad, fs.ErrNotExist) {
				err = errors.Join(err, fmt.Errorf("open the %s: %w", what, bad))
			}
			return nil
		}
		files = append(files, file)
		return file
	}
	sources.Transcript = open("transcript", func() (io.ReadCloser, error) {
		return os.Open(dir.Transcript())
	})
	if sources.Transcript == nil { // beside a transcript it would tell the same again
		sources.Log = open("log", func() (io.ReadCloser, error) {
			log, _, err := agentlog.Read(dir.Log(), 0)
			return log, err
		})
	}
	sources.Patch = open("patch", func() (io.ReadCloser, error) { // of single mode
		return os.Open(dir.Patch())
	})
	return sources, func() {
		for _, file := range files {
			_ = file.Close() // only read
		}
	}, err
}

// handedIn is the round of a name.
func handedIn(name string, subs []round.Submission) (round round.Submission) {
	for _, sub := range subs {
		if sub.Round == name {
			round = sub
		}
	}
	return round
}

// otherRounds are the archives of the other rounds, the latest first and equal ones once.
func (c Scanner) otherRounds(subs []round.Submission, round round.Submission) (others []cheat.Archive) {
	seen := map[string]bool{round.Archive: true}
	for _, sub := range slices.Backward(subs) {
		if !seen[sub.Archive] {
			seen[sub.Archive] = true
			others = append(others, cheat.Archive{Round: sub.Round, Open: func() (io.ReadCloser, error) { return c.OpenBlob(sub.Archive) }})
		}
	}
	return others
}

// findings are what the rules find in the sources, in what a round has changed, and in the other
// rounds. Without the tree that the agent began with nobody knows what it changed.
func (c Scanner) findings(ctx context.Context, of Subject, subs []round.Submission, round round.Submission, sources cheat.Sources) (found []cheat.Finding, err error) {
	look := func(untouched func(string) ([]byte, bool)) {
		ctx, cancel := context.WithTimeout(ctx, scanTime)
		defer cancel()
		sources.Untouched = untouched
		var missed error
		found, missed = cheat.Look(ctx, factsOf(of), sources)
		err = errors.Join(err, missed)
	}
	reading, cancel := context.WithTimeout(ctx, treeTime)
	defer cancel()
	base, err := c.Trees.Base(reading, of.Task, of.WorkRef, of.WorkID, of.Labels)
	if err != nil {
		look(nil)
		return found, err
	}
	if sources.Patch == nil {
		var diff []byte
		diff, err = c.changed(reading, of, base, round)
		sources.Patch = bytes.NewReader(diff)
		sources.Archives = c.otherRounds(subs, round)
	}
	if bad := base.Read(ctx, func(file func(string) ([]byte, bool)) error { look(file); return nil }); bad != nil {
		err = errors.Join(err, bad)
		sources.Archives = nil
		look(nil)
	}
	return found, err
}

// changed is what a round changed in the tree that the agent began with, as a diff.
func (c Scanner) changed(ctx context.Context, of Subject, base *patch.Base, round round.Submission) ([]byte, error) {
	if round.Archive == "" {
		return nil, nil
	}
	tree, err := c.OpenBlob(round.Archive)
	if err != nil {
		return nil, fmt.Errorf("open the archive of %s: %w", round.Round, err)
	}
	defer func() { _ = tree.Close() }() // only read
	return base.Diff(ctx, tree, of.Task.Submit.Paths)
}

// factsOf are what the rules have to know of the trial.
func factsOf(of Subject) cheat.Facts {
	t := of.Task
	facts := cheat.Facts{
		Workdir: t.Workdir, Instruction: of.Instruction, Hidden: of.Hidden,
		Protected: slices.Clone(t.Judge.Protect), Tests: slices.Concat(t.Judge.Expect, t.FailToPass, t.PassToPass),
		Parser: t.Judge.Parser, WebOff: t.Network.Mode != "open", Model: of.Model,
	}
	if p, ok := parser.Lookup(t.Judge.Parser); ok {
		facts.Protected = append(facts.Protected, p.Protect...)
	}
	if t.Repo != nil {
		facts.Repo, facts.Base = t.Repo.URL, t.Repo.Commit
	}
	return facts
}
