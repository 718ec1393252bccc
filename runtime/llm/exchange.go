package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/assayd/assayd/runtime/truncate"
)

// Bounds of a wait.
const (
	requestTime = 20 * time.Minute // a model may think long
	maxRetry    = 24 * time.Hour   // that a provider may ask for
)

// exchange is one request and what comes of it. It stands between the client library and
// the transport: it holds the answer's size and time, and keeps what the library drops.
type exchange struct {
	transport http.RoundTripper
	asked     bool
	failed    error // nothing came, or not all
	status    int
	retry     time.Duration
	body      []byte
}

// Do implements openai.HTTPDoer. The body is all there when it returns.
func (x *exchange) Do(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeoutCause(request.Context(), requestTime, fmt.Errorf("it took longer than %s", requestTime))
	defer cancel()
	x.asked = true
	client := http.Client{
		Transport: x.transport,
		// A redirected request would show the conversation to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request.WithContext(ctx))
	if err != nil {
		x.failed = cause(ctx, err)
		return nil, err
	}
	defer response.Body.Close()
	x.status, x.retry = response.StatusCode, retryAfter(response.Header, time.Now())
	x.body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err == nil && len(x.body) > maxAnswer {
		err = fmt.Errorf("the answer has more than %d bytes", maxAnswer)
	}
	if err != nil {
		x.failed = cause(ctx, err)
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(x.body))
	return response, nil
}

// cause is why a request failed: what took too long is no end of the caller's context.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// retryAfter is how long a provider asks to wait.
func retryAfter(header http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(header.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(seconds) {
		return time.Duration(max(0, min(seconds, maxRetry.Seconds())) * float64(time.Second))
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if said, err := http.ParseTime(header.Get("Date")); err == nil {
		now = said // by the same clock
	}
	return min(max(at.Sub(now), 0), maxRetry)
}

// problem is what became of an exchange that ended with err, nil if there is an answer to
// be read.
func (x *exchange) problem(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil && err != nil:
		return context.Cause(ctx)
	case x.failed != nil:
		return &Unavailable{Status: x.status, RetryAfter: x.retry, Err: x.failed}
	case !x.asked && err != nil: // the library has its own opinion of some models
		return &Refused{Text: truncate.Marked(err.Error(), maxWords, "…")}
	case x.status < 200 || x.status > 299:
		return x.refusal(x.status, x.said(err))
	}
	if said := x.hidden(); said != nil {
		return x.refusal(said.status, *said)
	}
	switch {
	case err == nil:
		return nil
	case json.Valid(x.body):
		return &Malformed{Why: "the provider's answer is no chat completion: " + truncate.Marked(err.Error(), maxWords, "…")}
	}
	return &Unavailable{Status: x.status, RetryAfter: x.retry, Text: "its answer is no JSON: " + quote(x.body)}
}

// complaint is what a provider says of an error.
type complaint struct {
	status           int
	code, kind, text string
}

// said reads the complaint of an answer whose status tells of an error.
func (x *exchange) said(err error) complaint {
	if e, ok := errors.AsType[*openai.APIError](err); ok && e.Message != "" {
		code := ""
		if e.Code != nil {
			code = fmt.Sprint(e.Code)
		}
		return complaint{code: code, kind: e.Type, text: e.Message}
	}
	return complaint{text: quote(x.body)}
}

// hidden is a complaint in an answer whose status says that all is well, as OpenRouter has
// it.
func (x *exchange) hidden() *complaint {
	type trouble struct {
		Code    json.RawMessage `json:"code"`
		Type    string          `json:"type"`
		Message string          `json:"message"`
	}
	var body struct {
		Error   json.RawMessage `json:"error"`
		Choices []struct {
			Error json.RawMessage `json:"error"`
		} `json:"choices"`
	}
	if json.Unmarshal(x.body, &body) != nil {
		return nil
	}
	raw := body.Error
	if empty(raw) && len(body.Choices) > 0 {
		raw = body.Choices[0].Error
	}
	if empty(raw) {
		return nil
	}
	var e trouble
	if json.Unmarshal(raw, &e) != nil {
		e.Message = quote(raw)
	}
	code := strings.Trim(string(e.Code), `"`)
	status, err := strconv.Atoi(code)
	if err != nil || status < 400 || status > 599 {
		status = http.StatusBadGateway // it does not say
	}
	return &complaint{status: status, code: code, kind: e.Type, text: e.Message}
}

func empty(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// refusal is the error of a status.
func (x *exchange) refusal(status int, c complaint) error {
	text := truncate.Marked(strings.ToValidUTF8(c.text, "?"), maxWords, "…")
	switch {
	case status == http.StatusPaymentRequired,
		status == http.StatusTooManyRequests && (c.code == "insufficient_quota" || c.kind == "insufficient_quota"):
		return fmt.Errorf("%w: %s", ErrBudget, text)
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly,
		status == http.StatusTooManyRequests, status >= 500:
		return &Unavailable{Status: status, RetryAfter: x.retry, Text: text}
	}
	return &Refused{Status: status, Code: truncate.Marked(c.code, maxID, "…"), Text: text}
}

// quote is the beginning of what somebody answered, in one line.
func quote(text []byte) string {
	words := strings.Fields(strings.ToValidUTF8(string(text[:min(len(text), maxWords)]), "?"))
	return truncate.Marked(strings.Join(words, " "), maxWords/4, "…")
}
