package gateway_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/gateway/modeltest"
)

// costly answers each question with a hundred tokens for a prompt and ten of its own; at the
// prices of dear that is 0.4 dollars.
func costly(modeltest.Request) modeltest.Answer {
	return modeltest.Answer{Text: "Yes.", Usage: modeltest.Usage{Input: 100, Output: 10}}
}

func dear(url string, protocol modeltest.Protocol) gateway.Provider {
	p := provider(url, protocol)
	p.Prices = map[string]gateway.Price{"m*": {Input: 2000, Output: 20_000}}
	return p
}

func closed(a *agent) bool {
	select {
	case <-a.Over():
		return true
	default:
		return false
	}
}

// A budget is used up when it is reached. Until then all is passed on, and from then on
// everything is refused in the provider's words.
func TestBudgets(t *testing.T) {
	for name, tc := range map[string]struct {
		each, total gateway.Budget
		asked       int // questions that are answered
		reason      string
		detail      string
	}{
		"dollars of the trial": {gateway.Budget{USD: 1}, gateway.Budget{}, 3, gateway.OverUSD, "the trial's budget of 1 USD is used up"},
		"dollars to the cent":  {gateway.Budget{USD: 0.8}, gateway.Budget{}, 2, gateway.OverUSD, "the trial's budget of 0.8 USD is used up"},
		"tokens of the trial":  {gateway.Budget{Tokens: 220}, gateway.Budget{}, 2, gateway.OverTokens, "the trial's budget of 220 tokens is used up"},
		"dollars of the run":   {gateway.Budget{}, gateway.Budget{USD: 0.004}, 1, gateway.OverUSD, "the run's budget of 0.004 USD is used up"},
		"tokens of the run":    {gateway.Budget{Tokens: 1000}, gateway.Budget{Tokens: 111}, 2, gateway.OverTokens, "the run's budget of 111 tokens is used up"},
	} {
		for _, protocol := range protocols {
			t.Run(name+", "+string(protocol), func(t *testing.T) {
				model := modeltest.New(t, costly)
				w := newFixture(t, 0, dear(model.URL, protocol))
				grant := func(g *gateway.Grant) { g.Each, g.Total = tc.each, tc.total }
				a := w.agent(protocol, grant)
				for i := range tc.asked {
					if closed(a) {
						t.Fatalf("it is over before question %d", i+1)
					}
					a.well(question(protocol, i%2 == 0, "Hello?"))
				}
				check := func(a *agent) {
					t.Helper()
					reason, detail := a.Reason()
					if !closed(a) || reason != tc.reason || detail != tc.detail {
						t.Errorf("%v, %q: %q", closed(a), reason, detail)
					}
					r := a.ask(question(protocol, true, "Hello?"))
					status, shape := 429, `"code":"insufficient_quota"`
					if protocol == modeltest.Messages {
						status, shape = 400, `"type":"invalid_request_error"`
					}
					if r.status != status || !strings.Contains(r.body, shape) || !strings.Contains(r.body, tc.detail) {
						t.Errorf("%d %s", r.status, r.body)
					}
				}
				check(a)
				check(a)
				a.leave()
				check(w.agent(protocol, grant)) // also after a restart
				if asked := len(model.Exchanges()); asked != tc.asked {
					t.Errorf("the provider was asked %d times", asked)
				}
			})
		}
	}
}

// What one trial spends of the run's budget is what the others do not have.
func TestTheRunsBudgetIsEverybodys(t *testing.T) {
	model := modeltest.New(t, costly)
	w := newFixture(t, 0, dear(model.URL, modeltest.Chat))
	join := func(trial string, execution int) *agent {
		return w.agent(modeltest.Chat, func(g *gateway.Grant) {
			g.Trial, g.Execution, g.Dir = trial, execution, t.TempDir()
			g.Each, g.Total = gateway.Budget{Tokens: 1000}, gateway.Budget{USD: 1, Tokens: 10_000}
		})
	}
	a, b, other := join("a", 1), join("b", 1), join("c", 2)
	a.well(question(modeltest.Chat, false, "Hello?"))
	if diff := cmp.Diff(gateway.Budget{USD: 0.6, Tokens: 1000}, b.Left(), near); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(gateway.Budget{USD: 0.6, Tokens: 890}, a.Left(), near); diff != "" {
		t.Error(diff)
	}
	b.well(question(modeltest.Chat, false, "Hello?"))
	if closed(a) || closed(b) {
		t.Error("it is over at 0.8 of 1")
	}
	a.well(question(modeltest.Chat, false, "Hello?"))
	if !closed(a) || !closed(b) || closed(other) {
		t.Errorf("over are %v, %v and, of another execution, %v", closed(a), closed(b), closed(other))
	}
	if b.Left().USD <= 0 || b.Left().USD > 1e-6 {
		t.Errorf("left are %v", b.Left()) // zero would be no limit
	}
	if late := join("d", 1); !closed(late) {
		t.Error("who comes later has a budget")
	}
	account := gateway.Account{Spec: "run.r", Execution: 1, Trial: "x"}
	if reason, detail, err := w.OverBudget(t.Context(), account, gateway.Budget{}, gateway.Budget{USD: 1}); err != nil || reason != gateway.OverUSD || detail != "the run's budget of 1 USD is used up" {
		t.Errorf("%q %q %v", reason, detail, err)
	}
	account.Execution = 2
	if reason, _, err := w.OverBudget(t.Context(), account, gateway.Budget{}, gateway.Budget{USD: 1}); err != nil || reason != "" {
		t.Errorf("%q %v", reason, err)
	}
}

// TestABudgetThatIsRaisedHoldsAtOnce: sessions that are open, and what is not begun.
func TestABudgetThatIsRaisedHoldsAtOnce(t *testing.T) {
	w := newFixture(t, 0, dear(modeltest.New(t, costly).URL, modeltest.Chat))
	a := w.agent(modeltest.Chat, func(g *gateway.Grant) { g.Total = gateway.Budget{USD: 0.5} })
	account := gateway.Account{Spec: "run.r", Execution: 1}
	a.well(question(modeltest.Chat, false, "Hello?"))
	w.SetTotal("run.r", 1, gateway.Budget{USD: 1})
	a.well(question(modeltest.Chat, false, "Hello?"))
	if closed(a) {
		t.Error("it is over at 0.8 of 1")
	}
	if reason, _, err := w.OverBudget(t.Context(), account, gateway.Budget{}, gateway.Budget{USD: 0.5}); reason != "" || err != nil {
		t.Errorf("%q %v", reason, err)
	}
	w.SetTotal("run.r", 1, gateway.Budget{USD: 0.7})
	if reason, detail := a.Reason(); !closed(a) || reason != gateway.OverUSD || detail != "the run's budget of 0.7 USD is used up" {
		t.Errorf("%q %q", reason, detail)
	}
}

var near = cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })

func TestNoBudgetIsNoLimit(t *testing.T) {
	w := newFixture(t, 0, dear(modeltest.New(t, costly).URL, modeltest.Chat))
	a := w.agent(modeltest.Chat, nil)
	for range 5 {
		a.well(question(modeltest.Chat, false, "Hello?"))
	}
	if left := a.Left(); closed(a) || left != (gateway.Budget{}) {
		t.Errorf("%v, left %v", closed(a), left)
	}
}

// stalled is a ledger that takes long to sum an execution up.
type stalled struct {
	gateway.Ledger
	asked, release chan struct{}
}

func (s stalled) Spent(ctx context.Context, a gateway.Account) (gateway.Usage, error) {
	if a.Trial == "" && a.Execution == 2 {
		close(s.asked)
		<-s.release
	}
	return s.Ledger.Spent(ctx, a)
}

// While a session is opened, those that are open go on, however slow the ledger is.
func TestAnOpeningHoldsNobodyUp(t *testing.T) {
	books := stalled{&ledger{}, make(chan struct{}), make(chan struct{})}
	g, err := gateway.New(gateway.Options{
		Providers: []gateway.Provider{dear(modeltest.New(t, costly).URL, modeltest.Chat)}, Ledger: books, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	w := &fixture{Gateway: g, t: t}
	join := func(execution int) *agent {
		return w.agent(modeltest.Chat, func(g *gateway.Grant) {
			g.Execution, g.Dir, g.Total = execution, "", gateway.Budget{USD: 0.5}
		})
	}
	a := join(1)
	opened := make(chan *agent)
	go func() { opened <- join(2) }()
	<-books.asked
	a.well(question(modeltest.Chat, false, "Hello?"))
	close(books.release)
	other := <-opened
	other.well(question(modeltest.Chat, false, "Hello?"))
	if a.Usage().CostUSD != 0.4 || other.Left().USD > 0.11 || closed(a) || closed(other) {
		t.Errorf("%+v, left are %+v", a.Usage(), other.Left())
	}
}

// Nothing is begun once the budget is used up, so that it is exceeded by no more than what was
// under way at that moment.
func TestABudgetIsExceededByWhatIsUnderWayAlone(t *testing.T) {
	model := modeltest.New(t, costly)
	p := dear(model.URL, modeltest.Chat)
	p.Concurrency = 4
	w := newFixture(t, 0, p)
	var agents []*agent
	for _, trial := range []string{"a", "b", "c"} {
		agents = append(agents, w.agent(modeltest.Chat, func(g *gateway.Grant) {
			g.Trial, g.Dir, g.Total = trial, t.TempDir(), gateway.Budget{Tokens: 1100} // ten questions
		}))
	}
	var all sync.WaitGroup
	for range 20 {
		for _, a := range agents {
			all.Go(func() {
				if r := a.ask(question(modeltest.Chat, false, "Hello?")); r.status != 200 && r.status != 429 {
					t.Errorf("%d %v %s", r.status, r.err, r.body)
				}
			})
		}
	}
	all.Wait()
	if asked := len(model.Exchanges()); asked < 10 || asked > 10+p.Concurrency-1 {
		t.Errorf("%d questions were answered", asked)
	}
}
