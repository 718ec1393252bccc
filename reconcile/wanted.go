package reconcile

import (
	"sync"

	"github.com/assayd/assayd/runtime/agent"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial"
)

// wantedCells are the cells of a run. They are made when somebody asks for them first: for a run that
// is over nobody does, and it may have a hundred thousand.
type wantedCells struct {
	n    int
	make func(attempts int) []Cell // those of the first so many attempts
	once sync.Once
	made []Cell

	numbered sync.Once
	numbers  map[string]int // the place of each, by key
}

// cellsOf are cells that there are already.
func cellsOf(cells []Cell) *wantedCells {
	return &wantedCells{n: len(cells), make: func(int) []Cell { return cells }}
}

// len is how many there are.
func (w *wantedCells) len() int {
	if w == nil {
		return 0
	}
	return w.n
}

// all are all of them, in order.
func (w *wantedCells) all() []Cell {
	if w == nil {
		return nil
	}
	w.once.Do(func() { w.made = w.make(w.n) })
	return w.made
}

// places tells by key where each is; only to read.
func (w *wantedCells) places() map[string]int {
	if w == nil {
		return nil
	}
	w.numbered.Do(func() {
		w.numbers = make(map[string]int, w.n)
		for i, c := range w.all() {
			w.numbers[c.Key] = i
		}
	})
	return w.numbers
}

// first are the keys of the first attempts, or all keys where the cells are listed.
func (w *wantedCells) first() (keys []string) {
	if w == nil {
		return nil
	}
	for _, c := range w.make(1) {
		keys = append(keys, c.Key)
	}
	return keys
}

// wantedOf are the cells of some tasks of a source, of which from were before them.
func wantedOf(of *source, from, tasks, agents int) *wantedCells {
	all := max(of.origin().run.Attempts, 1)
	return &wantedCells{n: all * tasks * agents, make: func(attempts int) []Cell {
		return of.cells(from, tasks, agents, min(all, attempts))
	}}
}

// cells are the first attempts of agents at some tasks of a source. The attempts of one agent at one task share
// what takes long.
func (s *source) cells(from, tasks, agents, attempts int) []Cell {
	var keys []func(attempt int) string
	of := s.origin()
	for i := range tasks {
		t, _ := CompileTask(of.selected[from+i]) // it has been compiled before, so it can be
		for j := range agents {
			a, _ := agentOf(of.set, of.named[j])
			keys = append(keys, recipe{s, from + i, j, 1}.with(t, a).Keys())
		}
	}
	cells := make([]Cell, 0, attempts*len(keys))
	for attempt := 1; attempt <= attempts; attempt++ {
		for k, key := range keys {
			r := recipe{s, from + k/agents, k % agents, attempt}
			cells = append(cells, Cell{Key: key(attempt), whole: r.cell, solution: r.solution})
		}
	}
	return cells
}

// tasks are the tasks of the cells, each once, as the cells have them but for the solution.
func (d *Run) tasks() (all []task.Task) {
	of := d.source.origin()
	for i := range of.selected {
		t, _ := CompileTask(of.selected[i]) // it has been compiled before, so it can be
		all = append(all, recipe{d.source, i, 0, 1}.with(t, agent.Agent{}).Task)
	}
	return all
}

// check blocks a run for what its agents cannot do with its tasks.
func (c *compiler) check(tasks []task.Task, agents []agent.Agent) {
	for _, t := range tasks {
		for _, a := range agents {
			if a.Solves() && t.Solution == nil {
				c.blockf("task %q has no solution for the oracle", t.Name)
			}
			if c.run.Mode == trial.Single && t.Judge.Game != "" {
				c.blockf("task %q is a game, and in single mode there is nothing to play with", t.Name)
			}
		}
	}
}
