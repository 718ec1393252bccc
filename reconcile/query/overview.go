package query

import (
	"context"
	"slices"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/hold"
	"github.com/assayd/assayd/reconcile/query/snapshot"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/clock"
)

// Overview is what there is to see at a glance. Each of its lists is bounded.
type Overview struct {
	Runs        []RunInfo             `json:"runs"`    // first those that work, then those that changed last
	Minings     []MiningInfo          `json:"minings"` // by address
	Files       map[config.Status]int `json:"files"`   // how many are in which state
	Diagnostics config.Diagnostics    `json:"diagnostics"`
	Paused      bool                  `json:"paused,omitempty"` // a user has paused everything
	Spending    SpendingNow           `json:"spending"`
	Waits       []string              `json:"waits,omitempty"` // what the daemon lacks, without which it does nothing new
	Git         *GitStatus            `json:"git,omitempty"`   // nil = no specs come from a repository
}

// How much an overview has.
const (
	overviewWorking = 100 // runs that work
	overviewLatest  = 20  // and others
	overviewMinings = 20
	overviewWrong   = 100 // diagnostics
)

// Overview reads what there is to see at a glance. It costs what it has, whatever else there is.
func (r *Reader) Overview(ctx context.Context) (o Overview, err error) {
	now, err := r.Snapshots.Wait(ctx)
	if err != nil {
		return o, err
	}
	status := r.status(now)
	o = Overview{Diagnostics: status.Diagnostics[:min(overviewWrong, len(status.Diagnostics))], Waits: status.Waits, Git: status.Git, Files: map[config.Status]int{}}
	if request.HidesContent(ctx) {
		o.Diagnostics = mutedDiagnostics(o.Diagnostics)
	}
	for _, f := range status.Files {
		o.Files[f.Status]++
	}
	var working, latest []string
	if err := r.o.Store.View(ctx, func(tx *store.Tx) (err error) {
		if working, err = tx.OpenSpecs(overviewWorking); err != nil {
			return err
		}
		if latest, err = tx.LatestTopics(2*overviewLatest + overviewWorking); err != nil {
			return err
		}
		if o.Spending, err = r.spendingNow(tx, clock.Now().UTC()); err != nil {
			return err
		}
		holds, err := hold.Read(tx)
		o.Paused = holds.On(clock.Now()).Of(hold.All, hold.Pause) != nil
		return err
	}); err != nil {
		return o, err
	}
	views := []snapshot.RunView{}
	for _, address := range working {
		views = append(views, now.Run(address))
	}
	for _, address := range latest {
		if len(views) < len(working)+overviewLatest && !slices.Contains(working, address) && now.Knows(address) {
			views = append(views, now.Run(address))
		}
	}
	for address, view := range now.Runs() { // those that nothing has happened in yet
		if len(views) >= len(working)+overviewLatest {
			break
		}
		if !slices.ContainsFunc(views, func(v snapshot.RunView) bool { return v.Address == address }) {
			views = append(views, view)
		}
	}
	if o.Runs, err = r.runInfos(ctx, now, views); err != nil {
		return o, err
	}
	o.Minings, err = r.MiningsAfter(ctx, "", overviewMinings)
	return o, err
}

// MiningsAfter returns at most limit mining specs whose address comes behind after.
func (r *Reader) MiningsAfter(ctx context.Context, after string, limit int) (infos []MiningInfo, err error) {
	now, err := r.Snapshots.Wait(ctx)
	if err != nil {
		return nil, err
	}
	for _, seen := range now.MiningsAfter(after) {
		if len(infos) == limit {
			break
		}
		m, err := r.MiningOf(ctx, seen.Address)
		if err != nil {
			return infos, err
		}
		infos = append(infos, m)
	}
	return infos, nil
}

// MatrixCell is a cell of an execution that has begun, as a matrix shows it.
type MatrixCell struct {
	Trial    string
	Task     string // with its benchmark
	Agent    string // with its model where an agent has several
	Attempt  int
	State    string
	PassRate *float64
	Flagged  bool // it has flags
}

// Cells are how many cells of an execution are in which state, and all of them in short. No trial is decoded for it.
func (r *Reader) Cells(ctx context.Context, address string, execution int) (counts map[string]int, cells []MatrixCell, err error) {
	counts = map[string]int{}
	models := map[string]map[string]bool{}
	var rows []store.CellShort
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		of, err := tx.CellCounts(address, execution)
		if err != nil {
			return err
		}
		for _, c := range of {
			if c.Cells > 0 {
				counts[c.State] = c.Cells
			}
		}
		return tx.EachCellShort(address, execution, func(c store.CellShort) error {
			if c.State == history.StateSuperseded {
				return nil
			}
			if models[c.Agent] == nil {
				models[c.Agent] = map[string]bool{}
			}
			models[c.Agent][c.Model] = true
			rows = append(rows, c)
			return nil
		})
	})
	for _, c := range rows {
		cell := MatrixCell{Trial: c.Trial, Task: c.Task, Agent: c.Agent, Attempt: c.Attempt, State: c.State, PassRate: c.PassRate, Flagged: c.Flagged}
		if c.Benchmark != "" {
			cell.Task = c.Benchmark + "." + c.Task
		}
		if len(models[c.Agent]) > 1 {
			cell.Agent += " " + c.Model
		}
		cells = append(cells, cell)
	}
	return counts, cells, err
}
