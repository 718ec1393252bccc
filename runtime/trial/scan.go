package trial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/cheat"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/trial/agentlog"
)

// Bounds of the look at what an agent did, which wrote what is looked at. The tree that agents begin
// with is read once for all trials of a task.
const (
	scanTime = time.Minute
	treeTime = 5 * time.Minute
)

// Scans reports whether somebody looks, once the trial is over, at what its agent did.
func (s State) Scans() bool { return !s.Cell.Agent.Solves() && !s.StartedAt.IsZero() }

// WithFlags is the state of an ended trial with further flags.
func (s State) WithFlags(flags []string) State {
	result := *s.Result
	result.Flags = slices.Clone(result.Flags)
	for _, flag := range flags {
		result.Flags = appendOnce(result.Flags, flag)
	}
	s.Result = &result
	return s
}

// Scan looks for what those do who cheat, in what the agent of an ended try said and in what it left,
// and returns the flags that the trial gets and the records that say why. It never changes a verdict.
// A record also says what could not be looked at: no finding is no clean record there.
func (h Host) Scan(ctx context.Context, s State, subs []round.Submission) (flags []string, effects []Effect) {
	sources, done, unread := h.sources(s)
	defer done()
	subs = slices.DeleteFunc(OfTry(subs, s.Try), func(sub round.Submission) bool { return sub.Archive == "" || sub.Kind == round.KindMixed })
	findings, err := h.findings(ctx, s, subs, handedIn(s, subs), sources)
	if len(findings) > 0 {
		f := Flagged{Trial: s.ID, Try: s.Try, Flags: cheat.Flags(findings)}
		for _, found := range findings {
			f.Findings = append(f.Findings, FindingRecord(found))
		}
		flags, effects = f.Flags, append(effects, Effect{"trial.flagged", f})
	}
	if err := errors.Join(unread, err); err != nil {
		detail := "not all of what the agent did could be looked at: " + strings.ReplaceAll(err.Error(), "\n", "; ")
		for _, event := range []string{"cheat_scan_incomplete", "cheat_unread"} { // the second is the name that it had first
			effects = append(effects, happened(s, event, detail))
		}
	}
	return flags, effects
}

// sources are the files of a try that are looked at, until done is called. The error tells
// which are there and cannot be opened.
func (h Host) sources(s State) (sources cheat.Sources, done func(), err error) {
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
		return os.Open(h.dir(s).Transcript())
	})
	if sources.Transcript == nil { // beside a transcript it would tell the same again
		sources.Log = open("log", func() (io.ReadCloser, error) {
			log, _, err := agentlog.Read(h.dir(s).Log(), 0)
			return log, err
		})
	}
	sources.Patch = open("patch", func() (io.ReadCloser, error) { // of single mode
		return os.Open(h.dir(s).Patch())
	})
	return sources, func() {
		for _, file := range files {
			_ = file.Close() // only read
		}
	}, err
}

// handedIn is the round whose tree says what the agent changed: the best one, else the last.
func handedIn(s State, subs []round.Submission) (round round.Submission) {
	name := s.FinalRound
	if s.Result != nil && s.Result.Best != nil {
		name = s.Result.Best.Round
	}
	for _, sub := range subs {
		if sub.Round == name {
			round = sub
		}
	}
	return round
}

// otherRounds are the archives of the other rounds, the latest first and equal ones once.
func (h Host) otherRounds(subs []round.Submission, round round.Submission) (others []cheat.Archive) {
	seen := map[string]bool{round.Archive: true}
	for _, sub := range slices.Backward(subs) {
		if !seen[sub.Archive] {
			seen[sub.Archive] = true
			others = append(others, cheat.Archive{Round: sub.Round, Open: func() (io.ReadCloser, error) { return h.OpenBlob(sub.Archive) }})
		}
	}
	return others
}

// findings are what the rules find in the sources, in what a round has changed, and in the other
// rounds. Without the tree that the agent began with nobody knows what it changed.
func (h Host) findings(ctx context.Context, s State, subs []round.Submission, round round.Submission, sources cheat.Sources) (found []cheat.Finding, err error) {
	look := func(untouched func(string) ([]byte, bool)) {
		ctx, cancel := context.WithTimeout(ctx, scanTime)
		defer cancel()
		sources.Untouched = untouched
		var missed error
		found, missed = cheat.Look(ctx, h.facts(s), sources)
		err = errors.Join(err, missed)
	}
	reading, cancel := context.WithTimeout(ctx, treeTime)
	defer cancel()
	base, err := h.Trees().Base(reading, s.Cell.Task, s.WorkImage.Ref, s.WorkImage.ID, labels(h.Owner, s, container.RoleBuild))
	if err != nil {
		look(nil)
		return found, err
	}
	if sources.Patch == nil {
		var diff []byte
		diff, err = h.changed(reading, s, base, round)
		sources.Patch = bytes.NewReader(diff)
		sources.Archives = h.otherRounds(subs, round)
	}
	if bad := base.Read(ctx, func(file func(string) ([]byte, bool)) error { look(file); return nil }); bad != nil {
		err = errors.Join(err, bad)
		sources.Archives = nil
		look(nil)
	}
	return found, err
}

// changed is what a round changed in the tree that the agent began with, as a diff.
func (h Host) changed(ctx context.Context, s State, base *patch.Base, round round.Submission) ([]byte, error) {
	if round.Archive == "" {
		return nil, nil
	}
	tree, err := h.OpenBlob(round.Archive)
	if err != nil {
		return nil, fmt.Errorf("open the archive of %s: %w", round.Round, err)
	}
	defer func() { _ = tree.Close() }() // only read
	return base.Diff(ctx, tree, s.Cell.Task.Submit.Paths)
}

// facts are what the rules have to know of the trial.
func (h Host) facts(s State) cheat.Facts {
	t := s.Cell.Task
	facts := cheat.Facts{
		Workdir: t.Workdir, Instruction: s.Prompt(), Hidden: s.Hidden,
		Protected: slices.Clone(t.Judge.Protect), Tests: slices.Concat(t.Judge.Expect, t.FailToPass, t.PassToPass),
		Parser: t.Judge.Parser, WebOff: t.Network.Mode != "open", Model: s.Cell.Agent.Model,
	}
	if p, ok := parser.Lookup(t.Judge.Parser); ok {
		facts.Protected = append(facts.Protected, p.Protect...)
	}
	if t.Repo != nil {
		facts.Repo, facts.Base = t.Repo.URL, t.Repo.Commit
	}
	return facts
}
