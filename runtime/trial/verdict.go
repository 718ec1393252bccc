package trial

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/fault"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/scoring"
	"github.com/assayd/assayd/runtime/trial/trydir"
	"github.com/assayd/assayd/runtime/trial/tryrounds"
)

// verdict decides what the trial is worth and reports it. Cleaning comes after.
func (m *Machine) verdict(ctx context.Context, s State) (State, []Effect, error) {
	m.host.Judge.Close(s.ID)
	var effects []Effect
	if m.handle != nil && m.handle.egress != nil {
		effects = reached(s, m.handle.egress.Counts())
	}
	if err := m.said(); err != nil {
		return s, nil, err
	}
	s.Held = m.held(s)
	m.drop() // from here on the log is as it is recorded
	// What was acknowledged gets its verdict, also when the trial is cancelled or failed.
	if err := m.host.Judge.Abandon(ctx, s.ID, s.Try, s.Reason); err != nil {
		return s, nil, err
	}
	subs, err := m.host.Ledger.Submissions(ctx, s.ID)
	if err != nil {
		return s, nil, err
	}
	for _, best := range both(s, subs, bestRound) { // its tests are needed, too
		whole, err := m.host.Ledger.Submission(ctx, best.ID)
		if err != nil {
			return s, nil, err
		}
		subs[slices.IndexFunc(subs, func(o round.Submission) bool { return o.ID == best.ID })] = whole
	}
	f := Decide(s, subs)
	if f.Status == TestError && s.Failure == "" { // a failure has said where already
		t := s.Cell.Task
		where := []string{"judge.command", "judge.stage"}
		if f.Best != nil {
			where = []string{"private.command"} // the rest of the judge is sound
		}
		f.Detail = m.host.at(errors.New(f.Detail), "benchmark", t.Benchmark, t.Name, where...).Error()
	}
	f.Log, f.Patch = logRecord(m.host.StateDir, s), patchRecord(m.host.StateDir, s)
	if f.Extended != nil { // it was handed in by then
		f.Patch, f.Extended.Patch = nil, f.Patch
	}
	if err := m.spent(ctx, s, &f); err != nil {
		return s, nil, err
	}
	s.Result = &f
	s.Phase = Cleanup
	return s, append(effects, Effect{"trial.finished", f}), nil
}

// bestRound is the round that counts, if one does.
func bestRound(s State, subs []round.Submission) []round.Submission {
	if best, ok := scoring.Best(s.Cell.Task.Judge, subs); ok {
		return []round.Submission{best}
	}
	return nil
}

// decide is the verdict of a trial by some rounds of its try.
func decide(s State, subs []round.Submission) Finished {
	f := Finished{
		Trial: s.ID, Try: s.Try, Task: s.Cell.Task.Name, Agent: s.Cell.Agent.Title(), Model: s.Cell.Agent.Model,
		Attempt: s.Cell.Attempt, Control: s.Cell.Agent.Control(), Reason: s.Reason, Detail: s.Detail, TimedOut: s.TimedOut, Resumes: s.Resumes,
		HeldS: seconds(s.Held), Flags: slices.Clone(s.Flags), FailToPass: []TestRecord{}, PassToPass: []TestRecord{},
	}
	if !s.StartedAt.IsZero() && s.EndedAt.After(s.StartedAt) {
		f.AgentDuration = seconds(s.EndedAt.Sub(s.StartedAt))
	}
	for _, sub := range subs {
		count(&f, sub)
	}
	all := subs
	subs = slices.DeleteFunc(slices.Clone(all), func(o round.Submission) bool { return o.Kind.Internal() })
	best, ok := scoring.Best(s.Cell.Task.Judge, subs)
	if ok {
		r := best.Report
		f.Best = &Best{best.Round, r.PassRate, r.Score, r.Score100, seconds(best.AcceptedAt.Sub(s.StartedAt))}
		if len(r.Expected) > 0 && !s.Outcomes && !s.Cell.Agent.Solves() {
			f.Flags = appendOnce(f.Flags, FlagExpected)
		}
		f.FailToPass = Outcomes(s.Cell.Task.FailToPass, r)
		f.PassToPass = Outcomes(s.Cell.Task.PassToPass, r)
	}
	f.Private = privateRecord(s, all)
	var counts *round.Report
	if ok {
		counts = best.Report
	}
	if ok && tryrounds.HasPrivate(s.Cell.Task) { // what the agent was told about does not say what it is worth
		counts = tryrounds.Privately(all, best.Round)
	}
	decideStatus(&f, s, subs, counts, ok)
	applyMixed(&f, s)
	if s.NoManifest {
		f.Flags = appendOnce(f.Flags, FlagNoManifest)
	}
	// The same judge would fail again.
	f.Final = !f.Status.Retryable() || s.Try > s.Retries || s.Settled || f.Status == SetupError && f.Reason == ReasonJudge
	if f.Flags == nil {
		f.Flags = []string{}
	}
	return f
}

func count(f *Finished, sub round.Submission) {
	switch sub.Kind {
	case round.KindAgent:
		f.Submissions.Agent++
	case round.KindAuto:
		f.Submissions.Auto++
	}
	if sub.Report != nil && sub.Report.Tampered {
		f.Flags = appendOnce(f.Flags, "tampered")
	}
}

// decideStatus: a broken machine is never a zero score, and a tampered round never
// resolves a trial. The report that counts is the best round's, or what the private set
// says of that.
func decideStatus(f *Finished, s State, subs []round.Submission, counts *round.Report, ok bool) {
	switch {
	case s.Failure != "":
		f.Status = s.Failure
	case s.Outage != "" && !tryrounds.Resolves(counts, ok): // it had nobody to think for it
		f.Status, f.Reason, f.Detail = InfraError, ReasonProvider, s.Outage
	case single(s) && (s.Crashed || s.TimedOut): // whatever it left is not what it handed in
		f.Status = AgentError
	case ok && (counts == nil || counts.Status == round.StatusError):
		f.Status, f.Reason, f.Detail = InfraError, ReasonJudge, "the private set was not judged"
		if counts != nil {
			f.Detail += ": " + counts.Problem
		}
	case ok && counts.NotRun:
		f.Status, f.Reason, f.Detail = TestError, ReasonJudge, counts.Problem
	case tryrounds.Resolves(counts, ok):
		f.Status = Resolved
	case tryrounds.LastFailed(subs):
		f.Status, f.Reason = InfraError, ReasonJudge
		f.Detail = subs[len(subs)-1].Report.Problem
	case !ok && tryrounds.Unjudgeable(s.Cell.Task):
		f.Status = TestError
	case tryrounds.NeverRan(subs):
		f.Status, f.Reason = TestError, ReasonJudge
		f.Detail = subs[len(subs)-1].Report.Problem
	case s.Cell.Agent.Solves() && tryrounds.Unusable(subs, counts, ok) != "":
		f.Status, f.Reason = TestError, ReasonJudge
		f.Detail = "the task's own solution could not be judged: " + tryrounds.Unusable(subs, counts, ok)
	case s.Crashed:
		f.Status = AgentError
	default:
		f.Status = Unresolved
		f.Detail = cmp.Or(f.Detail, tryrounds.Unusable(subs, counts, ok))
	}
}

// Outcomes tells of each declared test whether it passed in the report.
func Outcomes(names []string, r *round.Report) []TestRecord {
	seen := map[string]parser.Test{}
	for _, t := range r.Tests {
		seen[t.Name] = t
	}
	records := make([]TestRecord, len(names))
	for i, n := range names {
		t := seen[n]
		records[i] = TestRecord{Name: n, Passed: t.Status == parser.Passed, ExitCode: t.ExitCode, DurationMS: t.DurationMS}
	}
	return records
}

func seconds(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }

// logRecord names the agent's log; nil when there is none.
func logRecord(stateDir string, s State) *FileRecord {
	return fileRecord(stateDir, trydir.Of(stateDir, s.ID, s.Try).Log())
}

// fileRecord names a file below the state directory; nil when there is none.
func fileRecord(stateDir, name string) *FileRecord {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return nil
	}
	rel, err := filepath.Rel(stateDir, name)
	if err != nil {
		return nil
	}
	return &FileRecord{rel, hex.EncodeToString(h.Sum(nil))}
}

// cleanup removes the container and the trial's folder. What an engine that answers does
// not remove however often it is asked is swept when the daemon starts again: a trial is
// not kept open for it.
func (m *Machine) cleanup(ctx context.Context, s State) (State, []Effect, error) {
	fault.Reached(fault.TrialFinished)
	m.Close()
	if err := m.tidy(ctx, s); err != nil {
		if ctx.Err() != nil || container.Unavailable(err) || ownTrouble(err) {
			return s, nil, err
		}
		if m.removals++; m.removals < maxAgain {
			return s, nil, err
		}
		stopped := m.host.Engine.Stop(ctx, s.Workload.Name, 0)
		m.log.Error("the rest of the trial stays until the next start", "container", s.Workload.Name, "error", errors.Join(err, stopped))
	}
	fault.Reached(fault.TrialCleaned)
	m.host.Judge.Forget(s.ID)
	s.Phase = Done
	return s, nil, nil
}

func (m *Machine) tidy(ctx context.Context, s State) error {
	if s.MayKeep() {
		if err := m.host.Judge.Retain(ctx, s.ID, s.Keeps()); err != nil {
			return err
		}
	}
	if s.Container == "" && s.Workload.Name == "" {
		return nil
	}
	if s.Keeps() {
		return m.retain(ctx, s)
	}
	if err := m.host.Engine.Remove(ctx, s.Workload.Name); err != nil {
		return err
	}
	fault.Reached(fault.ContainerRemoved)
	return m.host.dir(s).Remove()
}

// Restarted is the state of the next try of a trial whose last one did not count, or was
// cancelled because nothing wanted it.
func Restarted(s State) (State, error) {
	if s.Phase != Done || s.Result == nil || s.Result.Final && !s.Unwanted {
		return s, fmt.Errorf("start trial %s again: its verdict stands", s.ID)
	}
	return State{
		ID: s.ID, Spec: s.Spec, Execution: s.Execution, Key: s.Key, Cell: s.Cell,
		Try: s.Try + 1, Retries: s.Retries, Keep: s.Keep, Phase: Pending,
	}, nil
}
