package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/trial"
)

// CheckCells compares what lists and counts show of trials with the trials themselves, and returns
// an error for each difference. It reads every trial: it is for tests.
func CheckCells(ctx context.Context, s *store.Store) error {
	return s.View(ctx, func(tx *store.Tx) error {
		executions, err := tx.AllExecutions()
		if err != nil {
			return err
		}
		var differ []error
		for _, e := range executions {
			differ = append(differ, checkCellsOf(tx, e.Spec, e.N))
		}
		return errors.Join(differ...)
	})
}

func checkCellsOf(tx *store.Tx, spec string, n int) error {
	cells, counted := map[string]store.CellRow{}, map[string]int{}
	if err := tx.EachCell(spec, n, func(c store.CellRow) error {
		cells[c.Trial] = c
		counted[c.State]++
		return nil
	}); err != nil {
		return err
	}
	rows, err := tx.Trials(spec, n)
	if err != nil {
		return err
	}
	var differ []error
	for _, row := range rows {
		c, ok := cells[row.ID]
		if delete(cells, row.ID); !ok {
			differ = append(differ, fmt.Errorf("trial %s has no cell", row.ID))
			continue
		}
		differ = append(differ, checkCell(tx, row, c))
	}
	for _, id := range slices.Sorted(maps.Keys(cells)) {
		differ = append(differ, fmt.Errorf("there is a cell of trial %s, and no trial", id))
	}
	counts, err := tx.CellCounts(spec, n)
	if err != nil {
		return err
	}
	for _, c := range counts {
		if c.Cells != counted[c.State] {
			differ = append(differ, fmt.Errorf("%s e%d has %d cells in state %q, and counts %d", spec, n, counted[c.State], c.State, c.Cells))
		}
		delete(counted, c.State)
	}
	for _, state := range slices.Sorted(maps.Keys(counted)) {
		differ = append(differ, fmt.Errorf("%s e%d has %d cells in state %q, and counts none", spec, n, counted[state], state))
	}
	return errors.Join(differ...)
}

// checkCell compares a cell with what its trial and that one's rounds make of it.
func checkCell(tx *store.Tx, row store.TrialRow, has store.CellRow) error {
	s, err := StateOf(row)
	if err != nil {
		return err
	}
	want := cellRow(row, s)
	if err := countRounds(tx, s, &want); err != nil {
		return err
	}
	want.N = has.N
	if want.Status == "" { // rounds may come to their verdicts in another order than they were accepted in
		if err := latelyJudged(tx, s, has, &want); err != nil {
			return err
		}
	}
	a, err := inWords(want)
	if err != nil {
		return err
	}
	b, err := inWords(has)
	if err != nil {
		return err
	}
	var differ []error
	for i := range a {
		if a[i] != b[i] {
			differ = append(differ, fmt.Errorf("the cell of trial %s has %s and should have %s", row.ID, b[i], a[i]))
		}
	}
	return errors.Join(differ...)
}

// latelyJudged has the rates of the round that a cell says was judged last, if it is one of the try.
func latelyJudged(tx *store.Tx, s trial.State, has store.CellRow, want *store.CellRow) error {
	subs, err := ledger.OfTrial(tx, s.ID)
	if err != nil {
		return err
	}
	for _, sub := range s.Counted(subs) {
		if sub.Round == has.Round && countedRound(sub) {
			want.Round, want.PassRate, want.Score, want.Score100 = sub.Round, &sub.Report.PassRate, sub.Report.Score, sub.Report.Score100
		}
	}
	return nil
}

// inWords are the fields of a cell, a line each.
func inWords(c store.CellRow) ([]string, error) {
	if len(c.Flags) == 0 {
		c.Flags = nil
	}
	for _, t := range []*time.Time{&c.Created, &c.Started, &c.Deadline, &c.Ended, &c.Finished} {
		*t = t.UTC()
	}
	flags := c.Flags
	c.Flags = nil // the others have one line each
	text, err := json.MarshalIndent(c, "", "")
	return append(strings.Split(string(text), ",\n"), fmt.Sprintf("flags %q", flags)), err
}
