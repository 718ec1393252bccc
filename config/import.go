package config

import (
	"cmp"
	"slices"

	"github.com/bmatcuk/doublestar/v4"
)

// keepImported puts back the tasks that were accepted before and cannot be imported now: a
// file of a dataset with an error changes nothing, as one of the language.
func (bs *Blocks) keepImported(last *Blocks) {
	for i := range bs.Benchmarks {
		b := &bs.Benchmarks[i]
		for j := range last.Benchmarks {
			if last.Benchmarks[j].Name == b.Name {
				b.keepImported(&last.Benchmarks[j])
			}
		}
	}
}

func (b *Benchmark) keepImported(last *Benchmark) {
	for i := range b.Imports {
		now := &b.Imports[i]
		for _, was := range last.Imports {
			if was.Format == now.Format && was.Path == now.Path {
				now.keep(was.Tasks)
			}
		}
	}
}

// keep takes over what problems took away.
func (i *Import) keep(was []Imported) {
	for n := range i.Problems {
		p := &i.Problems[n]
		for _, t := range was {
			lost := !p.Notice && (p.Task == "" || p.Task == t.Name) && i.Selects(t.Name)
			if lost && !slices.ContainsFunc(i.Tasks, func(now Imported) bool { return now.Name == t.Name }) {
				i.Tasks = append(i.Tasks, t)
				p.Kept = true
			}
		}
	}
	slices.SortFunc(i.Tasks, func(a, b Imported) int { return cmp.Compare(a.Name, b.Name) })
}

// Selects reports whether the import takes a task of that name.
func (i *Import) Selects(task string) bool {
	matches := func(pattern string) bool { return doublestar.MatchUnvalidated(pattern, task) }
	return slices.ContainsFunc(i.Include, matches) && !slices.ContainsFunc(i.Exclude, matches)
}
