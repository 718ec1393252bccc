package specfiles

import (
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/assayd/assayd/config"
)

// DeletionGuard tells files that are gone from files that are only not seen. A file counts as
// absent when two looks in a row miss it; when most of a tree vanishes at once, or a root
// holds nothing at all, only after that has lasted.
type DeletionGuard struct {
	log    *slog.Logger
	missed map[string]time.Time // since when
	loud   bool
}

const (
	secondLook  = 300 * time.Millisecond // until a missed file is looked for again
	massVanish  = time.Minute            // how long most of a tree must be missing
	massAtLeast = 4                      // files that make "most of a tree"
)

// NewDeletionGuard returns one that misses nothing yet.
func NewDeletionGuard(log *slog.Logger) DeletionGuard {
	return DeletionGuard{log: log, missed: map[string]time.Time{}}
}

// Settle turns what was found into the inputs of a load: files that may come back are
// unknown. It returns when to look again, zero for not by itself.
func (p *DeletionGuard) Settle(previous config.Previous, found []config.Input, emptied []string, now time.Time) (inputs []config.Input, again time.Time) {
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
	mass := Most(len(missing), len(previous))
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
		again = Sooner(again, until)
	}
	return inputs, again
}

// Sooner is the earlier of two times, of which zero is never.
func Sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Most reports whether so many missing files are most of those that are known: somebody may have moved a tree
// away by mistake.
func Most(missing, known int) bool { return known >= massAtLeast && 2*missing > known }

// Gone counts a file, where the next look misses it, as missed for long enough.
func (p *DeletionGuard) Gone(path string) { p.missed[path] = time.Time{} }

// Quiet is a copy that tells nobody, for a look that changes nothing.
func (p *DeletionGuard) Quiet() DeletionGuard {
	return DeletionGuard{log: slog.New(slog.DiscardHandler), missed: maps.Clone(p.missed)}
}

// Missed are the files that looks have missed, and since when.
func (p *DeletionGuard) Missed() map[string]time.Time { return p.missed }
