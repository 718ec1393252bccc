package reconcile

import (
	"log/slog"
	"slices"
	"time"

	"github.com/assayd/assayd/config"
)

// deletionGuard tells files that are gone from files that are only not seen. A file counts as
// absent when two looks in a row miss it; when most of a tree vanishes at once, or a root
// holds nothing at all, only after that has lasted.
type deletionGuard struct {
	log    *slog.Logger
	missed map[string]time.Time // since when
	loud   bool
}

const (
	secondLook  = 300 * time.Millisecond // until a missed file is looked for again
	massVanish  = time.Minute            // how long most of a tree must be missing
	massAtLeast = 4                      // files that make "most of a tree"
)

func newDeletionGuard(log *slog.Logger) deletionGuard {
	return deletionGuard{log: log, missed: map[string]time.Time{}}
}

// settle turns what was found into the inputs of a load: files that may come back are
// unknown. It returns when to look again, zero for not by itself.
func (p *deletionGuard) settle(previous config.Previous, found []config.Input, emptied []string, now time.Time) (inputs []config.Input, again time.Time) {
	inputs = found
	seen := map[string]bool{}
	for _, i := range inputs {
		seen[i.Path] = true
		delete(p.missed, i.Path)
	}
	var missing []string
	for path := range previous {
		if !seen[path] {
			missing = append(missing, path)
		}
	}
	patience := secondLook
	mass := len(previous) >= massAtLeast && 2*len(missing) > len(previous)
	if mass {
		patience = massVanish
		if !p.loud {
			p.log.Warn("most spec files vanished at once; nothing is stopped unless they stay away", "missing", len(missing), "known", len(previous), "patience", massVanish)
		}
	}
	p.loud = mass
	for _, path := range missing {
		patience := patience
		if slices.Contains(emptied, previous[path].Root) {
			patience = massVanish
		}
		since, ok := p.missed[path]
		if !ok {
			since = now
			p.missed[path] = now
		}
		until := since.Add(patience)
		if !now.Before(until) {
			delete(p.missed, path)
			continue
		}
		inputs = append(inputs, config.Input{Path: path, Display: path, Root: previous[path].Root, Unknown: "not found at the last look"})
		again = sooner(again, until)
	}
	return inputs, again
}

// sooner is the earlier of two times, of which zero is never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
