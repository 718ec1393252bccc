package github

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// resource is what a limit is for: GitHub counts each on its own.
type resource string

const (
	core    resource = "core"
	search  resource = "search"
	graphQL resource = "graphql"
)

const (
	// least is how long a limit lasts, whatever its headers say: clocks differ, and seconds
	// are rounded.
	least = time.Second
	// penalty is how long a limit lasts that does not say how long. It doubles each time.
	penalty = time.Minute
	// dropped is how long a token is not asked with that GitHub does not know: it has refused
	// good ones while it was broken.
	dropped = time.Hour
)

// ErrUnauthorized says that GitHub knows none of the tokens (401).
var ErrUnauthorized = errors.New("GitHub refuses every token (401)")

// Paused says that no token may ask anything more for a while. What was answered before is
// kept, and the call is to be made again then.
type Paused struct {
	Until    time.Time
	Resource string // whose limit it is: core, search, graphql
}

// Error says until when.
func (p *Paused) Error() string {
	return fmt.Sprintf("GitHub's limit (%s) is used up until %s", p.Resource, p.Until.UTC().Format(time.RFC3339))
}

// token is one identity with its limits.
type token struct {
	secret    string // "" = none, GitHub counts by address
	number    int    // for people: the first is 1
	refused   time.Time
	secondary time.Time // no request before
	offences  int       // secondary limits in a row that did not say how long
	budgets   map[resource]*budget
}

// budget is what GitHub has said of one limit.
type budget struct {
	known     bool
	window    int64 // when it ends, as GitHub says it: names the window
	ends      time.Time
	remaining int
	flying    int // requests that are not answered yet
}

// left is how many requests are allowed at a time.
func (b *budget) left(now time.Time) int {
	if !b.known || !now.Before(b.ends) {
		return math.MaxInt - b.flying
	}
	return b.remaining - b.flying
}

func (t *token) budget(of resource) *budget {
	b := t.budgets[of]
	if b == nil {
		b = &budget{}
		t.budgets[of] = b
	}
	return b
}

// free is when the token may ask.
func (t *token) free(of resource, now time.Time) time.Time {
	at := t.secondary
	if b := t.budget(of); b.left(now) <= 0 && b.ends.After(at) {
		at = b.ends
	}
	return at
}

// tokenQuota holds the tokens.
type tokenQuota struct {
	log *slog.Logger

	mu     sync.Mutex
	tokens []*token
}

func newPurse(secrets []string, log *slog.Logger) *tokenQuota {
	p := &tokenQuota{log: log}
	if len(secrets) == 0 {
		secrets = []string{""}
	}
	for i, secret := range secrets {
		p.tokens = append(p.tokens, &token{secret: secret, number: i + 1, budgets: map[resource]*budget{}})
	}
	return p
}

// errNone says that every token was passed over.
var errNone = errors.New("no token is left to ask with")

// take hands out the token that has the most left, or says when one will have something. What
// is taken is given back by settle. Tokens in without are passed over.
func (p *tokenQuota) take(of resource, without map[*token]bool) (best *token, at time.Time, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	refused, most := 0, 0
	for _, t := range p.tokens {
		if now.Before(t.refused) {
			refused++
			continue
		}
		if without[t] {
			continue
		}
		free := t.free(of, now)
		if left := t.budget(of).left(now); !free.After(now) && left > most {
			best, most = t, left
		}
		if at.IsZero() || free.Before(at) {
			at = free
		}
	}
	switch {
	case refused == len(p.tokens):
		return nil, at, ErrUnauthorized
	case refused+len(without) >= len(p.tokens):
		return nil, at, errNone
	case best != nil:
		best.budget(of).flying++
	}
	return best, at, nil
}

// came is what came of an attempt, for the limits.
type came int

const (
	nothing came = iota
	answer
	limit
)

// String is the word for it in counts.
func (c came) String() string { return [...]string{"none", "answer", "limit"}[c] }

// settle takes a token back, with what GitHub said of its limits.
func (p *tokenQuota) settle(t *token, of resource, c came, h http.Header) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t.budget(of).flying--
	if named := resource(h.Get("X-RateLimit-Resource")); named != "" {
		of = named
	}
	b := t.budget(of)
	b.note(h)
	switch c {
	case answer:
		t.offences = 0
	case limit:
		now := time.Now()
		wait, said := retryAfter(h, now)
		if h.Get("X-RateLimit-Remaining") == "0" && b.known {
			b.remaining, b.ends = 0, later(b.ends, now.Add(least))
			if !said {
				return
			}
		}
		if !said {
			wait = penalty << min(t.offences, 6)
			t.offences++
		}
		t.secondary = later(t.secondary, now.Add(max(wait, least)))
	}
}

// note reads what an answer says of a limit.
func (b *budget) note(h http.Header) {
	remaining, err := strconv.Atoi(h.Get("X-RateLimit-Remaining"))
	if err != nil {
		return
	}
	window, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64)
	switch {
	case err != nil || b.known && window < b.window: // an answer that was overtaken
	case b.known && window == b.window:
		b.remaining = min(b.remaining, remaining)
	default:
		// By the clock of GitHub: ours may be wrong.
		now, ends := time.Now(), time.Unix(window, 0)
		if date, err := http.ParseTime(h.Get("Date")); err == nil {
			ends = now.Add(ends.Sub(date))
		}
		b.known, b.window, b.remaining, b.ends = true, window, remaining, later(ends, now.Add(least))
	}
}

// drop puts a token away that GitHub does not know.
func (p *tokenQuota) drop(t *token) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.secret != "" && !time.Now().Before(t.refused) {
		p.log.Warn("GitHub refuses a token: it is not used", "token", t.number, "of", len(p.tokens), "for", dropped)
	}
	t.refused = time.Now().Add(dropped)
}

// retryAfter reads the header of that name, in seconds or as a date.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.Atoi(text); err == nil {
		return time.Duration(max(0, min(seconds, math.MaxInt32))) * time.Second, true
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return at.Sub(now), true
}

// isLimit tells whether an answer refuses for a limit, whichever of its several ways it takes.
func isLimit(of resource, status int, h http.Header, body []byte) bool {
	switch status {
	case http.StatusTooManyRequests:
		return true
	case http.StatusForbidden:
		text := strings.ToLower(string(body[:min(len(body), 64<<10)]))
		return h.Get("Retry-After") != "" || h.Get("X-RateLimit-Remaining") == "0" ||
			slices.ContainsFunc([]string{"secondary rate limit", "api rate limit exceeded", "abuse detection"}, func(s string) bool { return strings.Contains(text, s) })
	case http.StatusOK:
		return of == graphQL && graphLimited(body)
	}
	return false
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
