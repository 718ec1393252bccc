package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/assayd/assayd/runtime/gateway/wire"
	"github.com/assayd/assayd/runtime/waiting"
)

// forward sends the request until the provider answers, or until the agent has waited long
// enough.
func (x *exchange) forward() (*answer, *refusal) {
	hold := x.s.gateway.opts.Hold
	held, cancel := context.WithTimeoutCause(x.ctx, hold, errHeld)
	defer cancel()
	a, err := backoff.Retry(x.ctx, func() (*answer, error) { return x.attempt(held) },
		backoff.WithBackOff(x.pauses), backoff.WithMaxElapsedTime(hold),
		backoff.WithNotify(func(err error, pause time.Duration) {
			waiting.Because(x.ctx, err)
			x.s.log.Debug("a request to a model is tried again", "provider", x.s.provider.Name, "pause", pause, "error", err)
		}))
	if err == nil {
		waiting.Because(x.ctx, nil)
		return a, nil
	}
	if own, ok := errors.AsType[*refusal](err); ok {
		return nil, own
	}
	why := err.Error()
	if x.ctx.Err() != nil {
		why = broken(x.ctx, err)
	} else if x.q != nil {
		x.s.suspect(x)
	}
	bad := overloaded(x.protocol(), why)
	bad.retry = max(bad.retry, int(x.pauses.least/time.Second))
	return nil, bad
}

var errHeld = errors.New("the provider's limits let nothing more through for now")

// pauses between attempts grow from half a second to twenty, and are as long as the provider
// has asked for the last time.
type pauses struct {
	backoff.ExponentialBackOff
	least time.Duration
}

func newPauses() *pauses {
	return &pauses{ExponentialBackOff: backoff.ExponentialBackOff{
		InitialInterval: 500 * time.Millisecond, MaxInterval: 20 * time.Second, Multiplier: 2, RandomizationFactor: 0.3,
	}}
}

// NextBackOff implements backoff.BackOff.
func (p *pauses) NextBackOff() time.Duration { return max(p.ExponentialBackOff.NextBackOff(), p.least) }

// attempt sends the request once. Its error is one to try again after, unless it is permanent.
func (x *exchange) attempt(waiting context.Context) (a *answer, err error) {
	if err := x.enter(waiting); err != nil {
		return nil, backoff.Permanent(err)
	}
	defer func() {
		if err != nil { // nobody else shall wait for a pause of ours
			x.leave()
		}
	}()
	if bad := x.broke(); bad != nil && x.q != nil { // while it waited
		return nil, backoff.Permanent(bad)
	}
	x.attempts++
	x.pauses.least = 0
	req, err := x.request()
	if err != nil {
		return nil, backoff.Permanent(err)
	}
	res, err := x.s.provider.client.Do(req)
	if err != nil && x.ctx.Err() != nil {
		return nil, err // it may have been sent
	}
	if err == nil && wire.Passing(res.StatusCode) {
		x.first = time.Now()
		return x.opened(res)
	}
	x.sent = nil
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // without the address, which is none of the agent's business
		}
		return nil, fmt.Errorf("ask provider %s: %w", x.s.provider.Name, err)
	}
	defer func() { _ = res.Body.Close() }()
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxError)) // as far as it comes
	x.later(res)
	return nil, errors.New(x.objection(res.StatusCode, x.masked(body)))
}

// enter takes a place in the provider's line.
func (x *exchange) enter(waiting context.Context) error {
	x.entered = 0
	if x.q != nil {
		x.entered = wire.Estimate(x.q.TextBytes)
	}
	began := time.Now()
	err := x.s.provider.line.enter(waiting, x.s.grant.Trial, x.model(), x.entered)
	if x.waited += time.Since(began); err != nil {
		return err
	}
	x.placed = true
	return nil
}

// model is the one that is asked; "" = none is.
func (x *exchange) model() string {
	if x.q == nil {
		return ""
	}
	return x.q.Model
}

// objection says how the provider refused.
func (x *exchange) objection(status int, body []byte) string {
	return fmt.Sprintf("provider %s answered %d: %s", x.s.provider.Name, status, wire.Clip(bytes.TrimSpace(body)))
}

// maxPause bounds how long requests to a model stand still because a provider asked for it, whatever
// it asks for: it may change its mind.
const maxPause = 5 * time.Minute

// later notes what pause the provider wants before it is asked again. One that is longer than
// what is left of the hold ends it.
func (x *exchange) later(res *http.Response) {
	pause, ok := retryAfter(res.Header.Get("Retry-After"), time.Now())
	if !ok {
		return
	}
	x.pauses.least = min(pause, maxPause)
	if res.StatusCode == http.StatusTooManyRequests { // it is the same for all who ask this model
		x.s.provider.line.pause(x.model(), time.Now().Add(x.pauses.least))
	}
}

// retryAfter reads the header of that name: whole seconds, or a date from which they are
// rounded up.
func retryAfter(text string, now time.Time) (pause time.Duration, ok bool) {
	const most = 24 * 60 * 60
	if n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 63); err == nil {
		return time.Duration(min(n, most)) * time.Second, true
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	return min(max(at.Sub(now)+time.Second-1, 0).Truncate(time.Second), most*time.Second), true
}

// request is the agent's with the key of the provider.
func (x *exchange) request() (*http.Request, error) {
	p := x.s.provider
	key, err := p.Key()
	if err != nil {
		return nil, fmt.Errorf("read the key of provider %s: %w", p.Name, err)
	}
	x.key = key
	sent := new(atomic.Bool) // of this attempt: it may become so when the next one has begun
	x.sent = sent
	ctx := httptrace.WithClientTrace(x.asking(), &httptrace.ClientTrace{WroteRequest: func(i httptrace.WroteRequestInfo) {
		sent.Store(i.Err == nil)
	}})
	req, err := http.NewRequestWithContext(ctx, x.from.Method, p.target(x.path, x.from.URL.RawQuery), bytes.NewReader(x.body))
	if err != nil {
		return nil, err
	}
	for name, values := range x.from.Header {
		if requestHeader(name) {
			req.Header[name] = values
		}
	}
	req.Header.Set("Accept-Encoding", "identity")
	p.sign(req.Header, key)
	return req, nil
}

// asking is the context of the provider's side.
func (x *exchange) asking() context.Context {
	if x.far == nil {
		return x.ctx
	}
	return x.far.ctx
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
