package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/trial"
)

// Retried is what a retry came to.
type Retried struct {
	Run       string   `json:"run"`
	Execution int      `json:"execution"`
	Trials    []string `json:"trials"`   // that are tried again
	Repinned  []string `json:"repinned"` // tasks that no verdict counts of: their content is as it is now
}

// nothingToRetry is a request.ErrNothing without its words.
type nothingToRetry struct{ text string }

func (e *nothingToRetry) Error() string { return e.text }

// Is makes it a request.ErrNothing.
func (e *nothingToRetry) Is(target error) bool { return target == request.ErrNothing }

// retry has ended trials tried again that are chosen and in no rate, with a record of who asked; nil = nobody did. Tasks of which no verdict
// counts are pinned again, with the content as it was last read.
func (x *executions) retry(ctx context.Context, address string, record *control.Record, chosen func(trial.State) bool) (out Retried, err error) {
	run, err := x.complete(address)
	if err != nil {
		return out, err
	}
	out.Run = address
	var d, newest *plan.Run
	var stale *plan.Stale
	c := x.runs.contents.Of(address)
	x.runs.cells.TouchAll(address)
	err = x.store.Do(ctx, func(tx *store.Tx) error {
		e, err := tx.LatestExecution(address)
		if errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("%w: it has not begun", request.ErrNothing)
		}
		if err != nil {
			return err
		}
		out.Execution = e.N
		states, err := history.Standing(tx, address, e.N)
		if err != nil {
			return err
		}
		again := slices.DeleteFunc(slices.Clone(states), func(s trial.State) bool {
			return x.trials.Drives(s.ID) || s.Result == nil || !s.Result.Final || s.Result.Status.Counts() || !chosen(s)
		})
		if len(again) == 0 {
			return nil
		}
		p := x.runs.contents.Compiler(tx, x.runs.specs.Set())
		if out.Repinned, err = p.Repin(run, c, again, states); err != nil {
			return err
		}
		if err := forgetImages(tx, address, e.N, out.Repinned, states); err != nil {
			return err
		}
		if d, newest, stale, err = p.Compiled(run, c); err != nil {
			return err
		}
		for _, s := range again {
			out.Trials = append(out.Trials, s.ID)
			if err := tryAgain(tx, d, s); err != nil {
				return err
			}
		}
		if err := p.Put(address, c); err != nil {
			return err
		}
		return errors.Join(record.Append(tx, x.runs.placeIn(address, e.N)), history.Revive(tx, address))
	})
	if err != nil || len(out.Trials) == 0 {
		return out, err
	}
	x.images.Forget()
	x.runs.desired[address] = d
	x.runs.contents.Put(address, c, stale, newest)
	x.runs.changed(address)
	return out, nil
}

// complete is a run in force of which no folder is being copied: one may be changed at this moment.
func (x *executions) complete(address string) (*config.Run, error) {
	run := x.runs.specs.Set().Run(strings.TrimPrefix(address, "run."))
	if run == nil {
		return nil, request.Conflictf("no file declares %s", address)
	}
	if folder, _ := x.runs.specs.Set().PendingFolder(run); folder != "" {
		return nil, request.Conflictf("%s; try again when it is there", plan.WaitsFor(x.runs.specs.Set(), run))
	}
	return run, nil
}

// tryAgain lets an ended trial go into its next try, where its cell is still wanted. One whose
// cell is another now is superseded instead.
func tryAgain(tx *store.Tx, d *plan.Run, s trial.State) error {
	if _, is := d.Wanted().Place(s.Key, plan.SlotOf(s.Cell)); !is {
		return nil
	}
	row, err := tx.Trial(s.ID)
	if err != nil {
		return err
	}
	open := *s.Result
	open.Final = false
	s.Result, s.Unwanted, s.Again = &open, false, true
	row.Wanted = true
	return history.PutState(tx, row, s)
}

// forgetImages has the names of images looked up anew that only tasks use which were pinned again.
func forgetImages(tx *store.Tx, address string, n int, tasks []string, all []trial.State) error {
	kept := map[string]bool{}
	for _, s := range all {
		if !slices.Contains(tasks, plan.TaskAddressOf(s)) {
			for _, ref := range plan.ImagesOf(s.Cell.Task) {
				kept[ref] = true
			}
		}
	}
	for _, s := range all {
		if !slices.Contains(tasks, plan.TaskAddressOf(s)) {
			continue
		}
		for _, ref := range plan.ImagesOf(s.Cell.Task) {
			if ref == "" || kept[ref] {
				continue
			}
			if err := tx.PutMeta(history.PinKey(address, n, ref), ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// revive goes on with a run that is handed in again.
func (x *executions) revive(ctx context.Context, address string) error {
	o, err := x.observer.one(ctx, address)
	if err != nil || o.Execution == nil || x.runs.desired[address] == nil || x.runs.desired[address].Blocked != "" {
		return err
	}
	again := o.Execution.Cancelled
	if !again {
		if again, err = x.outdated(ctx, address, o.Execution.N); err != nil {
			return err
		}
	}
	if !again {
		if _, err := x.retry(ctx, address, nil, func(s trial.State) bool { return s.Result.Status.Retryable() }); err != nil {
			return err
		}
		again = x.runs.contents.Stale(address) != nil
	}
	if again && o.Execution.Finished {
		x.runs.rerun[address] = &plan.Rerun{}
		x.runs.due(address)
	}
	return nil
}

// outdated reports whether a verdict counts of a task whose content is another now.
func (x *executions) outdated(ctx context.Context, address string, n int) (outdated bool, err error) {
	stale := x.runs.contents.Stale(address)
	if stale == nil {
		return false, nil
	}
	err = x.store.View(ctx, func(tx *store.Tx) error {
		states, err := history.Standing(tx, address, n)
		outdated = slices.ContainsFunc(states, func(s trial.State) bool {
			return (s.Result == nil || s.Result.Status.Counts()) && slices.Contains(stale.Tasks, plan.TaskAddressOf(s))
		})
		return err
	})
	return outdated, err
}
