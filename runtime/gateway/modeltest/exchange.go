package modeltest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Exchange is the record of one request and of what came of it. What an answer tells is
// written down before it is sent: whoever has the answer finds the record.
type Exchange struct {
	Time   time.Time
	Method string
	Path   string // with the query
	Header http.Header
	// Body is the JSON that was posted; nil when there was none.
	Body map[string]any
	// Request is what the script was asked; its Number is 0 when it was not.
	Request Request

	// Status is 0 as long as there is no answer, and when the connection is closed without
	// one.
	Status int
	// Text is what was sent of the answer's text.
	Text string
	// Usage is what the answer told of it. It is whole when Final is true: it is not when
	// the answer broke off before, and when a stream of Chat was not asked for it.
	Usage Usage
	Final bool
	// Gone is true when the client went away before it had the answer.
	Gone bool
	// Ended is true when the server has nothing more to do for the request.
	Ended bool
}

// Exchanges returns the records of all requests so far, in the order in which they came.
func (s *Server) Exchanges() []Exchange {
	all, _ := s.snapshot()
	return all
}

// Wait returns what Exchanges does as soon as the condition holds for it, and an error when
// the context ends before.
func (s *Server) Wait(ctx context.Context, holds func([]Exchange) bool) ([]Exchange, error) {
	for {
		all, changed := s.snapshot()
		if holds(all) {
			return all, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return all, fmt.Errorf("wait for requests to the model server, %d so far: %w", len(all), ctx.Err())
		}
	}
}

// Usage sums up what was told whole.
func (s *Server) Usage() Usage {
	var sum Usage
	for _, x := range s.Exchanges() {
		if x.Final {
			sum = sum.Plus(x.Usage)
		}
	}
	return sum
}

func (s *Server) snapshot() (all []Exchange, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.exchanges {
		all = append(all, *x)
	}
	return all, s.changed
}

// arrived begins the record of a request.
func (s *Server) arrived(r *http.Request, body []byte) *Exchange {
	x := &Exchange{Time: time.Now(), Method: r.Method, Path: r.URL.RequestURI(), Header: r.Header.Clone()}
	if json.Unmarshal(body, &x.Body) != nil {
		x.Body = nil // no object is no body that a model is asked with
	}
	s.change(func() { s.exchanges = append(s.exchanges, x) })
	return x
}

// numbered gives a request the number that it has among those that are answered.
func (s *Server) numbered(x *Exchange, request Request) Request {
	s.change(func() {
		s.answers++
		request.Number = s.answers
		x.Request = request
	})
	return request
}

// change changes the records, and wakes up those who wait.
func (s *Server) change(how func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	how()
	close(s.changed)
	s.changed = make(chan struct{})
}
