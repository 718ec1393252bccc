package modeltest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// Model is the one model that the server lists; it answers for any.
const Model = "scripted-model"

// errClosed is why the context of a request ends that Close breaks off.
var errClosed = errors.New("the model server is closed")

// Server is a provider of models. Its methods can be called from any goroutine.
type Server struct {
	// URL is what stands before /v1: http:// and the address. That of a Unix socket is
	// http://unix, for a client that dials the socket itself.
	URL string

	script Script
	http   *http.Server
	stop   context.CancelCauseFunc
	// open counts the goroutine that accepts, and each connection.
	open sync.WaitGroup

	mu        sync.Mutex
	key       string
	answers   int
	exchanges []*Exchange
	changed   chan struct{} // closed at the next change of exchanges
}

// New starts a server on the loopback interface, which is closed when the test ends.
func New(t testing.TB, script Script) *Server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen for the model server: %v", err)
	}
	s := Start(listener, script)
	t.Cleanup(s.Close)
	return s
}

// Start serves a listener until Close, which closes the listener too.
func Start(listener net.Listener, script Script) *Server {
	ctx, stop := context.WithCancelCause(context.Background())
	s := &Server{URL: "http://unix", script: script, stop: stop, changed: make(chan struct{})}
	if address := listener.Addr(); address.Network() != "unix" {
		s.URL = "http://" + address.String()
	}
	s.http = &http.Server{
		Handler:           http.HandlerFunc(s.serve),
		ReadHeaderTimeout: time.Minute,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				s.open.Add(1)
			case http.StateClosed:
				s.open.Done()
			}
		},
	}
	s.open.Go(func() { _ = s.http.Serve(listener) }) // it always ends with an error: that of Close
	return s
}

// Close breaks off whatever is being answered and returns when nothing of the server is
// left. Its records stay. It is no error to close twice.
func (s *Server) Close() {
	s.stop(errClosed)
	_ = s.http.Close()
	s.open.Wait()
}

// RequireKey has the server refuse every request from now on that does not bring this key,
// where the provider expects it.
func (s *Server) RequireKey(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = key
}

// admits tells whether a request brings the key that is asked for. OpenAI takes it as a
// bearer's token, Anthropic by its own header or as such a token.
func (s *Server) admits(header http.Header, speaks dialect) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.key == "" {
		return true
	}
	if own := header.Get("X-Api-Key"); own != "" && speaks == (messages{}) {
		return own == s.key
	}
	token, bearer := strings.CutPrefix(header.Get("Authorization"), "Bearer ")
	return bearer && token == s.key
}

// serve leads one request to where it is answered.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	v := &visit{server: s, w: w, r: r, speaks: speaker(r)}
	body, err := readBody(r)
	v.exchange = s.arrived(r, body)
	defer v.note(func(x *Exchange) { x.Ended = true })

	route := r.Method + " " + r.URL.Path
	switch {
	case r.Method == http.MethodHead:
		v.note(func(x *Exchange) { x.Status = http.StatusOK })
	case !s.admits(r.Header, v.speaks):
		v.fault(http.StatusUnauthorized, "the API key is missing or wrong")
	case err != nil:
		v.fault(http.StatusBadRequest, err.Error())
	case route == "GET /v1/models":
		v.json(http.StatusOK, models(v.speaks))
	case route == "POST /v1/messages/count_tokens":
		v.count(body)
	case route == "POST /v1/chat/completions", route == "POST /v1/responses", route == "POST /v1/messages":
		v.answer(body)
	default:
		v.fault(http.StatusNotFound, "there is no "+route)
	}
}

// speaker is the protocol of a request, by its path and, where both providers have the same,
// by the header without which Anthropic answers nothing.
func speaker(r *http.Request) dialect {
	switch {
	case strings.HasPrefix(r.URL.Path, "/v1/messages"), r.Header.Get("Anthropic-Version") != "":
		return messages{}
	case strings.HasPrefix(r.URL.Path, "/v1/responses"):
		return responses{}
	}
	return chat{}
}

func models(speaks dialect) object {
	if speaks == (messages{}) {
		return object{
			"data":     []object{{"type": "model", "id": Model, "display_name": Model, "created_at": "2026-01-01T00:00:00Z"}},
			"has_more": false, "first_id": Model, "last_id": Model,
		}
	}
	return object{"object": "list", "data": []object{{"id": Model, "object": "model", "created": 0, "owned_by": "modeltest"}}}
}
