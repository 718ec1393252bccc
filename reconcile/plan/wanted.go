package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sort"
	"sync"

	"github.com/assayd/assayd/runtime/agent"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial"
)

// WantedCells are the cells of a run, in order. Each is made when somebody asks for it: a run may have a
// hundred thousand, and most of them are over or have not begun. Any goroutine may ask.
type WantedCells struct {
	n       int
	batches []*batch // in order; nil = the cells are listed
	listed  []Cell

	once sync.Once
	made []Cell // all of them

	numbered sync.Once
	numbers  map[string]int // the place of each listed one, by key
}

// batch are the cells of some tasks of a source, attempt by attempt.
type batch struct {
	source              *source
	start               int // place of its first cell in the run
	from, tasks, agents int // which tasks of the source, and how many agents
	attempts            int
	once                sync.Once
	keys                []func(attempt int) string // for each agent at each task
}

// cellsOf are cells that there are already.
func cellsOf(cells []Cell) *WantedCells { return &WantedCells{n: len(cells), listed: cells} }

// with are the cells with those of further tasks of a source behind them, of which from were before them.
func (w *WantedCells) with(of *source, from, tasks, agents int) *WantedCells {
	p := &batch{source: of, start: w.Len(), from: from, tasks: tasks, agents: agents, attempts: max(of.origin().run.Attempts, 1)}
	if p.len() == 0 {
		return w
	}
	out := &WantedCells{n: p.start + p.len()}
	if w != nil {
		out.batches = w.batches[:len(w.batches):len(w.batches)]
	}
	out.batches = append(out.batches, p)
	for i := range tasks {
		selected := of.origin().selected[from+i]
		t, _ := CompileTask(selected) // it has been compiled before, so it can be
		of.places.Store(TaskAddress(t.Benchmark, t.Name), placeOfTask{p, i})
	}
	return out
}

// placeOfTask says where the cells of a task are.
type placeOfTask struct {
	batch *batch
	i     int
}

func (p *batch) len() int { return p.tasks * p.agents * p.attempts }

// keysOf makes keys. The attempts of one agent at one task share what takes long.
func (p *batch) keysOf() (keys []func(attempt int) string) {
	of := p.source.origin()
	for i := range p.tasks {
		t, _ := CompileTask(of.selected[p.from+i]) // it has been compiled before, so it can be
		for j := range p.agents {
			a, _ := agentOf(of.set, of.named[j])
			keys = append(keys, recipe{p.source, p.from + i, j, 1}.with(t, a).Keys())
		}
	}
	return keys
}

// at is the cell at a place of the batch.
func (p *batch) at(i int) Cell {
	p.once.Do(func() { p.keys = p.keysOf() })
	k, attempt := i%len(p.keys), i/len(p.keys)+1
	r := recipe{p.source, p.from + k/p.agents, k % p.agents, attempt}
	return Cell{Key: p.keys[k](attempt), whole: r.cell, solution: r.solution}
}

// Len is how many there are.
func (w *WantedCells) Len() int {
	if w == nil {
		return 0
	}
	return w.n
}

// At is the cell at a place, from 0.
func (w *WantedCells) At(place int) Cell {
	if w.batches == nil {
		return w.listed[place]
	}
	p := w.batchOf(place)
	return p.at(place - p.start)
}

// batchOf is the batch that a place is in.
func (w *WantedCells) batchOf(place int) *batch {
	return w.batches[sort.Search(len(w.batches), func(i int) bool { return w.batches[i].start > place })-1]
}

// all are all of them.
func (w *WantedCells) all() []Cell {
	switch {
	case w == nil:
		return nil
	case w.batches == nil:
		return w.listed
	}
	w.once.Do(func() {
		w.made = make([]Cell, w.n)
		for i := range w.made {
			w.made[i] = w.At(i)
		}
	})
	return w.made
}

// Place tells where the cell with a key is, from 0, which an edit has left in its slot if it is there still.
func (w *WantedCells) Place(key string, of Slot) (place int, is bool) {
	switch {
	case w == nil:
		return 0, false
	case w.batches == nil:
		w.numbered.Do(func() {
			w.numbers = make(map[string]int, w.n)
			for i, c := range w.listed {
				w.numbers[c.Key] = i
			}
		})
		place, is = w.numbers[key]
		return place, is
	}
	source := w.batches[0].source
	found, is := source.places.Load(TaskAddress(of.Benchmark, of.Task))
	agent, declared := source.agents[of.Agent]
	if !is || !declared {
		return 0, false
	}
	at := found.(placeOfTask) //nolint:forcetypeassert // nothing else is stored
	if p := at.batch; of.Attempt < 1 || of.Attempt > p.attempts || agent >= p.agents {
		return 0, false
	}
	place = at.batch.start + (of.Attempt-1)*at.batch.tasks*at.batch.agents + at.i*at.batch.agents + agent
	if place >= w.n || w.At(place).Key != key { // it came later, or an edit changed the cell
		return 0, false
	}
	return place, true
}

// KeysMade is how many keys of cells have been made so far, where they are not listed: of a run that is over nobody
// asks for any. The attempts of one agent at one task count once. It is for tests.
func (w *WantedCells) KeysMade() (n int) {
	for _, p := range w.batches {
		n += len(p.keys)
	}
	return n
}

// first are the keys of the first attempts, or all keys where the cells are listed.
func (w *WantedCells) first() (keys []string) {
	if w == nil {
		return nil
	}
	for _, c := range w.listed {
		keys = append(keys, c.Key)
	}
	for _, p := range w.batches {
		for _, key := range p.keysOf() { // which are not kept: of most runs that are over no cell is asked for
			keys = append(keys, key(1))
		}
	}
	return keys
}

// layout identifies the order of the cells, which depends on when tasks were added; "" where the cells
// are listed.
func (w *WantedCells) layout() string {
	if w == nil || w.batches == nil {
		return ""
	}
	sum := sha256.New()
	for _, p := range w.batches {
		fmt.Fprintln(sum, p.start, p.tasks, p.agents, p.attempts)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Tasks are the tasks of the cells, each once, as the cells have them but for the solution.
func (d *Run) Tasks() (all []task.Task) {
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

// provider is that whose models the agent of the cell at a place asks; "" = it asks none.
func (w *WantedCells) provider(place int) string {
	if w.batches == nil {
		return providerOf(w.listed[place].Whole().Agent)
	}
	p := w.batchOf(place)
	return p.source.asks[(place-p.start)%p.agents]
}

// providers are those of all cells, each once, in order.
func (w *WantedCells) providers() (all []string) {
	switch {
	case w == nil:
	case w.batches != nil:
		all = append(all, w.batches[0].source.asks...)
	default:
		for i := range w.listed {
			all = append(all, w.provider(i))
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(p string) bool { return p == "" })
}
