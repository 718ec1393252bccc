package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/gateway"
	"github.com/assayd/assayd/runtime/gateway/modeltest"
	"github.com/assayd/assayd/runtime/gateway/transcript"
)

// usageChunk is how a stream of chat completions tells its usage.
const usageChunk = `{"id":"c","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}`

// Streams pass as they are: with comments, with the ends of lines that they have, with fields
// that nobody knows, and with one event that is larger than any buffer.
func TestStreamsPassByteForByte(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 20_000)
	before := ": OPENROUTER PROCESSING\n\n" + ": OPENROUTER PROCESSING\r\n\r\n" +
		"data: {\"id\":\"c\", \"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"a<b>&\\u0026\"}}],\"unknown\":[1, 2]}\n\n" +
		"data:{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" + long + "\"}}]}\r\n\r\n" +
		"event: odd\nid: 5\ndata: {\"choices\":\ndata: [{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
	const told = "data: " + usageChunk + "\n\n"
	const after = "data: [DONE]\n\n"
	for name, tc := range map[string]struct {
		options any
		want    string
	}{
		"the usage is not for who did not ask for it":     {nil, before + after},
		"nor for who asks for it not to come":             {object{"include_usage": false, "x": 1}, before + after},
		"and is for who asks for it":                      {object{"include_usage": true}, before + told + after},
		"a null is no object, and becomes one":            {json.RawMessage("null"), before + after},
		"what is no object is the provider's to complain": {"include_usage", before + told + after},
	} {
		t.Run(name, func(t *testing.T) {
			var got object
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
					t.Error(err)
				}
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, before+told+after)
			})
			w := newFixture(t, 0, provider(url, modeltest.Chat))
			q := question(modeltest.Chat, true, "Hello?")
			if tc.options != nil {
				q["stream_options"] = tc.options
			}
			if r := w.agent(modeltest.Chat, nil).well(q); r.body != tc.want {
				t.Errorf("%d bytes are not the %d that should have passed:\n%s", len(r.body), len(tc.want), cmp.Diff(tc.want, r.body))
			}
			if u := w.one(); u.InputTokens != 7 || u.OutputTokens != 3 || u.EstimatedTokens != 0 {
				t.Errorf("%+v", u)
			}
			if options, _ := got["stream_options"].(object); options["include_usage"] != true && tc.options != "include_usage" {
				t.Errorf("the provider was asked with %v", got)
			}
		})
	}
}

// Each event is passed on when it is there, also where a part of the next one came with it.
func TestAnEventDoesNotWaitForTheNext(t *testing.T) {
	release := make(chan struct{})
	const first, second = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n", "data: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\n\n"
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, first+second[:10])
		_ = http.NewResponseController(w).Flush()
		<-release
		_, _ = io.WriteString(w, second[10:]+events("[DONE]"))
	})
	w := newFixture(t, 0, provider(url, modeltest.Chat))
	a := w.agent(modeltest.Chat, nil)
	res, err := a.post(t.Context(), encode(t, question(modeltest.Chat, true, "Hello?")))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got := make([]byte, len(first))
	if _, err := io.ReadFull(res.Body, got); err != nil || string(got) != first {
		t.Fatalf("%q, %v", got, err)
	}
	close(release)
	rest, err := io.ReadAll(res.Body)
	if err != nil || string(rest) != second+events("[DONE]") {
		t.Errorf("%q, %v", rest, err)
	}
}

// A provider that keeps a connection open after the last event keeps no agent.
func TestNothingIsWaitedForAfterTheLastEvent(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, events(usageChunk, "[DONE]"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	w := newFixture(t, 0, provider(url, modeltest.Chat))
	if r := w.agent(modeltest.Chat, nil).well(question(modeltest.Chat, true, "Hello?")); !strings.Contains(r.body, "[DONE]") {
		t.Error(r.body)
	}
	if u := w.one(); u.InputTokens != 7 {
		t.Errorf("%+v", u)
	}
}

// Answers in one piece pass as they are.
func TestAnswersPassByteForByte(t *testing.T) {
	const body = "{ \"choices\" :[{\"message\":{\"content\":\"<a>\"}}],\n\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2}, \"x\":1.50}\n"
	w := newFixture(t, 0, provider(says(t, "application/json; charset=utf-8", body), modeltest.Chat))
	r := w.agent(modeltest.Chat, nil).well(question(modeltest.Chat, false, "Hello?"))
	if r.body != body || r.header.Get("Content-Type") != "application/json; charset=utf-8" {
		t.Errorf("%q as %q", r.body, r.header.Get("Content-Type"))
	}
}

// A request that needs no change is passed on as it came.
func TestRequestsPassByteForByte(t *testing.T) {
	var got, query string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got, query = string(body), r.URL.RequestURI()
		_, _ = io.WriteString(w, `{}`)
	})
	w := newFixture(t, 0, provider(url, modeltest.Messages))
	a := w.agent(modeltest.Messages, nil)
	const body = "{ \"model\":\"m\",\n \"messages\":[ {\"role\":\"user\",\"content\":\"<&> \\u00e9\"} ], \"max_tokens\": 1e3 }"
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.server.URL+"/anthropic/v1/messages?beta=true", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := a.client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if got != body || query != "/v1/messages?beta=true" {
		t.Errorf("%q at %q", got, query)
	}
}

// OpenRouter tells the cost to who asks for it, and only in this protocol.
func TestOpenRouterIsAskedForTheCost(t *testing.T) {
	var mu sync.Mutex
	var bodies []object
	answer := "" // of the next request
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body object
		_ = json.NewDecoder(r.Body).Decode(&body)
		mu.Lock()
		defer mu.Unlock()
		bodies = append(bodies, body)
		if strings.HasPrefix(answer, "data:") {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(proxy.Close)
	chunk := strings.Replace(usageChunk, `"completion_tokens":3`, `"completion_tokens":3,"cost":0.25`, 1)
	whole := `{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"cost":0.25}}`
	for name, tc := range map[string]struct {
		base     string
		protocol modeltest.Protocol
		more     object
		answer   string
		passed   string
		usage    any // in the request, as the provider has it
		cost     float64
	}{
		"in one piece":                            {"http://openrouter.ai/api/v1", modeltest.Chat, object{"stream": false}, whole, whole, object{"include": true}, 0.25},
		"in a stream, which hides it":             {"http://openrouter.ai/api/v1", modeltest.Chat, nil, events(chunk, "[DONE]"), events("[DONE]"), object{"include": true}, 0.25},
		"in a stream whose agent knows":           {"http://openrouter.ai/api/v1", modeltest.Chat, object{"usage": object{"include": true, "y": true}}, events(chunk, "[DONE]"), events(chunk, "[DONE]"), object{"include": true, "y": true}, 0.25},
		"in a stream whose agent asks for tokens": {"http://openrouter.ai/api/v1", modeltest.Chat, object{"stream_options": object{"include_usage": true}}, events(chunk, "[DONE]"), events(chunk, "[DONE]"), object{"include": true}, 0.25},
		"not in responses":                        {"http://openrouter.ai/api/v1", modeltest.Responses, object{"stream": false}, `{"usage":{"input_tokens":1,"output_tokens":1}}`, `{"usage":{"input_tokens":1,"output_tokens":1}}`, nil, 0},
		"of no other host":                        {"http://notopenrouter.ai/v1", modeltest.Chat, object{"stream": false}, whole, whole, nil, 0.25},
	} {
		t.Run(name, func(t *testing.T) {
			bodies, answer = nil, tc.answer
			p := provider("", tc.protocol)
			p.BaseURL, p.Proxy = tc.base, proxy.URL
			w := newFixture(t, 0, p)
			q := question(tc.protocol, true, "Hello?")
			for key, value := range tc.more {
				q[key] = value
			}
			r := w.agent(tc.protocol, nil).well(q)
			if r.body != tc.passed {
				t.Errorf("the agent has %q", r.body)
			}
			if diff := cmp.Diff(tc.usage, bodies[0]["usage"]); diff != "" {
				t.Error(diff)
			}
			if u := w.one(); u.CostUSD != tc.cost || u.EstimatedTokens != 0 {
				t.Errorf("%+v", u)
			}
		})
	}
}

// The key goes to the provider alone and the placeholder nowhere, whatever either side quotes.
func TestKeysStayWhereTheyBelong(t *testing.T) {
	quote := `"you sent ` + realKey + `"`
	for name, tc := range map[string]struct {
		stream bool
		answer func(w http.ResponseWriter)
	}{
		"a refusal": {false, func(w http.ResponseWriter) {
			w.WriteHeader(401)
			_, _ = io.WriteString(w, `{"error":{"message":`+quote+`}}`)
		}},
		"a rate limit": {false, func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "100")
			w.WriteHeader(429)
			_, _ = io.WriteString(w, `{"error":{"message":`+quote+`}}`)
		}},
		"an answer": {false, func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, `{"choices":[{"message":{"content":`+quote+`}}]}`)
		}},
		"a stream": {true, func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, events(`{"choices":[{"delta":{"content":"a"}}]}`, `{"choices":[{"delta":{"content":`+quote+`}}]}`, `[DONE]`))
		}},
		"a stream that fails at once": {true, func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, events(`{"error":{"code":500,"message":`+quote+`}}`))
		}},
		"a stream that refuses": {true, func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, events(`{"error":{"code":401,"message":`+quote+`}}`, "[DONE]"))
		}},
		"a header": {false, func(w http.ResponseWriter) {
			for _, h := range []string{"X-Request-Id", "Retry-After", "X-Key", "Openai-Organization", "Set-Cookie", "X-Ratelimit-Reset"} {
				w.Header().Set(h, "is "+realKey)
			}
			w.WriteHeader(400)
		}},
		"a way to elsewhere": {false, func(w http.ResponseWriter) {
			w.Header().Set("Location", "/v1/elsewhere?key="+realKey)
			w.WriteHeader(307)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var seen []string
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				seen = append(seen, fmt.Sprint(r.URL, r.Header))
				mu.Unlock()
				if r.Header.Get("Authorization") != "Bearer "+realKey {
					t.Errorf("the provider was asked with %v", r.Header)
				}
				tc.answer(w)
			})
			w := newFixture(t, 1, provider(url, modeltest.Chat)) // the shortest hold
			a := w.agent(modeltest.Chat, nil)
			r := a.ask(question(modeltest.Chat, tc.stream, "Hello?"))
			silent := a.Silent()
			a.leave()
			steps, err := os.Create(filepath.Join(t.TempDir(), "t.json"))
			if err != nil {
				t.Fatal(err)
			}
			defer steps.Close()
			if _, err := transcript.Trajectory(steps, strings.NewReader(a.transcript()), transcript.Info{}); err != nil {
				t.Error(err)
			}
			for where, text := range map[string]string{
				"the answer": r.body, "its headers": fmt.Sprint(r.header), "the transcript": a.transcript(), "the log": w.log.String(),
				"the trajectory": read(t, steps.Name()), "what the trial is told": silent,
			} {
				if strings.Contains(text, realKey) || strings.Contains(text, placeholder) {
					t.Errorf("%s has a key: %s", where, text)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if all := strings.Join(seen, "\n"); strings.Contains(all, placeholder) || strings.Contains(all, "elsewhere") {
				t.Error("the provider saw", all)
			}
		})
	}
}

// A short key is a placeholder of a provider that needs none. It may be a word.
func TestAWordIsNoKey(t *testing.T) {
	const body = `{"choices":[{"message":{"content":"EMPTY"}}]}`
	p := provider(says(t, "application/json", body), modeltest.Chat)
	p.Key = func() (string, error) { return "EMPTY", nil }
	w := newFixture(t, 0, p)
	if r := w.agent(modeltest.Chat, nil).well(question(modeltest.Chat, false, "Hello?")); r.body != body {
		t.Error(r.body)
	}
}

func TestTheKeyIsReadForEachRequest(t *testing.T) {
	key, seen := "sk-first-key", ""
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header.Get("X-Api-Key") + " " + r.Header.Get("Authorization")
		_, _ = io.WriteString(w, "{}")
	})
	p := provider(url, modeltest.Messages)
	p.Key = func() (string, error) { return key, nil }
	a := newFixture(t, 0, p).agent(modeltest.Messages, nil)
	for _, tc := range []struct{ key, want string }{
		{"sk-first-key", "sk-first-key Bearer sk-first-key"}, {"sk-second-key", "sk-second-key Bearer sk-second-key"}, {"", " "},
	} {
		key = tc.key
		a.well(question(modeltest.Messages, false, "Hello?"))
		if seen != tc.want {
			t.Errorf("asked with %q, want %q", seen, tc.want)
		}
	}
}

func TestHeadersPassByLists(t *testing.T) {
	var got http.Header
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		for _, h := range []string{"Request-Id", "Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Organization-Id", "Set-Cookie", "Server", "Via"} {
			w.Header().Set(h, "v")
		}
		_, _ = io.WriteString(w, "{}")
	})
	a := newFixture(t, 0, provider(url, modeltest.Messages)).agent(modeltest.Messages, nil)
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.server.URL+"/anthropic/v1/messages", strings.NewReader(`{"model":"m"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range []string{
		"Anthropic-Version", "Anthropic-Beta", "X-Stainless-Os", "Session_id",
		"Cookie", "Authorization", "X-Api-Key", "Api-Key", "Proxy-Authorization", "X-Forwarded-For", "Openai-Organization", "Openai-Project", "X-Goog-Api-Key",
	} {
		q.Header.Set(h, "v")
	}
	q.Header.Set("Accept-Encoding", "gzip")
	res, err := a.client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	want := http.Header{
		"Anthropic-Version": {"v"}, "Anthropic-Beta": {"v"}, "X-Stainless-Os": {"v"}, "Session_id": {"v"},
		"Authorization": {"Bearer " + realKey}, "X-Api-Key": {realKey}, "Accept-Encoding": {"identity"},
		"Content-Length": {"13"}, "User-Agent": {"Go-http-client/1.1"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("to the provider:", diff)
	}
	res.Header.Del("Date")
	want = http.Header{
		"Request-Id": {"v"}, "Anthropic-Ratelimit-Tokens-Remaining": {"v"}, "Content-Type": {"text/plain; charset=utf-8"}, "Content-Length": {"2"},
	}
	if diff := cmp.Diff(want, res.Header); diff != "" {
		t.Error("to the agent:", diff)
	}
}

// What is no request of a model that can be counted is refused as the provider would, and
// reaches nobody.
func TestWhatIsRefused(t *testing.T) {
	reached := false
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { reached = true; _, _ = io.WriteString(w, "{}") })
	for name, tc := range map[string]struct {
		method, path, body string
		header             http.Header
		status             int
	}{
		"another address":                       {"POST", "/openai/v1/files", "{}", nil, 404},
		"a way out":                             {"POST", "/openai/v1/../v1/responses", "{}", nil, 404},
		"another method":                        {"GET", "/openai/v1/responses", "", nil, 404},
		"another protocol":                      {"POST", "/anthropic/v1/messages", "{}", nil, 404},
		"no JSON":                               {"POST", "/openai/v1/responses", "{", nil, 400},
		"no object":                             {"POST", "/openai/v1/responses", "[]", nil, 400},
		"two objects":                           {"POST", "/openai/v1/responses", "{}{}", nil, 400},
		"no name of a model":                    {"POST", "/openai/v1/responses", `{"model":5}`, nil, 400},
		"a name without end":                    {"POST", "/openai/v1/responses", `{"model":"` + strings.Repeat("m", 1000) + `"}`, nil, 400},
		"two models":                            {"POST", "/openai/v1/responses", `{"model":"cheap","model":"dear"}`, nil, 400},
		"two models that some take for one":     {"POST", "/openai/v1/responses", `{"model":"cheap","Model":"dear"}`, nil, 400},
		"what is answered when nobody looks":    {"POST", "/openai/v1/responses", `{"model":"m","background":true}`, nil, 400},
		"what is packed":                        {"POST", "/openai/v1/responses", "{}", http.Header{"Content-Encoding": {"zstd"}}, 415},
		"what is too large, as it says":         {"POST", "/openai/v1/responses", strings.Repeat(" ", 64<<20+1), nil, 413},
		"what is too large and does not say so": {"POST", "/openai/v1/responses", strings.Repeat(" ", 64<<20+1), http.Header{"Transfer-Encoding": {"chunked"}}, 413},
	} {
		t.Run(name, func(t *testing.T) {
			a := newFixture(t, 0, provider(url, modeltest.Responses)).agent(modeltest.Responses, nil)
			body := io.Reader(strings.NewReader(tc.body))
			if tc.header.Get("Transfer-Encoding") != "" {
				body = io.MultiReader(body) // whose length nobody knows
			}
			q, err := http.NewRequestWithContext(t.Context(), tc.method, a.server.URL, body)
			if err != nil {
				t.Fatal(err)
			}
			q.URL.Path = tc.path
			q.Header = tc.header
			w := httptest.NewRecorder()
			if strings.Contains(name, "large") { // a server hangs up on what it does not read
				a.ServeHTTP(w, q)
			} else {
				res, err := a.client.Do(q)
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				w.WriteHeader(res.StatusCode)
				_, _ = io.Copy(w, res.Body)
			}
			var told struct{ Error struct{ Message string } }
			if err := json.Unmarshal(w.Body.Bytes(), &told); w.Code != tc.status || err != nil || told.Error.Message == "" {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			if reached {
				t.Error("it was passed on")
			}
		})
	}
}

// What no model answers passes, too, and costs nothing.
func TestWhatNoModelAnswersIsFree(t *testing.T) {
	model := modeltest.New(t, nil)
	model.RequireKey(realKey)
	for _, tc := range []struct {
		protocol           modeltest.Protocol
		method, path, body string
		want               string
	}{
		{modeltest.Chat, "GET", "/openai/v1/models", "", modeltest.Model},
		{modeltest.Messages, "GET", "/anthropic/v1/models", "", modeltest.Model},
		{modeltest.Messages, "POST", "/anthropic/v1/messages/count_tokens", `{"model":"m","messages":[{"role":"user","content":"x"}]}`, `"input_tokens":14`},
	} {
		w := newFixture(t, 0, provider(model.URL, tc.protocol))
		a := w.agent(tc.protocol, nil)
		q, err := http.NewRequestWithContext(t.Context(), tc.method, a.server.URL+tc.path, strings.NewReader(tc.body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Anthropic-Version", "2023-06-01")
		res, err := a.client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != 200 || !strings.Contains(string(body), tc.want) {
			t.Errorf("%s: %d %s %v", tc.path, res.StatusCode, body, err)
		}
		if all := w.ledger.all(t); len(all) > 0 {
			t.Errorf("%s costs %+v", tc.path, all)
		}
	}
}

func TestProvidersAreLookedAtBeforeTheyAreUsed(t *testing.T) {
	for name, p := range map[string]gateway.Provider{
		"an address that is none": {Name: "p", BaseURL: "http://[::"},
		"a proxy that is none":    {Name: "p", BaseURL: "http://p", Proxy: "http://[::"},
		"a pattern that is none":  {Name: "p", BaseURL: "http://p", Prices: map[string]gateway.Price{"gpt-[": {}}},
	} {
		if _, err := gateway.New(gateway.Options{Providers: []gateway.Provider{p}}); err == nil || !strings.Contains(err.Error(), `"p"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
