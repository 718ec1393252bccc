package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/clock"
)

const (
	// judgePatience is how long the judge may be away before a client gives up.
	judgePatience = 10 * time.Minute
	// pollHold is how long the judge is asked to wait for a verdict; a poll that comes back
	// at once is repeated after pollPause.
	pollHold  = 30 * time.Second
	pollPause = 2 * time.Second
	// maxReply bounds an answer of the judge, in bytes.
	maxReply = 64 << 20
)

// judgeClient speaks the judge's HTTP API for one trial.
type judgeClient struct {
	base  string // http://host:port
	token string
	http  *http.Client

	now  func() time.Time
	wait func(context.Context, time.Duration) error
	note func(format string, args ...any) // tells the agent why it takes long
}

// newJudgeClient uses no proxy: the judge is in the container.
func newJudgeClient(base, token string, note func(string, ...any)) *judgeClient {
	return &judgeClient{
		base: strings.TrimSuffix(base, "/"), token: token, now: time.Now, wait: clock.Sleep, note: note,
		http: &http.Client{Transport: &http.Transport{
			ExpectContinueTimeout: time.Second,
			ResponseHeaderTimeout: 2 * time.Minute,
		}},
	}
}

// refused is an answer that repeating would not change.
type refused struct {
	code   int
	detail string
}

func (r *refused) Error() string {
	if r.detail == "" {
		return fmt.Sprintf("the judge answered HTTP %d", r.code)
	}
	return fmt.Sprintf("the judge answered HTTP %d: %s", r.code, r.detail)
}

// accepted is the answer to a submission.
type accepted struct {
	SubmissionID string `json:"submission_id"`
	RoundID      string `json:"round_id"`
	Status       string `json:"status"`
	Remaining    *int   `json:"remaining_submissions"`
}

// submit sends the archive. The key makes all attempts one submission, so an answer that
// is lost costs no round.
func (c *judgeClient) submit(ctx context.Context, a archive, key string) (acc accepted, err error) {
	err = c.persist(ctx, func() error {
		return c.send(ctx, a, key, &acc)
	})
	if err == nil && acc.SubmissionID == "" {
		err = errors.New("the judge's answer has no submission id")
	}
	return acc, err
}

// send streams the archive as it is made; nothing is written to the agent's disk.
func (c *judgeClient) send(ctx context.Context, a archive, key string, answer any) error {
	body, pipe := io.Pipe()
	form := multipart.NewWriter(pipe)
	made := make(chan error, 1)
	go func() {
		err := writeForm(form, c.token, a)
		pipe.CloseWithError(err)
		made <- err
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/api/v1/submit", body)
	if err == nil {
		req.Header.Set("Content-Type", form.FormDataContentType())
		req.Header.Set("Idempotency-Key", key)
		req.Header.Set("Expect", "100-continue") // a judge that refuses need not be sent it all
		err = c.do(req, answer)
	}
	_ = body.Close()
	if errMade := <-made; err != nil && errMade != nil && !errors.Is(errMade, io.ErrClosedPipe) {
		return fmt.Errorf("make the archive: %w", errMade) // and not the judge's fault
	}
	return err
}

func writeForm(form *multipart.Writer, token string, a archive) error {
	if err := errors.Join(form.WriteField("token", token), form.WriteField("kind", "agent")); err != nil {
		return err
	}
	part, err := form.CreateFormFile("archive", "submission.tar.gz")
	if err != nil {
		return err
	}
	if err := a.writeTo(part); err != nil {
		return err
	}
	return form.Close()
}

// result waits until the submission has its verdict.
func (c *judgeClient) result(ctx context.Context, id string) (v verdict, err error) {
	path := "/api/v1/result/" + url.PathEscape(id) + "?wait=" + pollHold.String()
	for {
		asked := c.now()
		v = verdict{}
		if err := c.persist(ctx, func() error { return c.get(ctx, path, &v) }); err != nil {
			return v, err
		}
		switch v.Status {
		case "completed", "error":
			return v, nil
		case "queued", "running":
		default:
			return v, fmt.Errorf("the judge's answer has the unknown status %q", v.Status)
		}
		if c.now().Sub(asked) < pollPause {
			if err := c.wait(ctx, pollPause); err != nil {
				return v, err
			}
		}
	}
}

// history lists the trial's submissions. The token is also in the query, where older
// judges look for it.
func (c *judgeClient) history(ctx context.Context) (h history, err error) {
	return h, c.get(ctx, "/api/v1/history?token="+url.QueryEscape(c.token), &h)
}

func (c *judgeClient) get(ctx context.Context, path string, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, 2*pollHold)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return err
	}
	return c.do(req, answer)
}

// away is a failure that may pass.
type away struct {
	cause error
	after time.Duration // the judge's own wish; 0 = none
}

func (a *away) Error() string { return a.cause.Error() }

func (a *away) Unwrap() error { return a.cause }

func (c *judgeClient) do(req *http.Request, answer any) error {
	req.Header.Set("Authorization", "Bearer "+c.token)
	res, err := c.http.Do(req)
	if err != nil {
		return &away{cause: withoutQuery(err)}
	}
	defer res.Body.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(res.Body, maxReply))
	if err != nil {
		return &away{cause: err}
	}
	switch res.StatusCode {
	case http.StatusOK, http.StatusCreated, http.StatusAccepted:
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return &away{cause: &refused{res.StatusCode, detail(text)}, after: retryAfter(res.Header)}
	default:
		return &refused{res.StatusCode, detail(text)}
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("the judge's answer cannot be read: %w", err)
	}
	return nil
}

// withoutQuery takes the address, which may hold the token, out of an error.
func withoutQuery(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		return u.Err
	}
	return err
}

// retryAfter reads the header as seconds or as a date; 0 = neither.
func retryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	if n, err := strconv.Atoi(value); err == nil && n > 0 {
		return time.Duration(min(n, 3600)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// detail takes the message out of an error's body: JSON with detail or error, or a text.
func detail(body []byte) string {
	var message struct {
		Detail any `json:"detail"`
		Error  any `json:"error"`
	}
	if json.Unmarshal(body, &message) == nil {
		for _, m := range []any{message.Detail, message.Error} {
			switch m := m.(type) {
			case nil:
			case string:
				return m
			default:
				text, err := json.Marshal(m)
				if err == nil {
					return string(text)
				}
			}
		}
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(body[:min(len(body), 1000)]), ""))
}

// persist repeats try while the judge is away, for judgePatience at most.
func (c *judgeClient) persist(ctx context.Context, try func() error) error {
	began, wait, noted := c.now(), 500*time.Millisecond, false
	for {
		err := try()
		gone := (*away)(nil)
		if err == nil || !errors.As(err, &gone) || ctx.Err() != nil {
			return err
		}
		next := max(wait, gone.after)
		if c.now().Add(next).Sub(began) > judgePatience {
			return fmt.Errorf("the judge could not be reached for %s: %w", judgePatience, err)
		}
		if !noted {
			c.note("The judge cannot be reached (%v). This is tried again for up to %s.", err, judgePatience)
			noted = true
		}
		if err := c.wait(ctx, next); err != nil {
			return err
		}
		wait = min(2*wait, 10*time.Second)
	}
}
