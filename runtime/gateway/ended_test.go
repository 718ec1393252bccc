package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/gateway/modeltest"
)

// Each request for a model is told of once, with what became of it and what was charged for it.
func TestWhatBecameOfRequestsIsTold(t *testing.T) {
	whole := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"choices":[{"message":{"role":"assistant","content":"Hello."}}],"usage":{"prompt_tokens":7,"completion_tokens":3}}`)
	}
	said := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, `{"error":{}}`, status) }
	}
	tries := 0
	for name, tc := range map[string]struct {
		provider http.HandlerFunc
		model    string
		budget   gateway.Budget
		want     gateway.Ended
	}{
		"an answer":               {whole, "m", gateway.Budget{}, gateway.Ended{Model: "m", Declared: true, Outcome: gateway.OutcomeOK}},
		"of a model with a price": {whole, "priced", gateway.Budget{}, gateway.Ended{Model: "priced", Declared: true, Outcome: gateway.OutcomeOK}},
		"of any other":            {whole, "x", gateway.Budget{}, gateway.Ended{Model: "x", Outcome: gateway.OutcomeOK}},
		"a request that is wrong": {said(400), "m", gateway.Budget{}, gateway.Ended{Model: "m", Declared: true, Outcome: gateway.OutcomeRejected}},
		"no budget":               {whole, "m", gateway.Budget{Tokens: 1}, gateway.Ended{Model: "m", Declared: true, Outcome: gateway.OutcomeRefused}},
		"an answer at last": {func(w http.ResponseWriter, q *http.Request) {
			if tries++; tries == 1 {
				http.Error(w, "busy", http.StatusServiceUnavailable)
				return
			}
			whole(w, q)
		}, "m", gateway.Budget{}, gateway.Ended{Model: "m", Declared: true, Outcome: gateway.OutcomeOK, Held: true}},
		"an answer that breaks off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"choices":[`)
		}, "m", gateway.Budget{}, gateway.Ended{Model: "m", Declared: true, Outcome: gateway.OutcomeBroken}},
	} {
		t.Run(name, func(t *testing.T) {
			p := provider(serve(t, tc.provider), modeltest.Chat)
			p.Prices = map[string]gateway.Price{"priced": {Input: 1}}
			w := newFixture(t, 20*time.Second, p)
			agent := w.agent(modeltest.Chat, func(g *gateway.Grant) { g.Each = tc.budget })
			asked := 1
			if tc.budget.Tokens > 0 { // the first one uses it up
				agent.ask(question(modeltest.Chat, false, "Hello?"))
				asked++
			}
			q := question(modeltest.Chat, false, "Hello?")
			q["model"] = tc.model
			agent.ask(q)
			all := w.toldOf(asked)
			got := all[len(all)-1]
			if len(all) != asked || got.Model != tc.want.Model || got.Declared != tc.want.Declared || got.Outcome != tc.want.Outcome || got.Held != tc.want.Held || got.Provider != "p" || got.Spec != "run.r" {
				t.Errorf("%d requests are told of, the last one is %+v; want %d, %+v", len(all), got, asked, tc.want)
			}
			if ok := got.Outcome == gateway.OutcomeOK; ok != (got.Usage.InputTokens == 7 && got.Usage.OutputTokens == 3 && got.FirstByte > 0 && got.Took >= got.FirstByte) {
				t.Errorf("%s, and %+v", got.Outcome, got)
			}
		})
	}
}

// An agent that does not wait is no fault of the provider, whose failures alarm people.
func TestAnAgentThatDoesNotWaitIsToldAsThat(t *testing.T) {
	came := make(chan struct{})
	p := provider(serve(t, func(_ http.ResponseWriter, q *http.Request) {
		close(came)
		<-q.Context().Done()
	}), modeltest.Chat)
	w := newFixture(t, 0, p)
	agent := w.agent(modeltest.Chat, nil)
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-came
		leave()
	}()
	if res, err := agent.post(ctx, encode(t, question(modeltest.Chat, true, "Hello?"))); err == nil {
		_ = res.Body.Close()
		t.Error("it was answered")
	}
	if got := w.toldOf(1); got[0].Outcome != gateway.OutcomeLeft {
		t.Errorf("it is told of as %q", got[0].Outcome)
	}
}

func TestWhatIsToDoAtAProviderIsTold(t *testing.T) {
	release, came := make(chan struct{}), make(chan struct{}, 3)
	p := provider(serve(t, func(w http.ResponseWriter, _ *http.Request) {
		came <- struct{}{}
		<-release
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"choices":[],"usage":{}}`)
	}), modeltest.Chat)
	p.Concurrency = 1
	w := newFixture(t, 0, p)
	agent := w.agent(modeltest.Chat, nil)
	done := make(chan reply, 3)
	for range 3 {
		go func() { done <- agent.ask(question(modeltest.Chat, false, "Hello?")) }()
	}
	<-came
	eventually(t, "two wait behind one", func() bool { return w.Load()["p"] == gateway.Load{InFlight: 1, InLine: 2} })
	close(release)
	for range 3 {
		<-done
	}
	eventually(t, "nothing is left to do", func() bool { return w.Load()["p"] == gateway.Load{} })
}
