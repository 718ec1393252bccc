package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/assayd/assayd/runtime/waiting"
)

const (
	// silence is how long a server may send nothing.
	silence = time.Minute
	// patience is how long a server may refuse, or break off at the same place.
	patience = 10 * time.Minute
	// maxAfter bounds how long a server may want not to be asked.
	maxAfter = 24 * time.Hour
	// maxRequests bounds the requests for one file.
	maxRequests = 200
)

var (
	errSilent = fmt.Errorf("the server sent nothing for %v", silence)
	// errOther ends a pass over a file that cannot be taken up where it broke off. The next
	// read is from the beginning.
	errOther = errors.New("the file broke off, and the server does not have the same one's rest")
)

// Refused is the error of an hour that the server does not give: some answer so for what they do
// not have.
type Refused struct{ Err error }

// Error says what the server answers.
func (r *Refused) Error() string { return r.Err.Error() }

// Unwrap returns what the server answers.
func (r *Refused) Unwrap() error { return r.Err }

// Busy is the error of a server that did not give an hour for longer than one waits.
type Busy struct {
	After time.Duration // that it wants to have passed before it is asked again; 0 = it does not say
	Err   error
}

// Error says what was the matter.
func (b *Busy) Error() string {
	return fmt.Sprintf("%v; one does not wait for longer than %v", b.Err, patience)
}

// Unwrap returns what was the matter.
func (b *Busy) Unwrap() error { return b.Err }

// trouble is an error that may pass.
type trouble struct {
	err   error
	after time.Duration // that the server wants to have passed before it is asked again
}

func (t *trouble) Error() string { return t.err.Error() }

// download reads a file of a server, in as many requests as it takes. It is for one user.
type download struct {
	ctx      context.Context
	archive  *Archive
	url      string
	request  context.Context // of the request that is open
	body     io.ReadCloser   // nil = none is open
	cancel   context.CancelCauseFunc
	silent   *time.Timer // cancels the request
	offset   int64       // of the next byte
	size     int64       // of the file; -1 = unknown
	mark     string      // that is another when the file is; "" = it has none
	requests int
	pauses   backoff.ExponentialBackOff
	since    time.Time // of the first trouble that no byte came after; zero = none
}

func newDownload(ctx context.Context, a *Archive, url string) *download {
	return &download{
		ctx: ctx, archive: a, url: url, size: -1,
		pauses: backoff.ExponentialBackOff{
			InitialInterval: time.Second, MaxInterval: time.Minute, Multiplier: 2, RandomizationFactor: 0.3,
		},
	}
}

// Read implements io.Reader.
func (d *download) Read(p []byte) (int, error) {
	for {
		n, err := d.once(p)
		if n > 0 {
			d.offset += int64(n)
			d.since = time.Time{}
			d.pauses.Reset()
			waiting.Because(d.ctx, nil)
			return n, nil // the next read comes to the error, if it stays
		}
		if t, ok := errors.AsType[*trouble](err); ok {
			err = d.pause(t)
		}
		if err != nil {
			return 0, err
		}
	}
}

// once reads from the request that is open, or from a new one.
func (d *download) once(p []byte) (int, error) {
	if d.body == nil {
		if err := d.open(); err != nil {
			return 0, err
		}
	}
	d.silent.Reset(silence)
	n, err := d.body.Read(p)
	d.silent.Stop() // who takes what was read may be slow
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, io.EOF) && (d.size < 0 || d.offset+int64(n) >= d.size):
		return n, io.EOF
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF // a part of it that is less than was asked for
	}
	err = d.explained(err)
	d.close()
	return n, err
}

// open asks for the file from the offset on.
func (d *download) open() error {
	if d.offset > 0 && d.mark == "" {
		d.offset = 0
		return errOther
	}
	if d.requests++; d.requests > maxRequests {
		return fmt.Errorf("it broke off %d times", maxRequests)
	}
	ctx, cancel := context.WithCancelCause(d.ctx)
	d.request, d.cancel = ctx, cancel
	d.silent = time.AfterFunc(silence, func() { cancel(errSilent) })
	res, err := d.ask()
	d.silent.Stop()
	if err != nil {
		err = d.explained(err)
		cancel(nil)
		return err
	}
	d.body = res.Body
	usable, err := d.taken(res)
	if !usable {
		d.close()
	}
	return err
}

func (d *download) ask() (*http.Response, error) {
	q, err := http.NewRequestWithContext(d.request, http.MethodGet, d.url, http.NoBody)
	if err != nil {
		return nil, err
	}
	q.Header.Set("User-Agent", "assayd")
	q.Header.Set("Accept-Encoding", "identity") // else the client unpacks what some servers mark as packed
	if d.offset > 0 {
		q.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.offset))
		q.Header.Set("If-Range", d.mark)
	}
	return d.archive.client.Do(q)
}

// taken says whether the answer's body is to be read, and what is wrong with the answer.
func (d *download) taken(res *http.Response) (usable bool, err error) {
	switch code := res.StatusCode; {
	case code == http.StatusOK && strings.HasPrefix(res.Header.Get("Content-Type"), "text/html"):
		return false, &trouble{err: errors.New("the server answers with a page instead of a file")}
	case code == http.StatusOK:
		if d.offset > 0 { // the file is another one now, or the server knows no ranges
			err = errOther
		}
		d.offset, d.size, d.mark = 0, res.ContentLength, markOf(res)
		return true, err
	case code == http.StatusPartialContent && d.goesOn(res):
		return true, nil
	case code == http.StatusPartialContent, code == http.StatusRequestedRangeNotSatisfiable:
		d.offset = 0
		return false, errOther
	case code == http.StatusNotFound, code == http.StatusGone:
		return false, ErrMissing
	case code == http.StatusRequestTimeout, code == http.StatusTooManyRequests, code >= 500, res.Header.Get("Retry-After") != "":
		return false, &trouble{err: answers(res), after: retryAfter(res)}
	default:
		return false, &Refused{answers(res)}
	}
}

func answers(res *http.Response) error { return fmt.Errorf("the server answers %q", res.Status) }

// markOf is what tells a file from a later one of the same name: a strong tag, or its date.
func markOf(res *http.Response) string {
	if tag := res.Header.Get("ETag"); tag != "" && !strings.HasPrefix(tag, "W/") {
		return tag
	}
	return res.Header.Get("Last-Modified")
}

// goesOn tells whether an answer is the rest of the file.
func (d *download) goesOn(res *http.Response) bool {
	_, size, _ := strings.Cut(res.Header.Get("Content-Range"), "/")
	return d.offset > 0 && strings.HasPrefix(res.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", d.offset)) &&
		(d.size < 0 || size == "*" || size == strconv.FormatInt(d.size, 10)) && (markOf(res) == "" || markOf(res) == d.mark)
}

// retryAfter is how long a server wants not to be asked, a day at most, 0 if it does not say.
func retryAfter(res *http.Response) time.Duration {
	text := res.Header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil {
		return time.Duration(min(max(seconds, 0), int(maxAfter.Seconds()))) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(time.Until(at), 0), maxAfter)
	}
	return 0
}

// explained says what is behind an error of a request.
func (d *download) explained(err error) error {
	if d.ctx.Err() != nil {
		return context.Cause(d.ctx)
	}
	if errors.Is(context.Cause(d.request), errSilent) {
		err = errSilent
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // the file is named already
	}
	return &trouble{err: err}
}

// pause waits until the server may be asked again. It is an error where that takes too long.
func (d *download) pause(t *trouble) error {
	if d.since.IsZero() {
		d.since = time.Now()
	}
	wait := max(d.pauses.NextBackOff(), t.after)
	if time.Since(d.since)+wait > patience {
		return &Busy{After: t.after, Err: t.err}
	}
	waiting.Because(d.ctx, fmt.Errorf("read %s: %w", path.Base(d.url), t.err))
	d.archive.log.Debug("a file of the archive is asked for again", "url", d.url, "pause", wait, "error", t.err)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-d.ctx.Done():
		return context.Cause(d.ctx)
	}
}

// close ends the request that is open.
func (d *download) close() {
	if d.body == nil {
		return
	}
	d.silent.Stop()
	_ = d.body.Close() // only read
	d.cancel(nil)
	d.body = nil
}
