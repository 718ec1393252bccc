package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/assayd/assayd/reconcile"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/query/trialview"
)

// Client talks to the daemon of a state directory.
type Client struct {
	socket string
	http   *http.Client
	stop   func() // of the serving in this process; nil = a daemon serves
}

// NewClient returns a client of the daemon that listens on the socket; nothing is dialled
// yet.
func NewClient(socket string) *Client {
	return newClient(socket, func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	})
}

func newClient(socket string, dial func(ctx context.Context, network, address string) (net.Conn, error)) *Client {
	return &Client{socket: socket, http: &http.Client{Transport: &http.Transport{DialContext: dial}}}
}

// Via has all requests go through what wrap makes of the client's transport. Tests look at answers
// that way.
func (c *Client) Via(wrap func(http.RoundTripper) http.RoundTripper) *Client {
	c.http.Transport = wrap(c.http.Transport)
	return c
}

// Close ends idle connections.
func (c *Client) Close() {
	c.http.CloseIdleConnections()
	if c.stop != nil {
		c.stop()
	}
}

// Live reports whether a daemon is asked, rather than this process, for which nothing
// happens any more.
func (c *Client) Live() bool { return c.stop == nil }

// ErrNoDaemon says that nobody listens on the control socket.
var ErrNoDaemon = errors.New("no daemon is running")

// Version asks who is there.
func (c *Client) Version(ctx context.Context) (v Version, err error) {
	return v, c.call(ctx, http.MethodGet, "/v1/version", nil, &v)
}

// Status asks for the state of all runs, or of one.
func (c *Client) Status(ctx context.Context, address string) (s query.Status, err error) {
	return s, c.call(ctx, http.MethodGet, "/v1/status?address="+url.QueryEscape(address), nil, &s)
}

// StatusSince asks for the state of one run, with the trials that have changed after change n; 0 is
// all, as far as a status reaches.
func (c *Client) StatusSince(ctx context.Context, address string, n int64) (s query.Status, err error) {
	return s, c.call(ctx, http.MethodGet, fmt.Sprintf("/v1/status?address=%s&since=%d", url.QueryEscape(address), n), nil, &s)
}

// StatusLatest asks for the state of all runs, or of one, with so many trials that have changed last.
func (c *Client) StatusLatest(ctx context.Context, address string, trials int) (s query.Status, err error) {
	return s, c.call(ctx, http.MethodGet, fmt.Sprintf("/v1/status?address=%s&trials=%d", url.QueryEscape(address), trials), nil, &s)
}

// Trial asks for the state of one trial.
func (c *Client) Trial(ctx context.Context, id string) (t trialview.TrialStatus, err error) {
	return t, c.call(ctx, http.MethodGet, "/v1/trial?id="+url.QueryEscape(id), nil, &t)
}

// Rerun asks for a new execution of a run or of one trial's cell.
func (c *Client) Rerun(ctx context.Context, name string) (r Rerun, err error) {
	return r, c.call(ctx, http.MethodPost, "/v1/rerun?name="+url.QueryEscape(name), nil, &r)
}

// Retry asks for what is excluded from rates, of a run or a trial, to be tried again.
func (c *Client) Retry(ctx context.Context, name string) (r reconcile.Retried, err error) {
	return r, c.call(ctx, http.MethodPost, "/v1/retry?name="+url.QueryEscape(name), nil, &r)
}

// Submit hands spec files in.
func (c *Client) Submit(ctx context.Context, paths []string) (s Submitted, err error) {
	return s, c.call(ctx, http.MethodPost, "/v1/submit", Files{paths}, &s)
}

// Withdraw takes spec files back that were handed in.
func (c *Client) Withdraw(ctx context.Context, paths []string) error {
	return c.call(ctx, http.MethodPost, "/v1/withdraw", Files{paths}, &struct{}{})
}

// Plan asks what would be done about files.
func (c *Client) Plan(ctx context.Context, paths []string) (p Planned, err error) {
	return p, c.call(ctx, http.MethodPost, "/v1/plan", Files{paths}, &p)
}

// Output streams what the judge command wrote in a round of a trial; the caller closes it.
func (c *Client) Output(ctx context.Context, trial, round string) (io.ReadCloser, error) {
	return c.stream(ctx, fmt.Sprintf("/v1/output?trial=%s&round=%s", url.QueryEscape(trial), url.QueryEscape(round)))
}

// Results streams the records of a run as they are stored; the caller closes it.
func (c *Client) Results(ctx context.Context, address string, from int, follow bool) (io.ReadCloser, error) {
	return c.stream(ctx, fmt.Sprintf("/v1/results?address=%s&from=%d%s", url.QueryEscape(address), from, followed(follow)))
}

// Logs streams the agent log of a trial's try (0 = the last); the caller closes it.
func (c *Client) Logs(ctx context.Context, trial string, try int, follow bool) (io.ReadCloser, error) {
	return c.stream(ctx, fmt.Sprintf("/v1/logs?trial=%s&try=%d%s", url.QueryEscape(trial), try, followed(follow)))
}

func followed(follow bool) string {
	if follow {
		return "&follow=1"
	}
	return ""
}

func (c *Client) call(ctx context.Context, method, path string, body, into any) (err error) {
	var r io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		r = bytes.NewReader(text)
	}
	stream, err := c.do(ctx, method, path, r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	if err := json.NewDecoder(stream).Decode(into); err != nil {
		return fmt.Errorf("read the daemon's answer: %w", err)
	}
	return nil
}

func (c *Client) stream(ctx context.Context, path string) (io.ReadCloser, error) {
	return c.do(ctx, http.MethodGet, path, nil)
}

func (c *Client) do(ctx context.Context, method, path string, body io.Reader) (io.ReadCloser, error) {
	q, err := http.NewRequestWithContext(ctx, method, "http://assayd"+path, body)
	if err != nil {
		return nil, err
	}
	q.Header.Set("User-Agent", agent)
	a, err := c.http.Do(q)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) && op.Op == "dial" {
			return nil, fmt.Errorf("%w on %s: %w", ErrNoDaemon, c.socket, op.Err)
		}
		return nil, fmt.Errorf("ask the daemon on %s: %w", c.socket, err)
	}
	if a.StatusCode == http.StatusOK {
		return a.Body, nil
	}
	defer func() { _ = a.Body.Close() }()
	return nil, asError(a)
}
