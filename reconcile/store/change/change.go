package change

import (
	"context"
	"maps"
	"sync"
)

// What of a topic has changed.
type What uint8

// Parts of a topic.
const (
	Cells   What = 1 << iota // a trial has another state
	Rounds                   // a round was judged
	Records                  // a line was stored
	Usage                    // models took something
	Pulls                    // a pull request was seen or decided
	Files                    // a spec file was accepted or forgotten
	Notes                    // what a run waits for; it is in no commit
	Log                      // an agent's log has grown; it is in no commit
)

// SpecFiles is the topic of the spec files.
const SpecFiles = "specs"

// whats are the names of parts, in their order.
var whats = []string{"cells", "rounds", "records", "usage", "pulls", "files", "notes", "log"}

// Names are the parts by name.
func (w What) Names() (names []string) {
	for i, name := range whats {
		if w&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// Touched is what commits have changed: addresses of specs, ids of trials, SpecFiles.
type Touched struct {
	N      int64           // number of the last change
	Topics map[string]What // nil with All
	All    bool            // there was more than a watcher keeps: everything may have changed
}

// MaxTopics is how many topics are kept for a watcher that does not look.
const MaxTopics = 4096

// Watchers are told what commits touch. They never hold up a commit. The zero value has none.
type Watchers struct {
	mu  sync.Mutex
	all map[*Watcher]bool
}

// Watcher hears of commits. It is for one goroutine.
type Watcher struct {
	of    *Watchers
	ready chan struct{}
	seen  Touched // under of.mu
}

// Watch begins to watch commits; Close ends it.
func (w *Watchers) Watch() *Watcher {
	one := &Watcher{of: w, ready: make(chan struct{}, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[*Watcher]bool{}
	}
	w.all[one] = true
	return one
}

// Close ends the watch.
func (w *Watcher) Close() {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	delete(w.of.all, w)
}

// Ready receives when there is something to take.
func (w *Watcher) Ready() <-chan struct{} { return w.ready }

// Take returns all that was touched since the last call.
func (w *Watcher) Take() Touched {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	seen := w.seen
	w.seen = Touched{}
	return seen
}

// Next waits until there is something to take, and takes it.
func (w *Watcher) Next(ctx context.Context) (Touched, error) {
	select {
	case <-w.ready:
		return w.Take(), nil
	case <-ctx.Done():
		return Touched{}, context.Cause(ctx)
	}
}

// Await returns when something of a kind may have changed, or with an error with the context.
func (w *Watcher) Await(ctx context.Context, what What) error {
	for {
		touched, err := w.Next(ctx)
		if err != nil || touched.All {
			return err
		}
		for _, of := range touched.Topics {
			if of&what != 0 {
				return nil
			}
		}
	}
}

// Tell adds what a commit has touched to what the watchers have not seen.
func (w *Watchers) Tell(n int64, topics map[string]What) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.all { // mostly nobody watches
		one.seen.add(n, topics)
		select {
		case one.ready <- struct{}{}:
		default: // it will see this, too
		}
	}
}

func (s *Touched) add(n int64, topics map[string]What) {
	s.N = max(s.N, n)
	if s.All {
		return
	}
	if s.Topics == nil {
		s.Topics = maps.Clone(topics)
	} else {
		for topic, what := range topics {
			s.Topics[topic] |= what
		}
	}
	if len(s.Topics) > MaxTopics {
		s.Topics, s.All = nil, true
	}
}
