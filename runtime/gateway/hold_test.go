package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assayd/assayd/runtime/gateway/wire"
)

// trip is a provider without a network, for tests in which time does not pass by itself.
type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(q *http.Request) (*http.Response, error) {
	if q.Body != nil {
		_, _ = io.Copy(io.Discard, q.Body)
	}
	return f(q)
}

// answers makes a response; its header is "name: value" lines.
func answers(status int, body string, header ...string) (*http.Response, error) {
	h := http.Header{}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		h.Set(name, value)
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}, nil
}

const fine = `{"usage":{"prompt_tokens":1,"completion_tokens":1,"input_tokens":1,"output_tokens":1}}`

// noBooks is a ledger for tests that do not look at it.
type noBooks struct{}

func (noBooks) Begin(context.Context, Charge) (int64, error)        { return 0, nil }
func (noBooks) End(context.Context, int64, Charge) error            { return nil }
func (noBooks) Spent(context.Context, Account) (u Usage, err error) { return u, nil }

// held is a session of a provider that holds requests for a minute.
func held(t *testing.T, p Provider, f trip) *Session {
	t.Helper()
	p.Name, p.BaseURL, p.Key = "p", "http://provider/v1", func() (string, error) { return "sk-0123456789", nil }
	if p.Protocol == "" {
		p.Protocol = wire.OpenAI
	}
	g, err := New(Options{Providers: []Provider{p}, Ledger: noBooks{}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	g.providers["p"].client.Transport = f
	t.Cleanup(g.Close)
	return another(t, g, "1")
}

// another is the session of another trial.
func another(t *testing.T, g *Gateway, trial string) *Session {
	t.Helper()
	s, err := g.Open(t.Context(), Grant{Account: Account{Spec: "run.r", Execution: 1, Trial: trial}, Provider: "p", Model: "m", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// ask asks, and says how long that took.
func (s *Session) ask(ctx context.Context, body string) (*httptest.ResponseRecorder, time.Duration) {
	path := "/openai/v1/chat/completions"
	if s.provider.Protocol == wire.Anthropic {
		path = "/anthropic/v1/messages"
	}
	return s.askAt(ctx, path, body)
}

func (s *Session) askAt(ctx context.Context, path, body string) (*httptest.ResponseRecorder, time.Duration) {
	w, begun := httptest.NewRecorder(), time.Now()
	q := httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body))
	func() {
		defer func() {
			if p := recover(); p != nil && p != http.ErrAbortHandler { //nolint:errorlint // it is this very value
				panic(p)
			}
		}()
		s.ServeHTTP(w, q)
	}()
	return w, time.Since(begun)
}

const plain, streamed = `{"model":"m"}`, `{"model":"m","stream":true}`

// What may pass is tried again, until there is an answer.
func TestTroubleThatPassesIsHeld(t *testing.T) {
	date := func(in time.Duration) string { return time.Now().Add(in).UTC().Format(http.TimeFormat) }
	sse := "Content-Type: text/event-stream"
	for name, tc := range map[string]struct {
		body     string
		protocol string
		trouble  func() (*http.Response, error)
		pause    time.Duration // at least, until the second attempt
	}{
		"refused":               {plain, wire.OpenAI, func() (*http.Response, error) { return nil, errors.New("connection refused") }, 300 * time.Millisecond},
		"an error of theirs":    {plain, wire.OpenAI, func() (*http.Response, error) { return answers(500, "") }, 300 * time.Millisecond},
		"overloaded":            {plain, wire.Anthropic, func() (*http.Response, error) { return answers(529, "") }, 300 * time.Millisecond},
		"too many":              {plain, wire.OpenAI, func() (*http.Response, error) { return answers(429, "") }, 300 * time.Millisecond},
		"too many, for seconds": {plain, wire.OpenAI, func() (*http.Response, error) { return answers(429, "", "Retry-After: 7") }, 7 * time.Second},
		"too many, until then": {
			plain, wire.OpenAI, func() (*http.Response, error) { return answers(429, "", "Retry-After: "+date(20*time.Second)) }, 20 * time.Second,
		},
		"too many, for no time":  {plain, wire.OpenAI, func() (*http.Response, error) { return answers(429, "", "Retry-After: 0") }, 300 * time.Millisecond},
		"away, for seconds":      {plain, wire.OpenAI, func() (*http.Response, error) { return answers(503, "", "Retry-After: 9") }, 9 * time.Second},
		"a stream without event": {streamed, wire.OpenAI, func() (*http.Response, error) { return answers(200, "", sse) }, 300 * time.Millisecond},
		"a stream that begins with an error": {
			streamed, wire.OpenAI, func() (*http.Response, error) {
				return answers(200, ": wait\n\ndata: {\"error\":{\"code\":502}}\n\n", sse)
			}, 300 * time.Millisecond,
		},
		"a stream that begins with theirs": {
			streamed, wire.Anthropic, func() (*http.Response, error) {
				return answers(200, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n", sse)
			}, 300 * time.Millisecond,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var at []time.Time
				s := held(t, Provider{Protocol: tc.protocol}, func(*http.Request) (*http.Response, error) {
					if at = append(at, time.Now()); len(at) == 1 {
						return tc.trouble()
					}
					return answers(200, fine, "Content-Type: application/json")
				})
				w, _ := s.ask(t.Context(), tc.body)
				if w.Code != 200 || len(at) != 2 {
					t.Fatalf("%d attempts, then %d %s", len(at), w.Code, w.Body)
				}
				if pause := at[1].Sub(at[0]); pause < tc.pause || pause > tc.pause+time.Second {
					t.Errorf("tried again after %v, want %v", pause, tc.pause)
				}
				if s.Usage().EstimatedTokens != 0 || s.Usage().Requests != 1 || s.Silent() != "" {
					t.Errorf("%+v %q", s.Usage(), s.Silent())
				}
			})
		})
	}
}

// After a minute the agent has the provider's own answer, and the trial knows; the first
// answer of any kind sets that right.
func TestTroubleThatStaysIsTold(t *testing.T) {
	for _, protocol := range []string{wire.OpenAI, wire.Anthropic} {
		t.Run(protocol, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				attempts, well := 0, false
				s := held(t, Provider{Protocol: protocol}, func(*http.Request) (*http.Response, error) {
					if attempts++; well {
						return answers(400, "no")
					}
					return answers(503, "we are away", "Retry-After: 1")
				})
				w, took := s.ask(t.Context(), plain)
				if took < 30*time.Second || took > time.Minute {
					t.Errorf("it was held for %v", took)
				}
				if attempts < 5 || attempts > 15 {
					t.Errorf("%d attempts", attempts)
				}
				status, kind := 503, `"type":"server_error"`
				if protocol == wire.Anthropic {
					status, kind = 529, `"type":"overloaded_error"`
				}
				if w.Code != status || !strings.Contains(w.Body.String(), kind) || w.Header().Get("Retry-After") != "15" {
					t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
				}
				if !strings.Contains(s.Silent(), "answered 503: we are away") {
					t.Errorf("%q", s.Silent())
				}
				well = true
				if w, _ := s.ask(t.Context(), plain); w.Code != 400 || s.Silent() != "" {
					t.Errorf("%d, %q", w.Code, s.Silent())
				}
			})
		})
	}
}

// Nobody is held for a pause that is longer than the hold.
func TestALongPauseIsToldAtOnce(t *testing.T) {
	for after, told := range map[string]string{"61": "61", "100000000000000000000": "15", "99999999999": "300"} {
		t.Run(after, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				attempts := 0
				s := held(t, Provider{}, func(*http.Request) (*http.Response, error) {
					attempts++
					return answers(429, "", "Retry-After: "+after)
				})
				w, took := s.ask(t.Context(), plain)
				if told == "15" { // no number that anybody means
					if attempts < 5 {
						t.Errorf("%d attempts", attempts)
					}
				} else if took > 0 || attempts != 2 { // the second is a question of our own
					t.Errorf("%d attempts in %v", attempts, took)
				}
				if w.Code != 503 || w.Header().Get("Retry-After") != told {
					t.Errorf("%d %v", w.Code, w.Header())
				}
			})
		})
	}
}

// What is the agent's own fault is told at once, as the provider says it.
func TestRefusalsPassAtOnce(t *testing.T) {
	for status, silent := range map[int]bool{307: false, 400: false, 401: true, 402: true, 403: true, 404: false, 413: false, 422: false} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				attempts := 0
				s := held(t, Provider{}, func(*http.Request) (*http.Response, error) {
					attempts++
					return answers(status, `{"error":"no"}`, "Content-Type: application/json")
				})
				w, took := s.ask(t.Context(), streamed)
				most := map[bool]int{false: 1, true: 2}[silent] // with a question of our own
				if w.Code != status || w.Body.String() != `{"error":"no"}` || took > 0 || attempts != most {
					t.Errorf("%d %s after %d attempts in %v", w.Code, w.Body, attempts, took)
				}
				if (s.Silent() != "") != silent || s.Usage() != (Usage{}) {
					t.Errorf("%q, %+v", s.Silent(), s.Usage())
				}
			})
		})
	}
}

// An error that a stream begins with, and that stays, passes as it is and costs nothing.
func TestAStreamThatRefusesPassesAtOnce(t *testing.T) {
	for protocol, event := range map[string]string{
		wire.OpenAI:    `{"error":{"code":400,"message":"no"}}`,
		wire.Anthropic: `{"type":"error","error":{"type":"invalid_request_error"}}`,
	} {
		t.Run(protocol, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				attempts := 0
				s := held(t, Provider{Protocol: protocol}, func(*http.Request) (*http.Response, error) {
					attempts++
					return answers(200, "data: "+event+"\n\n", "Content-Type: text/event-stream")
				})
				w, _ := s.ask(t.Context(), streamed)
				if attempts != 1 || w.Body.String() != "data: "+event+"\n\n" || s.Usage() != (Usage{Requests: 1}) {
					t.Errorf("%d attempts: %s, %+v", attempts, w.Body, s.Usage())
				}
			})
		})
	}
}

// A provider that has too many requests has them from everybody.
func TestARateLimitStopsAllTrials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := true
		s := held(t, Provider{}, func(*http.Request) (*http.Response, error) {
			if first {
				first = false
				return answers(429, "", "Retry-After: 30")
			}
			return answers(200, fine, "Content-Type: application/json")
		})
		other := another(t, s.gateway, "2")
		var all sync.WaitGroup
		all.Go(func() { s.ask(t.Context(), plain) })
		synctest.Wait()
		all.Go(func() {
			if w, took := other.ask(t.Context(), plain); w.Code != 200 || took != 30*time.Second {
				t.Errorf("the other trial: %d after %v", w.Code, took)
			}
		})
		all.Wait()
	})
}

// A place is not kept for a request that waits to be tried again.
func TestAPauseTakesNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := held(t, Provider{Concurrency: 1}, func(q *http.Request) (*http.Response, error) {
			if q.Header.Get("X-App") == "bad" {
				return answers(500, "")
			}
			return answers(200, fine, "Content-Type: application/json")
		})
		var all sync.WaitGroup
		all.Go(func() {
			q := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/openai/v1/responses", strings.NewReader(plain))
			q.Header.Set("X-App", "bad")
			s.ServeHTTP(httptest.NewRecorder(), q)
		})
		synctest.Wait() // it pauses
		if w, took := s.ask(t.Context(), plain); w.Code != 200 || took > 0 {
			t.Errorf("%d after %v", w.Code, took)
		}
		all.Wait()
		if s.provider.line.taken != 0 {
			t.Errorf("%d places are lost", s.provider.line.taken)
		}
	})
}

// The limits of the settings hold requests back, and for no longer than the hold.
func TestTheSettingsLimitsAreHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := held(t, Provider{RequestsPerMinute: 1}, func(*http.Request) (*http.Response, error) {
			return answers(200, fine, "Content-Type: application/json")
		})
		if w, took := s.ask(t.Context(), plain); w.Code != 200 || took != 0 {
			t.Errorf("the first: %d after %v", w.Code, took)
		}
		var all sync.WaitGroup
		codes := make([]int, 2)
		for i := range codes {
			all.Go(func() {
				w, took := s.ask(t.Context(), plain)
				if codes[i] = w.Code; took != time.Minute {
					t.Errorf("held for %v", took)
				}
			})
		}
		all.Wait()
		if codes[0]+codes[1] != 200+503 && codes[0]+codes[1] != 503+503 { // both ends of the minute are one moment
			t.Error(codes)
		}
	})
}

// Who has gone, and whose session is over, is let go at once.
func TestWaitsEndWithTheirReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := held(t, Provider{Concurrency: 1}, func(q *http.Request) (*http.Response, error) {
			<-q.Context().Done()
			return nil, q.Context().Err()
		})
		var all sync.WaitGroup
		for range 5 { // one asks, four wait
			all.Go(func() { s.ask(t.Context(), plain) })
		}
		ctx, cancel := context.WithCancel(t.Context())
		all.Go(func() { s.ask(ctx, plain) })
		synctest.Wait()
		cancel()
		synctest.Wait()
		begun := time.Now()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		all.Wait()
		if took := time.Since(begun); took > 0 {
			t.Errorf("Close took %v", took)
		}
		if l := s.provider.line; l.taken != 0 || len(l.waiting) != 0 || len(l.turns) != 0 {
			t.Errorf("left behind: %d places, %v, %v", l.taken, l.waiting, l.turns)
		}
	})
}

// stalled is a body that begins and then says nothing, until its request ends.
type stalled struct {
	io.Reader
	end context.Context
}

func (s stalled) Read(p []byte) (int, error) {
	if n, err := s.Reader.Read(p); err == nil {
		return n, nil
	}
	<-s.end.Done()
	return 0, context.Cause(s.end)
}

func (s stalled) Close() error { return nil }

// A provider that says nothing for half an hour says nothing any more; one that says a little
// now and then is waited for.
func TestSilenceHasAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := held(t, Provider{}, func(q *http.Request) (*http.Response, error) {
			in, out := io.Pipe()
			go func() {
				for range 5 {
					_, _ = io.WriteString(out, "data: {\"choices\":[{\"delta\":{\"content\":\"word\"}}]}\n\n")
					time.Sleep(20 * time.Minute)
				}
				_ = out.Close()
			}()
			res, err := answers(200, "", "Content-Type: text/event-stream")
			res.Body = stalled{in, q.Context()}
			return res, err
		})
		_, took := s.ask(t.Context(), streamed)
		if took != 80*time.Minute+patience {
			t.Errorf("it took %v", took)
		}
		if u := s.Usage(); u.OutputTokens != 5 || u.EstimatedTokens != u.Tokens() {
			t.Errorf("%+v", u)
		}
	})
}

// One agent cannot fill the daemon's memory: its requests share a bound, and wait for it.
func TestLargeRequestsWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := held(t, Provider{}, func(*http.Request) (*http.Response, error) {
			return answers(200, fine, "Content-Type: application/json")
		})
		var all sync.WaitGroup
		var bodies []*io.PipeWriter
		for range 2 {
			in, out := io.Pipe()
			bodies = append(bodies, out)
			q := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/openai/v1/responses", in)
			q.ContentLength = wire.MaxBody
			all.Go(func() {
				w := httptest.NewRecorder()
				if s.ServeHTTP(w, q); w.Code != 200 {
					t.Errorf("%d %s", w.Code, w.Body)
				}
			})
		}
		synctest.Wait() // both are read
		answered := false
		all.Go(func() {
			w, _ := s.ask(t.Context(), plain)
			answered = w.Code == 200
		})
		synctest.Wait()
		if answered {
			t.Error("there was room for a third")
		}
		for _, out := range bodies { // they turn out to be small
			_, _ = io.WriteString(out, plain)
			_ = out.Close()
		}
		all.Wait()
		if !answered || !s.room.TryAcquire(maxBodies) {
			t.Error("room is lost")
		}
	})
}

// What waits in line when the budget is used up is not asked any more.
func TestTheBudgetIsLookedAtAfterTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		s := held(t, Provider{Concurrency: 1}, func(*http.Request) (*http.Response, error) {
			attempts++
			time.Sleep(time.Second)
			return answers(200, fine, "Content-Type: application/json")
		})
		s.grant.Each.Tokens = 2
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { s.ask(t.Context(), plain) })
		}
		all.Wait()
		if attempts != 1 {
			t.Errorf("%d were asked", attempts)
		}
	})
}

// Each refusal has the shape that the provider's libraries understand.
func TestRefusalsHaveTheProvidersShape(t *testing.T) {
	for name, tc := range map[string]struct {
		r    *refusal
		want string
	}{
		"overloaded, OpenAI": {
			overloaded(wire.OpenAI, "why"), `{"error":{"message":"Overloaded: why","type":"server_error","param":null,"code":"service_unavailable"}}`,
		},
		"overloaded, Anthropic": {overloaded(wire.Anthropic, "why"), `{"error":{"type":"overloaded_error","message":"Overloaded: why"},"type":"error"}`},
		"no money, OpenAI": {
			spentUp(wire.OpenAI, "why"),
			`{"error":{"message":"Your credit balance is too low: why.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`,
		},
		"no money, Anthropic": {
			spentUp(wire.Anthropic, "why"), `{"error":{"type":"invalid_request_error","message":"Your credit balance is too low: why."},"type":"error"}`,
		},
	} {
		var got bytes.Buffer
		if err := json.Compact(&got, tc.r.body()); err != nil || got.String() != tc.want {
			t.Errorf("%s: %s, %v", name, got.String(), err)
		}
	}
}

// deadlines notes the deadline that a connection is left with.
type deadlines struct {
	*httptest.ResponseRecorder
	set, last time.Time
}

func (d *deadlines) SetWriteDeadline(at time.Time) error {
	if !at.IsZero() {
		d.set = at
	}
	d.last = at
	return nil
}

// A connection outlives its requests: the next one may come after any time.
func TestConnectionsKeepNoDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := held(t, Provider{}, func(*http.Request) (*http.Response, error) {
			return answers(200, fine, "Content-Type: application/json")
		})
		w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/openai/v1/responses", strings.NewReader(plain)))
		if w.Code != 200 || !w.last.IsZero() || w.set != time.Now().Add(writeTime) {
			t.Errorf("%d: while it wrote %v, left with %v", w.Code, w.set, w.last)
		}
	})
}

// watched is a ledger that is looked at when an exchange ends.
type watched struct {
	noBooks
	end func()
}

func (w watched) End(context.Context, int64, Charge) error { w.end(); return nil }

// Whoever has seen the end of an answer finds it in the books, whatever is killed when.
func TestTheBooksKnowBeforeTheAgentDoes(t *testing.T) {
	for name, tc := range map[string]struct{ body, answer, last string }{
		"a stream":       {streamed, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n", "[DONE]"},
		"an answer":      {plain, fine, "usage"},
		"one that ends ": {streamed, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}\n\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := held(t, Provider{}, func(*http.Request) (*http.Response, error) {
					kind := "Content-Type: application/json"
					if tc.body == streamed {
						kind = "Content-Type: text/event-stream"
					}
					return answers(200, tc.answer, kind)
				})
				w, ends := httptest.NewRecorder(), 0
				s.gateway.opts.Ledger = watched{end: func() {
					ends++
					if tc.last != "" && strings.Contains(w.Body.String(), tc.last) {
						t.Errorf("the agent has %q already", w.Body)
					}
				}}
				s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/openai/v1/chat/completions", strings.NewReader(tc.body)))
				if ends != 1 || w.Body.String() != tc.answer {
					t.Errorf("%d ends, %q", ends, w.Body)
				}
			})
		})
	}
}

// frozen is the connection of an agent that neither reads nor sends, as one in a container that
// is frozen: only a deadline ends what waits for it.
type frozen struct {
	*httptest.ResponseRecorder
	read, write chan time.Time
}

func (f *frozen) SetReadDeadline(at time.Time) error  { f.read <- at; return nil }
func (f *frozen) SetWriteDeadline(at time.Time) error { f.write <- at; return nil }

// Read waits as a body does, and Write as an answer.
func (f *frozen) Read([]byte) (int, error)  { return 0, wait(f.read) }
func (f *frozen) Write([]byte) (int, error) { return 0, wait(f.write) }
func (f *frozen) Close() error              { return nil }

func wait(deadlines <-chan time.Time) error {
	at := <-deadlines
	for {
		select {
		case at = <-deadlines:
		case <-time.After(time.Until(at)):
			return os.ErrDeadlineExceeded
		}
	}
}

// The end of a session does not wait for its agent.
func TestCloseDoesNotWaitForAFrozenAgent(t *testing.T) {
	for name, sends := range map[string]bool{"that sends": true, "that is sent to": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := held(t, Provider{}, func(*http.Request) (*http.Response, error) {
					return answers(200, fine, "Content-Type: application/json")
				})
				f := &frozen{httptest.NewRecorder(), make(chan time.Time, 9), make(chan time.Time, 9)}
				q := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/openai/v1/responses", strings.NewReader(plain))
				if sends {
					q.Body, q.ContentLength = f, 100
				}
				var all sync.WaitGroup
				all.Go(func() {
					defer func() { _ = recover() }()
					s.ServeHTTP(f, q)
				})
				synctest.Wait()
				begun := time.Now()
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				if took := time.Since(begun); took != lastWord { // it is told, or what was begun is ended
					t.Errorf("Close took %v", took)
				}
				all.Wait()
			})
		})
	}
}

// Who hangs up after the provider has begun a stream, and before it has said anything, has had
// it work.
func TestAStreamWithoutAnEventYetIsNotFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, hangUp := context.WithCancel(t.Context())
		s := held(t, Provider{}, func(q *http.Request) (*http.Response, error) {
			httptrace.ContextClientTrace(q.Context()).WroteRequest(httptrace.WroteRequestInfo{})
			quiet, end := io.Pipe()
			context.AfterFunc(q.Context(), func() { _ = end.CloseWithError(q.Context().Err()) })
			res, err := answers(200, "", "Content-Type: text/event-stream")
			res.Body = quiet
			return res, err
		})
		go func() {
			time.Sleep(time.Second)
			hangUp()
		}()
		s.ask(ctx, streamed)
		if u := s.Usage(); u.Requests != 1 || u.EstimatedTokens == 0 {
			t.Errorf("%+v", u)
		}
	})
}
