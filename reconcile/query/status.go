package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/budget"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/hold"
	"github.com/assayd/assayd/reconcile/note"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query/snapshot"
	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/summary"
	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/gateway"
)

// Status is what `assayd status` shows: every run with its trials, and what is wrong with
// files.
type Status struct {
	Time        time.Time          `json:"time"`
	Runs        []RunStatus        `json:"runs"`
	Minings     []MiningStatus     `json:"minings,omitempty"`
	Files       []FileStatus       `json:"files"`
	Diagnostics config.Diagnostics `json:"diagnostics"`
	Git         *GitStatus         `json:"git,omitempty"`     // nil = no specs come from a repository
	Waits       []string           `json:"waits,omitempty"`   // what the daemon lacks, without which it does nothing new
	Budgets     []budget.Period    `json:"budgets,omitempty"` // of the day and the month, where the settings bound them
}

// FileStatus is the state of one spec file.
type FileStatus struct {
	File   string        `json:"file"`
	Status config.Status `json:"status"`
}

// RunStatus is the state of one run.
type RunStatus struct {
	Address    string `json:"address"`
	File       string `json:"file"`
	Generation string `json:"generation"`
	Execution  int    `json:"execution"` // 0 = none yet
	State      string `json:"state"`     // waiting, blocked, running, finished, removed
	Note       string `json:"note,omitempty"`
	Results    string `json:"results"`             // path of the JSONL file
	Elsewhere  string `json:"elsewhere,omitempty"` // why the results are not beside the spec
	Wanted     int    `json:"wanted"`              // cells
	// Cells counts the cells of the execution by state: waiting, setup, working, judging, retrying,
	// superseded, or the status of a trial that is over. Those that are 0 are left out.
	Cells     map[string]int          `json:"cells,omitempty"`
	Trials    []trialview.TrialStatus `json:"trials"`
	Truncated bool                    `json:"truncated,omitempty"` // there are more trials than these
	Changed   int64                   `json:"changed,omitempty"`   // the last change that is in trials: what is later has a higher number
	Filling   bool                    `json:"filling,omitempty"`   // trials of an earlier version are still being counted
	Summary   *summary.Summary        `json:"summary,omitempty"`   // of the trials that are over and not superseded
	SummaryOf time.Time               `json:"summary_of,omitzero"` // when the summary was made, where it was a while ago: of many trials it takes time
	Stale     *plan.Stale             `json:"stale,omitempty"`     // how content differs from that of the execution
	Began     time.Time               `json:"began,omitzero"`      // the execution
	Findings  []Finding               `json:"findings,omitempty"`  // how it stands, in words
	Holds     hold.Set                `json:"holds,omitempty"`     // that keep trials of it from starting
	Paused    bool                    `json:"paused,omitempty"`    // its file holds it back
	note.Set                          // what users noted of it, where it is asked for alone
	Differs   *plan.Stale             `json:"differs,omitempty"` // how that differs from the content of the execution before
	// What all tries of the execution have spent on models, and what they may; nil = none asks
	// models, or there is no budget.
	Usage   *gateway.Usage  `json:"usage,omitempty"`
	Budget  *gateway.Budget `json:"budget,omitempty"`
	Left    *Left           `json:"budget_left,omitempty"` // of Budget
	AtLimit string          `json:"at_limit,omitempty"`    // what happens when Budget is used up: end, hold; absent = there is none

	outcomes []*summary.Outcome // that are still to be summed up
	outdated bool               // the summary is not of all trials that are over
}

// StatusQuery says what a status is to have.
type StatusQuery struct {
	Address string // of one run or mining spec; "" = all
	// Trials is how many trials of a run are told at most, those that have changed last; over
	// MaxTrials is MaxTrials. All runs together have as many where Address is "".
	Trials int
	// Since, over 0, is the number of a change: only trials that have changed since are told, those
	// first that have changed first.
	Since int64
}

// MaxTrials is how many trials a status tells at most.
const MaxTrials = 1000

// Status reads the present state; address narrows it to one run, "" is all of it.
func (r *Reader) Status(ctx context.Context, address string) (Status, error) {
	return r.StatusOf(ctx, StatusQuery{Address: address, Trials: MaxTrials})
}

// StatusOf reads the present state. The loop says what it knows, and has no part in reading what was
// done.
func (r *Reader) StatusOf(ctx context.Context, q StatusQuery) (s Status, err error) {
	now, err := r.Snapshots.Wait(ctx)
	if err != nil {
		return s, err
	}
	s = r.status(now)
	runs, mines := views(now, q.Address)
	undeclared := q.Address != "" && len(mines)+len(runs) == 0
	if undeclared && !plan.IsMining(q.Address) {
		runs = []snapshot.RunView{{Address: q.Address}} // its results may still be there
	}
	if err := r.o.Store.View(ctx, func(tx *store.Tx) (err error) {
		if s.Runs, err = r.runStatuses(tx, now, runs, q); err == nil {
			s.Budgets, err = r.budgets(tx, s.Time)
		}
		return err
	}); err != nil {
		return s, err
	}
	if undeclared && len(s.Runs) == 1 && s.Runs[0].Execution == 0 {
		s.Runs = nil
	}
	for i := range s.Runs { // what takes long is no part of a transaction
		r.sumUp(&s.Runs[i])
		s.Runs[i].explain(s.Time)
	}
	if q.Address != "" && len(mines)+len(s.Runs) == 0 {
		return s, fmt.Errorf("%w: %s%s", history.ErrUnknown, q.Address, now.Suggest(q.Address))
	}
	for _, seen := range mines {
		m, err := r.miningStatus(ctx, seen)
		if err != nil {
			return s, err
		}
		s.Minings = append(s.Minings, m)
	}
	if request.HidesContent(ctx) {
		s.mute()
	}
	return s, nil
}

// views are those of all runs and mining specs, or of the one of that address.
func views(s *snapshot.Snapshot, address string) (runs []snapshot.RunView, minings []snapshot.MiningView) {
	if address != "" {
		if s.Knows(address) {
			runs = append(runs, s.Run(address))
		}
		if mining, is := s.Mining(address); is {
			minings = append(minings, mining)
		}
		return runs, minings
	}
	for _, run := range s.Runs() {
		runs = append(runs, run)
	}
	for _, mining := range s.Minings() {
		minings = append(minings, mining)
	}
	return runs, minings
}

// status is what is known besides runs and mining specs.
func (r *Reader) status(now *snapshot.Snapshot) Status {
	s := Status{Time: clock.Now().UTC(), Diagnostics: config.Diagnostics{}, Runs: []RunStatus{}, Files: []FileStatus{}, Git: r.GitNow()}
	if now.Blind != "" {
		s.Waits = append(s.Waits, "a look at the specs: "+now.Blind)
	}
	if now.Set != nil {
		s.Diagnostics = append(s.Diagnostics, now.Set.Diagnostics...)
		for _, f := range now.Set.Files {
			s.Files = append(s.Files, FileStatus{f.Display, f.Status})
		}
	}
	return s
}

// runStatuses are those of runs. Those that work have their trials first, as far as they reach.
func (r *Reader) runStatuses(tx *store.Tx, now *snapshot.Snapshot, seen []snapshot.RunView, q StatusQuery) ([]RunStatus, error) {
	filled, err := history.AllFilled(tx)
	if err != nil {
		return nil, err
	}
	holds, err := hold.Read(tx)
	if err != nil {
		return nil, err
	}
	runs := make([]RunStatus, len(seen))
	for i := range seen {
		if runs[i], err = r.runStatus(tx, now, seen[i]); err != nil {
			return nil, err
		}
		runs[i].Filling = !filled
		runs[i].Holds = holds.OnRun(clock.Now(), seen[i].Address, seen[i].Desired)
	}
	if len(runs) == 1 && q.Address != "" {
		if runs[0].Set, err = note.Of(tx, q.Address); err != nil {
			return nil, err
		}
	}
	left := min(max(q.Trials, 0), MaxTrials)
	for _, works := range []bool{true, false} {
		for i := range runs {
			if runs[i].Execution == 0 || works != (runs[i].State == "running") {
				continue
			}
			if err := r.doneOfRun(tx, seen[i].Desired, &runs[i], StatusQuery{Trials: left, Since: q.Since}); err != nil {
				return nil, err
			}
			left -= len(runs[i].Trials)
		}
	}
	return runs, nil
}

// runStatus is what is known of a run but for its trials.
func (r *Reader) runStatus(tx *store.Tx, now *snapshot.Snapshot, seen snapshot.RunView) (RunStatus, error) {
	address, d := seen.Address, seen.Desired
	run := RunStatus{Address: address, File: seen.File, Note: seen.Note, Trials: []trialview.TrialStatus{}, State: "waiting", Stale: seen.Stale}
	if d != nil {
		run.Generation, run.Wanted, run.Paused = d.Generation, d.Wanted().Len(), d.Paused
	} else {
		run.Note = "no file declares it"
	}
	var err error
	if run.Results, run.Elsewhere, err = resultsOf(tx, address); err != nil {
		return run, err
	}
	if d != nil && d.Blocked != "" {
		run.State, run.Note = "blocked", d.Blocked
	}
	waits := d != nil && d.Waits != "" && run.State != "blocked"
	if waits {
		run.Note = r.waitsOf(now, address, d)
	}
	if d != nil && d.Schedule != nil && run.Note == "" {
		if next := d.Schedule.Next(clock.Now().UTC()); !next.IsZero() {
			run.Note = "fires next at " + plan.Stamp(next)
		}
	}
	e, err := tx.LatestExecution(address)
	if errors.Is(err, store.ErrNotFound) {
		return run, nil
	}
	if err != nil {
		return run, err
	}
	run.Execution, run.Began = e.N, e.StartedAt
	execution, err := history.ExecutionOf(e)
	if err != nil {
		return run, err
	}
	run.Differs = execution.Differs
	if d != nil {
		run.Wanted = d.WantedIn(*execution)
	}
	if run.State != "blocked" {
		run.State = "running"
	}
	switch {
	case e.FinishedAt.IsZero() || run.State == "blocked":
	case waits: // what it had is done, and more may come
		run.State = "waiting"
	default:
		run.State = "finished"
	}
	return run, nil
}

// resultsOf is the file of a spec's records, and why it is not beside the spec; "" while there
// are none.
func resultsOf(tx *store.Tx, address string) (path, elsewhere string, err error) {
	stream, err := tx.Stream(address)
	if errors.Is(err, store.ErrNotFound) {
		return "", "", nil
	}
	return cmp.Or(stream.File, stream.Path), stream.Why, err
}
