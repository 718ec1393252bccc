//go:build linux

package results

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assayd/assayd/reconcile/store"
)

// marked is a source that says when something was marked.
type marked struct {
	stored
	seen chan []Stream
}

func (m marked) Mark(ctx context.Context, streams []Stream) error {
	err := m.stored.Mark(ctx, streams)
	m.seen <- streams
	return err
}

// run runs the writer of h until the test calls stop.
func (h *fixture) run(t *testing.T) (seen <-chan []Stream, stop func()) {
	src := marked{stored{h.store}, make(chan []Stream, 100)}
	h.writer = NewWriter(src, Options{Dir: filepath.Join(h.state, "results")})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- h.writer.Run(ctx) }()
	return src.seen, func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestRunWritesWhatIsStored(t *testing.T) {
	h := newFixture(t)
	h.append(h.ref("run.a"), "before")
	seen, stop := h.run(t)
	<-seen
	h.check()
	h.append(h.ref("run.a"), "more")
	h.append(h.ref("run.b"), "another")
	for written := 0; written < 2; {
		written += len(<-seen)
	}
	h.check()
	if err := os.Remove(h.ref("run.a").Path); err != nil {
		t.Fatal(err)
	}
	h.append(h.ref("run.b"), "unrelated")
	<-seen
	h.writer.Recheck()
	h.append(h.ref("run.b"), "last")
	stop()
	h.restart()
	h.pass(true)
	h.check()
}

func TestRunWritesTheLastLinesWhenItEnds(t *testing.T) {
	h := newFixture(t)
	_, stop := h.run(t)
	h.append(h.ref("run.a"), "one")
	h.append(h.ref("run.b"), "two")
	stop()
	h.check()
}

func TestIdleStreamsAreLeftAlone(t *testing.T) {
	h := newFixture(t)
	for i := range 50 {
		h.append(h.ref(fmt.Sprintf("run.a%d", i)), "one")
	}
	h.pass(false)
	old := time.Unix(1, 0)
	for _, s := range h.streams() {
		if err := os.Chtimes(s.File, old, old); err != nil {
			t.Fatal(err)
		}
	}
	h.writer.src = marked{stored{h.store}, nil} // a mark would block for ever
	h.pass(true)
	for _, s := range h.streams() {
		if info, err := os.Stat(s.File); err != nil || !info.ModTime().Equal(old) {
			t.Errorf("%s was touched: %v", s.File, err)
		}
	}
}

// memory is a source whose failures the test decides.
type memory struct {
	mu      sync.Mutex
	stream  Stream
	fail    int // how many calls of Streams are still to fail
	called  []time.Time
	pulses  chan struct{}
	written chan struct{}
}

func (m *memory) Pulse() <-chan struct{} { return m.pulses }

func (m *memory) Streams(context.Context, bool) ([]Stream, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.called = append(m.called, time.Now())
	if m.fail > 0 {
		m.fail--
		return nil, errors.New("out of order")
	}
	return []Stream{m.stream}, nil
}

func (m *memory) Lines(_ context.Context, _ int64, seq int) ([]Line, error) {
	return []Line{{Seq: seq, Ends: int64(3 * seq), Data: []byte("{}")}}, nil
}

func (m *memory) Mark(_ context.Context, streams []Stream) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stream = streams[0]
	close(m.written)
	return nil
}

func TestOutagesAreRetriedLessAndLessOften(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		fail int
		root string // of a path outside of it nothing can be written
		want []time.Duration
	}{
		"store": {4, dir, []time.Duration{0, 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond, 1600 * time.Millisecond}},
		"file": {0, dir + "/elsewhere", []time.Duration{
			0, 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond,
			1600 * time.Millisecond, 3200 * time.Millisecond, 6400 * time.Millisecond, 12800 * time.Millisecond, 25600 * time.Millisecond,
			30 * time.Second,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &memory{
					fail: c.fail, written: make(chan struct{}),
					stream: Stream{ID: 1, Root: c.root, Path: filepath.Join(dir, name, "a.jsonl"), Last: 3, Number: 1},
				}
				w := NewWriter(m, Options{Dir: filepath.Join(dir, "results")})
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
				defer cancel()
				done := make(chan error)
				go func() { done <- w.Run(ctx) }()
				<-ctx.Done()
				err := <-done
				if failed := c.fail == 0; failed != (err != nil) {
					t.Errorf("Run returned %v", err)
				}
				var got []time.Duration
				last := m.called[0]
				for _, at := range m.called[:len(c.want)] {
					got = append(got, at.Sub(last))
					last = at
				}
				if fmt.Sprint(got) != fmt.Sprint(c.want) {
					t.Errorf("tried after %v, want %v", got, c.want)
				}
			})
		})
	}
}

func TestStreamOfAClosedFileIsNotItsLocation(t *testing.T) {
	h := newFixture(t)
	h.append(h.ref("run.a"), "one")
	to := store.StreamRef{Spec: "run.a", Root: h.root, Path: filepath.Join(h.root, "b.jsonl")}
	h.move(to)
	h.pass(true)
	if path, _, _ := h.location("run.a"); path != to.Path {
		t.Errorf("it is at %s", path)
	}
}
