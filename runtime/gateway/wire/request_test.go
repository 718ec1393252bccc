package wire

import (
	"net/http"
	"testing"
)

// generates is the endpoint of a protocol where a model answers, by its path.
func generates(t *testing.T, protocol, path string) *Generation {
	t.Helper()
	for _, e := range Endpoints(protocol) {
		if e.Method == http.MethodPost && e.Path == path && e.Generates != nil {
			return e.Generates
		}
	}
	t.Fatalf("%s has no model at %s", protocol, path)
	return nil
}

func TestWhatARequestTakesAtMost(t *testing.T) {
	for _, tc := range []struct {
		protocol, path, body string
		output               int64
	}{
		{OpenAI, "/v1/chat/completions", `{"model":"m","max_tokens":5}`, 5},
		{OpenAI, "/v1/chat/completions", `{"model":"m","max_tokens":5,"max_completion_tokens":7,"n":3}`, 21},
		{OpenAI, "/v1/chat/completions", `{"model":"m","max_output_tokens":5}`, maxOutput}, // of the other protocol
		{OpenAI, "/v1/responses", `{"model":"m","max_output_tokens":5,"n":3}`, 5},
		{Anthropic, "/v1/messages", `{"model":"m","max_tokens":2.5}`, 3},
		{Anthropic, "/v1/messages", `{"model":"m","max_tokens":-2}`, maxOutput},
		{Anthropic, "/v1/messages", `{"model":"m","max_tokens":1e300}`, maxTokens},
	} {
		q, err := ReadQuestion([]byte(tc.body))
		if err != nil {
			t.Fatal(err)
		}
		got := generates(t, tc.protocol, tc.path).Bound(q)
		if got.Output != tc.output || got.Input != int64(q.TextBytes)+besidesText || got.Written != got.Input {
			t.Errorf("%s of %s takes %+v, want %d of output", tc.body, tc.path, got, tc.output)
		}
	}
}

func TestTheSmallestQuestionIsOne(t *testing.T) {
	for protocol, paths := range map[string][]string{OpenAI: {"/v1/chat/completions", "/v1/responses"}, Anthropic: {"/v1/messages"}} {
		for _, path := range paths {
			g := generates(t, protocol, path)
			q, err := ReadQuestion(g.SmallestQuestion("m"))
			if err != nil || q.Model != "m" || q.Stream {
				t.Fatalf("%s: %+v, %v", path, q, err)
			}
			if most := g.Bound(q); most.Output > 16 {
				t.Errorf("%s: the answer may have %d tokens", path, most.Output)
			}
			if found := HostedTools(q.Fields); found != "" {
				t.Errorf("%s asks for %s", path, found)
			}
		}
	}
}

func TestRequestsThatAreNotRead(t *testing.T) {
	for _, body := range []string{``, `[]`, `{"model":5}`, `{"model":"m","Model":"n"}`, `{"background":true}`} {
		if q, err := ReadQuestion([]byte(body)); err == nil {
			t.Errorf("%q is read as %+v", body, q)
		}
	}
}

// Which fields lead out of a closed network is in TestAClosedNetworkHasNoWayByTheProvider of the
// gateway, request by request.
func TestWhatAProviderWouldDoByItself(t *testing.T) {
	for body, want := range map[string]string{
		`{"tools":[{"type":"function"},{"type":"web_search"}]}`:                      "the tool web_search",
		`{"messages":[{"content":[{"image_url":{"url":"https://example.org/a"}}]}]}`: "what lies at an address",
		`{"model":"m:online","tools":[{"type":"web_search"}]}`:                       "the model m:online, which searches the web",
		`{"messages":[{"content":"https://example.org/a"}]}`:                         "",
	} {
		fields, err := Fields([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if got := HostedTools(fields); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

func TestTheStandardTierIsUsed(t *testing.T) {
	for body, want := range map[string]bool{
		`{"service_tier":"priority","speed":"fast","model":"m"}`: true,
		`{"Service_Tier":"PRIORITY","model":"m"}`:                true,
		`{"service_tier":"flex","model":"m"}`:                    false,
	} {
		fields, err := Fields([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if got := UseStandardTier(fields); got != want || fields["model"] == nil {
			t.Errorf("%s: %v, and %s is left", body, got, fields)
		}
	}
}

func TestWhoseFaultARefusalIs(t *testing.T) {
	for _, tc := range []struct {
		status            int
		body              string
		passing, refusing bool
	}{
		{200, "", true, false},
		{401, "", true, true},
		{402, "", true, true},
		{429, "", false, false},
		{503, "", false, false},
		{400, `{"error":{"type":"invalid_request_error","message":"Your credit balance is too low."}}`, true, true},
		{400, `{"error":{"type":"invalid_request_error","message":"no"}}`, true, false},
	} {
		if Passing(tc.status) != tc.passing || Refusing(tc.status, []byte(tc.body)) != tc.refusing {
			t.Errorf("%d %s: %v and %v", tc.status, tc.body, Passing(tc.status), Refusing(tc.status, []byte(tc.body)))
		}
	}
	for text, want := range map[string]bool{
		`{"code":400}`: true, `{"code":"503"}`: false, `{"type":"invalid_request_error"}`: true,
		`{"error":{"type":"overloaded_error"}}`: false, `{"error":{"type":"permission_error"}}`: true, `no JSON`: false,
	} {
		if got := Lasting(text); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
