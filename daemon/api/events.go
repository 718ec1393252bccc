package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/assayd/assayd/reconcile"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/change"
)

// Hello is the first event of a stream.
type Hello struct {
	Version string `json:"version"`
	Owner   string `json:"owner"` // id of the state directory
	N       int64  `json:"n"`     // number of the last change
}

// Look is an event that says where to look again. Losing one costs nothing: what is asked for after
// the next one is complete.
type Look struct {
	N    int64    `json:"n"`              // number of the last change
	Of   []string `json:"of"`             // addresses of specs, ids of trials, "specs"; of those that were asked for
	What []string `json:"what,omitempty"` // cells, rounds, records, usage, pulls, files, notes, log
	All  bool     `json:"all,omitempty"`  // too much has changed to be named
}

// HostNow is an event about the daemon itself.
type HostNow struct {
	N        int64   `json:"n"`
	LoopAgeS float64 `json:"loop_age_s"` // of the present turn of the reconcile loop; 0 = it waits for something to do
}

// How events are sent.
const (
	lookPause  = 250 * time.Millisecond // between two looks
	hostPause  = 5 * time.Second        // between two events about the daemon
	quietPause = 15 * time.Second       // after which a comment shows that the stream is alive
	maxTopics  = 100                    // that one stream asks for
	maxStreams = 256                    // at a time
)

// hostTopic asks for events about the daemon.
const hostTopic = "host"

// events streams where to look again, until the client goes away.
func (h *handler) events(w http.ResponseWriter, q *http.Request) {
	topics := q.URL.Query()["topic"]
	if len(topics) > maxTopics {
		fail(w, invalidf("%d topics: a stream has %d at most; without a topic it has all", len(topics), maxTopics))
		return
	}
	if h.streams.Add(1) > maxStreams {
		h.streams.Add(-1)
		w.Header().Set("Retry-After", "10")
		Refuse(w, http.StatusServiceUnavailable, Busy, "too many streams of events are open")
		return
	}
	defer h.streams.Add(-1)
	watcher := h.r.Watch() // before anything is read: nothing is missed between
	defer watcher.Close()
	n, err := h.r.Changes(q.Context())
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	s := stream{w: w, owner: h.r.Owner(), topics: map[string]bool{}}
	for _, topic := range topics {
		s.topics[topic] = true
	}
	s.send("hello", n, Hello{h.version, s.owner, n})
	if last := cmp.Or(q.Header.Get("Last-Event-ID"), q.URL.Query().Get("last")); last != "" {
		h.missed(q.Context(), &s, last)
	}
	s.follow(q.Context(), watcher, h.r)
}

// missed tells a client that was away what has changed since.
func (h *handler) missed(ctx context.Context, s *stream, last string) {
	number, owner, _ := strings.Cut(last, ".")
	n, err := strconv.ParseInt(number, 10, 64)
	if err == nil && owner != s.owner {
		err = store.ErrNotFound
	}
	var touched change.Touched
	if err == nil {
		touched, err = h.r.TouchedSince(ctx, n)
	}
	if err != nil { // it knows another state: it is to read everything again
		s.send("reset", 0, struct{}{})
		return
	}
	s.look(touched)
}

// stream is an open stream of events; it belongs to the goroutine of its request.
type stream struct {
	w      http.ResponseWriter
	owner  string
	topics map[string]bool // that were asked for; none = all
	err    error           // the client is gone
}

// send sends an event; n over 0 is what the client may go on from.
func (s *stream) send(event string, n int64, data any) {
	text, _ := json.Marshal(data) // plain data always encodes
	id := ""
	if n > 0 {
		id = fmt.Sprintf("id: %d.%s\n", n, s.owner)
	}
	s.write(fmt.Sprintf("%sevent: %s\ndata: %s\n\n", id, event, text))
}

func (s *stream) write(text string) {
	if s.err != nil {
		return
	}
	control := http.NewResponseController(s.w)
	_ = control.SetWriteDeadline(time.Now().Add(bodyTime)) // a client that does not read is let go
	if _, s.err = s.w.Write([]byte(text)); s.err == nil {
		s.err = control.Flush()
	}
}

// bodyTime is for how long a client may not take what is sent.
const bodyTime = 30 * time.Second

// look sends what was touched, if it is of what the client asked for.
func (s *stream) look(touched change.Touched) {
	l := Look{N: touched.N, Of: []string{}, All: touched.All}
	var what change.What
	for topic, parts := range touched.Topics {
		if len(s.topics) == 0 || s.topics[topic] {
			l.Of = append(l.Of, topic)
			what |= parts
		}
	}
	if len(l.Of) == 0 && !l.All {
		return
	}
	slices.Sort(l.Of)
	l.What = what.Names()
	s.send("look", touched.N, l)
}

// follow sends what happens, four times a second at most.
func (s *stream) follow(ctx context.Context, watcher *change.Watcher, r *reconcile.Reconciler) {
	host, quiet, pause := time.NewTicker(hostPause), time.NewTicker(quietPause), time.NewTimer(0)
	defer host.Stop()
	defer quiet.Stop()
	defer pause.Stop()
	var ready <-chan struct{} // nil = it is too early for another look
	for s.err == nil {
		select {
		case <-pause.C:
			ready = watcher.Ready()
		case <-ready: // what comes in the pause is in the next one
			s.look(watcher.Take())
			ready = nil
			pause.Reset(lookPause)
		case <-host.C:
			if s.topics[hostTopic] {
				n, err := r.Changes(ctx)
				if err != nil {
					return
				}
				s.send(hostTopic, 0, HostNow{n, r.Age().Seconds()})
			}
		case <-quiet.C:
			s.write(": nothing new\n\n")
		case <-ctx.Done():
			return
		}
	}
}

// await waits until something of a topic changes. It reports whether the client is still there.
func await(ctx context.Context, watcher *change.Watcher, topic string) bool {
	for {
		touched, err := watcher.Next(ctx)
		if err != nil {
			return false
		}
		if touched.All || touched.Topics[topic] != 0 {
			return true
		}
	}
}
