package api

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/assayd/assayd/reconcile"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/change"
)

// served is a state directory whose events are served. It can be closed and opened again.
type served struct {
	dir    string
	store  *store.Store
	server *httptest.Server
	client *Client
}

type failer interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func (s *served) open(t failer) {
	t.Helper()
	var err error
	if s.store, err = store.Open(context.Background(), s.dir, store.Options{}); err != nil {
		t.Fatal(err)
	}
	rec := reconcile.New(reconcile.Options{Store: s.store, Idle: true, Log: slog.New(slog.DiscardHandler)})
	s.server = httptest.NewServer(Handler(rec, "v", nil))
	at, err := url.Parse(s.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	s.client = &Client{http: &http.Client{Transport: &http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return at, nil }}}}
}

func (s *served) close(t failer) {
	t.Helper()
	s.client.Close()
	s.server.CloseClientConnections()
	s.server.Close()
	if err := s.store.Close(); err != nil {
		t.Fatal(err)
	}
}

// change appends a record to a stream.
func (s *served) change(t failer, spec string) {
	t.Helper()
	if err := s.store.Do(context.Background(), func(tx *store.Tx) error {
		_, err := tx.AppendLine(store.StreamRef{Spec: spec, Root: "/r", Path: "/r/" + spec}, store.Envelope{Type: "x"}, nil)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// last is the number of the last change.
func (s *served) last(t failer) (n int64) {
	t.Helper()
	if err := s.store.View(context.Background(), func(tx *store.Tx) (err error) {
		n, err = tx.Last()
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// read reads events behind last until one is of change n, and returns what was to be looked at, and
// what to go on from. It sees everything where it is told to.
func (s *served) read(t failer, last string, n int64, topics ...string) (of map[string]bool, all bool, next string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	of = map[string]bool{}
	greeted := false
	if err := s.client.Events(ctx, last, topics, func(e Event) bool {
		next = e.ID
		switch e.Kind {
		case "hello":
			greeted = true
			if last == "" || strings.HasPrefix(last, fmt.Sprint(e.Look.N)+".") { // nothing is to come
				return e.Look.N < n
			}
			return true
		case "reset":
			all = true
			return false
		}
		for _, topic := range e.Look.Of {
			of[topic] = true
		}
		all = all || e.Look.All
		return e.Look.N < n
	}); err != nil {
		t.Fatalf("after %v: %v", slices.Sorted(maps.Keys(of)), err)
	}
	if !greeted {
		t.Fatal("the stream did not begin with a hello")
	}
	return of, all, next
}

// Whatever is dropped, whoever reconnects looks at everything that has changed, across restarts of
// the daemon.
func TestNoChangeIsMissedByWhoReconnects(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := &served{dir: t.TempDir()}
		s.open(rt)
		defer func() { s.close(rt) }()
		last, missed := "", map[string]bool{}
		for range rapid.IntRange(1, 10).Draw(rt, "steps") {
			switch rapid.SampledFrom([]string{"change", "change", "look", "restart"}).Draw(rt, "step") {
			case "change":
				topic := rapid.SampledFrom([]string{"run.a", "run.b", "mining.c"}).Draw(rt, "topic")
				s.change(rt, topic)
				missed[topic] = true
			case "restart":
				s.close(rt)
				s.open(rt)
			case "look":
				of, all, next := s.read(rt, last, s.last(rt))
				for topic := range missed {
					if last != "" && !all && !of[topic] { // who comes for the first time reads everything
						rt.Fatalf("%s was missed, told were %v", topic, of)
					}
				}
				last, missed = next, map[string]bool{}
			}
		}
	})
}

func TestAStreamTellsWhatHappensMeanwhile(t *testing.T) {
	s := &served{dir: t.TempDir()}
	s.open(t)
	defer s.close(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var seen []Event
	if err := s.client.Events(ctx, "", []string{"run.a"}, func(e Event) bool {
		seen = append(seen, e)
		if e.Kind == "hello" {
			s.change(t, "run.b") // which nobody asked for
			s.change(t, "run.a")
			s.store.Announce("run.a", change.Notes)
		}
		return e.Kind != "look"
	}); err != nil {
		t.Fatal(err)
	}
	l := seen[len(seen)-1]
	if len(seen) != 2 || !slices.Equal(l.Look.Of, []string{"run.a"}) || !slices.Contains(l.Look.What, "records") || l.ID != fmt.Sprintf("%d.%s", l.Look.N, s.store.Owner()) {
		t.Errorf("%+v", seen)
	}
}

func TestWhoKnowsAnotherStateReadsEverything(t *testing.T) {
	s := &served{dir: t.TempDir()}
	s.open(t)
	defer s.close(t)
	s.change(t, "run.a")
	for _, last := range []string{"1.0123456789abcdef", "99." + s.store.Owner(), "-1." + s.store.Owner(), "x", "1"} {
		if _, all, _ := s.read(t, last, 1<<40); !all {
			t.Errorf("after %q nothing was reset", last)
		}
	}
}

func TestStreamsHaveABound(t *testing.T) {
	s := &served{dir: t.TempDir()}
	s.open(t)
	defer s.close(t)
	var topics []string
	for i := range maxTopics + 1 {
		topics = append(topics, fmt.Sprintf("run.r%d", i))
	}
	if err := s.client.Events(t.Context(), "", topics, func(Event) bool { return false }); err == nil {
		t.Error("any number of topics is taken")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range maxStreams {
		body, err := s.client.stream(ctx, "/v1/events?topic=run.a")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = body.Close() }()
	}
	if _, err := s.client.stream(ctx, "/v1/events"); err == nil || !strings.Contains(err.Error(), "too many streams") {
		t.Errorf("one more: %v", err)
	}
}

func TestLooksGoOnAfterABreak(t *testing.T) {
	s := &served{dir: t.TempDir()}
	s.open(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	looks := s.client.Looks(ctx, "run.a")
	<-looks // hello
	s.change(t, "run.a")
	<-looks
	s.server.CloseClientConnections()
	s.change(t, "run.a") // while nobody listens
	<-looks
	cancel()
	for range looks { // it is closed at the end
	}
	s.close(t)
}
