package gateway

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"
)

// Protocols of providers.
const (
	OpenAI    = "openai"    // chat completions and responses
	Anthropic = "anthropic" // messages
)

// Provider is a model API as the settings describe it. Zero limits are none.
type Provider struct {
	Name              string
	Protocol          string // OpenAI or Anthropic
	BaseURL           string // of OpenAI's with its version: "https://api.openai.com/v1"; of Anthropic's without
	Key               func() (string, error)
	Prices            map[string]Price // by model; names may hold the wildcards of path.Match
	RequestsPerMinute int
	TokensPerMinute   int
	Concurrency       int
	Proxy             string // "" = what the daemon's environment says
}

// provider is one that is in use, shared by all sessions.
type provider struct {
	Provider
	base   *url.URL
	client *http.Client
	line   *line
}

func newProvider(p Provider) (*provider, error) {
	base, err := url.Parse(strings.TrimSuffix(p.BaseURL, "/"))
	if err != nil {
		return nil, fmt.Errorf("provider %q: base_url: %w", p.Name, err)
	}
	if p.Protocol == Anthropic {
		base.Path = strings.TrimSuffix(base.Path, "/v1")
	}
	proxy := http.ProxyFromEnvironment
	if p.Proxy != "" {
		u, err := url.Parse(p.Proxy)
		if err != nil {
			return nil, fmt.Errorf("provider %q: proxy: %w", p.Name, err)
		}
		proxy = http.ProxyURL(u)
	}
	return &provider{
		Provider: p, base: base, line: newLine(p.Concurrency, p.RequestsPerMinute, p.TokensPerMinute),
		client: &http.Client{
			Transport: &http.Transport{
				Proxy: proxy, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second,
				TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: headerPatience,
				DisableCompression: true, // what passes through is counted
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // it would carry the key elsewhere
		},
	}, nil
}

// headerPatience is how long a provider may think before the first byte of an answer that is
// not streamed. Agents have shorter patience and hang up first.
const headerPatience = 30 * time.Minute

// price returns what a model costs: the entry of its own name, else the longest one with
// wildcards that matches.
func (p Provider) price(model string) (price Price, ok bool) {
	if price, ok = p.Prices[model]; ok {
		return price, true
	}
	best := ""
	for name, candidate := range p.Prices {
		if matched, err := path.Match(name, model); err == nil && matched && (best == "" || len(name) > len(best)) {
			best, price, ok = name, candidate, true
		}
	}
	return price, ok
}

// target is where a request to a path such as "/v1/messages" goes.
func (p *provider) target(endpoint, query string) string {
	u := *p.base
	if p.Protocol == OpenAI {
		endpoint = strings.TrimPrefix(endpoint, "/v1")
	}
	u.Path, u.RawQuery = u.Path+endpoint, query
	return u.String()
}

// sign puts the key into a request. Some that imitate Anthropic's protocol look for a bearer
// token; Anthropic itself takes one for something else.
func (p *provider) sign(h http.Header, key string) {
	if p.Protocol == Anthropic {
		h.Set("X-Api-Key", key)
		if strings.HasSuffix(p.base.Hostname(), "anthropic.com") {
			return
		}
	}
	h.Set("Authorization", "Bearer "+key)
}
