package trial

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/gateway/wire"
	"github.com/assayd/assayd/runtime/guest/protocol"
	"github.com/assayd/assayd/runtime/judge/round"
)

// TestAnHourOf429IsNoScore has an agent ask for an hour, of the clock of the test, a provider that
// limits it, and then say that it is done: its trial is in no rate, however it ended, and also where
// the provider answers the question of our own.
func TestAnHourOf429IsNoScore(t *testing.T) {
	const own = `"content":"Hi"`
	ok := func(text string) string {
		return fmt.Sprintf(`{"choices":[{"message":{"role":"assistant","content":%q}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}`, text)
	}
	for name, answers := range map[string]func(question string) (status int, body string){
		"limits everything": func(string) (int, string) { return 429, `{"error":{"message":"rate limit"}}` },
		"limits the agent": func(question string) (int, string) {
			if strings.Contains(question, own) {
				return 200, ok("Hello.")
			}
			return 429, `{"error":{"message":"rate limit"}}`
		},
		"refuses":           func(string) (int, string) { return 404, `{"error":{"message":"no such model"}}` },
		"has empty answers": func(string) (int, string) { return 200, ok("") },
	} {
		for _, end := range []string{protocol.EndedExit, protocol.EndedError, protocol.EndedIdle, protocol.EndedDeadline} {
			synctest.Test(t, func(t *testing.T) {
				session := askedFor(t, time.Hour, answers)
				m := New(Host{Log: slog.New(slog.DiscardHandler)}, "t1", "run.r")
				line := clock.Begin()
				s := State{Try: 1, Phase: Running, Line: line, StartedAt: line.Now().Add(-2 * time.Hour), Deadline: line.Now().Add(time.Hour)}
				s.Cell.Task.Judge.Command.Shell = "true"
				m.handle = &handle{session: session, since: s.StartedAt}
				s = m.ended(s, &protocol.Event{Type: protocol.EventEnded, Reason: end})
				for _, subs := range [][]round.Submission{nil, {judged(1, half())}} {
					if f := Decide(s, subs); f.Status != InfraError || f.Reason != ReasonProvider || f.Detail == "" {
						t.Errorf("%s, %s: %s, %s: %s", name, end, f.Status, f.Reason, f.Detail)
					}
				}
				if err := session.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// half is a round that passes half of its tests.
func half() round.Report {
	r := ok(1)
	r.PassRate = 0.5
	return r
}

// scriptedProvider answers in the test's process, so that it is within the time of a bubble.
type scriptedProvider func(question string) (status int, body string)

// RoundTrip implements http.RoundTripper.
func (p scriptedProvider) RoundTrip(q *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return nil, err
	}
	status, text := p(string(body))
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(text)), Request: q,
	}, nil
}

// askedFor is the session of an agent that has asked for so long, again and again.
func askedFor(t *testing.T, long time.Duration, answers scriptedProvider) *gateway.Session {
	t.Helper()
	g, err := gateway.New(gateway.Options{
		Providers: []gateway.Provider{{Name: "p", Protocol: wire.OpenAI, BaseURL: "http://provider.example/v1", Key: func() (string, error) { return "key", nil }, Transport: answers}},
		Ledger:    pastLedger{}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	session, err := g.Open(t.Context(), gateway.Grant{Account: gateway.Account{Spec: "run.r", Trial: "t1", Try: 1}, Provider: "p", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(long); time.Now().Before(until); time.Sleep(5 * time.Minute) {
		q := httptest.NewRequest(http.MethodPost, gateway.OpenAIPrefix+"/v1/chat/completions", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"Work."}]}`))
		session.ServeHTTP(httptest.NewRecorder(), q)
	}
	return session
}
