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

// Retry tries again, in the latest execution, the trials of a run that are excluded from
// rates, or one of them. request.ErrNothing where there is none.
func (r *Reconciler) Retry(ctx context.Context, name string) (out Retried, err error) {
	if plan.IsMining(name) {
		return out, request.Mistakef("%s is a mining spec; a run or a trial can be tried again", name)
	}
	var of string
	if err := r.ask(ctx, func() (err error) { of, _, err = r.resolve(ctx, name); return err }); err != nil {
		return out, err
	}
	if err := r.prepackRun(ctx, of); err != nil {
		return out, err
	}
	err = r.ask(ctx, func() error {
		address, cell, err := r.resolve(ctx, name)
		if err != nil {
			return err
		}
		if r.desired[address] == nil {
			return request.Conflictf("retry %s: no file declares %s", name, address)
		}
		r.rescan(ctx, r.filesOfRun(address))
		chosen := func(s trial.State) bool { return !s.Unwanted }
		if cell != "" {
			chosen = func(s trial.State) bool { return s.ID == name }
		}
		record := control.NewRecord(ctx, control.Retry, name)
		if out, err = r.retry(ctx, address, &record, chosen); err != nil {
			return fmt.Errorf("retry %s: %w", name, err)
		}
		if len(out.Trials) == 0 {
			return &nothingToRetry{fmt.Sprintf("retry %s: no ended trial of e%d is excluded from rates; to do it once more: assayd rerun %s", name, out.Execution, name)}
		}
		return nil
	})
	return out, err
}

// nothingToRetry is a request.ErrNothing without its words.
type nothingToRetry struct{ text string }

func (e *nothingToRetry) Error() string { return e.text }

// Is makes it a request.ErrNothing.
func (e *nothingToRetry) Is(target error) bool { return target == request.ErrNothing }

// retry has ended trials tried again that are chosen and in no rate, with a record of who asked; nil = nobody did. Tasks of which no verdict
// counts are pinned again, with the content as it was last read.
func (r *Reconciler) retry(ctx context.Context, address string, record *control.Record, chosen func(trial.State) bool) (out Retried, err error) {
	run, err := r.complete(address)
	if err != nil {
		return out, err
	}
	out.Run = address
	var d, newest *plan.Run
	var stale *plan.Stale
	c := r.contents.of[address].Clone()
	r.touchAll(address)
	err = r.o.Store.Do(ctx, func(tx *store.Tx) error {
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
			return r.live[s.ID] != nil || s.Result == nil || !s.Result.Final || s.Result.Status.Counts() || !chosen(s)
		})
		if len(again) == 0 {
			return nil
		}
		p := r.pinner(tx, r.set)
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
		return errors.Join(record.Append(tx, placeIn(r, address, e.N)), history.Revive(tx, address))
	})
	if err != nil || len(out.Trials) == 0 {
		return out, err
	}
	r.images.Forget()
	r.desired[address], r.contents.of[address] = d, c
	r.contents.differ(address, stale, newest)
	r.shown.show(address)
	r.queue.add(address, r.now())
	return out, nil
}

// complete is a run in force of which no folder is being copied: one may be changed at this moment.
func (r *Reconciler) complete(address string) (*config.Run, error) {
	run := r.set.Run(strings.TrimPrefix(address, "run."))
	if run == nil {
		return nil, request.Conflictf("no file declares %s", address)
	}
	if folder, _ := r.set.PendingFolder(run); folder != "" {
		return nil, request.Conflictf("%s; try again when it is there", plan.WaitsFor(r.set, run))
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

// revive goes on with what is handed in again: with `assayd run` there is no other way. What a
// user cancelled, or what other content would be judged with, begins another execution; of the
// rest the trials are tried again that the machinery failed.
func (r *Reconciler) revive(ctx context.Context, addresses []string) error {
	for _, address := range addresses {
		if plan.IsMining(address) {
			if err := r.minings.Revive(ctx, address); err != nil {
				return err
			}
			continue
		}
		if err := r.reviveRun(ctx, address); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) reviveRun(ctx context.Context, address string) error {
	o, err := r.observeOne(ctx, address)
	if err != nil || o.Execution == nil || r.desired[address] == nil || r.desired[address].Blocked != "" {
		return err
	}
	again := o.Execution.Cancelled
	if !again {
		if again, err = r.outdated(ctx, address, o.Execution.N); err != nil {
			return err
		}
	}
	if !again {
		if _, err := r.retry(ctx, address, nil, func(s trial.State) bool { return s.Result.Status.Retryable() }); err != nil {
			return err
		}
		again = r.contents.stale[address] != nil
	}
	if again && o.Execution.Finished {
		r.rerun[address] = &plan.Rerun{}
		r.queue.add(address, r.now())
	}
	return nil
}

// outdated reports whether a verdict counts of a task whose content is another now.
func (r *Reconciler) outdated(ctx context.Context, address string, n int) (outdated bool, err error) {
	stale := r.contents.stale[address]
	if stale == nil {
		return false, nil
	}
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		states, err := history.Standing(tx, address, n)
		outdated = slices.ContainsFunc(states, func(s trial.State) bool {
			return (s.Result == nil || s.Result.Status.Counts()) && slices.Contains(stale.Tasks, plan.TaskAddressOf(s))
		})
		return err
	})
	return outdated, err
}
