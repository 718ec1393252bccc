package trial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/cheat"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/judge"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/patch"
)

// Bounds of the look at what an agent did: what it wrote must not hold the verdict. The tree that
// agents begin with is read once for all trials of a task.
const (
	conductTime = time.Minute
	treeTime    = 5 * time.Minute
)

// conduct looks for what those do who cheat, in what the agent said and in what it left. It
// marks the verdict and never changes it. The record names each finding, and what could not be
// looked at: no finding is no clean record there.
func (m *Machine) conduct(ctx context.Context, s State, subs []judge.Submission, f *Finished) []Effect {
	if s.Cell.Agent.Solves() || s.StartedAt.IsZero() {
		return nil
	}
	sources, done, unread := m.sources(s)
	defer done()
	subs = slices.DeleteFunc(OfTry(subs, s.Try), func(sub judge.Submission) bool { return sub.Archive == "" })
	findings, err := m.findings(ctx, s, subs, handedIn(s, subs, f), sources)
	var effects []Effect
	if err := errors.Join(unread, err); err != nil {
		m.log.Warn("not all of what the agent did could be looked at", "error", err)
		effects = append(effects, m.happened(s, "cheat_unread", "not all of what the agent did could be looked at: "+strings.ReplaceAll(err.Error(), "\n", "; ")))
	}
	for _, finding := range findings {
		detail := finding.Rule + ": " + finding.Evidence
		if finding.Where != "" {
			detail = finding.Rule + " (" + finding.Where + "): " + finding.Evidence
		}
		effects = append(effects, m.happened(s, "cheat", detail))
	}
	for _, flag := range cheat.Flags(findings) {
		f.Flags = appendOnce(f.Flags, flag)
	}
	return effects
}

// sources are the files of a try that are looked at, until done is called. The error tells
// which are there and cannot be opened.
func (m *Machine) sources(s State) (sources cheat.Sources, done func(), err error) {
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
		return os.Open(filepath.Join(tryDir(m.host.StateDir, s.ID, s.Try), TranscriptFile))
	})
	if sources.Transcript == nil { // beside a transcript it would tell the same again
		sources.Log = open("log", func() (io.ReadCloser, error) {
			log, _, err := OpenLog(LogFile(m.host.StateDir, s.ID, s.Try), 0)
			return log, err
		})
	}
	sources.Patch = open("patch", func() (io.ReadCloser, error) { // of single mode
		return os.Open(PatchFile(m.host.StateDir, s.ID, s.Try))
	})
	return sources, func() {
		for _, file := range files {
			_ = file.Close() // only read
		}
	}, err
}

// handedIn is the round whose tree says what the agent changed: the best one, else the last.
func handedIn(s State, subs []judge.Submission, f *Finished) (round judge.Submission) {
	name := s.FinalRound
	if f.Best != nil {
		name = f.Best.Round
	}
	for _, sub := range subs {
		if sub.Round == name {
			round = sub
		}
	}
	return round
}

// otherRounds are the archives of the other rounds, the latest first and equal ones once.
func (m *Machine) otherRounds(subs []judge.Submission, round judge.Submission) (others []cheat.Archive) {
	seen := map[string]bool{round.Archive: true}
	for _, sub := range slices.Backward(subs) {
		if !seen[sub.Archive] {
			seen[sub.Archive] = true
			others = append(others, cheat.Archive{Round: sub.Round, Open: func() (io.ReadCloser, error) { return m.host.OpenBlob(sub.Archive) }})
		}
	}
	return others
}

// findings are what the rules find in the sources, in what a round has changed, and in the other
// rounds. Without the tree that the agent began with nobody knows what it changed.
func (m *Machine) findings(ctx context.Context, s State, subs []judge.Submission, round judge.Submission, sources cheat.Sources) (found []cheat.Finding, err error) {
	look := func(untouched func(string) ([]byte, bool)) {
		ctx, cancel := context.WithTimeout(ctx, conductTime)
		defer cancel()
		sources.Untouched = untouched
		var missed error
		found, missed = cheat.Look(ctx, m.facts(s), sources)
		err = errors.Join(err, missed)
	}
	reading, cancel := context.WithTimeout(ctx, treeTime)
	defer cancel()
	base, err := m.host.Base(reading, s.Cell.Task, s.WorkImage, labels(m.host.Owner, s, container.RoleBuild))
	if err != nil {
		look(nil)
		return found, err
	}
	if sources.Patch == nil {
		var diff []byte
		diff, err = m.changed(reading, s, base, round)
		sources.Patch = bytes.NewReader(diff)
		sources.Archives = m.otherRounds(subs, round)
	}
	if bad := base.Read(ctx, func(file func(string) ([]byte, bool)) error { look(file); return nil }); bad != nil {
		err = errors.Join(err, bad)
		sources.Archives = nil
		look(nil)
	}
	return found, err
}

// changed is what a round changed in the tree that the agent began with, as a diff.
func (m *Machine) changed(ctx context.Context, s State, base *patch.Base, round judge.Submission) ([]byte, error) {
	if round.Archive == "" {
		return nil, nil
	}
	tree, err := m.host.OpenBlob(round.Archive)
	if err != nil {
		return nil, fmt.Errorf("open the archive of %s: %w", round.Round, err)
	}
	defer func() { _ = tree.Close() }() // only read
	return base.Diff(ctx, tree, s.Cell.Task.Submit.Paths)
}

// facts are what the rules have to know of the trial.
func (m *Machine) facts(s State) cheat.Facts {
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
