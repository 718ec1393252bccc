package reconcile

import (
	"context"
	"time"

	"github.com/assayd/assayd/reconcile/specfiles"
)

// stirred looks whether content lies as it lay when it was read. What it asks of the file system
// is about each file of each folder that specs name, so it is not done for every event.
type stirred struct {
	lays   map[string]string // how what was stirred lay at the last look: it must have come to rest
	looked map[string]string // and how it lay when its spec files were read anew
	next   time.Time         // before it there is no look
	due    time.Time         // when there is one by itself
}

// Pauses between two looks, and of it as a multiple of what the last one took.
const (
	contentEvery = 2 * time.Second
	contentRatio = 50
)

func newStirred() stirred {
	return stirred{lays: map[string]string{}, looked: map[string]string{}, due: time.Now().Add(contentEvery)}
}

// lookAtContent has the spec files read anew whose content changed and came to rest, so that
// their runs are told to be stale.
func (r *Reconciler) lookAtContent(ctx context.Context) {
	s := &r.stirred
	began := time.Now()
	if r.set == nil || began.Before(s.next) {
		return
	}
	fresh, restless := map[string]bool{}, false
	for path, c := range r.set.Accepted() {
		if c.Taken == nil && len(c.Content()) > 0 { // an earlier version did not note how it lay
			fresh[path] = s.looked[path] == ""
			s.looked[path] = "once"
			continue
		}
		for _, content := range c.Taken {
			lay, changed := content.Stirred()
			switch {
			case !changed || s.looked[content.Name] == lay:
			case s.lays[content.Name] != lay:
				s.lays[content.Name], restless = lay, true
			default:
				fresh[path] = true
			}
		}
		r.Heartbeat()
	}
	for path := range fresh {
		for _, content := range r.set.Accepted()[path].Taken {
			if lay, ok := s.lays[content.Name]; ok {
				s.looked[content.Name] = lay
				delete(s.lays, content.Name)
			}
		}
	}
	pause := max(contentEvery, contentRatio*time.Since(began))
	s.next, s.due = time.Now().Add(pause), time.Now().Add(max(specfiles.ReadEvery, pause))
	if restless {
		s.due = s.next
	}
	if anyOf(fresh) {
		r.rescan(ctx, func(path string) bool { return fresh[path] })
	}
}

func anyOf(set map[string]bool) bool {
	for _, is := range set {
		if is {
			return true
		}
	}
	return false
}

// freshen reads the content of a run anew where it does not lie as it lay.
func (r *Reconciler) freshen(ctx context.Context, address string) {
	files := r.filesOfRun(address)
	for path, c := range r.set.Accepted() {
		if !files(path) {
			continue
		}
		for _, content := range c.Taken {
			if _, changed := content.Stirred(); changed {
				r.rescan(ctx, files)
				return
			}
		}
	}
}
