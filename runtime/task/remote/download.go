package remote

import (
	"context"
	"crypto/sha1" //nolint:gosec // the names that Git gives to small files
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// Bounds of a download.
const (
	maxFailures = 6                // in a row without a byte that is new
	longestWait = 10 * time.Minute // that a server may ask for
	silence     = time.Minute      // after which a connection is given up
)

// file is one file that is wanted.
type file struct {
	url   string
	part  string // where it is put while it is not whole
	token string
	size  int64  // -1 = not known
	sum   string // SHA-256 in hex, or with blob set the name that Git gives to the content; "" = not known
	blob  bool
	fixed bool   // the URL never gives anything else
	tag   string // ETag of what lies in part; kept up to date
	since string // ETag of what there is already: errUnchanged if it is that
	noted func() error
}

func newClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is documented to be one
	transport.DisableCompression = true                          // bytes are counted, and asked for by number
	transport.ResponseHeaderTimeout = silence
	return &http.Client{Transport: transport, CheckRedirect: func(q *http.Request, via []*http.Request) error {
		if len(via) >= 10 {
			return errors.New("it leads from one place to the next without an end")
		}
		if q.URL.Scheme != via[0].URL.Scheme || q.URL.Host != via[0].URL.Host {
			q.Header.Del("Authorization") // it is for that host alone
		}
		return nil
	}}
}

// again is a failure after which it is tried once more.
type again struct {
	error
	after time.Duration // that the server asks for
	anew  bool          // from the first byte
}

// Unwrap gives the cause.
func (a *again) Unwrap() error { return a.error }

// fill has the part be the whole file and checks it.
func (j *job) fill(ctx context.Context, f *file, room *room, got func(n int64)) error {
	wrong := false
	for failures := 0; ; {
		before := sizeOfFile(f.part)
		err := j.once(ctx, f, room, got)
		if err == nil {
			if err = f.check(); err == nil {
				return nil
			}
			if wrong {
				return err
			}
			wrong = true
			err = &again{error: err, anew: true}
		}
		retry, ok := errors.AsType[*again](err)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !ok {
			return err
		}
		if retry.anew {
			got(-sizeOfFile(f.part))
			if err := os.Remove(f.part); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		} else if sizeOfFile(f.part) > before {
			failures = 0
		}
		if failures++; failures > maxFailures {
			return fmt.Errorf("%w (tried %d times)", retry.error, failures)
		}
		if err := j.pause(ctx, max(retry.after, backOff(failures))); err != nil {
			return err
		}
	}
}

func sizeOfFile(name string) int64 {
	info, err := os.Stat(name)
	if err != nil {
		return 0
	}
	return info.Size()
}

// once asks for what is missing of a file and writes it.
func (j *job) once(ctx context.Context, f *file, room *room, got func(n int64)) error {
	offset := sizeOfFile(f.part)
	if f.size >= 0 && offset == f.size && (f.fixed || f.tag != "") && offset > 0 {
		return nil
	}
	header := http.Header{}
	switch {
	case offset > 0 && f.fixed:
		header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	case offset > 0 && strings.HasPrefix(f.tag, `"`): // only a strong one says that the bytes are the same
		header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
		header.Set("If-Range", f.tag)
	case f.since != "" && offset == 0:
		header.Set("If-None-Match", f.since)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answer, err := j.ask(ctx, f.url, f.token, header)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusNotModified:
		return errUnchanged
	case http.StatusOK:
		got(-offset)
		offset = 0
		f.tag = answer.Header.Get("ETag")
	case http.StatusPartialContent:
		if !strings.HasPrefix(answer.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", offset)) {
			return &again{error: errors.New("the server sends another part than it was asked for"), anew: true}
		}
	case http.StatusRequestedRangeNotSatisfiable:
		return &again{error: errors.New("the file has become shorter"), anew: true}
	}
	if f.noted != nil {
		if err := f.noted(); err != nil {
			return err
		}
	}
	body := &lively{answer.Body, time.AfterFunc(silence, func() { cancel(errSilent) })}
	err = f.write(offset, body, room, got)
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		err = &again{error: errSilent}
	}
	return err
}

var errSilent = errors.New("nothing comes any more")

// write appends what comes to the part from an offset on.
func (f *file) write(offset int64, body *lively, room *room, got func(n int64)) (err error) {
	defer body.timer.Stop()
	out, err := os.OpenFile(f.part, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if err := out.Truncate(offset); err != nil {
		return err
	}
	if _, err := out.Seek(offset, io.SeekStart); err != nil {
		return err
	}
	for b := make([]byte, 128<<10); ; {
		n, err := body.Read(b)
		if offset += int64(n); f.size >= 0 && offset > f.size {
			return fmt.Errorf("it is larger than the %d bytes that it should have", f.size)
		}
		if err := room.take(int64(n)); err != nil {
			return err
		}
		if _, err := out.Write(b[:n]); err != nil {
			return err
		}
		got(int64(n))
		switch {
		case errors.Is(err, io.EOF) && f.size >= 0 && offset < f.size:
			return &again{error: fmt.Errorf("it ended after %d of %d bytes", offset, f.size)}
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return &again{error: fmt.Errorf("the connection broke: %w", bare(err))}
		}
	}
}

// lively is a body whose timer begins anew whenever something comes.
type lively struct {
	io.Reader
	timer *time.Timer
}

func (l *lively) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	l.timer.Reset(silence)
	return n, err
}

// ask sends a request. An answer that is returned is one that can be used.
func (j *job) ask(ctx context.Context, raw, token string, header http.Header) (*http.Response, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, raw, nil)
	if err != nil {
		return nil, errors.New("that is no URL")
	}
	q.Header = header
	q.Header.Set("User-Agent", "assayd")
	q.Header.Set("Accept-Encoding", "identity")
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := j.client.Do(q)
	if err != nil {
		return nil, &again{error: fmt.Errorf("ask %s: %w", q.URL.Host, bare(err))}
	}
	code := answer.StatusCode
	if code == http.StatusOK || code == http.StatusPartialContent || code == http.StatusNotModified || code == http.StatusRequestedRangeNotSatisfiable {
		return answer, nil
	}
	defer answer.Body.Close()
	err = fmt.Errorf("%s answers %s", q.URL.Host, http.StatusText(code))
	switch {
	case code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code >= 500:
		return nil, &again{error: err, after: retryAfter(answer.Header, time.Now())}
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return nil, fmt.Errorf("%w: it needs a token that may read this", err)
	case code == http.StatusNotFound:
		return nil, fmt.Errorf("%w: there is no such thing, or it needs a token that may read it", err)
	}
	return nil, err
}

// retryAfter is how long a server asks for, in either of its forms.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	wait := time.Duration(0)
	if seconds, err := strconv.Atoi(text); err == nil {
		wait = time.Duration(min(max(seconds, 0), int(longestWait/time.Second))) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), longestWait)
}

// bare is an error without the URL, which may bear a signature or a password.
func bare(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// check compares the part with what is known of the file.
func (f *file) check() error {
	if f.size >= 0 && sizeOfFile(f.part) != f.size {
		return fmt.Errorf("it has %d bytes instead of %d", sizeOfFile(f.part), f.size)
	}
	if f.sum == "" {
		return nil
	}
	got, err := f.sumOf(f.part)
	if err == nil && got != f.sum {
		err = fmt.Errorf("its checksum is %s instead of %s", got, f.sum)
	}
	return err
}

// sumOf is the checksum of a file in the manner of f.
func (f *file) sumOf(name string) (sum string, err error) {
	in, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	h := sha256.New()
	if f.blob {
		info, err := in.Stat()
		if err != nil {
			return "", err
		}
		if h = sha1.New(); len(f.sum) == sha256.Size*2 { //nolint:gosec // see above
			h = sha256.New()
		}
		fmt.Fprintf(h, "blob %d\x00", info.Size())
	}
	if _, err := io.Copy(h, in); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// backOff doubles from one second.
func backOff(failures int) time.Duration { return time.Second << (failures - 1) }
