package github

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/waiting"
)

const (
	// tries is how often a request is sent that GitHub does not answer properly.
	tries = 4
	// patience is how long a request waits for limits, in all. Whoever would wait longer is
	// told instead.
	patience = 3 * time.Second
	// maxAnswer bounds an answer, in bytes: a page of files holds their patches.
	maxAnswer = 64 << 20
)

// api sends requests to one installation of GitHub: with the token that has something left,
// and again where the answer is none. It implements http.RoundTripper, so that the client
// library knows of none of this.
type api struct {
	host      string
	transport http.RoundTripper
	purse     *tokenQuota
	log       *slog.Logger
	asked     func(resource, outcome string)
}

// unanswered says that GitHub did not answer properly, often enough.
type unanswered struct {
	what string // GET /repos/o/r
	why  error
}

// Error says what was asked, and what came of the last attempt.
func (u *unanswered) Error() string { return fmt.Sprintf("%s: no answer: %v", u.what, u.why) }

// Unwrap is what came of the last attempt.
func (u *unanswered) Unwrap() error { return u.why }

// RoundTrip implements http.RoundTripper.
func (a *api) RoundTrip(q *http.Request) (*http.Response, error) { return a.send(q, tries) }

// send sends a request until it is answered, at most so many times.
func (a *api) send(q *http.Request, times int) (*http.Response, error) {
	if q.URL.Host != a.host {
		return nil, fmt.Errorf("%s is not %s", q.URL.Host, a.host)
	}
	pauses := backoff.ExponentialBackOff{InitialInterval: 400 * time.Millisecond, MaxInterval: 5 * time.Second, Multiplier: 2, RandomizationFactor: 0.3}
	pauses.Reset()
	of := resourceOf(q.URL)
	waited := time.Duration(0)
	forbidden := map[*token]bool{}
	var last *http.Response // that said so
	for failed := 0; ; {
		t, at, err := a.purse.take(of, forbidden)
		if errors.Is(err, errNone) && last != nil {
			return last, nil
		}
		if err != nil {
			return nil, err
		}
		if t == nil {
			pause := max(0, time.Until(at))
			if waited += pause; waited > patience {
				if last != nil {
					return last, nil // no token's answer is likely to be another
				}
				return nil, &Paused{Until: at, Resource: string(of)}
			}
			if err := clock.Sleep(q.Context(), pause); err != nil {
				return nil, err
			}
			continue
		}
		res, err := a.attempt(q, t, of)
		switch {
		case err == nil && res.StatusCode == http.StatusForbidden:
			// It may be a rule of an organisation for this one token.
			forbidden[t], last = true, res
		case err == nil:
			waiting.Because(q.Context(), nil)
			return res, nil
		case q.Context().Err() != nil:
			return nil, context.Cause(q.Context())
		case errors.Is(err, errLimit), errors.Is(err, errToken): // another, or later
		default:
			what := q.Method + " " + q.URL.Path
			if failed++; failed >= times {
				return nil, &unanswered{what, err}
			}
			pause := pauses.NextBackOff()
			waiting.Because(q.Context(), &unanswered{what, err})
			a.log.Debug("GitHub does not answer, asking again", "request", what, "in", pause, "error", err)
			if err := clock.Sleep(q.Context(), pause); err != nil {
				return nil, err
			}
		}
	}
}

// Why an attempt was no answer, other than that none came.
var (
	errLimit = errors.New("a limit is used up")
	errToken = errors.New("the token is refused")
)

// attempt sends a request once. An answer has all of its body, and it is JSON.
func (a *api) attempt(q *http.Request, t *token, of resource) (*http.Response, error) {
	ctx, cancel := context.WithTimeoutCause(q.Context(), requestTime, fmt.Errorf("none within %s", requestTime))
	defer cancel()
	came, said := nothing, http.Header(nil)
	defer func() {
		a.asked(string(of), came.String())
		a.purse.settle(t, of, came, said)
	}()
	q = q.Clone(ctx)
	if t.secret != "" {
		q.Header.Set("Authorization", "Bearer "+t.secret)
	}
	if q.GetBody != nil {
		body, err := q.GetBody()
		if err != nil {
			return nil, err
		}
		q.Body = body
	}
	res, err := a.transport.RoundTrip(q)
	if err != nil {
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	defer func() { _ = res.Body.Close() }()
	said = res.Header
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return nil, cmp.Or(context.Cause(ctx), fmt.Errorf("%s, and it breaks off: %w", res.Status, err))
	}
	switch {
	case res.StatusCode == http.StatusUnauthorized:
		a.purse.drop(t)
		return nil, errToken
	case isLimit(of, res.StatusCode, res.Header, body):
		came = limit
		return nil, errLimit
	case res.StatusCode >= 500:
		return nil, errors.New(res.Status)
	case len(body) > maxAnswer:
		return nil, fmt.Errorf("%s with more than %d bytes", res.Status, maxAnswer)
	case hasBody(res.StatusCode) && !json.Valid(body):
		return nil, fmt.Errorf("%s with something that is no JSON (%s)", res.Status, res.Header.Get("Content-Type"))
	}
	came = answer
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

// hasBody tells whether answers of a status are JSON. A redirection need not be.
func hasBody(status int) bool { return status != http.StatusNoContent && status/100 != 3 }

// resourceOf is whose limit a request counts for.
func resourceOf(u *url.URL) resource {
	switch {
	case strings.HasSuffix(u.Path, "/graphql"):
		return graphQL
	case strings.Contains(u.Path, "/search/"):
		return search
	}
	return core
}
