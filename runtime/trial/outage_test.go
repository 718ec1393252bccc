package trial

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/gateway/wire"
	"github.com/assayd/assayd/runtime/guest/protocol"
	"github.com/assayd/assayd/runtime/judge/round"
)

// pastLedger says that a try had so many tokens of answers before.
type pastLedger struct{ output int64 }

func (pastLedger) Begin(context.Context, gateway.Charge) (int64, error) { return 1, nil }
func (pastLedger) End(context.Context, int64, gateway.Charge) error     { return nil }
func (l pastLedger) Spent(context.Context, gateway.Account) (gateway.Usage, error) {
	return gateway.Usage{OutputTokens: l.output}, nil
}

// models is a gateway to a provider "p" that answers with a status.
func models(t *testing.T, status int, before int64) *gateway.Gateway {
	t.Helper()
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"no"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`)
	}))
	t.Cleanup(provider.Close)
	g, err := gateway.New(gateway.Options{
		Providers: []gateway.Provider{{Name: "p", Protocol: wire.OpenAI, BaseURL: provider.URL, Key: func() (string, error) { return "key", nil }}},
		Ledger:    pastLedger{before}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

// asked is the session of an agent that has asked once.
func asked(t *testing.T, status int, before int64) *gateway.Session {
	t.Helper()
	session, err := models(t, status, before).Open(t.Context(), gateway.Grant{Account: gateway.Account{Spec: "run.r", Trial: "t1", Try: 1}, Provider: "p", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	q := httptest.NewRequest(http.MethodPost, gateway.OpenAIPrefix+"/v1/chat/completions", strings.NewReader(`{"model":"m"}`))
	session.ServeHTTP(httptest.NewRecorder(), q)
	return session
}

// An agent that gives up while users hold its requests for models is not measured by what it left, and how long they
// were held is said. Where it goes on until its time is over, that counts.
func TestAHoldOfRequestsIsAnOutage(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before int64 // tokens of answers until then
		end    string
		exit   int
		want   Status
	}{
		{"it gives up", 5, protocol.EndedError, 1, InfraError},
		{"it never had an answer", 0, protocol.EndedExit, 0, InfraError},
		{"it thinks that it is done", 5, protocol.EndedExit, 0, Unresolved},
		{"it tries until the deadline", 5, protocol.EndedDeadline, 1, Unresolved},
	} {
		g, err := gateway.New(gateway.Options{
			Providers: []gateway.Provider{{Name: "p", Protocol: wire.OpenAI, BaseURL: "http://provider.test", Key: func() (string, error) { return "key", nil }}},
			Ledger:    pastLedger{tt.before}, Log: slog.New(slog.DiscardHandler), Hold: time.Millisecond,
			HeldBack: func(gateway.Account, string) (string, <-chan struct{}) { return "run.r is paused by anna", nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		session, err := g.Open(t.Context(), gateway.Grant{Account: gateway.Account{Spec: "run.r", Trial: "t1", Try: 1}, Provider: "p", Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		q := httptest.NewRequest(http.MethodPost, gateway.OpenAIPrefix+"/v1/chat/completions", strings.NewReader(`{"model":"m"}`))
		session.ServeHTTP(httptest.NewRecorder(), q)
		m := New(Host{Log: slog.New(slog.DiscardHandler)}, "t1", "run.r")
		line := clock.Begin()
		s := State{Try: 1, Phase: Running, Line: line, StartedAt: line.Now().Add(-time.Hour), Deadline: line.Now().Add(-time.Minute), LastExit: tt.exit, Held: time.Minute}
		s.Cell.Task.Judge.Command.Shell = "true"
		m.handle = &handle{session: session, since: s.StartedAt, before: s.Held}
		s = m.ended(s, &protocol.Event{Type: protocol.EventEnded, Reason: tt.end})
		s.Held = m.held(s)
		f := Decide(s, nil)
		if f.Status != tt.want || f.Status == InfraError && (f.Reason != ReasonProvider || !strings.Contains(f.Detail, "paused by anna")) || f.HeldS < 60 || f.HeldS > 90 {
			t.Errorf("%s: %s, %s, held for %v s: %s", tt.name, f.Status, f.Reason, f.HeldS, f.Detail)
		}
		if err := session.Close(); err != nil {
			t.Error(err)
		}
		g.Close()
	}
}

// An agent whose provider never answers, or is away when it gives up, is not measured by what it
// left. One that had answers and runs out of time is.
func TestAnOutageIsNoScore(t *testing.T) {
	const deadline = "" // as the daemon sees it, with no word of the guest
	for _, tt := range []struct {
		name   string
		status int   // of the provider
		before int64 // tokens of its answers until then
		end    string
		exit   int // of the agent's last run
		want   Status
	}{
		{"failures in a row", 401, 5, protocol.EndedError, 1, InfraError},
		{"failures of its own", 200, 5, protocol.EndedError, 1, AgentError},
		{"no start is left", 401, 5, protocol.EndedExit, 1, InfraError},
		{"no start is left, and it is its own doing", 200, 5, protocol.EndedExit, 1, Unresolved},
		{"no start is left of one that hides its failures", 401, 0, protocol.EndedExit, 0, InfraError},
		{"it thinks that it is done", 401, 5, protocol.EndedExit, 0, Unresolved},
		{"it stops trying", 401, 0, protocol.EndedIdle, 0, InfraError},
		{"it tries until the deadline", 401, 0, protocol.EndedDeadline, 1, InfraError},
		{"also without the guest's word", 401, 0, deadline, 0, InfraError},
		{"it worked until the deadline", 401, 5, protocol.EndedDeadline, 1, Unresolved},
		{"also without the guest's word", 401, 5, deadline, 1, Unresolved},
		{"it has answers", 200, 0, protocol.EndedDeadline, 1, Unresolved},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := New(Host{Log: slog.New(slog.DiscardHandler)}, "t1", "run.r")
			line := clock.Begin()
			s := State{Try: 1, Phase: Running, Line: line, StartedAt: line.Now().Add(-time.Hour), Deadline: line.Now().Add(-time.Minute), LastExit: tt.exit}
			s.Cell.Task.Judge.Command.Shell = "true"
			m.handle = &handle{session: asked(t, tt.status, tt.before), since: s.StartedAt}
			if tt.end == deadline {
				var err error
				if s, _, err = m.woke(t.Context(), s); err != nil {
					t.Fatal(err)
				}
			} else {
				s = m.ended(s, &protocol.Event{Type: protocol.EventEnded, Reason: tt.end})
			}
			if f := Decide(s, nil); f.Status != tt.want || f.Status == InfraError && f.Reason != ReasonProvider {
				t.Errorf("%s, %s: %s", f.Status, f.Reason, f.Detail)
			}
			if f := Decide(s, []round.Submission{judged(1, ok(1))}); f.Status != Resolved {
				t.Errorf("resolved, it is %s", f.Status)
			}
		})
	}
}
