package store

import (
	"fmt"

	"github.com/assayd/assayd/reconcile/store/change"
)

// Announce tells watchers of a change that is in no commit. Who is away is not told of it later.
func (s *Store) Announce(topic string, what change.What) {
	s.watchers.Tell(s.n.Load(), map[string]change.What{topic: what})
}

// Watch begins to watch commits; the watcher's Close ends it.
func (s *Store) Watch() *change.Watcher { return s.watchers.Watch() }

// next is the number of a change. Numbers rise over all tables; one of a transaction that fails is
// not used again.
func (t *Tx) next() int64 {
	t.n = max(t.n, t.store.n.Load()) + 1
	return t.n
}

// touch notes that a transaction changes something of a topic, for watchers.
func (t *Tx) touch(topic string, what change.What) {
	if t.touched == nil {
		t.touched = map[string]change.What{}
	}
	t.touched[topic] |= what
}

// touchTopic is touch for a topic that is no trial; who was away is told of it later.
func (t *Tx) touchTopic(topic string, what change.What) error {
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
func (t *Tx) TouchedSince(n int64, limit int) (change.Touched, error) {
	last, err := t.Last()
	if err == nil && (n > last || n < 0) {
		err = ErrNotFound
	}
	if err != nil {
		return change.Touched{}, fmt.Errorf("read what changed after %d: %w", n, err)
	}
	topics, err := list(t, scanString, `SELECT topic FROM topics WHERE n > ?1
		UNION ALL SELECT trial FROM (SELECT trial FROM cells WHERE n > max(?1, 0) LIMIT ?2) LIMIT ?2`, n, limit+1)
	if err != nil {
		return change.Touched{}, fmt.Errorf("read what changed after %d: %w", n, err)
	}
	if len(topics) > limit {
		return change.Touched{N: last, All: true}, nil
	}
	touched := change.Touched{N: last, Topics: map[string]change.What{}}
	for _, topic := range topics {
		touched.Topics[topic] = change.Cells | change.Rounds | change.Records | change.Usage | change.Pulls | change.Files | change.Notes | change.Log
	}
	return touched, nil
}
