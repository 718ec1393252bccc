package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// answer is one of the provider's that is passed on.
type answer struct {
	*http.Response
	frames *frames // of a stream
	first  []byte  // its first event, which the meter has read
}

func (a *answer) close() { _ = a.Body.Close() }

// forward sends the request until the provider answers, or until the agent has waited long
// enough.
func (x *exchange) forward() (*answer, *refusal) {
	hold := x.s.gateway.opts.Hold
	waiting, cancel := context.WithTimeoutCause(x.ctx, hold, errHeld)
	defer cancel()
	a, err := backoff.Retry(x.ctx, func() (*answer, error) { return x.attempt(waiting) },
		backoff.WithBackOff(pauses()), backoff.WithMaxElapsedTime(hold),
		backoff.WithNotify(func(err error, pause time.Duration) {
			x.s.log.Debug("a request to a model is tried again", "provider", x.s.provider.Name, "pause", pause, "error", err)
		}))
	if err == nil {
		return a, nil
	}
	why := err.Error()
	if x.ctx.Err() != nil {
		why = broken(x.ctx, err)
	} else {
		x.s.note(why)
	}
	return nil, overloaded(x.protocol(), why)
}

var errHeld = errors.New("the provider's limits, as the settings have them, let nothing more through for now")

// pauses grow from half a second to twenty.
func pauses() backoff.BackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval, b.Multiplier, b.RandomizationFactor = 500*time.Millisecond, 20*time.Second, 2, 0.3
	return b
}

// attempt sends the request once. Its error is one to try again after, unless it is permanent.
func (x *exchange) attempt(waiting context.Context) (*answer, error) {
	x.leave() // of the attempt before
	if err := x.enter(waiting); err != nil {
		return nil, backoff.Permanent(err)
	}
	x.attempts++
	req, err := x.request()
	if err != nil {
		return nil, backoff.Permanent(err)
	}
	res, err := x.s.provider.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask provider %s: %w", x.s.provider.Name, err)
	}
	if passing(res.StatusCode) {
		return x.opened(res)
	}
	defer func() { _ = res.Body.Close() }()
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxError)) // as far as it comes
	return nil, x.later(res, errors.New(x.objection(res.StatusCode, x.masked(body))))
}

// enter takes a place in the provider's line. Only what a model answers is limited.
func (x *exchange) enter(waiting context.Context) error {
	if x.q == nil {
		return nil
	}
	x.entered = estimate(x.q.bytes)
	if err := x.s.provider.line.enter(waiting, x.s.grant.Trial, x.entered); err != nil {
		return err
	}
	x.placed = true
	return nil
}

// passing reports whether an answer is for the agent. All others are the provider's trouble,
// which may pass.
func passing(status int) bool { return status != http.StatusTooManyRequests && status < 500 }

// objection says how the provider refused.
func (x *exchange) objection(status int, body []byte) string {
	return fmt.Sprintf("provider %s answered %d: %s", x.s.provider.Name, status, clip(bytes.TrimSpace(body)))
}

// later is an error after which the provider wants some time.
func (x *exchange) later(res *http.Response, err error) error {
	seconds, ok := retryAfter(res.Header.Get("Retry-After"), time.Now())
	if !ok {
		return err
	}
	if res.StatusCode == http.StatusTooManyRequests { // it is the same for everybody
		x.s.provider.line.pause(time.Now().Add(time.Duration(seconds) * time.Second))
	}
	if time.Duration(seconds)*time.Second > x.s.gateway.opts.Hold {
		return backoff.Permanent(err)
	}
	return &backoff.RetryAfterError{Duration: time.Duration(seconds) * time.Second}
}

// retryAfter reads the header of that name, in whole seconds that are rounded up.
func retryAfter(text string, now time.Time) (seconds int, ok bool) {
	if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil && n >= 0 {
		return n, true
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	return int(max(at.Sub(now)+time.Second-1, 0) / time.Second), true
}

// opened takes up an answer. A stream whose first event is an error has not begun.
func (x *exchange) opened(res *http.Response) (*answer, error) {
	a := &answer{Response: res}
	if x.q == nil || res.StatusCode/100 != 2 || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return a, nil
	}
	a.frames = newFrames(res.Body)
	raw, data, err := a.frames.next()
	if err != nil {
		a.close()
		return nil, fmt.Errorf("provider %s ended a stream before it began: %w", x.s.provider.Name, err)
	}
	a.first = raw
	x.at.generates.event(data, &x.meter)
	if x.meter.err != "" {
		err := errors.New(x.objection(res.StatusCode, []byte(x.meter.err)))
		x.meter = meter{asked: x.meter.asked}
		a.close()
		return nil, err
	}
	return a, nil
}

// request is the agent's with the key of the provider.
func (x *exchange) request() (*http.Request, error) {
	p := x.s.provider
	key, err := p.Key()
	if err != nil {
		return nil, fmt.Errorf("read the key of provider %s: %w", p.Name, err)
	}
	req, err := http.NewRequestWithContext(x.ctx, x.from.Method, p.target(x.path, x.from.URL.RawQuery), bytes.NewReader(x.body))
	if err != nil {
		return nil, err
	}
	for name, values := range x.from.Header {
		if requestHeader(name) {
			req.Header[name] = values
		}
	}
	p.sign(req.Header, key)
	return req, nil
}

// requestHeader reports whether a header of an agent is passed on. Those that say who asks,
// for whom, or in which encoding to answer are not.
func requestHeader(name string) bool {
	switch name {
	case "Content-Type", "Accept", "User-Agent", "Openai-Beta", "Anthropic-Version", "Anthropic-Beta", "X-App",
		"Originator", "Session_id", "Conversation_id", "Http-Referer", "X-Title":
		return true
	}
	return strings.HasPrefix(name, "X-Stainless-")
}

// answerHeader reports whether a header of a provider is passed on. Those that tell whose
// account it is are not.
func answerHeader(name string) bool {
	switch name {
	case "Content-Type", "Cache-Control", "Request-Id", "X-Request-Id", "Retry-After", "Openai-Model", "Openai-Processing-Ms", "Openai-Version":
		return true
	}
	return strings.Contains(name, "Ratelimit")
}
