package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/bmatcuk/doublestar/v4"
)

// Set is what the files say together. It is always usable; do not change it.
type Set struct {
	Files       []FileState // by display name
	Blocks      Blocks      // in force, each kind by name
	Diagnostics Diagnostics // of all files, by file, line and column

	accepted Previous
	mined    *Mined
}

// Accepted returns what to store and give to the next Load as its Previous.
func (s *Set) Accepted() Previous { return s.accepted }

// Benchmark returns the benchmark in force of that name, or nil.
func (s *Set) Benchmark(name string) *Benchmark { return find(s.Blocks.Benchmarks, name) }

// Agent returns the declared agent in force of that name, or nil.
func (s *Set) Agent(name string) *Agent { return find(s.Blocks.Agents, name) }

// Run returns the run in force of that name, or nil.
func (s *Set) Run(name string) *Run { return find(s.Blocks.Runs, name) }

// Mining returns the mining spec in force of that name, or nil.
func (s *Set) Mining(name string) *Mining { return find(s.Blocks.Minings, name) }

// MinedTasks returns the tasks of a mining spec, the first one first.
func (s *Set) MinedTasks(mining string) []Selected {
	all := s.mined.Tasks(mining)
	if m := s.Mining(mining); m != nil {
		for i := range all {
			all[i].Decoys = m.Decoys
		}
	}
	return all
}

// Mined are the tasks of the set's mining specs; nil where nothing is mined.
func (s *Set) Mined() *Mined { return s.mined }

// All returns what all specs in force have in common, by address.
func (s *Set) All() []Block {
	var out []Block
	s.Blocks.each(func(b *Block, _ any) { out = append(out, *b) })
	slices.SortFunc(out, func(a, b Block) int { return cmp.Compare(a.Address(), b.Address()) })
	return out
}

func find[T interface{ name() string }](sorted []T, name string) *T {
	i, ok := slices.BinarySearchFunc(sorted, name, func(t T, name string) int { return cmp.Compare(t.name(), name) })
	if !ok {
		return nil
	}
	return &sorted[i]
}

func (b Block) name() string { return b.Name }

// Selected is one task of a benchmark: one that is written out, or an imported one.
type Selected struct {
	Benchmark *Benchmark
	Task      *Task     // nil if it is imported
	Imported  *Imported // nil if it is written out
	Decoys    int       // mixed runs of an imported one, if it has a solution
}

// Name returns the name of the task.
func (s Selected) Name() string {
	if s.Task != nil {
		return s.Task.Name
	}
	return s.Imported.Name
}

// Address is the task's address as specs write it, benchmark.x["t"].
func (s Selected) Address() string {
	return Ref{Kind: s.Benchmark.Kind, Name: s.Benchmark.Name, Task: s.Name()}.String()
}

// Unsupported returns what keeps this version from doing the task.
func (s Selected) Unsupported() []string {
	if s.Task == nil {
		return s.Benchmark.Unsupported
	}
	return slices.Concat(s.Benchmark.Unsupported, s.Task.Unsupported)
}

// All returns the tasks of a benchmark: first those that are written out. An imported one
// of a name that is taken already is left out.
func (b *Benchmark) All() []Selected {
	var out []Selected
	names := map[string]bool{}
	add := func(one Selected) {
		if !names[one.Name()] {
			names[one.Name()] = true
			out = append(out, one)
		}
	}
	for i := range b.Tasks {
		add(Selected{Benchmark: b, Task: &b.Tasks[i]})
	}
	for i := range b.Imports {
		for j := range b.Imports[i].Tasks {
			add(Selected{Benchmark: b, Imported: &b.Imports[i].Tasks[j], Decoys: b.Imports[i].Decoys})
		}
	}
	return out
}

// Find returns the task of that name, and whether there is one.
func (b *Benchmark) Find(task string) (Selected, bool) {
	all := b.All()
	i := slices.IndexFunc(all, func(s Selected) bool { return s.Name() == task })
	if i < 0 {
		return Selected{}, false
	}
	return all[i], true
}

// Tasks returns the tasks that a run selects, in the order of its references, each once.
func (s *Set) Tasks(r *Run) []Selected {
	var out []Selected
	taken := map[Selected]bool{}
	for _, ref := range r.Tasks {
		for _, one := range s.of(ref) {
			if (ref.Task == "" || ref.Task == one.Name()) && r.selects(one.Name()) && !taken[one] {
				taken[one] = true
				out = append(out, one)
			}
		}
	}
	return out
}

// of returns the tasks of a benchmark or of a mining spec.
func (s *Set) of(ref Ref) []Selected {
	if ref.Kind == "mining" {
		return s.MinedTasks(ref.Name)
	}
	if b := s.Benchmark(ref.Name); b != nil {
		return b.All()
	}
	return nil
}

// selects reports whether the run takes a task of that name.
func (r *Run) selects(task string) bool {
	matches := func(pattern string) bool { return doublestar.MatchUnvalidated(pattern, task) }
	return slices.ContainsFunc(r.Include, matches) && !slices.ContainsFunc(r.Exclude, matches)
}

// set assembles the result once all is settled.
func (l *loader) set() *Set {
	f := l.inForce()
	s := &Set{Blocks: f.blocks(), mined: l.o.Mined, accepted: make(Previous, len(l.units))}
	s.Blocks.sort()
	warnings := map[*unit]Diagnostics{}
	s.Blocks.each(func(b *Block, whole any) {
		u := f.owner[b.Address()]
		found := l.markGaps(b, whole)
		if u.next == nil {
			return // its positions are those of another text
		}
		for _, d := range found {
			warnings[u] = append(warnings[u], u.placed(b, d))
		}
	})
	for _, u := range l.units {
		state := u.state(f)
		state.Diagnostics = slices.Concat(u.errors, u.checksIfValid(), warnings[u]).sorted()
		s.Files = append(s.Files, state)
		s.Diagnostics = append(s.Diagnostics, state.Diagnostics...)
		if kept := u.accepted(f); kept != nil {
			s.accepted[u.in.Path] = *kept
		}
	}
	slices.SortStableFunc(s.Files, func(a, b FileState) int { return cmp.Compare(a.Display, b.Display) })
	s.Diagnostics = s.Diagnostics.sorted()
	return s
}

// checksIfValid returns the warnings of the last round; errors are among u.errors already.
func (u *unit) checksIfValid() Diagnostics {
	if u.next == nil {
		return nil
	}
	return u.checks
}

func (u *unit) state(f *force) FileState {
	state := FileState{Path: u.in.Path, Root: u.in.Root, Display: u.in.Display, Hash: u.hash, Status: OK}
	blocks := u.next
	switch {
	case u.in.Unknown != "" || u.in.Kept:
		state.Status, blocks = Unread, u.last
	case u.next == nil && u.last != nil:
		state.Status, blocks = Frozen, u.last
	case u.next == nil:
		state.Status = Rejected
	}
	if blocks == nil {
		return state
	}
	sum := sha256.New()
	blocks.each(func(b *Block, _ any) {
		if f.owner[b.Address()] == u {
			sum.Write([]byte(b.Address() + b.Generation + "\n"))
		}
	})
	state.Generation = hex.EncodeToString(sum.Sum(nil)[:6])
	return state
}

// accepted returns what is to be remembered of the file. A frozen one forgets the names
// that belong to a valid file now.
func (u *unit) accepted(f *force) *Compiled {
	out := &Compiled{Path: u.in.Path, Root: u.in.Root, Named: u.in.Named, Hash: u.hash}
	switch {
	case u.next != nil:
		out.Blocks, out.Taken, out.Outside = *u.next, u.read, u.out
	case u.last != nil:
		out.Hash, out.Taken, out.Outside = u.lastHash, u.lastRead, u.lastOut
		u.last.each(func(b *Block, whole any) {
			if owner := f.owner[b.Address()]; owner == u || owner.next == nil {
				out.Blocks.add(whole)
			} else {
				out.Hash = "" // no longer what that text says
			}
		})
		if u.in.Kept && len(out.Blocks.headers()) == 0 {
			return nil
		}
	default:
		return nil
	}
	return out
}

// sort orders each kind by name.
func (bs *Blocks) sort() {
	sortByName(bs.Benchmarks)
	sortByName(bs.Agents)
	sortByName(bs.Runs)
	sortByName(bs.Minings)
}

func sortByName[T interface{ name() string }](list []T) {
	slices.SortFunc(list, func(a, b T) int { return cmp.Compare(a.name(), b.name()) })
}
