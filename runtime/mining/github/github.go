package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/google/go-github/v92/github"
)

// requestTime bounds one request.
const requestTime = 30 * time.Second

// maxDescription is what GitHub takes, in characters.
const maxDescription = 140

// Client asks one installation of GitHub with one token after the other.
type Client struct {
	clients   []*github.Client
	transport *http.Transport
}

// New returns a client of the API at baseURL, https://api.github.com for instance, that
// tries the tokens in their order.
func New(baseURL string, tokens []string) (*Client, error) {
	base, err := url.Parse(baseURL)
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("%q is no address of an API", baseURL)
	}
	c := &Client{transport: http.DefaultTransport.(*http.Transport).Clone()}
	for _, token := range tokens {
		one, err := github.NewClient(github.WithURLs(&baseURL, &baseURL), github.WithTimeout(requestTime),
			github.WithTransport(bearer{c.transport, base.Host, token}))
		if err != nil {
			return nil, fmt.Errorf("make a client of %s: %w", baseURL, err)
		}
		c.clients = append(c.clients, one)
	}
	return c, nil
}

// bearer shows a token to one host, and to none that this one redirects to.
type bearer struct {
	transport   *http.Transport
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
func (c *Client) Close() { c.transport.CloseIdleConnections() }
