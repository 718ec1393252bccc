package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/go-github/v92/github"
	"golang.org/x/sync/singleflight"
)

// requestTime bounds one request.
const requestTime = 30 * time.Second

// maxDescription is what GitHub takes, in characters.
const maxDescription = 140

// Public is the API of github.com.
const Public = "https://api.github.com"

// Options say which GitHub is asked, and as whom.
type Options struct {
	// BaseURL is the API: "" = Public; that of an Enterprise server ends in /api/v3.
	BaseURL string
	// Tokens are asked with in turn, each within its limits. Without one there is REST only,
	// 60 requests an hour.
	Tokens []string
	// Client gives its Transport; nil = one of our own.
	Client *http.Client
	Log    *slog.Logger // nil = nothing is logged
	// Asked is told of each request: which limit it counts for (core, search, graphql), and what came of
	// it (answer, limit, none). Nil tells nobody.
	Asked func(resource, outcome string)
}

// Client asks one installation of GitHub, with several tokens. It may be used at once.
type Client struct {
	clients []*github.Client // one a token, for what a token may or may not do

	rest     *github.Client // with whichever token has something left
	api      *api
	graphURL string
	site     string // host of the web site
	tokens   bool
	noGraph  atomic.Bool // this installation has none that understands us
	log      *slog.Logger
	asking   singleflight.Group // for what many pull requests have in common

	own *http.Transport // nil if it is another's
}

// New returns a client of the API at baseURL, https://api.github.com for instance, that
// tries the tokens in their order.
func New(baseURL string, tokens []string) (*Client, error) {
	if baseURL == "" {
		return nil, errors.New(`"" is no address of an API`)
	}
	return Open(Options{BaseURL: baseURL, Tokens: tokens})
}

// Open returns a client.
func Open(o Options) (*Client, error) {
	address := strings.TrimSuffix(cmp.Or(o.BaseURL, Public), "/") + "/"
	base, err := url.Parse(address)
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return nil, fmt.Errorf("%q is no address of an API", o.BaseURL)
	}
	c := &Client{tokens: len(o.Tokens) > 0, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler))}
	var transport http.RoundTripper
	if o.Client != nil && o.Client.Transport != nil {
		transport = o.Client.Transport
	} else {
		c.own = http.DefaultTransport.(*http.Transport).Clone()
		transport = c.own
	}
	for _, token := range o.Tokens {
		one, err := github.NewClient(github.WithURLs(&address, &address), github.WithTimeout(requestTime),
			github.WithTransport(bearer{transport, base.Host, token}))
		if err != nil {
			return nil, fmt.Errorf("make a client of %s: %w", address, err)
		}
		c.clients = append(c.clients, one)
	}
	c.api = &api{host: base.Host, transport: transport, purse: newPurse(o.Tokens, c.log), log: c.log, asked: o.Asked}
	if c.api.asked == nil {
		c.api.asked = func(string, string) {}
	}
	c.rest, err = github.NewClient(github.WithURLs(&address, &address), github.WithTransport(c.api),
		github.WithDisableRateLimitCheck(), github.WithUserAgent("assayd"))
	if err != nil {
		return nil, fmt.Errorf("make a client of %s: %w", address, err)
	}
	c.graphURL = strings.TrimSuffix(strings.TrimSuffix(address, "/"), "/v3") + "/graphql"
	c.site = strings.TrimPrefix(base.Host, "api.")
	return c, nil
}

func (c *Client) store(keep Keep) store { return store{keep, c.api.host} }

// bearer shows a token to one host, and to none that this one redirects to.
type bearer struct {
	transport   http.RoundTripper
	host, token string
}

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(q *http.Request) (*http.Response, error) {
	if q.URL.Host == b.host {
		q = q.Clone(q.Context())
		q.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.transport.RoundTrip(q)
}

// Status says what became of a commit.
type Status struct {
	Context     string // who says so
	OK          bool
	Description string // cut to what GitHub takes
}

// SetStatus shows a status at a commit of the repository "owner/name". A token that may not
// do so is followed by the next.
func (c *Client) SetStatus(ctx context.Context, owner, name, commit string, s Status) error {
	state := "failure"
	if s.OK {
		state = "success"
	}
	description := []rune(s.Description)
	if len(description) > maxDescription {
		description = append(description[:maxDescription-1], '…')
	}
	text := string(description)
	status := github.RepoStatus{State: &state, Context: &s.Context, Description: &text}
	err := errors.New("there is no token")
	for _, client := range c.clients {
		var answer *github.Response
		if _, answer, err = client.Repositories.CreateStatus(ctx, owner, name, commit, status); err == nil {
			return nil
		}
		if answer == nil || answer.StatusCode != http.StatusUnauthorized && answer.StatusCode != http.StatusForbidden && answer.StatusCode != http.StatusNotFound {
			break
		}
	}
	return fmt.Errorf("set the status of %s/%s at %.12s: %w", owner, name, commit, err)
}

// Close ends idle connections.
func (c *Client) Close() {
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
}
