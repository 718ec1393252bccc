package gateway

import (
	"testing"
	"time"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestPrices(t *testing.T) {
	p := Provider{Prices: map[string]Price{
		"claude-*": {Input: 1}, "claude-opus-*": {Input: 2}, "claude-opus-4": {Input: 3}, "gpt-?": {Input: 4}, "gpt-*": {Input: 5}, "*": {Input: 6},
	}}
	for model, want := range map[string]float64{
		"claude-haiku": 1, "claude-opus-5": 2, "claude-opus-4": 3, "gpt-5": 5, "gpt-55": 5, "qwen": 6, "": 6,
	} {
		for range 20 { // whatever the order of a map
			if got, ok := p.price(model); !ok || got.Input != want {
				t.Errorf("%q costs %v, want %v", model, got.Input, want)
			}
		}
	}
	if _, ok := (Provider{}).price("m"); ok {
		t.Error("there is a price that nobody has set")
	}
	if _, ok := p.price("openai/gpt-5"); ok {
		t.Error("a wildcard of path.Match goes beyond a slash")
	}
}

func TestWhatTokensCost(t *testing.T) {
	cost := 0.5
	price := Price{Input: 3, Output: 15, Cached: 0.3, CacheWrite: 3.75, CacheWrite1h: 6}
	for name, tc := range map[string]struct {
		tokens tokens
		price  Price
		priced bool
		want   float64
	}{
		"each part has its price":           {tokens{input: 1_000_000, cached: 500_000, written: 100_000, output: 10_000}, price, true, 1.2 + 0.15 + 0.375 + 0.15},
		"what is kept for an hour has its":  {tokens{input: 1_000_000, written: 500_000, hour: 400_000}, price, true, 1.5 + 0.375 + 2.4},
		"a price goes before what is told":  {tokens{input: 1_000_000, reported: &cost}, price, true, 3},
		"else what is told counts":          {tokens{input: 1_000_000, reported: &cost}, Price{}, false, 0.5},
		"what nobody tells costs nothing":   {tokens{input: 1_000_000}, Price{}, false, 0},
		"more from a cache than there was ": {tokens{input: 10, cached: 1_000_000}, price, true, 0.3},
	} {
		if got := tc.tokens.usage(tc.price, tc.priced).CostUSD; got < tc.want-1e-9 || got > tc.want+1e-9 {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "7": 7 * time.Second, " 7 ": 7 * time.Second, "999999999999999": 24 * time.Hour,
		"Sat, 21 Nov 2026 12:00:30 GMT": 30 * time.Second, "Sat, 21 Nov 2026 11:00:00 GMT": 0,
	} {
		if got, ok := retryAfter(text, now); !ok || got != want {
			t.Errorf("%q: %v %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "-1", "soon", "1.5", "99999999999999999999"} {
		if got, ok := retryAfter(text, now); ok {
			t.Errorf("%q: %v", text, got)
		}
	}
	if got, _ := retryAfter("Sat, 21 Nov 2026 12:00:30 GMT", now.Add(-time.Millisecond)); got != 31*time.Second {
		t.Errorf("a part of a second: %v", got)
	}
}

// A request to an address of any form goes where the provider has it.
func TestTarget(t *testing.T) {
	for _, tc := range []struct{ protocol, base, path, query, want string }{
		{OpenAI, "https://api.openai.com/v1", "/v1/responses", "", "https://api.openai.com/v1/responses"},
		{OpenAI, "https://openrouter.ai/api/v1/", "/v1/chat/completions", "", "https://openrouter.ai/api/v1/chat/completions"},
		{Anthropic, "https://api.anthropic.com", "/v1/messages", "beta=true", "https://api.anthropic.com/v1/messages?beta=true"},
		{Anthropic, "https://proxy/anthropic/v1/", "/v1/messages", "", "https://proxy/anthropic/v1/messages"},
	} {
		p, err := newProvider(Provider{Protocol: tc.protocol, BaseURL: tc.base})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.target(tc.path, tc.query); got != tc.want {
			t.Errorf("%s, want %s", got, tc.want)
		}
	}
}

// Reasoning is within the output with some and beside it with others; it is counted once.
func TestReasoningCountsOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		usage string
		want  int64
	}{
		"within, by the total":   {`"prompt_tokens":100,"completion_tokens":50,"total_tokens":150,"completion_tokens_details":{"reasoning_tokens":40}`, 50},
		"beside, by the total":   {`"prompt_tokens":100,"completion_tokens":50,"total_tokens":190,"completion_tokens_details":{"reasoning_tokens":40}`, 90},
		"some of it beside":      {`"prompt_tokens":100,"completion_tokens":50,"total_tokens":160,"completion_tokens_details":{"reasoning_tokens":40}`, 60},
		"a total of more":        {`"prompt_tokens":100,"completion_tokens":50,"total_tokens":999,"completion_tokens_details":{"reasoning_tokens":40}`, 90},
		"a total of less":        {`"prompt_tokens":100,"completion_tokens":50,"total_tokens":60,"completion_tokens_details":{"reasoning_tokens":40}`, 50},
		"within, for all we see": {`"prompt_tokens":100,"completion_tokens":50,"completion_tokens_details":{"reasoning_tokens":40}`, 50},
		"more than the output":   {`"prompt_tokens":100,"completion_tokens":50,"completion_tokens_details":{"reasoning_tokens":400}`, 450},
		"in another place":       {`"prompt_tokens":100,"completion_tokens":50,"total_tokens":190,"reasoning_tokens":40`, 90},
		"in both":                {`"prompt_tokens":100,"completion_tokens":50,"total_tokens":190,"reasoning_tokens":40,"completion_tokens_details":{"reasoning_tokens":40}`, 90},
		"what is no number":      {`"prompt_tokens":100,"completion_tokens":50,"total_tokens":1e300,"completion_tokens_details":{"reasoning_tokens":-4}`, 50},
		"null":                   {`"prompt_tokens":100,"completion_tokens":50,"completion_tokens_details":null`, 50},
	} {
		var m meter
		wholeCompletion([]byte(`{"usage":{`+tc.usage+`}}`), &m)
		if m.output != tc.want || m.input != 100 || !m.told {
			t.Errorf("%s: %+v, want %d", name, m.tokens, tc.want)
		}
	}
	var m meter
	wholeResponse([]byte(`{"usage":{"input_tokens":100,"output_tokens":50,"total_tokens":190,"output_tokens_details":{"reasoning_tokens":40}}}`), &m)
	if m.output != 90 {
		t.Errorf("of responses: %+v", m.tokens)
	}
}

func TestWhatIsWrittenForAnHourIsToldApart(t *testing.T) {
	const kept = `"cache_creation":{"ephemeral_5m_input_tokens":10,"ephemeral_1h_input_tokens":30}`
	for name, tc := range map[string]struct {
		events        []string
		written, hour int64
	}{
		"in one piece":         {nil, 40, 30},
		"in a stream":          {[]string{`{"type":"message_start","message":{"usage":{"input_tokens":5,"cache_creation_input_tokens":40,` + kept + `}}}`, `{"type":"message_delta","usage":{"output_tokens":3}}`}, 40, 30},
		"at its end":           {[]string{`{"type":"message_start","message":{"usage":{"input_tokens":5}}}`, `{"type":"message_delta","usage":{"output_tokens":3,"cache_creation_input_tokens":40,` + kept + `}}`}, 40, 30},
		"more than is written": {[]string{`{"type":"message_start","message":{"usage":{"input_tokens":5,"cache_creation_input_tokens":20,` + kept + `}}}`}, 20, 20},
		"nothing":              {[]string{`{"type":"message_start","message":{"usage":{"input_tokens":5,"cache_creation":null}}}`}, 0, 0},
	} {
		var m meter
		if tc.events == nil {
			wholeMessage([]byte(`{"usage":{"input_tokens":5,"output_tokens":3,"cache_creation_input_tokens":40,`+kept+`}}`), &m)
		}
		for _, e := range tc.events {
			messageEvent([]byte(e), &m)
		}
		if m.written != tc.written || m.hour != tc.hour || m.input != 5+tc.written {
			t.Errorf("%s: %+v", name, m.tokens)
		}
	}
}
