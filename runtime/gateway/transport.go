package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/assayd/assayd/runtime/gateway/wire"
)

// Transport reaches the session from within the daemon, without a network: an HTTP client with
// it asks the session whatever host it names, at "http://gateway" + OpenAIPrefix + "/v1" and so
// on. An answer comes as a whole, streams too, and has at most 64 MiB. A request whose context
// ends is given up, and charged as that of an agent which hangs up.
func (s *Session) Transport() http.RoundTripper { return inProcess{s} }

type inProcess struct{ s *Session }

// RoundTrip implements http.RoundTripper.
func (t inProcess) RoundTrip(q *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(q.Context()))
	defer cancel(nil)
	defer context.AfterFunc(q.Context(), func() { cancel(stopped(q.Context())) })()
	to, r := &recorder{header: http.Header{}, from: q.Body}, q.WithContext(ctx)
	if q.Body == nil {
		to.from, r.Body, r.ContentLength = http.NoBody, http.NoBody, 0
	} else if q.ContentLength == 0 && q.Body != http.NoBody {
		r.ContentLength = -1 // clients say so where they do not know it, servers do not
	}
	defer func() { _ = to.from.Close() }()
	err := t.s.answer(to, r)
	if ended := q.Context().Err(); ended != nil {
		err = ended
	}
	if err != nil {
		return nil, fmt.Errorf("ask provider %s: %w", t.s.provider.Name, err)
	}
	return to.response(q), nil
}

// stopped is why a request in the process is cut. The daemon stops its own work at once: it does not
// read on, as it does where an agent hangs up.
func stopped(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return errStopped
}

var errStopped = errors.New("the daemon has stopped this request")

// answer serves one request as an HTTP server does, so that an answer which is broken off, or
// a fault of ours, ends this request alone.
func (s *Session) answer(to *recorder, r *http.Request) (err error) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler: //nolint:errorlint // it is this very value
			err = errors.Join(errCut, to.err)
		default:
			s.log.Error("a request to a model has failed in the gateway", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("the gateway failed: %v", p)
		}
	}()
	s.ServeHTTP(to, r)
	return nil
}

var errCut = errors.New("the answer broke off")

// recorder keeps an answer, within bounds.
type recorder struct {
	from   io.Closer // the request's body
	status int
	header http.Header
	sent   http.Header // as it was when the answer began
	body   bytes.Buffer
	err    error // why it takes no more
}

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status, w.sent = status, w.header.Clone()
	}
}

func (w *recorder) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.body.Len()+len(p) > wire.MaxBody {
		w.err = fmt.Errorf("it has more than %d bytes", wire.MaxBody)
		return 0, w.err
	}
	return w.body.Write(p)
}

// Flush implements http.Flusher: all that was written is there.
func (w *recorder) Flush() { w.WriteHeader(http.StatusOK) }

// SetReadDeadline is for http.ResponseController: a request that is given up is not read on.
func (w *recorder) SetReadDeadline(at time.Time) error {
	if at.IsZero() || time.Until(at) > 0 {
		return nil
	}
	return w.from.Close()
}

func (w *recorder) response(q *http.Request) *http.Response {
	w.WriteHeader(http.StatusOK)
	return &http.Response{
		Status: fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)), StatusCode: w.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: w.sent,
		Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: q,
	}
}
