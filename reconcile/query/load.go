package query

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/budget"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/hold"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query/snapshot"
	"github.com/assayd/assayd/reconcile/query/summaries"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/mining"
)

// States of runs in a Load.
const (
	RunRunning = "running" // an execution is open
	RunBlocked = "blocked" // it cannot be carried out as it is written
	RunWaiting = "waiting" // for a dataset, or for tasks that are mined
	RunIdle    = "idle"    // there is nothing to do for it now
)

// RunStates are all of them.
func RunStates() []string { return []string{RunRunning, RunBlocked, RunWaiting, RunIdle} }

// Why cells wait, in a Load.
const (
	WaitsForRoom    = "room"    // the machine has none for the next cell of the run
	WaitsForBlocked = "blocked" // the run is blocked
	WaitsForTurn    = "turn"    // the run starts no more at the same time, or is about to
)

// WaitReasons are all of them.
func WaitReasons() []string { return []string{WaitsForRoom, WaitsForBlocked, WaitsForTurn} }

// Load is what there is to do now, in numbers. It costs what is open, whatever was done before.
type Load struct {
	Files       map[config.Status]int
	Diagnostics map[config.Severity]int
	Runs        map[string]int // by state
	Trials      map[string]int // of open executions, by the states of history.OpenStates
	Waiting     map[string]int // cells of open executions that have not begun, by why they wait
	Open        []OpenRun      // by address, at most as many as asked for
	Dropped     int            // open executions that are not in Open
	Mining      map[string]int // open pull requests by stage
	Unwritten   int            // records that are not in their file yet
	Holds       map[string]int // in force, by what they are on
	Budgets     []budget.Period
	HourUSD     float64 // what models cost in the last 60 minutes
}

// What a hold is on, in a Load.
const (
	HoldOnAll      = "all"
	HoldOnRun      = "run"
	HoldOnMining   = "mining"
	HoldOnProvider = "provider"
	HoldOnBudget   = "budget" // everything, for a budget of the settings that is used up
)

// HoldTargets are all of them.
func HoldTargets() []string {
	return []string{HoldOnAll, HoldOnRun, HoldOnMining, HoldOnProvider, HoldOnBudget}
}

// OpenRun is an execution that is open, the latest one of its run.
type OpenRun struct {
	Address   string
	Execution int
	Cells     map[string]int // by state, with "waiting"
	Resolved  *float64       // rate of the summary that was made last; nil = there is none
	CostUSD   float64
	BudgetUSD float64 // 0 = there is none

	wanted, begun int
}

// Load reads what there is to do, with at most limit open executions one by one.
func (r *Reader) Load(ctx context.Context, limit int) (l Load, err error) {
	now, err := r.Snapshots.Wait(ctx)
	if err != nil {
		return l, err
	}
	l = Load{Files: map[config.Status]int{}, Diagnostics: map[config.Severity]int{}, Runs: map[string]int{}, Trials: map[string]int{}, Waiting: map[string]int{}}
	if now.Set != nil {
		for _, f := range now.Set.Files {
			l.Files[f.Status]++
		}
		for _, d := range now.Set.Diagnostics {
			l.Diagnostics[d.Severity]++
		}
	}
	stale := oldest{}
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		open, err := r.openRuns(tx, now, &l, limit)
		if err != nil {
			return err
		}
		for i := range l.Open {
			if err := r.amount(tx, now, &l.Open[i], &stale); err != nil {
				return err
			}
		}
		l.count(now, open)
		if l.Mining, err = minings(tx, now); err != nil {
			return err
		}
		if l.Unwritten, err = tx.Unwritten(); err != nil {
			return err
		}
		return r.heldBack(tx, &l)
	})
	if stale.of.Address != "" && err == nil && !r.o.Idle {
		r.want(stale.of) // one at a time: who asks every few seconds must not have all made again and again
	}
	return l, err
}

// heldBack fills in the holds in force, and the budgets of the settings.
func (r *Reader) heldBack(tx *store.Tx, l *Load) error {
	set, err := hold.Read(tx)
	if err != nil {
		return err
	}
	now := clock.Now()
	l.Holds = map[string]int{}
	for _, h := range set {
		if !h.Until.IsZero() && !now.Before(h.Until) {
			continue
		}
		on, _, _ := strings.Cut(h.Target, ".")
		if h.Kind == hold.Budget {
			on = HoldOnBudget
		}
		l.Holds[on]++
	}
	if _, l.HourUSD, err = tx.SpendingSince(now.Add(-time.Hour), 0); err != nil {
		return err
	}
	l.Budgets, err = r.budgets(tx, now)
	return err
}

// budgets are the days and months that the settings bound.
func (r *Reader) budgets(tx *store.Tx, now time.Time) ([]budget.Period, error) {
	if r.o.Config.Settings == nil {
		return nil, nil
	}
	return budget.Periods(tx, r.o.Config.Settings.Budget, now)
}

// openRuns counts the cells of open executions, and returns the addresses of all.
func (r *Reader) openRuns(tx *store.Tx, now *snapshot.Snapshot, l *Load, limit int) (open map[string]bool, err error) {
	open = map[string]bool{}
	var run OpenRun
	end := func() {
		if run.Address == "" {
			return
		}
		open[run.Address] = true
		if waiting := run.wanted - run.begun; waiting > 0 {
			run.Cells["waiting"] = waiting
			l.Waiting[why(now.Run(run.Address))] += waiting
		}
		if last := len(l.Open) - 1; last >= 0 && l.Open[last].Address == run.Address {
			l.Open[last] = run // the later one
		} else if len(l.Open) < limit {
			l.Open = append(l.Open, run)
		} else {
			l.Dropped++
		}
	}
	err = tx.EachOpen(func(row store.OpenRow) error {
		if row.Spec != run.Address || row.Execution != run.Execution {
			end()
			run = OpenRun{Address: row.Spec, Execution: row.Execution, Cells: map[string]int{}, wanted: row.Only}
			if d := now.Run(row.Spec).Desired; d != nil && run.wanted == 0 {
				run.wanted = d.Wanted().Len()
			}
		}
		if row.Cells == 0 {
			return nil
		}
		run.Cells[row.State] = row.Cells
		if row.State != history.StateSuperseded {
			run.begun += row.Cells
		}
		for _, state := range history.OpenStates {
			if row.State == state {
				l.Trials[state] += row.Cells
			}
		}
		return nil
	})
	end()
	return open, err
}

// why cells of a run wait.
func why(run snapshot.RunView) string {
	switch {
	case run.Desired != nil && run.Desired.Blocked != "":
		return WaitsForBlocked
	case run.NoRoom:
		return WaitsForRoom
	}
	return WaitsForTurn
}

// count counts the runs by state.
func (l *Load) count(now *snapshot.Snapshot, open map[string]bool) {
	for address, run := range now.Runs() {
		l.Runs[stateOf(run.Desired, open[address])]++
	}
}

func stateOf(d *plan.Run, open bool) string {
	switch {
	case d != nil && d.Blocked != "":
		return RunBlocked
	case open:
		return RunRunning
	case d != nil && d.Waits != "":
		return RunWaiting
	}
	return RunIdle
}

// oldest is the execution whose kept summary lacks trials for the longest time.
type oldest struct {
	of summaries.Execution
	at time.Time
}

// amount fills in what an open execution amounts to so far.
func (r *Reader) amount(tx *store.Tx, now *snapshot.Snapshot, run *OpenRun, stale *oldest) error {
	spent, err := tx.SpentByExecution(run.Address, run.Execution)
	if err != nil {
		return err
	}
	run.CostUSD = spent.USD
	if d := now.Run(run.Address).Desired; d != nil {
		run.BudgetUSD = d.Total.USD
	}
	counts, err := tx.CellCounts(run.Address, run.Execution)
	if err != nil {
		return err
	}
	of := summaries.Execution{Address: run.Address, N: run.Execution}
	last, fresh, err := summaries.KeptOf(tx, of, counts)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	at := time.Time{}
	if last != nil {
		at = last.Made
		if rate := last.Summary.ResolvedRate; rate != nil {
			run.Resolved = &rate.Value
		}
	}
	if !fresh && summaries.Ended(counts) > 0 && (stale.of.Address == "" || at.Before(stale.at)) && !r.o.Summaries.Rests(of) {
		*stale = oldest{of, at}
	}
	return nil
}

// minings counts the open pull requests by stage; those that nobody is at work on are at the source.
func minings(tx *store.Tx, now *snapshot.Snapshot) (map[string]int, error) {
	open, err := tx.OpenPullCount()
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	for _, view := range now.Minings() {
		if view.Miner == nil {
			continue
		}
		for stage, n := range view.Miner.UnderWay() {
			at[stage] += n
			open -= n
		}
	}
	at[mining.StageSource] += max(open, 0)
	return at, nil
}
