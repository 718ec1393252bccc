package trial

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/gateway"
)

// A trial that ends because all of its run have nothing left is marked: more money might have changed it. One that
// used its own budget up is not.
func TestATrialThatTheTotalCutsShortIsMarked(t *testing.T) {
	for name, tt := range map[string]struct {
		each, total gateway.Budget
		cut         bool
	}{
		"its own":      {each: gateway.Budget{Tokens: 1}, total: gateway.Budget{Tokens: 1000}},
		"of all":       {each: gateway.Budget{Tokens: 1000}, total: gateway.Budget{Tokens: 1}, cut: true},
		"both at once": {each: gateway.Budget{Tokens: 2}, total: gateway.Budget{Tokens: 2}},
	} {
		session, err := models(t, http.StatusOK, 0).Open(t.Context(), gateway.Grant{
			Account: gateway.Account{Spec: "run.r", Trial: "t1", Try: 1}, Provider: "p", Model: "m", Each: tt.each, Total: tt.total,
		})
		if err != nil {
			t.Fatal(err)
		}
		q := httptest.NewRequest(http.MethodPost, gateway.OpenAIPrefix+"/v1/chat/completions", strings.NewReader(`{"model":"m"}`))
		session.ServeHTTP(httptest.NewRecorder(), q)
		<-session.Over()
		m := New(Host{Log: slog.New(slog.DiscardHandler)}, "t1", "run.r")
		m.handle = &handle{session: session}
		s, _ := m.overspent(State{Try: 1, Phase: Running, Line: clock.Begin()})
		f := Decide(s, nil)
		if got := slices.Contains(f.Flags, FlagCut); got != tt.cut || f.Reason != ReasonTokens || f.Status.Retryable() {
			t.Errorf("%s: %s, %s, flags %v", name, f.Status, f.Reason, f.Flags)
		}
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	}
}
