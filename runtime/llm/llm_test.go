package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var rate = Tool{
	Name: "rate", Description: "Say what it is worth.",
	Parameters: json.RawMessage(`{"type":"object","properties":{"score":{"type":"number"},"why":{"type":"string"},"class":{"enum":["easy","hard"]},"lines":{"type":"array","items":{"type":"integer"}}},"required":["score"]}`),
}

// serve answers each request with the same, and keeps what was asked.
func serve(t *testing.T, status int, header map[string]string, body string) (*Model, *[]byte) {
	t.Helper()
	asked := new([]byte)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions" {
			t.Errorf("%s %s", r.Method, r.URL.Path)
		}
		if r.Header.Get("Authorization") != "" {
			t.Error("a key is shown where none was given")
		}
		*asked, _ = io.ReadAll(r.Body)
		for name, value := range header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return New(Options{Name: "vendor/model", BaseURL: server.URL + "/v1", Transport: transport}), asked
}

// called is an answer with one call.
func called(name, arguments string) string {
	text, _ := json.Marshal(arguments)
	return fmt.Sprintf(`{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":%q,"arguments":%s}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":30,"completion_tokens":7,"total_tokens":37,"prompt_tokens_details":{"cached_tokens":12}}}`, name, text)
}

func TestARequestOffersItsToolsAndRequiresOne(t *testing.T) {
	model, asked := serve(t, 200, nil, called("rate", `{"score":1}`))
	_, err := model.Ask(t.Context(), []Message{
		{Role: System, Content: "be brief"},
		{Role: User, Content: "hello"},
		{Role: Assistant, Calls: []Call{{ID: "a", Name: "rate", Arguments: json.RawMessage(`{"score":2}`)}, {ID: "b", Name: "no such\ntool", Arguments: json.RawMessage(`"{torn"`)}}},
		{Role: Result, CallID: "a"},
	}, []Tool{rate, {Name: "stop"}})
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(*asked, &got); err != nil {
		t.Fatal(err)
	}
	var want any
	err = json.Unmarshal([]byte(`{
		"model": "vendor/model", "stream": false, "tool_choice": "required",
		"messages": [
			{"role": "system", "content": "be brief"},
			{"role": "user", "content": "hello"},
			{"role": "assistant", "tool_calls": [
				{"id": "a", "type": "function", "function": {"name": "rate", "arguments": "{\"score\":2}"}},
				{"id": "b", "type": "function", "function": {"name": "no_such_tool", "arguments": "{}"}}]},
			{"role": "tool", "tool_call_id": "a", "content": "(empty)"}],
		"tools": [
			{"type": "function", "function": {"name": "rate", "description": "Say what it is worth.", "parameters": `+string(rate.Parameters)+`}},
			{"type": "function", "function": {"name": "stop", "parameters": {"type": "object", "properties": {}}}}]
	}`), &want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnswers(t *testing.T) {
	one := []Call{{ID: "c1", Name: "rate", Arguments: json.RawMessage(`{"score":0.5}`)}}
	many := strings.Repeat(`{"id":"same","type":"function","function":{"name":"rate","arguments":"{\"score\":1}"}},`, 100)
	for _, tt := range []struct {
		name string
		body string
		want Answer
		bad  string // what is malformed
	}{
		{"a call", called("rate", `{"score":0.5}`), Answer{Calls: one, Usage: Usage{30, 7, 12}, Stop: "tool_calls"}, ""},
		{"more than is asked for", called("rate", `{"score":0.5,"x":[1]}`), Answer{Calls: []Call{{"c1", "rate", json.RawMessage(`{"score":0.5,"x":[1]}`)}}, Usage: Usage{30, 7, 12}, Stop: "tool_calls"}, ""},
		{"words beside a call, in parts", `{"choices":[{"message":{"role":"assistant","content":[{"type":"text","text":"well, "},{"type":"text","text":"so"}],"tool_calls":[{"id":"c1","type":"function","function":{"name":"rate","arguments":"{\"score\":0.5}"}}]}}]}`, Answer{Content: "well, so", Calls: one}, ""},
		{"a call without a name of its own", `{"choices":[{"message":{"tool_calls":[{"type":"function","function":{"name":"rate","arguments":"{\"score\":0.5}"}}]}}]}`, Answer{Calls: []Call{{"call_1_0", "rate", one[0].Arguments}}}, ""},
		{"figures that cannot be", `{"choices":[{"message":{"tool_calls":[{"id":"c1","type":"function","function":{"name":"rate","arguments":"{\"score\":0.5}"}}]}}],"usage":{"prompt_tokens":-5,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":9}}}`, Answer{Calls: one, Usage: Usage{0, 3, 0}}, ""},
		{"words alone", `{"choices":[{"message":{"role":"assistant","content":"I would say 0.5"},"finish_reason":"stop"}]}`, Answer{Content: "I would say 0.5", Stop: "stop"}, "calls no tool"},
		{"a refusal", `{"choices":[{"message":{"role":"assistant","content":null,"refusal":"I won't"},"finish_reason":"stop"}]}`, Answer{Content: "I won't", Stop: "stop"}, "calls no tool"},
		{"cut off", `{"choices":[{"message":{"role":"assistant","content":"I"},"finish_reason":"length"}]}`, Answer{Content: "I", Stop: "length"}, "cut off"},
		{"a tool that is not offered", called("rm", `{}`), Answer{Calls: []Call{{"c1", "rm", json.RawMessage(`{}`)}}, Usage: Usage{30, 7, 12}, Stop: "tool_calls"}, `there is no tool "rm"; there are rate`},
		{"torn arguments", called("rate", `{"score":0.`), Answer{Calls: []Call{{"c1", "rate", json.RawMessage(`"{\"score\":0."`)}}, Usage: Usage{30, 7, 12}, Stop: "tool_calls"}, "no JSON object"},
		{"a list for arguments", called("rate", `[1]`), Answer{Calls: []Call{{"c1", "rate", json.RawMessage(`[1]`)}}, Usage: Usage{30, 7, 12}, Stop: "tool_calls"}, "no JSON object"},
		{"null for arguments", called("rate", `null`), Answer{Calls: []Call{{"c1", "rate", json.RawMessage(`null`)}}, Usage: Usage{30, 7, 12}, Stop: "tool_calls"}, "no JSON object"},
		{"a field that is missing", called("rate", ``), Answer{Calls: []Call{{"c1", "rate", json.RawMessage(`{}`)}}, Usage: Usage{30, 7, 12}, Stop: "tool_calls"}, `"score" is missing`},
		{"no choices", `{"choices":[]}`, Answer{}, "no answer"},
		{"another shape", `{"choices":"none"}`, Answer{}, "no chat completion"},
		{"arguments as an object", `{"choices":[{"message":{"tool_calls":[{"function":{"name":"rate","arguments":{"score":1}}}]}}]}`, Answer{}, "no chat completion"},
		{"nothing", `null`, Answer{}, "no answer"},
		{"too many calls", `{"choices":[{"message":{"tool_calls":[` + strings.TrimSuffix(many, ",") + `]}}]}`, Answer{}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			model, _ := serve(t, 200, nil, tt.body)
			got, err := model.Ask(t.Context(), []Message{{Role: User, Content: "x"}}, []Tool{rate})
			if bad, ok := errors.AsType[*Malformed](err); (err != nil) != (tt.bad != "") || err != nil && (!ok || !strings.Contains(bad.Why, tt.bad)) {
				t.Fatalf("it ends with %v, want %q", err, tt.bad)
			} else if ok && !cmp.Equal(bad.Answer, got) {
				t.Error(cmp.Diff(bad.Answer, got))
			}
			if tt.name == "too many calls" {
				seen := map[string]bool{}
				for _, c := range got.Calls {
					seen[c.ID] = true
				}
				if len(got.Calls) != maxCalls || len(seen) != maxCalls {
					t.Errorf("%d calls with %d names", len(got.Calls), len(seen))
				}
				return
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			kept, err := json.Marshal(got.Message())
			if err != nil {
				t.Fatal(err)
			}
			var back Message
			if err := json.Unmarshal(kept, &back); err != nil || !cmp.Equal(back, got.Message()) {
				t.Errorf("kept and read again it is %v, %v", back, err)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	openAI := `{"error":{"message":"You are wrong","type":"invalid_request_error","param":null,"code":"context_length_exceeded"}}`
	for _, tt := range []struct {
		name   string
		status int
		header map[string]string
		body   string
		want   error
	}{
		{"a bad request", 400, nil, openAI, &Refused{400, "context_length_exceeded", "You are wrong"}},
		{"a bad key", 401, nil, `{"error":{"message":"no key","code":401}}`, &Refused{401, "401", "no key"}},
		{"a page", 403, nil, "<html>\n<h1>Forbidden</h1></html>", &Refused{403, "", "<html> <h1>Forbidden</h1></html>"}},
		{"no such model", 404, nil, openAI, &Refused{404, "context_length_exceeded", "You are wrong"}},
		{"what cannot be processed", 422, nil, `{"detail":[{"msg":"x"}]}`, &Refused{422, "", `{"detail":[{"msg":"x"}]}`}},
		{"too large", 413, nil, "", &Refused{413, "", ""}},
		{"elsewhere", 307, map[string]string{"Location": "http://127.0.0.1:1/"}, "", &Refused{307, "", ""}},
		{"too many", 429, map[string]string{"Retry-After": "7"}, `{"error":{"message":"slowly","type":"rate_limit"}}`, &Unavailable{429, 7 * time.Second, "slowly", nil}},
		{"until a time", 429, map[string]string{"Retry-After": "Mon, 23 Nov 2026 10:00:30 GMT", "Date": "Mon, 23 Nov 2026 10:00:00 GMT"}, `{}`, &Unavailable{429, 30 * time.Second, "{}", nil}},
		{"until a time that is over", 429, map[string]string{"Retry-After": "Mon, 23 Nov 2026 09:00:30 GMT", "Date": "Mon, 23 Nov 2026 10:00:00 GMT"}, `{}`, &Unavailable{429, 0, "{}", nil}},
		{"for ever", 503, map[string]string{"Retry-After": "1e300"}, `{}`, &Unavailable{503, maxRetry, "{}", nil}},
		{"for less than nothing", 503, map[string]string{"Retry-After": "-3"}, `{}`, &Unavailable{503, 0, "{}", nil}},
		{"for no number", 503, map[string]string{"Retry-After": "NaN"}, `{}`, &Unavailable{503, 0, "{}", nil}},
		{"a broken gateway", 502, nil, "<html>Bad Gateway</html>", &Unavailable{502, 0, "<html>Bad Gateway</html>", nil}},
		{"overloaded", 529, nil, `{"error":{"message":"Overloaded: x"}}`, &Unavailable{529, 0, "Overloaded: x", nil}},
		{"a page for an answer", 200, nil, "<html>Welcome</html>", &Unavailable{200, 0, "its answer is no JSON: <html>Welcome</html>", nil}},
		{"half an answer", 200, nil, called("rate", "{}")[:200], &Unavailable{200, 0, "its answer is no JSON: " + called("rate", "{}")[:200], nil}},
		{"an error for an answer", 200, nil, `{"error":{"message":"upstream","code":502}}`, &Unavailable{502, 0, "upstream", nil}},
		{"an error in a choice", 200, nil, `{"choices":[{"error":{"message":"upstream","code":"429"},"message":{"content":""},"finish_reason":"error"}]}`, &Unavailable{429, 0, "upstream", nil}},
		{"an error in words", 200, nil, `{"error":"broken"}`, &Unavailable{502, 0, `"broken"`, nil}},
		{"no more money, as the gateway says it", 429, nil, `{"error":{"message":"Your credit balance is too low: budget.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, ErrBudget},
		{"no more money, as others say it", 402, nil, `{"error":{"message":"Insufficient credits","code":402}}`, ErrBudget},
	} {
		t.Run(tt.name, func(t *testing.T) {
			model, _ := serve(t, tt.status, tt.header, tt.body)
			answer, err := model.Ask(t.Context(), []Message{{Role: User, Content: "x"}}, []Tool{rate})
			if !cmp.Equal(answer, Answer{}) {
				t.Errorf("there is an answer %v", answer)
			}
			var got error
			if e, ok := errors.AsType[*Refused](err); ok {
				got = e
			} else if e, ok := errors.AsType[*Unavailable](err); ok {
				got = e
			} else if errors.Is(err, ErrBudget) && errors.Is(tt.want, ErrBudget) {
				return
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

// transport answers in the network's place.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// endless is an answer without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestWhatBreaksOffIsUnavailable(t *testing.T) {
	torn := errors.New("torn")
	for name, answer := range map[string]transport{
		"before an answer":  func(*http.Request) (*http.Response, error) { return nil, torn },
		"within an answer":  respond(io.MultiReader(strings.NewReader("{"), failing{torn})),
		"without an end":    respond(endless{}),
		"before the status": func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF },
	} {
		model := New(Options{Name: "m", BaseURL: "http://model.invalid/v1", Transport: answer})
		_, err := model.Ask(t.Context(), []Message{{Role: User, Content: "x"}}, []Tool{rate})
		if e, ok := errors.AsType[*Unavailable](err); !ok || e.Err == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func respond(body io.Reader) transport {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(body), Request: r}, nil
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestTheContextEndsARequest(t *testing.T) {
	over := errors.New("over")
	ctx, cancel := context.WithCancelCause(t.Context())
	model := New(Options{Name: "m", BaseURL: "http://model.invalid/v1", Transport: transport(func(r *http.Request) (*http.Response, error) {
		cancel(over)
		<-r.Context().Done()
		return nil, r.Context().Err()
	})})
	_, err := model.Ask(ctx, []Message{{Role: User, Content: "x"}}, []Tool{rate})
	if _, ok := errors.AsType[*Unavailable](err); ok || !errors.Is(err, over) {
		t.Errorf("it ends with %v", err)
	}
}

func TestWhatTheLibraryHoldsForImpossibleIsRefused(t *testing.T) {
	model := New(Options{Name: "gpt-6-astra", BaseURL: "http://model.invalid/v1", Transport: transport(func(*http.Request) (*http.Response, error) {
		t.Error("it is asked")
		return nil, io.EOF
	})})
	_, err := model.Ask(t.Context(), []Message{{Role: User, Content: "x"}}, []Tool{rate})
	if e, ok := errors.AsType[*Refused](err); !ok || e.Status != 0 {
		t.Errorf("it ends with %v", err)
	}
}
