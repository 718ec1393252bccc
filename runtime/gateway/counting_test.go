package gateway_test

import (
	"context"
	"fmt"
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

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// one is the only charge.
func (w *fixture) one() gateway.Usage {
	w.t.Helper()
	all := w.ledger.all(w.t)
	if len(all) != 1 {
		w.t.Fatalf("%d charges: %+v", len(all), all)
	}
	return all[0].Usage
}

// Whatever the protocol and the way of asking, what the provider tells is what is booked.
func TestWhatTheProviderTellsIsWhatIsBooked(t *testing.T) {
	usage := modeltest.Usage{Input: 1234, Cached: 567, CacheCreation: 89, Output: 321}
	for _, protocol := range protocols {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stream %v", protocol, stream), func(t *testing.T) {
				model := modeltest.New(t, func(modeltest.Request) modeltest.Answer {
					return modeltest.Answer{
						Text: "A long enough answer.", Deltas: 5, Usage: usage,
						Calls: []modeltest.Call{{Name: "shell", Arguments: object{"command": "ls"}}},
					}
				})
				w := newFixture(t, 0, provider(model.URL, protocol))
				a := w.agent(protocol, nil)
				a.well(question(protocol, stream, "Hello?"))
				want := gateway.Usage{InputTokens: 1890, OutputTokens: 321, CachedTokens: 567, Requests: 1}
				if diff := cmp.Diff(want, w.one()); diff != "" {
					t.Error(diff)
				}
				if diff := cmp.Diff(want, a.Usage()); diff != "" {
					t.Error("the session thinks otherwise:", diff)
				}
			})
		}
	}
}

// A stream that breaks off is counted from what is known of it, the rest is an estimate, and
// the agent cannot take it for whole.
func TestAStreamThatBreaksOffIsAnEstimate(t *testing.T) {
	said := strings.Repeat("word ", 200) // 1000 bytes, of which at least half pass
	for _, protocol := range protocols {
		t.Run(string(protocol), func(t *testing.T) {
			model := modeltest.New(t, func(modeltest.Request) modeltest.Answer {
				return modeltest.Answer{Text: said, Deltas: 20, Usage: modeltest.Usage{Input: 4321, Output: 200}, Break: &modeltest.Break{Text: 500}}
			})
			w := newFixture(t, 0, provider(model.URL, protocol))
			a := w.agent(protocol, nil)
			body := encode(t, question(protocol, true, "Hello?"))
			r := a.send(body)
			if r.status != 200 || r.err == nil {
				t.Errorf("the agent has a clean end: status %d, %v", r.status, r.err)
			}
			passed := len(model.Exchanges()[0].Text)
			want := gateway.Usage{OutputTokens: int64(passed+3) / 4, Requests: 1}
			if want.InputTokens = int64(len(body)+3) / 4; protocol == modeltest.Messages {
				want.InputTokens = 4321 // told at its beginning
				want.EstimatedTokens = want.OutputTokens
			} else {
				want.EstimatedTokens = want.InputTokens + want.OutputTokens
			}
			if diff := cmp.Diff(want, w.one()); diff != "" {
				t.Error(diff)
			}
			if text := a.transcript(); !strings.Contains(text, `"broken":"unexpected EOF"`) || !strings.Contains(text, "word word word") {
				t.Error("the transcript does not tell of it:", text)
			}
		})
	}
}

// A stream that breaks off after it has told its usage is exact, and not whole all the same.
func TestAStreamThatBreaksOffAfterItsUsageIsExact(t *testing.T) {
	for protocol, event := range map[modeltest.Protocol]string{
		modeltest.Chat:     `{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":3}}`,
		modeltest.Messages: `{"type":"message_delta","usage":{"input_tokens":7,"output_tokens":3}}`,
	} {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, events(event))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		})
		w := newFixture(t, 0, provider(url, protocol))
		if r := w.agent(protocol, nil).ask(question(protocol, true, "Hello?")); r.err == nil || r.body != events(event) {
			t.Errorf("%s: %q, %v", protocol, r.body, r.err)
		}
		if diff := cmp.Diff(gateway.Usage{InputTokens: 7, OutputTokens: 3, Requests: 1}, w.one()); diff != "" {
			t.Error(diff)
		}
	}
}

// An answer in one piece that breaks off is not passed on: the agent is told to ask again.
func TestAnAnswerThatBreaksOffIsAnEstimate(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(string(protocol), func(t *testing.T) {
			model := modeltest.New(t, func(modeltest.Request) modeltest.Answer {
				return modeltest.Answer{Text: strings.Repeat("word ", 200), Usage: modeltest.Usage{Input: 1, Output: 1}, Break: &modeltest.Break{}}
			})
			w := newFixture(t, 0, provider(model.URL, protocol))
			r := w.agent(protocol, nil).ask(question(protocol, false, "Hello?"))
			if r.status != 503 && r.status != 529 || r.err != nil {
				t.Errorf("status %d, %v", r.status, r.err)
			}
			u := w.one()
			if u.OutputTokens < 100 || u.EstimatedTokens != u.Tokens() {
				t.Errorf("%+v", u)
			}
		})
	}
}

// The agent that goes away is charged with what it was sent.
func TestAnAgentThatGoesAwayPays(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(string(protocol), func(t *testing.T) {
			released := make(chan struct{})
			defer close(released)
			model := modeltest.New(t, func(modeltest.Request) modeltest.Answer {
				return modeltest.Answer{
					Text: strings.Repeat("word ", 200), Deltas: 20, Usage: modeltest.Usage{Input: 500, Output: 200},
					Hold: modeltest.HoldAt(12, released),
				}
			})
			w := newFixture(t, 0, provider(model.URL, protocol))
			a := w.agent(protocol, nil)
			ctx, cancel := context.WithCancel(t.Context())
			res, err := a.post(ctx, encode(t, question(protocol, true, "Hello?")))
			if err != nil {
				t.Fatal(err)
			}
			for got, more := "", make([]byte, 1<<10); strings.Count(got, "word") < 60; {
				n, err := res.Body.Read(more)
				if got += string(more[:n]); err != nil {
					t.Fatal(err)
				}
			}
			cancel()
			_ = res.Body.Close()
			eventually(t, "it is charged", func() bool { return a.Usage().Requests == 1 })
			if u := w.one(); u.OutputTokens < 50 || u.EstimatedTokens < u.OutputTokens {
				t.Errorf("%+v", u)
			}
			eventually(t, "the provider is let go", func() bool { return model.Exchanges()[0].Gone })
		})
	}
}

// Who hangs up before the first byte has had the provider work all the same. What it took is not
// told, so that it is charged with the most that it may have taken.
func TestAnAgentThatDoesNotWaitPaysItsPrompt(t *testing.T) {
	reached := make(chan struct{})
	model := modeltest.New(t, func(modeltest.Request) modeltest.Answer {
		return modeltest.Answer{Text: "never", Hold: func(ctx context.Context, _ int) { close(reached); <-ctx.Done() }}
	})
	w := newFixture(t, 0, provider(model.URL, modeltest.Chat))
	a := w.agent(modeltest.Chat, nil)
	body := encode(t, question(modeltest.Chat, false, strings.Repeat("word ", 100)))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-reached; cancel() }()
	if _, err := a.post(ctx, body); err == nil {
		t.Fatal("it was answered")
	}
	eventually(t, "it is charged", func() bool { return a.Usage().Requests == 1 })
	const output = 128 << 10
	prompt := int64(len(body)) + 1024
	if diff := cmp.Diff(gateway.Usage{InputTokens: prompt, OutputTokens: output, EstimatedTokens: prompt + output, Requests: 1}, w.one()); diff != "" {
		t.Error(diff)
	}
}

// Close ends what is under way, also where the agent does not read what it is sent or does
// not send what it has announced, and it is charged then.
func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	piece := events(`{"choices":[{"index":0,"delta":{"content":"` + strings.Repeat("word ", 10_000) + `"}}]}`)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, piece); err != nil {
				return
			}
		}
	})
	w := newFixture(t, 0, provider(url, modeltest.Chat))
	a := w.agent(modeltest.Chat, nil)
	res, err := a.post(t.Context(), encode(t, question(modeltest.Chat, true, "Hello?")))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close() // and read nothing
	sending, stop := io.Pipe()
	defer stop.Close()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.server.URL+path(a.protocol), sending)
	if err != nil {
		t.Fatal(err)
	}
	q.ContentLength = 1000
	done := make(chan struct{})
	go func() {
		defer close(done)
		if res, err := a.client.Do(q); err == nil {
			_ = res.Body.Close()
		}
	}()
	eventually(t, "the stream has begun", func() bool { w.ledger.mu.Lock(); defer w.ledger.mu.Unlock(); return len(w.ledger.charges) == 1 })
	begun := time.Now()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("Close took %v", took)
	}
	_ = stop.CloseWithError(io.ErrUnexpectedEOF)
	<-done
	if u := w.one(); u.OutputTokens < 1000 || u.EstimatedTokens != u.Tokens() {
		t.Errorf("%+v", u)
	}
	if r := a.ask(question(modeltest.Chat, false, "Hello?")); r.status != 503 {
		t.Errorf("a closed session answers %d", r.status)
	}
}

// An image is large and few tokens.
func TestAnImageIsNoLongText(t *testing.T) {
	model := modeltest.New(t, func(modeltest.Request) modeltest.Answer {
		return modeltest.Answer{Text: "A cat.", Break: &modeltest.Break{Events: 1}}
	})
	w := newFixture(t, 0, provider(model.URL, modeltest.Chat))
	a := w.agent(modeltest.Chat, nil)
	q := question(modeltest.Chat, true, "")
	q["messages"] = []object{{"role": "user", "content": []object{
		{"type": "image_url", "image_url": object{"url": "data:image/png;base64," + strings.Repeat("iVBORw0KGgo", 100_000)}},
	}}}
	a.ask(q)
	if u := w.one(); u.InputTokens < 500 || u.InputTokens > 5000 {
		t.Errorf("%+v", u)
	}
}

// What an estimate says is not what ends a trial that has budget left.
func TestAnEstimateOfTheBeginningEndsNoTrial(t *testing.T) {
	reached, release := make(chan struct{}), make(chan struct{})
	model := modeltest.New(t, func(modeltest.Request) modeltest.Answer {
		return modeltest.Answer{Text: "Yes.", Usage: modeltest.Usage{Input: 10, Output: 1}, Hold: func(_ context.Context, event int) {
			if event == 2 {
				close(reached)
				<-release
			}
		}}
	})
	w := newFixture(t, 0, provider(model.URL, modeltest.Chat))
	a := w.agent(modeltest.Chat, func(g *gateway.Grant) { g.Each = gateway.Budget{Tokens: 100} })
	answered := make(chan reply)
	go func() { answered <- a.ask(question(modeltest.Chat, true, strings.Repeat("word ", 1000))) }()
	<-reached
	select {
	case <-a.Over():
		t.Error("the budget is used up by an estimate")
	default:
	}
	close(release)
	<-answered
	if u := a.Usage(); u.Tokens() != 11 {
		t.Errorf("%+v", u)
	}
}

// Some models are asked for beside the run's; where nobody says what they cost, they are not
// for nothing.
func TestAModelWithoutAPriceCostsAsTheDearestDoes(t *testing.T) {
	model := modeltest.New(t, func(modeltest.Request) modeltest.Answer {
		return modeltest.Answer{Text: "Yes.", Usage: modeltest.Usage{Input: 1_000_000, Output: 100_000}}
	})
	p := provider(model.URL, modeltest.Chat)
	for name, tc := range map[string]struct {
		prices     map[string]gateway.Price
		run, asked string
		want       float64
	}{
		"one beside the run's":            {map[string]gateway.Price{"m": {Input: 2, Output: 10}}, "m", "another", 3},
		"a dear one beside a cheap one":   {map[string]gateway.Price{"m": {Input: 1, Output: 10}, "dear-*": {Input: 5, Output: 50}, "in": {Input: 7}}, "m", "another", 12},
		"where the run has none":          {map[string]gateway.Price{"m": {Input: 2, Output: 10}}, "", "another", 3},
		"the run's own costs nothing":     {map[string]gateway.Price{"m": {Input: 2, Output: 10}}, "mine", "mine", 0},
		"and so do all where none costs":  {nil, "m", "another", 0},
		"one that has a price costs that": {map[string]gateway.Price{"m": {Input: 1, Output: 10}, "dear-*": {Input: 5, Output: 50}}, "m", "m", 2},
	} {
		p.Prices = tc.prices
		a := newFixture(t, 0, p).agent(modeltest.Chat, func(g *gateway.Grant) { g.Model = tc.run })
		q := question(modeltest.Chat, false, "Hello?")
		q["model"] = tc.asked
		a.well(q)
		if u := a.Usage(); u.CostUSD != tc.want {
			t.Errorf("%s: %+v, want %v", name, u, tc.want)
		}
	}
}

// What has a price is the provider's common service; where dollars are bounded no dearer one is
// asked for.
func TestABudgetInDollarsBuysTheCommonService(t *testing.T) {
	for _, tc := range []struct {
		protocol    modeltest.Protocol
		field, says string
		budget      gateway.Budget
		passed      bool
	}{
		{modeltest.Chat, "service_tier", "priority", gateway.Budget{USD: 10}, false},
		{modeltest.Responses, "Service_Tier", "Priority", gateway.Budget{USD: 10}, false},
		{modeltest.Chat, "service_tier", "flex", gateway.Budget{USD: 10}, true},
		{modeltest.Chat, "service_tier", "priority", gateway.Budget{Tokens: 1000}, true},
		{modeltest.Messages, "speed", "fast", gateway.Budget{USD: 10}, false},
	} {
		for _, total := range []bool{false, true} {
			model := modeltest.New(t, costly)
			a := newFixture(t, 0, provider(model.URL, tc.protocol)).agent(tc.protocol, func(g *gateway.Grant) {
				if total {
					g.Total = tc.budget
				} else {
					g.Each = tc.budget
				}
			})
			q := question(tc.protocol, false, "Hello?")
			q[tc.field] = tc.says
			a.well(q)
			if body := string(encode(t, model.Exchanges()[0].Body)); strings.Contains(body, tc.says) != tc.passed || !strings.Contains(body, "Hello?") {
				t.Errorf("%s: the provider was asked %s", tc.protocol, body)
			}
		}
	}
}

// An exchange that cannot be booked is refused: nothing is for nothing.
func TestWhatCannotBeBookedIsRefused(t *testing.T) {
	model := modeltest.New(t, func(modeltest.Request) modeltest.Answer { return modeltest.Answer{Text: "Yes."} })
	for _, stream := range []bool{false, true} {
		w := newFixture(t, 0, provider(model.URL, modeltest.Messages))
		w.ledger.full = io.ErrShortWrite
		if r := w.agent(modeltest.Messages, nil).ask(question(modeltest.Messages, stream, "Hello?")); r.status != 529 || strings.Contains(r.body, "Yes.") {
			t.Errorf("stream %v: %d %s", stream, r.status, r.body)
		}
	}
}

// Our own question is one that each protocol takes, and costs what all others do.
func TestOurQuestionIsAWholeOne(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(string(protocol), func(t *testing.T) {
			model := modeltest.New(t, func(r modeltest.Request) modeltest.Answer {
				if r.Model != "m" {
					return modeltest.Answer{Status: http.StatusForbidden, Message: "not for you"}
				}
				return modeltest.Answer{Text: "Yes.", Usage: modeltest.Usage{Input: 8, Output: 1}}
			})
			w := newFixture(t, 0, provider(model.URL, protocol))
			a := w.agent(protocol, nil)
			q := question(protocol, true, "Hello?")
			q["model"] = "another"
			if r := a.ask(q); r.status != http.StatusForbidden || a.Silent() != "" {
				t.Errorf("%d %s, %q", r.status, r.body, a.Silent())
			}
			if u := w.one(); u != (gateway.Usage{InputTokens: 8, OutputTokens: 1, Requests: 1}) {
				t.Errorf("%+v", u)
			}
			if n := strings.Count(a.transcript(), `"n":`); n != 2 {
				t.Errorf("%d lines in the transcript:\n%s", n, a.transcript())
			}
		})
	}
}

// OpenRouter tells what an answer cost at its end. Who hangs up before is charged by an estimate
// and by its list of prices; what it has told counts.
func TestWhoHangsUpEarlyPaysByTheList(t *testing.T) {
	const list = `{"data":[{"id":"m","pricing":{"prompt":"0.001","completion":"0.01"}},{"id":"odd","pricing":{"prompt":"x","completion":"-1"}},{"id":5}]}`
	for name, tc := range map[string]struct {
		list, model string
		says        string // before the agent hangs up
		cost        func(gateway.Usage) float64
	}{
		"by the list":      {list, "m", "word", func(u gateway.Usage) float64 { return float64(u.InputTokens)*0.001 + float64(u.OutputTokens)*0.01 }},
		"a kind of it":     {list, "m:nitro", "word", func(u gateway.Usage) float64 { return float64(u.InputTokens)*0.001 + float64(u.OutputTokens)*0.01 }},
		"what is told":     {list, "m", `word"}}],"usage":{"prompt_tokens":7,"completion_tokens":3,"cost":0.25},"x":[{"y":{"z":"`, func(gateway.Usage) float64 { return 0.25 }},
		"no price":         {list, "odd", "word", func(gateway.Usage) float64 { return 0 }},
		"an unknown model": {list, "x", "word", func(gateway.Usage) float64 { return 0 }},
		"no list":          {"<html>", "m", "word", func(gateway.Usage) float64 { return 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					_, _ = io.WriteString(w, tc.list)
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, events(`{"choices":[{"delta":{"content":"`+tc.says+`"}}]}`))
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			})
			p := provider("", modeltest.Chat)
			p.BaseURL, p.Proxy = "http://openrouter.ai/api/v1", proxy
			w := newFixture(t, 0, p)
			a := w.agent(modeltest.Chat, func(g *gateway.Grant) { g.Model = "" })
			ctx, hangUp := context.WithCancel(t.Context())
			q := question(modeltest.Chat, true, "Hello?")
			q["model"] = tc.model
			res, err := a.post(ctx, encode(t, q))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(res.Body, make([]byte, 20)); err != nil {
				t.Error(err)
			}
			hangUp()
			_ = res.Body.Close()
			eventually(t, "the exchange has an end", func() bool {
				w.ledger.mu.Lock()
				defer w.ledger.mu.Unlock()
				return len(w.ledger.ended) == 1 && w.ledger.ended[0]
			})
			u := w.one()
			if want := tc.cost(u); u.CostUSD < want-1e-9 || u.CostUSD > want+1e-9 || u.EstimatedTokens == 0 {
				t.Errorf("%+v, want %v", u, want)
			}
		})
	}
}
