package trial

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/assayd/assayd/runtime/agent"
	"github.com/assayd/assayd/runtime/cheat"
	"github.com/assayd/assayd/runtime/judge/parser"
)

// conductTime bounds the look at what an agent did: what it wrote must not hold the verdict.
const conductTime = time.Minute

// conduct looks for what those do who cheat, in what the agent said and in what it left. It
// marks the verdict and never changes it. The record names each finding.
func (m *Machine) conduct(ctx context.Context, s State, f *Finished) []Effect {
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
	if patch, err := os.Open(PatchFile(m.host.StateDir, s.ID, s.Try)); err == nil {
		defer func() { _ = patch.Close() }()
		sources.Patch = patch
	}
	ctx, cancel := context.WithTimeout(ctx, conductTime)
	defer cancel()
	findings, err := cheat.Look(ctx, m.facts(s), sources)
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
