package plan

import (
	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial"
)

// Slot is what a cell keeps when an edit changes what is in it.
type Slot struct {
	Benchmark, Task string
	Agent           string // its title
	Attempt         int    // from 1
}

// SlotOf is the slot of a cell.
func SlotOf(c trial.Cell) Slot {
	return Slot{c.Task.Benchmark, c.Task.Name, c.Agent.Title(), c.Attempt}
}

// Slot is the slot of a cell that is Declared.
func (c Cell) Slot() Slot { return SlotOf(c.Whole()) }

// TaskAddress is a task's address as specs write it, benchmark.x["t"].
func TaskAddress(benchmark, name string) string {
	return config.Ref{Kind: "benchmark", Name: benchmark, Task: name}.String()
}

// TaskAddressOf is the address of the task of a trial.
func TaskAddressOf(s trial.State) string { return TaskAddress(s.Cell.Task.Benchmark, s.Cell.Task.Name) }

// ImagesOf are the names of images that a task is made of.
func ImagesOf(t task.Task) []string {
	refs := []string{t.Image, t.Work.Image, t.Judge.Image}
	if t.Base != nil {
		refs = append(refs, t.Base.Image)
	}
	for _, s := range []*task.Stage{t.Judge.Run, t.Judge.Grade} {
		if s != nil {
			refs = append(refs, s.Image)
		}
	}
	return refs
}
