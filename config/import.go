package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/bmatcuk/doublestar/v4"
)

// Remote reports whether the dataset lies elsewhere.
func (i *Import) Remote() bool { return i.URL != "" || i.Dataset != "" }

// Pending reports whether the dataset is not there yet.
func (i *Import) Pending() bool {
	return slices.ContainsFunc(i.Problems, func(p Problem) bool { return p.Pending })
}

// Pending is the first import whose dataset is not there yet, or nil.
func (b *Benchmark) Pending() *Import {
	for i := range b.Imports {
		if b.Imports[i].Pending() {
			return &b.Imports[i]
		}
	}
	return nil
}

func (bs *Blocks) pending() bool {
	awaits := slices.ContainsFunc(bs.Benchmarks, func(b Benchmark) bool { return b.Pending() != nil })
	bs.trees(func(t *Tree, _ *Block, _ Pos) { awaits = awaits || t.Pending })
	return awaits
}

// Copying reports whether a folder that the file names is being copied.
func (c Compiled) Copying() (is bool) {
	c.Blocks.clone().trees(func(t *Tree, _ *Block, _ Pos) { is = is || t.Pending })
	return is
}

// PendingFolder is the first folder of a run's benchmarks and agents that is being copied, with the
// address of the block that names it; "" = there is none.
func (s *Set) PendingFolder(r *Run) (folder, address string) {
	some := Blocks{}
	for _, ref := range r.Tasks {
		if b := s.Benchmark(ref.Name); ref.Kind == "benchmark" && b != nil {
			some.Benchmarks = append(some.Benchmarks, *b)
		}
	}
	for _, a := range r.Agents {
		if declared := s.Agent(a.Name); declared != nil {
			some.Agents = append(some.Agents, *declared)
		}
	}
	some.trees(func(t *Tree, b *Block, _ Pos) {
		if t.Pending && folder == "" {
			folder, address = t.Path, b.Address()
		}
	})
	return folder, address
}

// Folders are those that files have copied, whatever else is wrong with the files.
func Folders(inputs []Input, o Options) (all []string) {
	o.Import = nil
	if o.Settings == nil {
		o.Settings = DefaultSettings(o.Env)
	}
	for _, in := range inputs {
		if in.Unknown == "" && in.Refused == "" && !in.Kept {
			f := newFile(in, &o)
			f.compile()
			f.blocks.trees(func(t *Tree, _ *Block, _ Pos) { all = append(all, t.Path) })
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Imports are the datasets that files name, whatever else is wrong with these, without a look
// at any of them.
func Imports(inputs []Input, o Options) (all []Import) {
	o.Import = func(i Import) ([]Imported, []Problem) {
		all = append(all, i)
		return nil, nil
	}
	if o.Settings == nil {
		o.Settings = DefaultSettings(o.Env)
	}
	for _, in := range inputs {
		if in.Unknown == "" && in.Refused == "" && !in.Kept {
			f := newFile(in, &o)
			f.fresh = true
			f.compile()
		}
	}
	return all
}

// take has the dataset read.
func (f *file) take(i *Import) {
	if f.o.Import == nil {
		return
	}
	trace := ""
	if i.Path != "" {
		trace = layOf(i.Path)
	}
	f.took(Content{Kind: ContentImport, Name: i.source(), Trace: trace}) // its digest comes when its tasks are settled
	asked := *i
	asked.File = f.in.Path
	if f.fresh {
		sum := sha256.Sum256(f.in.Text)
		asked.Text = hex.EncodeToString(sum[:])
	}
	i.Tasks, i.Problems = f.o.Import(asked)
	if f.pinned != nil {
		f.takePinned(i)
	}
}

// takePinned puts the tasks back as they were that the dataset had before.
func (f *file) takePinned(i *Import) {
	for _, b := range f.datasets.Benchmarks {
		for _, was := range b.Imports {
			if was.Format != i.Format || was.Image != i.Image || was.source() != i.source() {
				continue
			}
			there := slices.Clone(was.Tasks)
			there = slices.DeleteFunc(there, func(t Imported) bool { return !i.Selects(t.Name) })
			for _, t := range i.Tasks {
				if !slices.ContainsFunc(there, func(x Imported) bool { return x.Name == t.Name }) {
					there = append(there, t)
				}
			}
			slices.SortFunc(there, func(a, b Imported) int { return cmp.Compare(a.Name, b.Name) })
			i.Tasks = there
			return
		}
	}
}

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
			if was.Format == now.Format && was.Path == now.Path && was.URL == now.URL && was.Dataset == now.Dataset {
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
