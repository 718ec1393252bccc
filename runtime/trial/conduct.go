package trial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/assayd/assayd/runtime/agent"
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
// marks the verdict and never changes it. The record names each finding.
func (m *Machine) conduct(ctx context.Context, s State, subs []judge.Submission, f *Finished) []Effect {
	if s.Cell.Agent.Solves() || s.StartedAt.IsZero() {
		return nil
	}
	sources := cheat.Sources{}
	dir := tryDir(m.host.StateDir, s.ID, s.Try)
	if transcript, err := os.Open(filepath.Join(dir, TranscriptFile)); err == nil {
		defer func() { _ = transcript.Close() }() // only read
		sources.Transcript = transcript
	} else if log, _, err := OpenLog(LogFile(m.host.StateDir, s.ID, s.Try), 0); err == nil { // beside a transcript it would tell the same again
		defer func() { _ = log.Close() }()
		sources.Log = log
	}
	if diff, err := os.Open(PatchFile(m.host.StateDir, s.ID, s.Try)); err == nil {
		defer func() { _ = diff.Close() }() // only read
		sources.Patch = diff                // of single mode
	}
	subs = slices.DeleteFunc(OfTry(subs, s.Try), func(sub judge.Submission) bool { return sub.Archive == "" })
	findings, err := m.findings(ctx, s, subs, handedIn(s, subs, f), sources)
	if err != nil {
		m.log.Warn("not all of what the agent did could be looked at", "error", err)
	}
	var effects []Effect
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
		Workdir: t.Workdir, Instruction: agent.Prompt(t, s.Cell.Timeout, m.setting(s)), Hidden: s.Hidden,
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
