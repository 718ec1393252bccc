package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/hold"
	"github.com/assayd/assayd/reconcile/note"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query/snapshot"
	"github.com/assayd/assayd/reconcile/query/tasklookup"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/mining"
)

// The lists below are read a page at a time. They are made of the latest snapshot and the store. A page reads as much as it has, whatever else there is.

// RunInfo is a run in a list: what is declared, and where its latest execution stands.
type RunInfo struct {
	Address    string `json:"address"`
	File       string `json:"file"`
	Generation string `json:"generation"`
	State      string `json:"state"`     // waiting, blocked, running, finished
	Execution  int    `json:"execution"` // the latest; 0 = none yet
	Wanted     int    `json:"wanted"`    // cells
	// Cells counts the cells of the execution by state, as RunStatus does.
	Cells     map[string]int `json:"cells"`
	Note      string         `json:"note,omitempty"`
	Results   string         `json:"results"`               // path of the JSONL file
	Elsewhere string         `json:"elsewhere,omitempty"`   // why the results are not beside the spec
	Holds     hold.Set       `json:"holds,omitempty"`       // that keep trials of it from starting
	Paused    bool           `json:"paused,omitempty"`      // its file holds it back
	Left      *Left          `json:"budget_left,omitempty"` // of what an execution may spend; absent = there is no limit
	AtLimit   string         `json:"at_limit,omitempty"`    // what happens when that is used up: end, hold; absent = there is none
	note.Set                 // what users noted of it
	// Estimate is what a run will take that has not begun. Lists do not have it.
	Estimate *plan.Estimate `json:"estimate,omitempty"`
}

// RunsAfter returns at most limit runs whose address comes behind after.
func (r *Reader) RunsAfter(ctx context.Context, after string, limit int) (infos []RunInfo, err error) {
	now, err := r.Snapshots.Wait(ctx)
	if err != nil {
		return nil, err
	}
	var page []snapshot.RunView
	for _, run := range now.RunsAfter(after) {
		if len(page) == limit {
			break
		}
		page = append(page, run)
	}
	return r.runInfos(ctx, now, page)
}

// RunOf returns a run, also one that no file declares any more and that was executed. Another is an
// ErrUnknown.
func (r *Reader) RunOf(ctx context.Context, address string) (RunInfo, error) {
	now, err := r.Snapshots.Wait(ctx)
	if err != nil {
		return RunInfo{}, err
	}
	view := now.Run(address)
	infos, err := r.runInfos(ctx, now, []snapshot.RunView{view})
	if err == nil && len(infos) == 0 {
		err = fmt.Errorf("%w: %s%s", history.ErrUnknown, address, request.Suggest(address, now.Addresses()))
	}
	if err != nil {
		return RunInfo{}, err
	}
	run := infos[0]
	if run.Execution == 0 && run.State != "blocked" && view.Desired != nil {
		run.Estimate, err = r.estimate(ctx, view.Desired)
	}
	return run, err
}

// estimate says what a run will take, all of it.
func (r *Reader) estimate(ctx context.Context, d *plan.Run) (*plan.Estimate, error) {
	work := d.Work()
	var past []plan.Past
	err := r.o.Store.View(ctx, func(tx *store.Tx) (err error) {
		past, err = history.Past(tx, work)
		return err
	})
	return work.Estimate(past), err
}

// runInfos leaves out what is neither declared nor was executed.
func (r *Reader) runInfos(ctx context.Context, now *snapshot.Snapshot, seen []snapshot.RunView) (infos []RunInfo, err error) {
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		holds, err := hold.Read(tx)
		if err != nil {
			return err
		}
		for _, s := range seen {
			run, err := r.runStatus(tx, now, s)
			if err != nil {
				return err
			}
			counts, err := tx.CellCounts(run.Address, run.Execution)
			if err != nil {
				return err
			}
			run.count(counts)
			set, err := note.For(ctx, tx, s.Address)
			if err != nil {
				return err
			}
			if s.Desired != nil || run.Execution > 0 {
				spent, err := tx.SpentByExecution(run.Address, run.Execution)
				if err != nil {
					return err
				}
				left, atLimit := leftOf(s.Desired, spent)
				infos = append(infos, RunInfo{
					Address: run.Address, File: run.File, Generation: run.Generation, State: run.State, Execution: run.Execution,
					Wanted: run.Wanted, Cells: run.Cells, Note: run.Note, Results: run.Results, Elsewhere: run.Elsewhere,
					Holds: holds.OnRun(clock.Now(), s.Address, s.Desired), Paused: run.Paused,
					Left: left, AtLimit: atLimit, Set: set,
				})
			}
		}
		return nil
	})
	return infos, err
}

// ExecutionInfo is one execution of a run.
type ExecutionInfo struct {
	Execution  int       `json:"execution"`
	Trigger    string    `json:"trigger"` // accepted, schedule or rerun
	StartedAt  time.Time `json:"started_at"`
	SettledAt  time.Time `json:"settled_at,omitzero"`  // absent while a known cell is open
	FinishedAt time.Time `json:"finished_at,omitzero"` // absent while it is open
}

// ExecutionsBefore returns at most limit executions of a run that are older than the one numbered
// before, the latest first; 0 is before none. A run that is not known is an ErrUnknown.
func (r *Reader) ExecutionsBefore(ctx context.Context, address string, before, limit int) (infos []ExecutionInfo, err error) {
	if err := r.o.Store.View(ctx, func(tx *store.Tx) error {
		rows, err := tx.ExecutionsBefore(address, before, limit)
		for _, e := range rows {
			infos = append(infos, ExecutionInfo{e.N, e.Trigger, e.StartedAt, e.SettledAt, e.FinishedAt})
		}
		return err
	}); err != nil || len(infos) > 0 {
		return infos, err
	}
	_, err = r.RunOf(ctx, address) // one that has not begun has none
	return nil, err
}

// SpecInfo is a spec file: what became of it, and what is wrong with it.
type SpecInfo struct {
	FileStatus
	Path        string             `json:"path"` // absolute
	Diagnostics config.Diagnostics `json:"diagnostics"`
}

// SpecsAfter returns at most limit spec files whose path comes behind after.
func (r *Reader) SpecsAfter(ctx context.Context, after string, limit int) (infos []SpecInfo, err error) {
	now, err := r.Snapshots.Wait(ctx)
	if err != nil || now.Set == nil {
		return nil, err
	}
	for _, f := range behind(now.Set.Files, after, limit, func(f config.FileState) string { return f.Path }) {
		ds := append(config.Diagnostics{}, f.Diagnostics...)
		if request.HidesContent(ctx) {
			ds = mutedDiagnostics(ds)
		}
		infos = append(infos, SpecInfo{FileStatus{f.Display, f.Status}, f.Path, ds})
	}
	return infos, nil
}

// TasksAfter returns at most limit tasks whose address comes behind after: those of a benchmark or a
// mining spec, "" being all.
func (r *Reader) TasksAfter(ctx context.Context, of, after string, limit int) (infos []TaskInfo, err error) {
	now, err := r.Snapshots.Wait(ctx)
	if err != nil || now.Set == nil {
		return nil, err
	}
	set := now.Set
	all := tasklookup.All(set)
	if of != "" {
		kind, name, _ := strings.Cut(of, ".")
		known := false
		if all, known = tasklookup.Of(set, config.Ref{Kind: kind, Name: name}); !known || kind != "benchmark" && kind != "mining" {
			return nil, fmt.Errorf("%w: %s%s", history.ErrUnknown, of, request.Suggest(of, tasklookup.Blocks(set)))
		}
	}
	for _, s := range behind(all, after, limit, config.Selected.Address) {
		infos = append(infos, taskInfo(s))
	}
	return infos, nil
}

// behind are the first limit of all, in the order of their keys, whose key comes behind after.
func behind[T any](all []T, after string, limit int, key func(T) string) []T {
	all = slices.DeleteFunc(slices.Clone(all), func(x T) bool { return key(x) <= after })
	slices.SortFunc(all, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	return all[:min(limit, len(all))]
}

// MiningInfo is a mining spec without the list of its tasks.
type MiningInfo struct {
	Address    string          `json:"address"`
	File       string          `json:"file"`
	Generation string          `json:"generation"`
	State      string          `json:"state"` // waiting, running, finished, cancelled, removed
	Note       string          `json:"note,omitempty"`
	Results    string          `json:"results"`          // path of the JSONL file
	Dir        string          `json:"dir"`              // where tasks are written
	Holds      hold.Set        `json:"holds,omitempty"`  // that keep it from beginning anything
	Paused     bool            `json:"paused,omitempty"` // its file holds it back
	note.Set                   // what users noted of it
	Progress   mining.Progress `json:"progress"`
}

// MiningOf returns a mining spec; another is an ErrUnknown.
func (r *Reader) MiningOf(ctx context.Context, address string) (m MiningInfo, err error) {
	now, err := r.Snapshots.Wait(ctx)
	if err != nil {
		return m, err
	}
	seen, is := now.Mining(address)
	if !is {
		return m, fmt.Errorf("%w: %s", history.ErrUnknown, address)
	}
	s, err := r.miningHead(ctx, seen)
	if err != nil {
		return m, err
	}
	noted, err := r.NotesOf(ctx, address)
	return MiningInfo{s.Address, s.File, s.Generation, s.State, s.Note, s.Results, s.Dir, s.Holds, s.Paused, noted, s.Progress}, err
}

// PullInfo is a pull request that a mining spec has seen.
type PullInfo struct {
	N         int64     `json:"n"` // in the order in which they were seen
	Repo      string    `json:"repo"`
	Number    int       `json:"number"`
	Verdict   string    `json:"verdict"`          // open, accepted, rejected, failed
	Stage     string    `json:"stage,omitempty"`  // that decided
	Reason    string    `json:"reason,omitempty"` // a code
	Class     string    `json:"classification,omitempty"`
	Task      string    `json:"task,omitempty"` // that it became
	SeenAt    time.Time `json:"seen_at"`
	DecidedAt time.Time `json:"decided_at,omitzero"`
}

// pullOpen is the verdict of a pull request that has none yet.
const pullOpen = "open"

// PullsBefore returns at most limit pull requests that a mining spec saw before the one numbered
// before, the latest first; 0 is before none. A spec that is not known is an ErrUnknown.
func (r *Reader) PullsBefore(ctx context.Context, address string, f store.PullFilter, before int64, limit int) (infos []PullInfo, err error) {
	if f.Verdict != nil && *f.Verdict == pullOpen {
		f.Verdict = new(string)
	}
	if err := r.o.Store.View(ctx, func(tx *store.Tx) error {
		rows, err := tx.PullsBefore(address, f, before, limit)
		for _, p := range rows {
			infos = append(infos, PullInfo{p.N, p.Repo, p.Number, cmp.Or(p.Verdict, pullOpen), p.Stage, p.Reason, p.Class, p.Task, p.SeenAt, p.DecidedAt})
		}
		return err
	}); err != nil || len(infos) > 0 {
		return infos, err
	}
	now, err := r.Snapshots.Wait(ctx)
	if err != nil {
		return nil, err
	}
	if !now.Mines(address) {
		err = r.o.Store.View(ctx, func(tx *store.Tx) error { // it may have been declared once
			counts, err := tx.PullCounts(address)
			if err == nil && len(counts) == 0 {
				err = fmt.Errorf("%w: %s", history.ErrUnknown, address)
			}
			return err
		})
	}
	return nil, err
}
