package reconcile

import (
	"time"

	"github.com/assayd/assayd/config"
)

// readEvery is how often files are read again that seem to lie as they lay: there are file
// systems, mounted over a network for the most part, that do not say when a file changed.
const readEvery = 10 * time.Minute

// scanCache is the time in which files need not be read again, because nothing changes. The zero
// rest is none.
type scanCache struct {
	sights []config.StatSnapshot // of all roots
	until  time.Time
}

// lasts reports whether everything lies as it lay. What is asked of the file system is what
// an idle daemon does about ten thousand specs.
func (r scanCache) lasts(now time.Time) bool {
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

// settled lets the files rest after a look that took all of them in: a file that is missed or
// held back, or one with an error, is looked at again without having changed.
func (r *Reconciler) settled(sights []config.StatSnapshot) {
	if r.again.IsZero() && !r.set.Diagnostics.HasErrors() {
		r.scanned = scanCache{sights, time.Now().Add(readEvery)}
	}
}
