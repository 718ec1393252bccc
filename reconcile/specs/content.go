package specs

import (
	"context"
	"strings"
	"time"

	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/specfiles"
)

// content looks whether content lies as it lay when it was read. What it asks of the file system
// is about each file of each folder that specs name, so it is not done for every event.
type content struct {
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

func newContent() content {
	return content{lays: map[string]string{}, looked: map[string]string{}, due: time.Now().Add(contentEvery)}
}

// readStirred has the spec files read anew whose content changed and came to rest, so that
// their runs are told to be stale.
func (s *Source) readStirred(ctx context.Context) {
	c := &s.content
	began := time.Now()
	if s.set == nil || began.Before(c.next) {
		return
	}
	fresh, restless := map[string]bool{}, false
	for path, file := range s.set.Accepted() {
		if file.Taken == nil && len(file.Content()) > 0 { // an earlier version did not note how it lay
			fresh[path] = c.looked[path] == ""
			c.looked[path] = "once"
			continue
		}
		for _, content := range file.Taken {
			lay, changed := content.Stirred()
			switch {
			case !changed || c.looked[content.Name] == lay:
			case c.lays[content.Name] != lay:
				c.lays[content.Name], restless = lay, true
			default:
				fresh[path] = true
			}
		}
		s.o.Heartbeat()
	}
	for path := range fresh {
		for _, content := range s.set.Accepted()[path].Taken {
			if lay, ok := c.lays[content.Name]; ok {
				c.looked[content.Name] = lay
				delete(c.lays, content.Name)
			}
		}
	}
	pause := max(contentEvery, contentRatio*time.Since(began))
	c.next, c.due = time.Now().Add(pause), time.Now().Add(max(specfiles.ReadEvery, pause))
	if restless {
		c.due = c.next
	}
	if anyOf(fresh) {
		s.Rescan(ctx, func(path string) bool { return fresh[path] })
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

// Freshen reads the content of a run anew where it does not lie as it lay.
func (s *Source) Freshen(ctx context.Context, address string) {
	files := s.filesOf(address)
	for path, c := range s.set.Accepted() {
		if !files(path) {
			continue
		}
		for _, content := range c.Taken {
			if _, changed := content.Stirred(); changed {
				s.Rescan(ctx, files)
				return
			}
		}
	}
}

// RescanRun reads exactly those files anew that a run in force is made of.
func (s *Source) RescanRun(ctx context.Context, address string) { s.Rescan(ctx, s.filesOf(address)) }

// filesOf chooses the files that a run in force is made of.
func (s *Source) filesOf(address string) func(path string) bool {
	files := map[string]bool{}
	if run := s.set.Run(strings.TrimPrefix(address, "run.")); run != nil {
		files = plan.FilesOf(s.set, run)
	}
	return func(path string) bool { return files[path] }
}
