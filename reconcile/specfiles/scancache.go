package specfiles

import (
	"time"

	"github.com/assayd/assayd/config"
)

// ReadEvery is how often files are read again that seem to lie as they lay: there are file
// systems, mounted over a network for the most part, that do not say when a file changed.
const ReadEvery = 10 * time.Minute

// NewScanCache begins such a time, with how everything lies in all roots.
func NewScanCache(sights []config.StatSnapshot, now time.Time) ScanCache {
	return ScanCache{sights, now.Add(ReadEvery)}
}

// ScanCache is the time in which files need not be read again, because nothing changes. The zero
// value is none.
type ScanCache struct {
	sights []config.StatSnapshot // of all roots
	until  time.Time
}

// Lasts reports whether everything lies as it lay. What is asked of the file system is what
// an idle daemon does about ten thousand specs.
func (r ScanCache) Lasts(now time.Time) bool {
	if !now.Before(r.until) {
		return false
	}
	for _, s := range r.sights {
		if !s.Holds(now) {
			return false
		}
	}
	return len(r.sights) > 0
}

// Roots is of how many roots something is known.
func (r ScanCache) Roots() int { return len(r.sights) }
