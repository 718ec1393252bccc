package github_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/github/githubtest"
)

// said is one answer of a scripted server.
type said struct {
	status int
	header string // "Retry-After: 2; X-RateLimit-Remaining: 0", {+5} is Unix time in five seconds
	body   string
	err    error
}

// script answers requests in its order, and then always as the last.
type script struct {
	all   []said
	asked []string // tokens and paths
}

func (s *script) RoundTrip(q *http.Request) (*http.Response, error) {
	s.asked = append(s.asked, strings.TrimPrefix(q.Header.Get("Authorization"), "Bearer ")+" "+q.URL.Path)
	a := s.all[min(len(s.asked), len(s.all))-1]
	if a.err != nil {
		return nil, a.err
	}
	h := http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}}
	for _, line := range strings.Split(a.header, "; ") {
		name, value, _ := strings.Cut(line, ": ")
		var in int
		if n, _ := fmt.Sscanf(value, "{+%d}", &in); n == 1 {
			value = fmt.Sprint(time.Now().Add(time.Duration(in) * time.Second).Unix())
		}
		h.Set(name, value)
	}
	return &http.Response{StatusCode: a.status, Status: fmt.Sprint(a.status, " ", http.StatusText(a.status)), Header: h, Body: io.NopCloser(strings.NewReader(a.body)), Request: q}, nil
}

func TestEachWayOfRefusing(t *testing.T) {
	const none = `{"message":"Not Found"}`
	gone := said{status: 404, body: none}
	for _, tt := range []struct {
		name   string
		all    []said
		tokens []string
		asked  []string      // who was asked with
		after  time.Duration // until it ended, or "about" that
		paused time.Duration // for how long; 0 = it was not
		err    string
	}{
		{"nothing is wrong", []said{gone}, []string{"a"}, []string{"a"}, 0, 0, "gone"},
		{"a primary limit", []said{{status: 403, header: "X-RateLimit-Remaining: 0; X-RateLimit-Reset: {+600}", body: none}}, nil, []string{""}, 0, 600 * time.Second, ""},
		{"a primary limit with 429", []said{{status: 429, header: "X-RateLimit-Remaining: 0; X-RateLimit-Reset: {+600}", body: none}}, nil, []string{""}, 0, 600 * time.Second, ""},
		{"a primary limit that is over soon", []said{{status: 403, header: "X-RateLimit-Remaining: 0; X-RateLimit-Reset: {+2}", body: none}, gone}, nil, []string{"", ""}, 2 * time.Second, 0, "gone"},
		{"a primary limit that is over", []said{{status: 403, header: "X-RateLimit-Remaining: 0; X-RateLimit-Reset: {+-60}", body: none}, gone}, nil, []string{"", ""}, time.Second, 0, "gone"},
		{"a primary limit without an end", []said{{status: 403, header: "X-RateLimit-Remaining: 0", body: none}}, nil, []string{""}, 0, time.Minute, ""},
		{"a secondary limit", []said{{status: 403, header: "Retry-After: 120; X-RateLimit-Remaining: 4000; X-RateLimit-Reset: {+600}", body: `{"message":"Must have push access to repository"}`}}, nil, []string{""}, 0, 2 * time.Minute, ""},
		{"a secondary limit that is over soon", []said{{status: 429, header: "Retry-After: 2", body: none}, gone}, nil, []string{"", ""}, 2 * time.Second, 0, "gone"},
		{"a secondary limit as a page", []said{{status: 429, body: "<html>Whoa there!"}}, nil, []string{""}, 0, time.Minute, ""},
		{"a secondary limit in words", []said{{status: 403, body: `{"message":"You have exceeded a secondary rate limit."}`}}, nil, []string{""}, 0, time.Minute, ""},
		{"a date to wait for", []said{{status: 429, header: "Retry-After: Sat, 01 Jan 2000 00:10:00 GMT", body: none}}, nil, []string{""}, 0, 10 * time.Minute, ""},
		{"short limits without end", []said{{status: 429, header: "Retry-After: 1", body: none}}, nil, []string{"", "", "", ""}, 3 * time.Second, time.Second, ""},
		{"another token has something left", []said{{status: 403, header: "X-RateLimit-Remaining: 0; X-RateLimit-Reset: {+600}", body: none}, gone}, []string{"a", "b"}, []string{"a", "b"}, 0, 0, "gone"},
		{"both have nothing", []said{{status: 403, header: "X-RateLimit-Remaining: 0; X-RateLimit-Reset: {+600}", body: none}, {status: 429, header: "Retry-After: 60", body: none}}, []string{"a", "b"}, []string{"a", "b"}, 0, time.Minute, ""},
		{"a token is not known", []said{{status: 401, body: none}, gone}, []string{"a", "b"}, []string{"a", "b"}, 0, 0, "gone"},
		{"none is known", []said{{status: 401, body: none}}, []string{"a", "b"}, []string{"a", "b"}, 0, 0, "refuses every token (401)"},
		{"a rule of an organisation for one token", []said{{status: 403, body: none}, gone}, []string{"a", "b"}, []string{"a", "b"}, 0, 0, "gone"},
		{"a rule of an organisation", []said{{status: 403, body: `{"message":"forbids access via a personal access token"}`}}, []string{"a", "b"}, []string{"a", "b"}, 0, 0, "forbids access"},
		{"a rule, and a token that is not known", []said{{status: 403, body: `{"message":"forbids access"}`}, {status: 401, body: none}}, []string{"a", "b"}, []string{"a", "b"}, 0, 0, "forbids access"},
		{"a rule, and a token that has nothing left", []said{{status: 403, body: `{"message":"forbids access"}`}, {status: 403, header: "X-RateLimit-Remaining: 0; X-RateLimit-Reset: {+600}", body: none}}, []string{"a", "b"}, []string{"a", "b"}, 0, 0, "forbids access"},
		{"a blocked repository", []said{{status: 403, body: `{"message":"Repository access blocked","block":{"reason":"tos"}}`}}, nil, []string{""}, 0, 0, "gone"},
		{"bad gateways, and then not", []said{{status: 502, body: `{}`}, {status: 503, body: "<html>"}, {status: 504}, gone}, nil, []string{"", "", "", ""}, -1, 0, "gone"},
		{"bad gateways", []said{{status: 502, body: `{}`}}, nil, []string{"", "", "", ""}, -1, 0, "502"},
		{"a page instead of JSON", []said{{status: 200, header: "Content-Type: text/html", body: "<html>"}}, nil, []string{"", "", "", ""}, -1, 0, "no JSON (text/html)"},
		{"a page that says 404", []said{{status: 404, body: "<html>Not Found"}}, nil, []string{"", "", "", ""}, -1, 0, "no JSON"},
		{"an empty answer", []said{{status: 200}}, nil, []string{"", "", "", ""}, -1, 0, "no JSON"},
		{"dropped connections", []said{{err: io.ErrUnexpectedEOF}, {err: io.EOF}, gone}, nil, []string{"", "", ""}, -1, 0, "gone"},
		{"no connection", []said{{err: errors.New("refused")}}, nil, []string{"", "", "", ""}, -1, 0, "refused"},
		{"a bad request is the answer", []said{{status: 400, body: `{"message":"no"}`}}, nil, []string{""}, 0, 0, "400 no"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{all: tt.all}
				c := opened(t, github.Options{BaseURL: "https://github.test", Tokens: tt.tokens, Client: &http.Client{Transport: s}})
				start := time.Now()
				err := c.Merged(t.Context(), "o/r", time.Time{}, nil, func(github.Ref) error { return nil })
				var asked []string
				for _, who := range s.asked {
					token, _, _ := strings.Cut(who, " ")
					asked = append(asked, token)
				}
				if diff := cmp.Diff(tt.asked, asked); diff != "" {
					t.Error(diff)
				}
				if took := time.Since(start); tt.after >= 0 && took != tt.after || tt.after < 0 && took == 0 {
					t.Errorf("it takes %s, want %s", took, tt.after)
				}
				paused, ok := errors.AsType[*github.Paused](err)
				if ok != (tt.paused > 0) || ok && (time.Until(paused.Until) != tt.paused || paused.Resource != "core") {
					t.Errorf("it ends with %v, want a pause of %s", err, tt.paused)
				}
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("it ends with %v, want %q", err, tt.err)
				}
			})
		})
	}
}

func TestALimitIsForOneResourceAndNotAskedAgainst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := githubtest.Offline(githubtest.World{Pulls: pulls("o/r", 1), Limits: map[string]githubtest.Limit{"search": {Requests: 1, Window: time.Minute}}})
		c := client(t, s, "t")
		look := func() error {
			return c.Search(t.Context(), "repo:o/r", epoch.AddDate(-1, 0, 0), epoch.AddDate(0, 0, -1), nil, func(github.Ref) error { return nil })
		}
		if err := look(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if paused, ok := errors.AsType[*github.Paused](look()); !ok || paused.Resource != "search" || time.Until(paused.Until) != time.Minute {
				t.Errorf("it ends with %v", paused)
			}
		}
		if s.Calls() != 1 {
			t.Errorf("%d calls: what is known to be refused is asked for", s.Calls())
		}
		if _, err := c.Pulls(t.Context(), []github.Ref{{Repo: "o/r", Number: 1}}, 0, nil); err != nil {
			t.Errorf("another resource: %v", err)
		}
		time.Sleep(time.Minute)
		if err := look(); err != nil {
			t.Errorf("a minute later: %v", err)
		}
	})
}

func TestRefusedTokensAreToldAndTriedAgainLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		s := githubtest.Offline(githubtest.World{Pulls: pulls("o/r", 1), Tokens: []string{"good"}})
		c := opened(t, github.Options{BaseURL: s.API, Tokens: []string{"bad-secret"}, Client: clientOf(s), Log: slog.New(slog.NewTextHandler(&log, nil))})
		ask := func() error {
			_, err := c.Pulls(t.Context(), []github.Ref{{Repo: "o/r", Number: 1}}, 0, nil)
			return err
		}
		for range 2 {
			if err := ask(); !errors.Is(err, github.ErrUnauthorized) {
				t.Errorf("it ends with %v", err)
			}
		}
		if s.Calls() != 1 || strings.Count(log.String(), "level=WARN") != 1 || strings.Contains(log.String(), "bad-secret") {
			t.Errorf("%d calls, log:\n%s", s.Calls(), log.String())
		}
		s.Change(func(w *githubtest.World) { w.Tokens = nil })
		time.Sleep(time.Hour)
		if err := ask(); err != nil {
			t.Errorf("an hour later: %v", err)
		}
	})
}

func TestOutOfOrder(t *testing.T) {
	for _, tokens := range [][]string{nil, {"t"}} {
		synctest.Test(t, func(t *testing.T) {
			s := githubtest.Offline(githubtest.World{Pulls: pulls("o/r", 100), Faults: githubtest.Faults{Share: 1, Kinds: []githubtest.Fault{githubtest.BadGateway}}})
			if _, err := client(t, s, tokens...).Pulls(t.Context(), refs(pulls("o/r", 100)), 0, nil); err == nil || !strings.Contains(err.Error(), "502") {
				t.Errorf("it ends with %v", err)
			}
			if s.Calls() > 24 {
				t.Errorf("%d calls to find that out", s.Calls())
			}
		})
	}
}

func TestACallEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := githubtest.Offline(githubtest.World{Faults: githubtest.Faults{Share: 1, Kinds: []githubtest.Fault{githubtest.TooMany}}})
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		_, err := client(t, s).Pulls(ctx, []github.Ref{{Repo: "o/r", Number: 1}}, 0, nil)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it ends with %v", err)
		}
	})
}

func TestAnAnswerThatNeverEndsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := opened(t, github.Options{BaseURL: "https://github.test", Client: &http.Client{Transport: hanging{}}})
		if err := c.Merged(t.Context(), "o/r", time.Time{}, nil, nil); err == nil || !strings.Contains(err.Error(), "none within 30s") {
			t.Errorf("it ends with %v", err)
		}
	})
}

type hanging struct{}

func (hanging) RoundTrip(q *http.Request) (*http.Response, error) {
	<-q.Context().Done()
	return nil, q.Context().Err()
}

func TestNobodyElseIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{all: []said{{status: 301, header: "Location: https://evil.test/x", body: "{}"}}}
		c := opened(t, github.Options{BaseURL: "https://github.test", Tokens: []string{"secret"}, Client: &http.Client{Transport: s}})
		if err := c.Merged(t.Context(), "o/r", time.Time{}, nil, nil); err == nil || !strings.Contains(err.Error(), "evil.test is not github.test") || len(s.asked) != 1 {
			t.Errorf("it ends with %v after %q", err, s.asked)
		}
	})
}

func TestAddresses(t *testing.T) {
	for _, tt := range []struct{ base, rest, graph string }{
		{"", "/repos/o/r/pulls/1", "/graphql"},
		{"https://api.github.com/", "/repos/o/r/pulls/1", "/graphql"},
		{"https://ghe.test/api/v3", "/api/v3/repos/o/r/pulls/1", "/api/graphql"},
		{"http://ghe.test/api/v3/", "/api/v3/repos/o/r/pulls/1", "/api/graphql"},
	} {
		s := &script{all: []said{{status: 404, body: "{}"}}}
		c := opened(t, github.Options{BaseURL: tt.base, Tokens: []string{"t"}, Client: &http.Client{Transport: s}})
		if _, err := c.Pulls(t.Context(), []github.Ref{{Repo: "o/r", Number: 1}}, 0, nil); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"t " + tt.graph, "t " + tt.rest}, s.asked); diff != "" {
			t.Errorf("%s: %s", tt.base, diff)
		}
	}
	for _, bad := range []string{"nowhere", "ftp://x", "https://", ":"} {
		if _, err := github.Open(github.Options{BaseURL: bad}); err == nil {
			t.Errorf("%q is taken for an address", bad)
		}
	}
}
