package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/assayd/assayd/config"
)

// Content is what an execution is done with: spec files as they were compiled with the content
// that there was when it began. A later layer is that of tasks that were pinned again.
type Content struct {
	N      int // of the execution
	Layers []Layer
}

// Layer are files with their content. The first one is that of all that no later one has.
type Layer struct {
	Tasks []string              `json:"tasks,omitempty"` // addresses; none = all
	Files map[string]PinnedFile `json:"files"`           // by path
}

// PinnedFile is one file of a layer.
type PinnedFile struct {
	Hash    string `json:"hash"`    // of its text
	Content string `json:"content"` // hash of what it took from outside
	Key     string `json:"key"`     // of what is stored of it
}

// Stale says that content differs from that of a run's latest execution.
type Stale struct {
	Files []string `json:"files"` // and variables, datasets, and images as "image NAME"
	Tasks []string `json:"tasks"` // addresses

	Images []string `json:"-"` // ids that the names of images among Files mean now
}

// String says it in words, as since the execution began.
func (s *Stale) String() string { return s.Since("the execution began") }

// Since says it in words.
func (s *Stale) Since(when string) string {
	what := strings.Join(s.Files, ", ")
	if what == "" {
		what = "content that an earlier version did not note"
	}
	return fmt.Sprintf("%s changed since %s; tasks: %s", what, when, strings.Join(s.Tasks, ", "))
}

// ContentHash identifies content that was taken from outside, in this order.
func ContentHash(list []config.Content) string {
	sum := sha256.New()
	for _, c := range list {
		fmt.Fprintf(sum, "%q %q %s\n", c.Kind, c.Name, c.Digest)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// FilesOf are the spec files that a run of a set is made of, by absolute path.
func FilesOf(set *config.Set, run *config.Run) map[string]bool {
	files := map[string]bool{run.Path: true}
	for _, ref := range run.Tasks {
		if b := set.Benchmark(ref.Name); ref.Kind == "benchmark" && b != nil {
			files[b.Path] = true
		}
	}
	for _, a := range run.Agents {
		if declared := set.Agent(a.Name); declared != nil {
			files[declared.Path] = true
		}
	}
	return files
}

// Unchanged tells which runs need not be compiled again: most, where one file of thousands is edited.
type Unchanged struct {
	Last    *config.Set     // in force until now
	Changed map[string]bool // paths of files; nil = nothing is known
}

// Run is a run as it was compiled, where nothing that it is made from has changed; else nil.
func (u Unchanged) Run(d *Run, set *config.Set, run *config.Run) *Run {
	mined := func(ref config.Ref) bool { return ref.Kind == "mining" } // their tasks are in no file
	if u.Changed == nil || u.Last == nil || d == nil || !d.MadeFrom(u.Last) || slices.ContainsFunc(run.Tasks, mined) {
		return nil
	}
	before := u.Last.Run(run.Name)
	if before == nil {
		return nil
	}
	for _, files := range []map[string]bool{FilesOf(u.Last, before), FilesOf(set, run)} {
		for path := range files {
			if u.Changed[path] {
				return nil
			}
		}
	}
	if !d.moveTo(set) {
		return nil
	}
	return d
}

// Clone copies as deep as layers are changed.
func (c *Content) Clone() *Content {
	if c == nil {
		return nil
	}
	out := &Content{N: c.N}
	for _, l := range c.Layers {
		out.Layers = append(out.Layers, Layer{Tasks: l.Tasks, Files: maps.Clone(l.Files)})
	}
	return out
}

func union(a, b []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}

// And is both.
func (s *Stale) And(more *Stale) *Stale {
	return &Stale{Files: union(s.Files, more.Files), Tasks: union(s.Tasks, more.Tasks), Images: slices.Concat(s.Images, more.Images)}
}

// WithTasks is cells with those of some tasks taken from over.
func WithTasks(cells, over []Cell, tasks []string) []Cell {
	by := map[Slot]Cell{}
	for _, c := range over {
		by[c.Slot()] = c
	}
	out := slices.Clone(cells)
	for i, c := range out {
		s := c.Slot()
		if other, ok := by[s]; ok && slices.Contains(tasks, TaskAddress(s.Benchmark, s.Task)) {
			out[i] = other
		}
	}
	return out
}

// ChangedTasks are the addresses of tasks whose cells are others, or that only one side has.
func ChangedTasks(was, now []Cell) []string {
	keys := map[string]bool{}
	for _, c := range was {
		keys[c.Key] = !keys[c.Key]
	}
	same := map[string]bool{}
	for _, c := range now {
		same[c.Key] = true
	}
	changed := map[string]bool{}
	add := func(cells []Cell, other map[string]bool) {
		for _, c := range cells {
			if _, ok := other[c.Key]; !ok {
				s := c.Slot()
				changed[TaskAddress(s.Benchmark, s.Task)] = true
			}
		}
	}
	add(was, same)
	add(now, keys)
	return slices.Sorted(maps.Keys(changed))
}
