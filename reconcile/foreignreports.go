package reconcile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/renameio/v2"

	"github.com/assayd/assayd/reconcile/evaluate"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/scoring"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/task/swebench"
	"github.com/assayd/assayd/runtime/task/sweforge"
	"github.com/assayd/assayd/runtime/trial"
)

// foreignReports writes what the harnesses of others say at the end, for runs in single mode and as
// their trials end: <stem>.run.<name>.summary.json as swe-forge's does, and
// <stem>.run.<name>.report.json as SWE-bench's does, one for each agent where there are
// several. They are made anew from the store each time, so that nothing is lost by a crash.
type foreignReports struct {
	write func(ctx context.Context, address string) error
	tell  func(address string, err error)
	wake  chan struct{} // holds one value while there may be something to do

	mu    sync.Mutex
	stale map[string]bool
}

func newHarness(r *Reconciler) *foreignReports {
	return &foreignReports{
		write: r.writeHarness, wake: make(chan struct{}, 1), stale: map[string]bool{},
		tell: func(address string, err error) {
			r.o.Log.Warn("the summary of a run in single mode is not written yet", "spec", address, "error", err)
		},
	}
}

// note says that a run's files are not what they should be; safe from any goroutine.
func (h *foreignReports) note(address string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stale[address] = true
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// Pauses between two writings, and of it as a multiple of what the last one took: a run of
// thousands of trials is not summed up anew for each of them.
const (
	harnessPause = 500 * time.Millisecond
	harnessRatio = 20
)

// run writes until the context ends; what is stale then is for finishHarness.
func (h *foreignReports) run(ctx context.Context) {
	for {
		select {
		case <-h.wake:
		case <-ctx.Done():
			return
		}
		began := time.Now()
		for _, address := range h.take() {
			if err := h.write(ctx, address); err != nil && ctx.Err() == nil {
				h.tell(address, err)
				h.note(address)
			}
		}
		timer := time.NewTimer(max(harnessPause, harnessRatio*time.Since(began)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// harnessTime bounds the last writing. What is stale after it the next daemon writes.
const harnessTime = 10 * time.Second

// finishHarness writes what is stale when all else has ended: after `assayd run` there may be no
// next daemon.
func (r *Reconciler) finishHarness(ctx context.Context) {
	now := r.Latest()
	if now == nil || now.Set == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), harnessTime)
	defer cancel()
	for _, address := range r.foreign.take() {
		if err := r.writeHarnessBy(ctx, address, harnessPlanOf(now, address)); err != nil {
			r.foreign.tell(address, err)
		}
	}
}

func (h *foreignReports) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []string
	for address := range h.stale {
		all = append(all, address)
	}
	clear(h.stale)
	slices.Sort(all)
	return all
}

// errNoFile says that the run's own file is not there yet, beside which the others are.
var errNoFile = errors.New("no record of the run is written yet")

// harnessPlan is of a run what the store does not know.
type harnessPlan struct {
	cells   *plan.WantedCells // nil = no file declares it
	several bool              // it has several agents
}

func harnessPlanOf(s *query.Snapshot, address string) harnessPlan {
	run := s.Set.Run(strings.TrimPrefix(address, "run."))
	return harnessPlan{s.Run(address).Desired.Wanted(), run != nil && len(run.Agents) > 1}
}

// writeHarness writes the files of the latest execution of a run.
func (r *Reconciler) writeHarness(ctx context.Context, address string) error {
	now, err := r.Snapshot(ctx)
	if err != nil {
		return err
	}
	return r.writeHarnessBy(ctx, address, harnessPlanOf(now, address))
}

func (r *Reconciler) writeHarnessBy(ctx context.Context, address string, of harnessPlan) error {
	results, err := r.harnessOf(ctx, address, of)
	if err != nil || len(results) == 0 {
		return err
	}
	name, err := r.besideResults(ctx, address)
	if err != nil {
		return err
	}
	summary, err := summaryOf(results).JSON()
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(name+".summary.json", summary, 0o644); err != nil {
		return fmt.Errorf("write the summary of %s: %w", address, err)
	}
	byAgent := map[string][]swebench.Outcome{}
	for _, o := range results {
		byAgent[o.agent] = append(byAgent[o.agent], o.outcome)
	}
	for agent, outcomes := range byAgent {
		file := name + ".report.json"
		if of.several {
			file = name + "." + fileName(agent) + ".report.json"
		}
		report, err := swebench.Encoded(swebench.NewReport(outcomes))
		if err == nil {
			err = renameio.WriteFile(file, report, 0o644)
		}
		if err != nil {
			return fmt.Errorf("write the report of %s: %w", address, err)
		}
	}
	return nil
}

// besideResults is the path of the run's record file without its extension.
func (r *Reconciler) besideResults(ctx context.Context, address string) (name string, err error) {
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		s, err := tx.Stream(address)
		if err == nil && s.File == "" {
			err = errNoFile
		}
		name = filepath.Join(filepath.Dir(s.File), strings.TrimSuffix(filepath.Base(s.Path), ".jsonl"))
		return err
	})
	return name, err
}

var odd = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// fileName is a name as part of a file's.
func fileName(name string) string { return odd.ReplaceAllString(name, "_") }

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
func (r *Reconciler) Harness(ctx context.Context, address string) (s sweforge.Summary, ok bool, err error) {
	now, err := r.Snapshot(ctx)
	if err != nil || now.Set == nil {
		return s, false, err
	}
	results, err := r.harnessOf(ctx, address, harnessPlanOf(now, address))
	return summaryOf(results), len(results) > 0, err
}

// harnessOf reads the finished trials of the latest execution of a run in single mode, in
// the order of the plan; of any other run there are none.
func (r *Reconciler) harnessOf(ctx context.Context, address string, of harnessPlan) (results []harnessResult, err error) {
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
func (r *Reconciler) tellBest(ctx context.Context, results []harnessResult) error {
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

func (r *Reconciler) harnessResult(s trial.State, row store.TrialRow) harnessResult {
	f, t := s.Result, s.Cell.Task
	out := harnessResult{agent: f.Agent}
	id, repo := sweforge.Names(t)
	out.result = sweforge.Result{
		TaskID: id, Repo: repo, Agent: f.Agent, Control: s.Cell.Agent.Control(), Status: string(f.Status),
		SanityCheck: s.Cell.SanityCheck && !s.StartedAt.IsZero(), // it comes first: an agent began only where it had passed
		FailToPass:  testsOf(t, f.FailToPass), PassToPass: testsOf(t, f.PassToPass),
		AgentDurationSecs: f.AgentDuration, AgentOutput: headOf(trial.LogFile(r.o.Host.StateDir, s.ID, s.Try)),
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
