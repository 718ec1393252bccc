package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/gateway/modeltest"
)

// mined is the account of a pull request.
var mined = gateway.Account{Spec: "mining.m", Trial: "owner/name#12", Try: 1}

// inside is a client within the daemon.
func inside(t *testing.T, w *fixture, each gateway.Budget) (*gateway.Session, *http.Client) {
	t.Helper()
	s, err := w.Open(t.Context(), gateway.Grant{Account: mined, Provider: "p", Model: "m", Each: each})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, &http.Client{Transport: s.Transport()}
}

// askInside asks with a body whose length is not known, as well as with one whose is.
func askInside(t *testing.T, c *http.Client, protocol modeltest.Protocol, body io.Reader) (status int, text string, err error) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://gateway"+path(protocol), body)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Authorization", "Bearer "+placeholder)
	if protocol == modeltest.Messages {
		q.Header.Set("Anthropic-Version", "2023-06-01")
	}
	res, err := c.Do(q)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	return res.StatusCode, string(all), err
}

// What mines asks models by sessions without a transcript and without a network, and is
// charged as everybody is, by pull request and by spec.
func TestSessionsAreReachedFromWithin(t *testing.T) {
	for _, protocol := range protocols {
		for _, stream := range []bool{false, true} {
			t.Run(string(protocol)+map[bool]string{true: ", a stream"}[stream], func(t *testing.T) {
				here := t.TempDir()
				t.Chdir(here) // where a transcript without a folder would be
				model := modeltest.New(t, func(modeltest.Request) modeltest.Answer {
					return modeltest.Answer{Text: "Yes.", Deltas: 4, Usage: modeltest.Usage{Input: 7, Output: 3}}
				})
				model.RequireKey(realKey)
				w := newFixture(t, 0, provider(model.URL, protocol))
				s, client := inside(t, w, gateway.Budget{})
				body := encode(t, question(protocol, stream, "Hello?"))
				for _, from := range []io.Reader{bytes.NewReader(body), io.MultiReader(bytes.NewReader(body))} {
					status, text, err := askInside(t, client, protocol, from)
					if err != nil || status != 200 || !strings.Contains(text, "Y") {
						t.Fatalf("%d %s %v", status, text, err)
					}
				}
				want := gateway.Usage{InputTokens: 14, OutputTokens: 6, Requests: 2}
				for _, of := range []gateway.Account{mined, {Spec: mined.Spec}} {
					got, err := w.Spent(t.Context(), of)
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("%+v: %s", of, diff)
					}
				}
				if diff := cmp.Diff(want, s.Usage()); diff != "" {
					t.Error(diff)
				}
				if files, err := os.ReadDir(here); err != nil || len(files) > 0 {
					t.Errorf("%v, %v", files, err)
				}
			})
		}
	}
}

// Nobody hears of the budget's end but by the provider's own word, and the next session of the
// same pull request begins where this one ended.
func TestBudgetsHoldWithin(t *testing.T) {
	model := modeltest.New(t, func(modeltest.Request) modeltest.Answer {
		return modeltest.Answer{Text: "Yes.", Usage: modeltest.Usage{Input: 90, Output: 20}}
	})
	w := newFixture(t, 0, provider(model.URL, modeltest.Chat))
	for n, want := range []int{200, 429} {
		_, client := inside(t, w, gateway.Budget{Tokens: 100})
		status, text, err := askInside(t, client, modeltest.Chat, bytes.NewReader(encode(t, question(modeltest.Chat, false, "Hello?"))))
		if err != nil || status != want || (want == 429) != strings.Contains(text, "insufficient_quota") {
			t.Errorf("question %d: %d %s %v", n, status, text, err)
		}
	}
}

// A request that is given up ends at once, whatever it waits for, and is charged.
func TestRequestsWithinAreGivenUp(t *testing.T) {
	asked := make(chan struct{}, 8)
	model := modeltest.New(t, func(r modeltest.Request) modeltest.Answer {
		return modeltest.Answer{Text: "Yes.", Deltas: 4, Hold: func(ctx context.Context, event int) {
			if event == 2 || event == 0 && !r.Stream {
				asked <- struct{}{}
				<-ctx.Done()
			}
		}}
	})
	for name, stream := range map[string]bool{"before its answer": false, "in the middle of it": true} {
		t.Run(name, func(t *testing.T) {
			w := newFixtureThatDrains(t, 0, time.Hour, provider(model.URL, modeltest.Chat))
			_, client := inside(t, w, gateway.Budget{})
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-asked
				cancel()
			}()
			q, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://gateway"+path(modeltest.Chat), bytes.NewReader(encode(t, question(modeltest.Chat, stream, "Hello?"))))
			if err != nil {
				t.Fatal(err)
			}
			res, err := client.Do(q)
			if err == nil {
				_ = res.Body.Close()
			}
			if !errors.Is(err, context.Canceled) {
				t.Errorf("it ended with %v", err)
			}
			if u := w.one(); u.Requests != 1 || u.EstimatedTokens == 0 {
				t.Errorf("%+v", u)
			}
		})
	}
	t.Run("while its body comes", func(t *testing.T) {
		w := newFixture(t, 0, provider(model.URL, modeltest.Chat))
		_, client := inside(t, w, gateway.Budget{})
		ctx, cancel := context.WithCancel(t.Context())
		body, rest := io.Pipe()
		defer rest.Close()
		go func() {
			_, _ = rest.Write([]byte("{"))
			cancel()
		}()
		q, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://gateway"+path(modeltest.Chat), body)
		if err != nil {
			t.Fatal(err)
		}
		if res, err := client.Do(q); !errors.Is(err, context.Canceled) {
			if err == nil {
				_ = res.Body.Close()
			}
			t.Errorf("it ended with %v", err)
		}
	})
}

// An answer that breaks off, or that has no end, is an error of its request and of nothing
// else.
func TestAnswersWithinAreWholeOrNone(t *testing.T) {
	endless := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for piece := events(strings.Repeat(" ", 1<<20)); ; {
			if _, err := io.WriteString(w, piece); err != nil {
				return
			}
		}
	}
	cut := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, events(`{"choices":[{"delta":{"content":"half"}}]}`))
	}
	for name, tc := range map[string]struct {
		serve http.HandlerFunc
		want  string
	}{"one that breaks off": {cut, "the answer broke off"}, "one without end": {endless, "more than 67108864 bytes"}} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, 0, provider(serve(t, tc.serve), modeltest.Chat))
			_, client := inside(t, w, gateway.Budget{})
			_, _, err := askInside(t, client, modeltest.Chat, bytes.NewReader(encode(t, question(modeltest.Chat, true, "Hello?"))))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}
