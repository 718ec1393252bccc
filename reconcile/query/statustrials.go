package query

import (
	"slices"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query/summaries"
	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/summary"
	"github.com/assayd/assayd/runtime/gateway"
)

// doneOfRun fills in what was done in a run's execution: counts, trials, money, the summary.
func (r *Reader) doneOfRun(tx *store.Tx, d *plan.Run, run *RunStatus, q StatusQuery) error {
	counts, err := tx.CellCounts(run.Address, run.Execution)
	if err != nil {
		return err
	}
	var rows []store.TrialRow
	if run.Filling { // not all trials have a cell yet
		counts, rows, err = uncounted(tx, run, q)
	} else {
		rows, err = trialRows(tx, run, q)
	}
	if err != nil {
		return err
	}
	run.count(counts)
	if err := trialStatuses(tx, d, rows, run); err != nil {
		return err
	}
	if err := spentStatus(tx, d, run); err != nil {
		return err
	}
	return r.keptSummary(tx, run, counts)
}

// count fills in how many cells are in which state.
func (run *RunStatus) count(counts []store.CountRow) {
	begun := 0
	run.Cells = map[string]int{}
	for _, c := range counts {
		if c.Cells > 0 {
			run.Cells[c.State] = c.Cells
		}
		if c.State != history.StateSuperseded {
			begun += c.Cells
		}
	}
	if waiting := run.Wanted - begun; waiting > 0 && run.State == "running" {
		run.Cells["waiting"] = waiting
	}
}

// trialRows are the trials that a status tells.
func trialRows(tx *store.Tx, run *RunStatus, q StatusQuery) ([]store.TrialRow, error) {
	cells, err := tx.CellsOf(store.CellQuery{Spec: run.Address, Execution: run.Execution, Latest: true, Since: q.Since, Limit: q.Trials + 1})
	if err != nil {
		return nil, err
	}
	run.Truncated = len(cells) > q.Trials
	cells = cells[:min(len(cells), q.Trials)]
	rows := make([]store.TrialRow, len(cells))
	for i, c := range cells {
		run.Changed = max(run.Changed, c.N)
		if rows[i], err = tx.Trial(c.Trial); err != nil {
			return nil, err
		}
	}
	if q.Since > 0 && len(cells) == 0 {
		run.Changed = q.Since
	}
	slices.SortFunc(rows, func(a, b store.TrialRow) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return rows, nil
}

// uncounted are the trials that a status tells, and the counts of all, where some have no cell yet.
func uncounted(tx *store.Tx, run *RunStatus, q StatusQuery) (counts []store.CountRow, rows []store.TrialRow, err error) {
	if rows, err = tx.Trials(run.Address, run.Execution); err != nil {
		return nil, nil, err
	}
	cells := map[string]int{}
	for _, row := range rows {
		s, err := history.StateOf(row)
		if err != nil {
			return nil, nil, err
		}
		cells[history.StateWord(s)]++
	}
	for state, n := range cells {
		counts = append(counts, store.CountRow{State: state, Cells: n})
	}
	slices.SortStableFunc(rows, func(a, b store.TrialRow) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	run.Truncated = len(rows) > q.Trials
	rows = rows[:min(len(rows), q.Trials)]
	slices.SortStableFunc(rows, func(a, b store.TrialRow) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return counts, rows, nil
}

// trialStatuses fills in trials of an execution, in the order of the run as it is declared now.
func trialStatuses(tx *store.Tx, d *plan.Run, rows []store.TrialRow, run *RunStatus) error {
	superseded, err := history.SupersededIn(tx, rows)
	if err != nil {
		return err
	}
	cells, place := d.Wanted(), map[string]int{}
	total := gateway.Budget{}
	for at, row := range rows {
		s, err := history.StateOf(row)
		if err != nil {
			return err
		}
		subs, err := ledger.OfTrial(tx, s.ID)
		if err != nil {
			return err
		}
		t, err := trialview.StatusOf(tx, s, subs)
		if err != nil {
			return err
		}
		i, wanted := cells.Place(s.Key, plan.SlotOf(s.Cell))
		if !wanted {
			i = cells.Len()
		}
		t.Wanted, t.Superseded, place[t.ID] = wanted, superseded(row.ID, s.Replaced), i
		run.Trials = append(run.Trials, t)
		if wanted || at == 0 { // what is not wanted any more may have had another one
			total = s.Cell.Total
		}
	}
	if total != (gateway.Budget{}) {
		run.Budget = &total
	}
	slices.SortStableFunc(run.Trials, func(a, b trialview.TrialStatus) int { return place[a.ID] - place[b.ID] })
	return nil
}

// spentStatus fills in what all tries of an execution have spent on models, if one may.
func spentStatus(tx *store.Tx, d *plan.Run, run *RunStatus) error {
	asks := slices.ContainsFunc(run.Trials, func(t trialview.TrialStatus) bool { return t.Usage != nil })
	if d != nil && d.Total != (gateway.Budget{}) {
		run.Budget = &d.Total
	}
	spent, err := tx.SpentByExecution(run.Address, run.Execution)
	run.Left, run.AtLimit = leftOf(d, spent)
	if asks || spent.Exchanges > 0 {
		usage := ledger.UsageOf(spent)
		run.Usage = &usage
	}
	return err
}

// keptSummary fills in the summary, if it is kept, or what it is to be made of.
func (r *Reader) keptSummary(tx *store.Tx, run *RunStatus, counts []store.CountRow) error {
	of := summaries.Execution{Address: run.Address, N: run.Execution}
	ended := summaries.Ended(counts)
	if !run.Filling {
		if ended == 0 {
			return nil
		}
		m, fresh, err := summaries.KeptOf(tx, of, counts)
		if err != nil {
			return err
		}
		if m != nil {
			run.Summary = &m.Summary
		}
		if fresh {
			return nil
		}
		if run.outdated = ended > summaries.Many && !r.o.Idle; run.outdated {
			if m != nil {
				run.SummaryOf = m.Made
			}
			return nil
		}
	}
	var err error
	run.outcomes, _, err = history.Outcomes(tx, run.Address, run.Execution)
	return err
}

// sumUp makes the summary of a run where that is quick, and else has it made.
func (r *Reader) sumUp(run *RunStatus) {
	switch {
	case run.outdated:
		r.want(summaries.Execution{Address: run.Address, N: run.Execution})
	case len(run.outcomes) > 0:
		s := summary.Summarize(run.outcomes)
		run.Summary, run.outcomes = &s, nil
	}
}
