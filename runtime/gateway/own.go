package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/assayd/assayd/runtime/gateway/wire"
)

// A provider that refuses an agent may do so for what the agent asks: for a model that the key
// has no right to, for too much, or for something that no server survives. Whoever is to blame
// is found out by a question of our own, the smallest that there is, for the run's model.

// How long such a question may take, and for how long its outcome stands.
const (
	ownPatience = 20 * time.Second
	ownStands   = 30 * time.Second
)

// silence is what is known of a provider that refuses. Its fields are guarded by the
// gateway's mu.
type silence struct {
	why   string // what the provider has against us, since its last answer
	asked time.Time
	found string // when it was asked; "" = it answered
	at    wire.Endpoint
	path  string // where a model is asked
	model string
}

// Silent says what the provider had against us in all requests since its last answer, and
// against a question of our own: it is overloaded, not there, or does not take the key. "" = it
// answers. It waits while that is found out, for twenty seconds at most.
func (s *Session) Silent() string {
	s.asking <- struct{}{}
	defer func() { <-s.asking }()
	s.gateway.mu.Lock()
	defer s.gateway.mu.Unlock()
	return s.silence.why
}

// answers notes that the provider has answered.
func (s *Session) answers() { s.note("") }

func (s *Session) note(why string) {
	s.gateway.mu.Lock()
	s.silence.why = why
	s.gateway.mu.Unlock()
}

// asks notes where the run's model is asked, by the first request for it: that one is of the
// agent's program, before a model had a word in it.
func (s *Session) asks(x *exchange) {
	s.gateway.mu.Lock()
	defer s.gateway.mu.Unlock()
	if s.silence.path == "" && (s.grant.Model == "" || s.grant.Model == x.q.Model) {
		s.silence.at, s.silence.path, s.silence.model = x.at, x.path, x.q.Model
	}
}

// suspect notes that the provider has refused a request, if it refuses a question of our own,
// too.
func (s *Session) suspect(x *exchange) {
	s.asking <- struct{}{}
	defer func() { <-s.asking }()
	s.gateway.mu.Lock()
	known := s.silence
	s.gateway.mu.Unlock()
	stands := !known.asked.IsZero() && time.Since(known.asked) < ownStands && (known.found == "" || known.why != "")
	if !stands {
		if known.path == "" {
			known.at, known.path, known.model = x.at, x.path, s.grant.Model
		}
		known.found = s.askItself(known)
		if s.life.Err() != nil {
			return // it is not known
		}
	}
	s.gateway.mu.Lock()
	defer s.gateway.mu.Unlock()
	s.silence.why, s.silence.found = known.found, known.found
	if !stands {
		s.silence.asked = time.Now()
	}
}

// askItself asks the smallest question and says what the provider has against it. It is no
// word of the agent's and stands in no transcript; it is paid for as all others.
func (s *Session) askItself(known silence) (objection string) {
	ctx, cancel := context.WithTimeout(s.life, ownPatience)
	defer cancel()
	x := &exchange{
		ctx: ctx, s: s, at: known.at, path: known.path, began: time.Now(), q: &wire.Question{Model: known.model},
		from: &http.Request{Method: http.MethodPost, URL: &url.URL{}, Header: http.Header{"Content-Type": {"application/json"}}},
	}
	if s.provider.Protocol == wire.Anthropic {
		x.from.Header.Set("Anthropic-Version", "2023-06-01")
	}
	x.body = known.at.Generates.SmallestQuestion(known.model)
	x.q.TextBytes = len(x.body)
	req, err := x.request()
	if err != nil {
		return err.Error()
	}
	res, err := s.provider.client.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		return fmt.Sprintf("ask provider %s: %v", s.provider.Name, err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxError))
	body = x.masked(body)
	switch {
	case wire.Refusing(res.StatusCode, body), !wire.Passing(res.StatusCode):
		return x.objection(res.StatusCode, bytes.TrimSpace(body))
	case res.StatusCode/100 != 2: // it does not like the question, and that is an answer
		return ""
	}
	x.at.Generates.Whole(body, &x.meter)
	x.status, x.attempts = res.StatusCode, 1
	if bad := x.book(); bad == nil {
		x.settle(text(err))
	}
	x.tell()
	return text(err)
}
