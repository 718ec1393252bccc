package gateway

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/assayd/assayd/runtime/gateway/wire"
)

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
		tokens wire.Tokens
		price  Price
		priced bool
		want   float64
	}{
		"each part has its price":           {wire.Tokens{Input: 1_000_000, Cached: 500_000, Written: 100_000, Output: 10_000}, price, true, 1.2 + 0.15 + 0.375 + 0.15},
		"what is kept for an hour has its":  {wire.Tokens{Input: 1_000_000, Written: 500_000, Hour: 400_000}, price, true, 1.5 + 0.375 + 2.4},
		"a price goes before what is told":  {wire.Tokens{Input: 1_000_000, Reported: &cost}, price, true, 3},
		"else what is told counts":          {wire.Tokens{Input: 1_000_000, Reported: &cost}, Price{}, false, 0.5},
		"what nobody tells costs nothing":   {wire.Tokens{Input: 1_000_000}, Price{}, false, 0},
		"more from a cache than there was ": {wire.Tokens{Input: 10, Cached: 1_000_000}, price, true, 0.3},
	} {
		if got := usageOf(tc.tokens, tc.price, tc.priced).CostUSD; got < tc.want-1e-9 || got > tc.want+1e-9 {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// Whatever a provider may say of its tokens has a price that can be charged.
func TestAnyTokensHaveAPrice(t *testing.T) {
	price := Price{Input: 3, Output: 15, Cached: 0.3, CacheWrite: 3.75, CacheWrite1h: 6}
	rapid.Check(t, func(r *rapid.T) {
		n := func(name string, most int64) int64 { return rapid.Int64Range(0, most).Draw(r, name) }
		var told wire.Tokens
		told.Input = n("input", 300e6)
		told.Cached = n("cached", told.Input)
		told.Written = n("written", told.Input-told.Cached)
		told.Hour = n("hour", told.Written)
		told.Output = n("output", 300e6)
		told.Estimated = n("estimated", told.Input+told.Output)
		u := usageOf(told, price, true)
		if !(u.CostUSD >= 0 && u.CostUSD <= wire.MaxCost) {
			r.Errorf("%+v costs %v USD", told, u.CostUSD)
		}
		if u.InputTokens != told.Input || u.OutputTokens != told.Output || u.CachedTokens != told.Cached || u.EstimatedTokens != told.Estimated {
			r.Errorf("%+v are %+v", told, u)
		}
	})
}

// A request to an address of any form goes where the provider has it.
func TestTarget(t *testing.T) {
	for _, tc := range []struct{ protocol, base, path, query, want string }{
		{wire.OpenAI, "https://api.openai.com/v1", "/v1/responses", "", "https://api.openai.com/v1/responses"},
		{wire.OpenAI, "https://openrouter.ai/api/v1/", "/v1/chat/completions", "", "https://openrouter.ai/api/v1/chat/completions"},
		{wire.Anthropic, "https://api.anthropic.com", "/v1/messages", "beta=true", "https://api.anthropic.com/v1/messages?beta=true"},
		{wire.Anthropic, "https://proxy/anthropic/v1/", "/v1/messages", "", "https://proxy/anthropic/v1/messages"},
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
