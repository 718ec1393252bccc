package history

import (
	"errors"
	"fmt"

	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/summary"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial"
)

// States of cells that have no verdict which counts. The others have their status, as "resolved".
const (
	StateSetup      = "setup"    // images, the container, the guest
	StateWorking    = "working"  // the agent works
	StateJudging    = "judging"  // the agent is over
	StateRetrying   = "retrying" // a try is over, another one is to come
	StateSuperseded = "superseded"
)

// OpenStates are those of cells that are still to come to a verdict.
var OpenStates = []string{StateSetup, StateWorking, StateJudging, StateRetrying}

// StateWord is what a trial is counted as.
func StateWord(s trial.State) string {
	switch {
	case s.Superseded():
		return StateSuperseded
	case s.Phase == trial.Done && s.Result != nil:
		if !s.Result.Final || s.Again {
			return StateRetrying
		}
		return string(s.Result.Status)
	}
	switch s.Phase {
	case trial.Running:
		return StateWorking
	case trial.Closing, trial.Grading, trial.Private, trial.Verdict, trial.Cleanup, trial.Done:
		return StateJudging
	default:
		return StateSetup
	}
}

// cellRow is what a trial is to lists, but for its rounds.
func cellRow(row store.TrialRow, s trial.State) store.CellRow {
	t := s.Cell.Task
	c := store.CellRow{
		Trial: s.ID, Spec: row.Spec, Execution: row.Execution, Key: row.Cell,
		Benchmark: t.Benchmark, Task: t.Name, Repo: summary.RepoOf(t), Agent: s.Cell.Agent.Title(), Model: s.Cell.Agent.Model, Attempt: s.Cell.Attempt,
		Control: s.Cell.Agent.Control(), Try: row.Try, Phase: row.Phase, Status: row.Status, State: StateWord(s), Reason: s.Reason,
		Superseded: s.Superseded(), Unwanted: s.Unwanted, Created: row.CreatedAt, Started: s.StartedAt, Deadline: s.Deadline, Ended: s.EndedAt,
		Finished: row.FinishedAt, Flags: s.Flags,
	}
	if f := s.Result; f != nil && row.Status != "" {
		c.Reason, c.Flags, c.Stands = f.Reason, f.Flags, f.Final && !s.Again
		if b := f.Best; b != nil {
			c.Round, c.PassRate, c.Score, c.Score100 = b.Round, &b.PassRate, b.Score, b.Score100
		}
	}
	return c
}

// PutTrial stores a trial with what lists show of it.
func PutTrial(tx *store.Tx, row store.TrialRow, s trial.State) error {
	if err := tx.PutTrial(row); err != nil {
		return err
	}
	c := cellRow(row, s)
	if s.Phase == trial.Done { // between two tries an earlier version may have left it without a cell
		if _, err := tx.Cell(s.ID); errors.Is(err, store.ErrNotFound) {
			if err := countRounds(tx, s, &c); err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
	}
	return tx.PutCell(c)
}

// putRound counts a round that was judged.
func putRound(tx *store.Tx, s round.Submission) error {
	r := s.Report
	return tx.PutRound(store.RoundRow{Trial: s.Trial, Try: s.Try, Round: s.Round, PassRate: &r.PassRate, Score: r.Score, Score100: r.Score100})
}

// FilledKey says how far the trials of an earlier version have their cells: the id of the last one,
// or FilledAll, which is all of them.
const (
	FilledKey = "cells-filled"
	FilledAll = "*"
)

// AllFilled reports whether each trial has its cell.
func AllFilled(tx *store.Tx) (bool, error) {
	filled, err := tx.Meta(FilledKey)
	return filled == FilledAll, err
}

// FillCells makes the cells of some trials that an earlier version stored.
func FillCells(tx *store.Tx, rows []store.TrialRow) error {
	for _, row := range rows {
		s, err := StateOf(row)
		if err != nil {
			return err
		}
		c := cellRow(row, s)
		if err := countRounds(tx, s, &c); err != nil {
			return err
		}
		if err := tx.FillCell(c); err != nil {
			return err
		}
	}
	return nil
}

// countedRound reports whether a round is one of those that a cell counts.
func countedRound(s round.Submission) bool {
	return !s.Kind.Internal() && s.State == round.StateJudged && s.Report != nil
}

// countRounds fills in the rounds of a cell from the submissions themselves.
func countRounds(tx *store.Tx, s trial.State, c *store.CellRow) error {
	subs, err := ledger.OfTrial(tx, s.ID)
	if err != nil {
		return fmt.Errorf("count the rounds of trial %s: %w", s.ID, err)
	}
	for _, sub := range s.Counted(subs) {
		if !countedRound(sub) {
			continue
		}
		c.Rounds++
		if c.Status == "" {
			c.Round, c.PassRate, c.Score, c.Score100 = sub.Round, &sub.Report.PassRate, sub.Report.Score, sub.Report.Score100
		}
	}
	return nil
}
