package gateway_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/gateway/modeltest"
)

// counter is a provider that keeps books of its own: each request takes a thousand tokens of a
// prompt and as many of an answer, told at the end.
type counter struct {
	requests, under, most atomic.Int64
	release               chan struct{} // closed = answers come at once
}

const told = `"usage":{"prompt_tokens":1000,"completion_tokens":1000}`

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.requests.Add(1)
	now := c.under.Add(1)
	defer c.under.Add(-1)
	for most := c.most.Load(); now > most && !c.most.CompareAndSwap(most, now); most = c.most.Load() {
	}
	if !strings.Contains(string(body), `"stream":true`) {
		c.wait(r)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"choices":[{"message":{"content":"yes"},"finish_reason":"stop"}],%s}`, told)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, events(`{"choices":[{"delta":{"content":"yes"},"finish_reason":"stop"}]}`))
	_ = http.NewResponseController(w).Flush()
	c.wait(r)
	_, _ = io.WriteString(w, events(`{"choices":[],`+told+`}`)+"data: [DONE]\n\n")
}

func (c *counter) wait(r *http.Request) {
	select {
	case <-c.release:
	case <-r.Context().Done():
	}
}

// dollarEach is a provider at whose prices each request of counter's costs a third of a dollar.
func dollarEach(url string) gateway.Provider {
	p := provider(url, modeltest.Chat)
	p.Prices = map[string]gateway.Price{"m": {Input: 1000.0 / 6, Output: 1000.0 / 6, Cached: 1000.0 / 6, CacheWrite: 1000.0 / 6, CacheWrite1h: 1000.0 / 6}}
	return p
}

// bounded is a question whose bound is about 0.35 dollars there.
func bounded(stream bool) object {
	q := question(modeltest.Chat, stream, "Hello?")
	q["max_tokens"] = 1000
	return q
}

// TestParallelRequestsTakeNoMoreThanTheBudget has an agent ask 120 things at once, of which a budget
// pays for three.
func TestParallelRequestsTakeNoMoreThanTheBudget(t *testing.T) {
	for _, total := range []bool{false, true} {
		c := &counter{release: make(chan struct{})}
		close(c.release)
		w := newFixture(t, 2*time.Minute, dollarEach(serve(t, c.ServeHTTP)))
		a := w.agent(modeltest.Chat, func(g *gateway.Grant) {
			g.Each = gateway.Budget{USD: 1}
			if total {
				g.Each, g.Total = gateway.Budget{}, gateway.Budget{USD: 1}
			}
		})
		var all sync.WaitGroup
		for i := range 120 {
			all.Go(func() { a.ask(bounded(i%2 == 0)) })
		}
		all.Wait()
		if u, n := a.Usage(), c.requests.Load(); u.CostUSD > 1.36 || n > 4 || n < 3 || u.Requests != n {
			t.Errorf("of the run: %v: the provider answered %d requests, booked are %+v", total, n, u)
		}
	}
}

// TestARequestWithoutABoundGoesOutAlone: what a model may write where the request says nothing is
// more than is left, so that it is the only one under way.
func TestARequestWithoutABoundGoesOutAlone(t *testing.T) {
	c := &counter{release: make(chan struct{})}
	close(c.release)
	w := newFixture(t, 2*time.Minute, dollarEach(serve(t, c.ServeHTTP)))
	a := w.agent(modeltest.Chat, func(g *gateway.Grant) { g.Each = gateway.Budget{USD: 1} })
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { a.ask(question(modeltest.Chat, true, "Hello?")) })
	}
	all.Wait()
	if c.most.Load() != 1 || c.requests.Load() != 3 {
		t.Errorf("%d requests, %d at a time", c.requests.Load(), c.most.Load())
	}
}

// TestAHangUpHidesNoUsage: the agent leaves once it has the answer, and before the frame that tells
// what it took.
func TestAHangUpHidesNoUsage(t *testing.T) {
	c := &counter{release: make(chan struct{})}
	w := drainingWorld(t, dollarEach(serve(t, c.ServeHTTP)), 2*time.Minute)
	a := w.agent(modeltest.Chat, nil)
	for range 10 {
		hangUp(t, a, bounded(true))
	}
	close(c.release)
	eventually(t, "all are booked", func() bool { return a.Usage().Requests == 10 })
	if u := a.Usage(); u.CostUSD < 3.33 || u.CostUSD > 3.34 || u.InputTokens != 10_000 || u.OutputTokens != 10_000 || u.EstimatedTokens != 0 {
		t.Errorf("%+v", u)
	}
}

// drainingWorld is newWorld whose gateway reads on for that long.
func drainingWorld(t *testing.T, p gateway.Provider, drain time.Duration) *fixture {
	t.Helper()
	w := newFixture(t, 0, p)
	g, err := gateway.New(gateway.Options{Providers: []gateway.Provider{p}, Ledger: w.ledger, Hold: 2 * time.Minute, Drain: drain, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	w.Gateway = g
	return w
}

// hangUp asks, and leaves when the answer has begun.
func hangUp(t *testing.T, a *agent, q object) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	res, err := a.post(ctx, encode(t, q))
	if err != nil {
		t.Error(err)
		return
	}
	if res.StatusCode == http.StatusOK {
		if _, err := io.ReadFull(res.Body, make([]byte, 20)); err != nil {
			t.Error(err)
		}
	}
	cancel()
	_ = res.Body.Close()
}

// TestWhatCannotBeKnownCostsTheBound: a provider that tells nothing after a hang-up, and a session
// that ends before it does.
func TestWhatCannotBeKnownCostsTheBound(t *testing.T) {
	for _, closes := range []bool{false, true} {
		c := &counter{release: make(chan struct{})}
		drain := time.Millisecond
		if closes {
			drain = time.Hour
		}
		w := drainingWorld(t, dollarEach(serve(t, c.ServeHTTP)), drain)
		a := w.agent(modeltest.Chat, nil)
		q := bounded(true)
		hangUp(t, a, q)
		if closes {
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		}
		eventually(t, "it is booked", func() bool { return a.Usage().Requests == 1 })
		if u := a.Usage(); u.OutputTokens != 1000 || u.InputTokens < 1024 || u.EstimatedTokens != u.Tokens() || u.CostUSD < 0.33 {
			t.Errorf("closed: %v: %+v", closes, u)
		}
	}
}

// TestAThousandRequestsOverspendByOneBound mixes what is answered in one piece, streamed and broken
// off, of three trials that share a budget.
func TestAThousandRequestsOverspendByOneBound(t *testing.T) {
	c := &counter{release: make(chan struct{})}
	close(c.release)
	w := drainingWorld(t, dollarEach(serve(t, c.ServeHTTP)), 2*time.Minute)
	const budget, bound = 100.0, 0.37
	var agents []*agent
	for _, trial := range []string{"a", "b", "c"} {
		agents = append(agents, w.agent(modeltest.Chat, func(g *gateway.Grant) {
			g.Trial, g.Dir, g.Total = trial, t.TempDir(), gateway.Budget{USD: budget}
		}))
	}
	var all sync.WaitGroup
	places := make(chan struct{}, 90)
	for i := range 1000 {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			if a := agents[i%3]; i%4 == 0 {
				hangUp(t, a, bounded(true))
			} else {
				a.ask(bounded(i%4 == 1))
			}
		})
	}
	all.Wait()
	eventually(t, "nothing is under way", func() bool { return c.under.Load() == 0 })
	for _, a := range agents {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
	sum, err := w.Spent(t.Context(), gateway.Account{Spec: "run.r", Execution: 1})
	if err != nil {
		t.Fatal(err)
	}
	n := c.requests.Load()
	if sum.CostUSD < budget || sum.CostUSD > budget+bound {
		t.Errorf("%v of %v USD are spent", sum.CostUSD, budget)
	}
	if sum.Requests != n || sum.EstimatedTokens == 0 && sum.Tokens() != 2000*n || sum.CostUSD < float64(n)/3-1e-6 {
		t.Errorf("the provider has %d requests and %d tokens, the books %+v", n, 2000*n, sum)
	}
}
