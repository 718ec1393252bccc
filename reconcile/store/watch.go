package store

import (
	"context"
	"fmt"
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

// maxTouched is how many topics are kept for a watcher that does not look.
const maxTouched = 4096

// watchers are told what commits touch. They never hold up a commit.
type watchers struct {
	mu  sync.Mutex
	all map[*Watcher]bool
}

// Announce tells watchers of a change that is in no commit. Who is away is not told of it later.
func (s *Store) Announce(topic string, what What) {
	s.watchers.tell(s.n.Load(), map[string]What{topic: what})
}

// Watcher hears of commits. It is for one goroutine.
type Watcher struct {
	of    *watchers
	ready chan struct{}
	seen  Touched // under of.mu
}

// Watch begins to watch commits; Close ends it.
func (s *Store) Watch() *Watcher {
	w := &Watcher{of: &s.watchers, ready: make(chan struct{}, 1)}
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	if w.of.all == nil {
		w.of.all = map[*Watcher]bool{}
	}
	w.of.all[w] = true
	return w
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

// tell adds what a commit has touched to what the watchers have not seen.
func (w *watchers) tell(n int64, topics map[string]What) {
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
	if len(s.Topics) > maxTouched {
		s.Topics, s.All = nil, true
	}
}

// next is the number of a change. Numbers rise over all tables; one of a transaction that fails is
// not used again.
func (t *Tx) next() int64 {
	t.n = max(t.n, t.store.n.Load()) + 1
	return t.n
}

// touch notes that a transaction changes something of a topic, for watchers.
func (t *Tx) touch(topic string, what What) {
	if t.touched == nil {
		t.touched = map[string]What{}
	}
	t.touched[topic] |= what
}

// touchTopic is touch for a topic that is no trial; who was away is told of it later.
func (t *Tx) touchTopic(topic string, what What) error {
	if t.touched[topic] == 0 {
		if t.n == 0 {
			t.next()
		}
		if _, err := t.exec("INSERT INTO topics (topic, n) VALUES (?, ?) ON CONFLICT (topic) DO UPDATE SET n = excluded.n", topic, t.n); err != nil {
			return fmt.Errorf("note a change of %q: %w", topic, err)
		}
	}
	t.touch(topic, what)
	return nil
}

// sealed makes the number of the last change durable with a transaction.
func (t *Tx) sealed() error {
	if t.n == 0 {
		return nil
	}
	_, err := t.exec("UPDATE sequence SET n = ?", t.n)
	if err != nil {
		return fmt.Errorf("number the changes: %w", err)
	}
	return nil
}

// Last is the number of the last change.
func (t *Tx) Last() (int64, error) {
	return one(t, func(r row) (n int64, err error) { return n, r.Scan(&n) }, "SELECT n FROM sequence")
}

// LatestTopics returns the topics of at most limit specs, that which changed last first.
func (t *Tx) LatestTopics(limit int) ([]string, error) {
	topics, err := list(t, scanString, "SELECT topic FROM topics ORDER BY n DESC LIMIT ?", limit)
	if err != nil {
		return nil, fmt.Errorf("read what changed last: %w", err)
	}
	return topics, nil
}

// TouchedSince returns what has changed after change n; beyond limit topics it is all. It fails with
// ErrNotFound where n is of no change of this store.
func (t *Tx) TouchedSince(n int64, limit int) (Touched, error) {
	last, err := t.Last()
	if err == nil && (n > last || n < 0) {
		err = ErrNotFound
	}
	if err != nil {
		return Touched{}, fmt.Errorf("read what changed after %d: %w", n, err)
	}
	topics, err := list(t, scanString, `SELECT topic FROM topics WHERE n > ?1
		UNION ALL SELECT trial FROM (SELECT trial FROM cells WHERE n > max(?1, 0) LIMIT ?2) LIMIT ?2`, n, limit+1)
	if err != nil {
		return Touched{}, fmt.Errorf("read what changed after %d: %w", n, err)
	}
	if len(topics) > limit {
		return Touched{N: last, All: true}, nil
	}
	touched := Touched{N: last, Topics: map[string]What{}}
	for _, topic := range topics {
		touched.Topics[topic] = Cells | Rounds | Records | Usage | Pulls | Files | Notes | Log
	}
	return touched, nil
}
