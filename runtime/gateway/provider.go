package gateway

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/gateway/wire"
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
	// Transport sends the requests; nil = over the network.
	Transport http.RoundTripper
}

// provider is one that is in use, shared by all sessions.
type provider struct {
	Provider
	base   *url.URL
	client *http.Client
	line   *line
	// tellsCost is set where answers tell what they cost, if that is asked for.
	tellsCost bool
	list      list
}

func newProvider(p Provider) (*provider, error) {
	base, err := url.Parse(strings.TrimSuffix(p.BaseURL, "/"))
	if err != nil {
		return nil, fmt.Errorf("provider %q: base_url: %w", p.Name, err)
	}
	if p.Protocol == wire.Anthropic {
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
	for name := range p.Prices {
		if _, err := path.Match(name, ""); err != nil {
			return nil, fmt.Errorf("provider %q: prices of %q: %w", p.Name, name, err)
		}
	}
	transport := p.Transport
	if transport == nil {
		transport = transportOf(proxy)
	}
	return &provider{
		Provider: p, base: base, list: list{place: make(chan struct{}, 1)}, line: newLine(p.Concurrency, p.RequestsPerMinute, p.TokensPerMinute),
		client: &http.Client{
			Transport: transport,
			// It would carry the key elsewhere.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		tellsCost: p.Protocol == wire.OpenAI && (base.Hostname() == "openrouter.ai" || strings.HasSuffix(base.Hostname(), ".openrouter.ai")),
	}, nil
}

// patience is how long a provider may think before the first byte of an answer that is not
// streamed, or between two events. Agents have shorter patience and hang up first.
const patience = 30 * time.Minute

// transportOf is how providers are reached. One that is not there is found out soon, also
// where a connection is open to it: the request is to be tried again.
func transportOf(proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	dialer := net.Dialer{Timeout: 10 * time.Second}
	return &http.Transport{
		Proxy: proxy, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
		MaxIdleConnsPerHost: 256, IdleConnTimeout: 90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: patience,
		DisableCompression: true, // what passes through is counted
	}
}

// price returns what a model costs: the entry of its own name, else the longest one with
// wildcards that matches, and of those of one length the first by the alphabet.
func (p Provider) price(model string) (price Price, ok bool) {
	if price, ok = p.Prices[model]; ok {
		return price, true
	}
	best := ""
	for name, candidate := range p.Prices {
		if matched, _ := path.Match(name, model); !matched { // its form was looked at before
			continue
		}
		if !ok || len(name) > len(best) || len(name) == len(best) && name < best {
			best, price, ok = name, candidate, true
		}
	}
	return price, ok
}

// dearest is at least what any model costs that has a price, in each part of it.
func (p Provider) dearest() (most Price, ok bool) {
	for _, price := range p.Prices {
		most = Price{
			Input: max(most.Input, price.Input), Output: max(most.Output, price.Output), Cached: max(most.Cached, price.Cached),
			CacheWrite: max(most.CacheWrite, price.CacheWrite), CacheWrite1h: max(most.CacheWrite1h, price.CacheWrite1h),
		}
	}
	return most, len(p.Prices) > 0
}

// target is where a request to a path such as "/v1/messages" goes.
func (p *provider) target(endpoint, query string) string {
	u := *p.base
	if p.Protocol == wire.OpenAI {
		endpoint = strings.TrimPrefix(endpoint, "/v1")
	}
	u.Path, u.RawQuery = u.Path+endpoint, query
	return u.String()
}

// sign puts the key into a request. Some that imitate Anthropic's protocol look for a bearer
// token; Anthropic itself takes one for something else.
func (p *provider) sign(h http.Header, key string) {
	if key == "" {
		return
	}
	if p.Protocol == wire.Anthropic {
		h.Set("X-Api-Key", key)
		if strings.HasSuffix(p.base.Hostname(), "anthropic.com") {
			return
		}
	}
	h.Set("Authorization", "Bearer "+key)
}
