package specs

import (
	"context"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/miningspec"
	"github.com/assayd/assayd/reconcile/store"
)

// InForce compiles what was accepted last, without a look at the files, with what was mined.
func InForce(ctx context.Context, kept *store.Store, o config.Options) (*config.Set, error) {
	o.Mined = config.NewMined()
	if err := miningspec.LoadMined(ctx, kept, o.Mined); err != nil {
		return nil, err
	}
	previous, err := accepted(ctx, kept)
	if err != nil {
		return nil, err
	}
	return asAccepted(previous, o), nil
}

// Resume takes the set into force that was accepted last, without a look at the files.
func (s *Source) Resume(ctx context.Context) error {
	previous, err := s.Accepted(ctx)
	if err != nil {
		return err
	}
	if err := s.adopt(ctx, asAccepted(previous, s.o.Config), Change{Before: previous}); err != nil {
		return err
	}
	s.set.Diagnostics = nil // they would say no more than that nobody looks at the files
	return nil
}

// Again takes the set in force into force once more, for what it means has changed: all runs are to be compiled again.
func (s *Source) Again(ctx context.Context) error {
	return s.adopt(ctx, s.set, Change{Before: s.previous})
}

// Change is what makes a set another one than the set that was in force.
type Change struct {
	Last   *config.Set     // that was in force; nil = none was
	Before config.Previous // what was accepted until now
	Files  map[string]bool // of which something else is in force now; nil = all runs are to be compiled again
}

// adopt makes the set the desired state.
func (s *Source) adopt(ctx context.Context, set *config.Set, since Change) error {
	since.Last = s.set
	s.set, s.roots = set, rootsOf(set)
	s.inForce.Store(set)
	err := s.o.Adopt(ctx, set, since)
	if err != nil { // the next look adopts the set: without its runs nothing may be taken for gone
		if s.set = since.Last; s.set != nil {
			s.roots = rootsOf(s.set)
			s.inForce.Store(s.set)
		}
	}
	return err
}

// asAccepted is what was accepted, of files that nobody looks at.
func asAccepted(previous config.Previous, o config.Options) *config.Set {
	var inputs []config.Input
	for path, c := range previous {
		inputs = append(inputs, config.Input{Path: path, Display: path, Root: c.Root, Unknown: "no daemon runs"})
	}
	return config.Load(inputs, previous, o)
}

// Where is trial.Host.Where: the place in the spec files as they are now. Any
// goroutine may call it.
func (s *Source) Where(kind, name, task string, attributes ...string) string {
	set := s.inForce.Load()
	if set == nil {
		return ""
	}
	var place config.Place
	switch kind {
	case "agent":
		if a := set.Agent(name); a != nil {
			place = a.Place
		}
	case "benchmark":
		if b := set.Benchmark(name); b != nil {
			place = b.Place // of what is imported
			for _, t := range b.Tasks {
				if t.Name == task {
					place = t.Place
				}
			}
		}
	}
	for _, attribute := range attributes {
		if at, ok := place.At[attribute]; ok {
			return at.String()
		}
	}
	return place.Pos.String()
}
