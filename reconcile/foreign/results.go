package foreign

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/assayd/assayd/reconcile/evaluate"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/scoring"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/swebench"
	"github.com/assayd/assayd/runtime/task/sweforge"
	"github.com/assayd/assayd/runtime/trial"
	"github.com/assayd/assayd/runtime/trial/trydir"
)

// harnessResult is one trial of such a run, as both harnesses tell it.
type harnessResult struct {
	place   int    // of its cell in the plan
	best    string // id of the round that counts; "" = none does
	agent   string
	result  sweforge.Result
	outcome swebench.Outcome
}

func summaryOf(results []harnessResult) sweforge.Summary {
	list := make([]sweforge.Result, len(results))
	for i, o := range results {
		list[i] = o.result
	}
	return sweforge.NewSummary(list)
}

// Harness is what swe-forge's harness would say of the latest execution of a run in single
// mode; ok is false for any other, and before a trial of it is over.
func (r *Reports) Harness(ctx context.Context, address string) (s sweforge.Summary, ok bool, err error) {
	now, err := r.o.Snapshots.Wait(ctx)
	if err != nil || now.Set == nil {
		return s, false, err
	}
	results, err := r.harnessOf(ctx, address, factsOf(now, address))
	return summaryOf(results), len(results) > 0, err
}

// harnessOf reads the finished trials of the latest execution of a run in single mode, in
// the order of the plan; of any other run there are none.
func (r *Reports) harnessOf(ctx context.Context, address string, of runFacts) (results []harnessResult, err error) {
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		e, err := tx.LatestExecution(address)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		rows, err := tx.Trials(address, e.N)
		if err != nil {
			return err
		}
		superseded, err := history.SupersededIn(tx, rows)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if row.Status == "" {
				continue
			}
			s, err := history.StateOf(row)
			if err != nil {
				return err
			}
			if superseded(row.ID, s.Replaced) {
				continue
			}
			place, wanted := of.cells.Place(row.Cell, plan.SlotOf(s.Cell))
			if !wanted {
				place = of.cells.Len()
			}
			if s.Cell.Mode != trial.Single {
				return nil
			}
			subs, err := ledger.OfTrial(tx, row.ID)
			if err != nil {
				return err
			}
			result := r.harnessResult(s, row)
			result.place, result.best = place, bestID(s, subs)
			results = append(results, result)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := r.tellBest(ctx, results); err != nil {
		return nil, err
	}
	slices.SortStableFunc(results, func(a, b harnessResult) int { return a.place - b.place })
	return results, nil
}

// tellBest fills in what the rounds that count have shown.
func (r *Reports) tellBest(ctx context.Context, results []harnessResult) error {
	for i := range results {
		if results[i].best == "" {
			continue
		}
		sub, err := r.o.Ledger.Submission(ctx, results[i].best)
		if err != nil {
			return err
		}
		if sub.Report != nil {
			results[i].told(*sub.Report)
		}
	}
	return nil
}

// bestID is the id of the round that counts, "" if there is none.
func bestID(s trial.State, subs []round.Submission) string {
	if s.Result.Best == nil {
		return ""
	}
	i := slices.IndexFunc(subs, func(o round.Submission) bool { return o.Try == s.Try && o.Round == s.Result.Best.Round })
	if i < 0 {
		return ""
	}
	return subs[i].ID
}

// agentOutput is how much of an agent's log is told.
const agentOutput = 10_000

func (r *Reports) harnessResult(s trial.State, row store.TrialRow) harnessResult {
	f, t := s.Result, s.Cell.Task
	out := harnessResult{agent: f.Agent}
	id, repo := sweforge.Names(t)
	out.result = sweforge.Result{
		TaskID: id, Repo: repo, Agent: f.Agent, Control: s.Cell.Agent.Control(), Status: string(f.Status),
		SanityCheck: s.Cell.SanityCheck && !s.StartedAt.IsZero(), // it comes first: an agent began only where it had passed
		FailToPass:  testsOf(t, f.FailToPass), PassToPass: testsOf(t, f.PassToPass),
		AgentDurationSecs: f.AgentDuration, AgentOutput: headOf(trydir.Of(r.o.StateDir, s.ID, s.Try).Log()),
	}
	if f.Status != trial.Resolved && f.Status != trial.Unresolved {
		out.result.Error = strings.TrimSuffix(f.Reason+": "+f.Detail, ": ")
	}
	if began := s.Line.Wall(s.StartedAt); !s.StartedAt.IsZero() && row.FinishedAt.After(began) {
		out.result.TotalDurationSecs = float64(row.FinishedAt.Sub(began).Milliseconds()) / 1000
	}
	model := f.Agent
	if f.Model != "" {
		model += "/" + f.Model
	}
	out.outcome = swebench.Outcome{
		Instance: t.Name, Model: model, Status: string(f.Status), Empty: f.Patch != nil && f.Patch.SHA256 == emptySHA256,
		Reason: out.result.Error, FailToPass: evaluate.TestsOf(f.FailToPass), PassToPass: evaluate.TestsOf(f.PassToPass),
	}
	return out
}

// emptySHA256 is the digest of nothing.
const emptySHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// told adds what the report of the round that counts says of the tests.
func (h *harnessResult) told(r round.Report) {
	said := map[string]parser.Test{}
	for _, t := range r.Tests {
		said[t.Name] = t
	}
	for _, tests := range [][]sweforge.Test{h.result.FailToPass, h.result.PassToPass} {
		for i := range tests {
			tellTest(&tests[i], said, r.JudgeMS)
		}
	}
}

// tellTest fills in what was seen of a test. One command that runs all tests took the time of the
// judge, and its exit code says nothing of one test.
func tellTest(test *sweforge.Test, said map[string]parser.Test, judgeMS int64) {
	if test.Name != "" {
		test.Stdout, test.DurationMS = said[test.Name].Message, &judgeMS
		return
	}
	seen := said[test.Command]
	test.Stdout, test.ExitCode, test.DurationMS = seen.Output, seen.ExitCode, seen.DurationMS
	if seen.TimedOut {
		code := sweforge.ExitTimedOut
		test.ExitCode = &code
	}
}

// testsOf are tests as swe-forge's harness knows them, a command each.
func testsOf(t task.Task, records []trial.TestRecord) []sweforge.Test {
	tests := make([]sweforge.Test, len(records))
	for i, r := range records {
		tests[i] = sweforge.Test{Command: r.Name, Passed: r.Passed}
		if !scoring.ByCommands(t) {
			tests[i].Command, tests[i].Name = sweforge.TestCommand(t), r.Name
		}
	}
	return tests
}

// headOf is the beginning of a file, "" where there is none.
func headOf(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // only read
	text, _ := io.ReadAll(io.LimitReader(f, agentOutput))
	return strings.ToValidUTF8(string(text), "�")
}
