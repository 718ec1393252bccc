package protocol

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// HostOptions are what the daemon does with a guest's requests. All four are needed. They
// may be called at the same time, and again for what was answered before, because a guest
// repeats whatever it has no answer to. Whatever they are given is a guest's word: checked
// for form, not for truth. An error is answered with 500 and without its text; whoever
// makes it logs it.
type HostOptions struct {
	// Hello takes the start of a container. The Version of its answer is set by Host.
	Hello func(context.Context, Hello) (Welcome, error)
	// Log takes output from offset on and gives the next offset that is wanted, at most
	// offset plus what was read. All of it is there: reading does not wait for the guest.
	Log func(ctx context.Context, offset int64, r io.Reader) (next int64, err error)
	// Event takes an event; it has been stored when the function returns nil.
	Event func(context.Context, Event) error
	// Beat takes a heartbeat and may wait with the answer until its context ends, which is
	// after 20 seconds; that end is an empty Order and no error.
	Beat func(context.Context, Beat) (Order, error)
}

// Host is the daemon's side of one guest's protocol: an http.Handler for GuestSocket.
type Host struct {
	o   HostOptions
	mux *http.ServeMux
}

// Limits of what a guest can send at once, in bytes.
const (
	maxQuestion = 64 << 10
	maxChunk    = 1 << 20
	maxName     = 256
)

// beatHold is how long a heartbeat may be held.
const beatHold = 20 * time.Second

// bodyTime is how long the body of a request may take to come.
const bodyTime = 30 * time.Second

// NewHost makes the handler for one trial.
func NewHost(o HostOptions) *Host {
	h := &Host{o: o, mux: http.NewServeMux()}
	h.mux.HandleFunc("POST /v1/hello", answer(h.hello))
	h.mux.HandleFunc("POST /v1/log", answer(h.log))
	h.mux.HandleFunc("POST /v1/event", answer(h.event))
	h.mux.HandleFunc("POST /v1/poll", answer(h.poll))
	h.mux.HandleFunc("/", answer(func(http.ResponseWriter, *http.Request) (any, error) {
		return nil, refusal{http.StatusNotFound, "no such request"}
	}))
	return h
}

// ServeHTTP answers one request of the guest.
func (h *Host) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.mux.ServeHTTP(w, r) }

// refusal is an error that the guest is told.
type refusal struct {
	code int
	text string
}

func (r refusal) Error() string { return r.text }

// answer writes what do returns as JSON: 204 for nil, an error with its code.
func answer(do func(http.ResponseWriter, *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		value, err := do(w, r)
		code := http.StatusOK
		if err != nil {
			told := refusal{http.StatusInternalServerError, "the daemon cannot do this now"}
			if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
				told = refusal{http.StatusRequestEntityTooLarge, large.Error()}
			}
			errors.As(err, &told)
			code, value = told.code, map[string]string{"error": told.text}
		}
		if value == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(value) // a guest that went away asks again
	}
}

// body reads all of a request in good time. There is no hurry after it: a deadline that
// stayed would look like a guest that has gone.
func body(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(time.Now().Add(bodyTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, err
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err == nil {
		_ = control.SetReadDeadline(time.Time{})
	}
	return text, err
}

// question decodes a bounded JSON body.
func question[T any](w http.ResponseWriter, r *http.Request) (q T, err error) {
	text, err := body(w, r, maxQuestion)
	if err != nil {
		return q, err
	}
	if err := json.Unmarshal(text, &q); err != nil {
		return q, refusal{http.StatusBadRequest, "body: " + err.Error()}
	}
	return q, nil
}

func (h *Host) hello(w http.ResponseWriter, r *http.Request) (any, error) {
	q, err := question[Hello](w, r)
	if err != nil {
		return nil, err
	}
	version, err := Negotiate(q.Version)
	if err != nil {
		return nil, refusal{http.StatusBadRequest, err.Error()}
	}
	if len(q.Trial) > maxName || len(q.Boot) > maxName || len(q.Ended) > maxName {
		return nil, refusal{http.StatusBadRequest, "a name is too long"}
	}
	welcome, err := h.o.Hello(r.Context(), q)
	if err != nil {
		return nil, err
	}
	welcome.Version = version
	return welcome, nil
}

func (h *Host) log(w http.ResponseWriter, r *http.Request) (any, error) {
	offset, err := strconv.ParseInt(r.URL.Query().Get("offset"), 10, 64)
	if err != nil || offset < 0 {
		return nil, refusal{http.StatusBadRequest, "offset is not a number from 0"}
	}
	chunk, err := body(w, r, maxChunk)
	if err != nil {
		return nil, err
	}
	next, err := h.o.Log(r.Context(), offset, bytes.NewReader(chunk))
	if err != nil {
		return nil, err
	}
	return LogAck{Next: next}, nil
}

func (h *Host) event(w http.ResponseWriter, r *http.Request) (any, error) {
	e, err := question[Event](w, r)
	if err != nil {
		return nil, err
	}
	if err := e.check(); err != nil {
		return nil, refusal{http.StatusBadRequest, err.Error()}
	}
	return nil, h.o.Event(r.Context(), e.Clipped())
}

// check says what is wrong with the form of an event.
func (e Event) check() error {
	switch {
	case e.Seq < 1:
		return errors.New("events are numbered from 1")
	case !slices.Contains([]string{EventStarted, EventExited, EventEnded, EventTrouble}, e.Type):
		return fmt.Errorf("there is no event %.40q", e.Type)
	case e.Count < 0 || e.Runtime < 0:
		return errors.New("less than nothing")
	case len(e.Reason) > maxName:
		return errors.New("the reason is too long")
	}
	// What becomes a word of a record is one of ours: an agent that is root can say it, too.
	words := map[string][]string{
		EventStarted: {"", AgainAfterExit, AgainAfterRestart},
		EventEnded:   {EndedExit, EndedError, EndedIdle, EndedDeadline, EndedOrdered},
		EventTrouble: troubles,
	}
	if known, ok := words[e.Type]; ok && !slices.Contains(known, e.Reason) {
		return fmt.Errorf("there is no reason %.40q for %q", e.Reason, e.Type)
	}
	return nil
}

func (h *Host) poll(w http.ResponseWriter, r *http.Request) (any, error) {
	b, err := question[Beat](w, r)
	if err != nil {
		return nil, err
	}
	if len(b.Boot) > maxName || b.PIDs < 0 || b.Zombies < 0 {
		return nil, refusal{http.StatusBadRequest, "this is not a heartbeat"}
	}
	ctx, cancel := context.WithTimeout(r.Context(), beatHold)
	defer cancel()
	order, err := h.o.Beat(ctx, b)
	if err != nil && ctx.Err() != nil {
		return Order{}, nil //nolint:nilerr // it waited as long as it may
	}
	return order, err
}

// Negotiate gives the version to speak with somebody of that version: theirs, if it is
// Version or the one before. Any other is an error.
func Negotiate(theirs int) (int, error) {
	if theirs < max(1, Version-1) || theirs > Version {
		return 0, fmt.Errorf("version %d of the guest protocol is not spoken here, %d is", theirs, Version)
	}
	return theirs, nil
}
