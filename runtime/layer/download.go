package layer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
)

const (
	// maxFailures is how many in a row are borne, without a new byte between them: with the
	// waits, that is about a minute. Of a longer outage the caller is told, by Passing.
	maxFailures    = 6
	longestBackOff = 30 * time.Second
	largestArchive = 1 << 30 // bytes
)

// passing is a failure that may pass, so that it is tried again.
type passing struct {
	error
	after time.Duration // that the server asks for; 0 = it does not
}

// Unwrap gives the cause.
func (p *passing) Unwrap() error { return p.error }

// Passing reports whether an error says that a registry of packages cannot be reached, or has
// too much to do. It was asked for about a minute by then; to ask again later may help.
func Passing(err error) bool {
	_, ok := errors.AsType[*passing](err)
	return ok
}

// patience is a back-off that comes to an end.
type patience struct {
	backoff.ExponentialBackOff
	left int
}

// NextBackOff implements backoff.BackOff.
func (p *patience) NextBackOff() time.Duration {
	if p.left--; p.left < 0 {
		return backoff.Stop
	}
	return p.ExponentialBackOff.NextBackOff()
}

// persist does something until it succeeds, or fails for a reason that does not pass, or has
// failed too often in a row. advanced says that there is something of it now that was not before.
func (r *registry) persist(ctx context.Context, once func() (advanced bool, err error)) error {
	p := &patience{left: maxFailures, ExponentialBackOff: backoff.ExponentialBackOff{
		InitialInterval: r.first, RandomizationFactor: backoff.DefaultRandomizationFactor, Multiplier: 2, MaxInterval: longestBackOff,
	}}
	deadline, _ := ctx.Deadline() // a wait that goes beyond it is not begun
	tries := 0
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		tries++
		advanced, err := once()
		if advanced {
			p.left = maxFailures
			p.Reset()
		}
		later, ok := errors.AsType[*passing](err)
		switch {
		case err == nil:
		case !ok:
			err = backoff.Permanent(err)
		case later.after > 0:
			err = fmt.Errorf("%w: %w", err, &backoff.RetryAfterError{Duration: later.after})
		}
		return struct{}{}, err
	}, backoff.WithBackOff(p), backoff.WithMaxElapsedTime(time.Until(deadline)), backoff.WithNotify(r.notify))
	if err != nil && tries > 1 {
		return fmt.Errorf("%w (tried %d times)", err, tries)
	}
	return err
}

// fetch has the file at path be a release's archive, whole and checked. What a former call
// left there is gone on with.
func (r *registry) fetch(ctx context.Context, rel release, path string) error {
	if rel.sum.check(path) == nil {
		return nil
	}
	wrong := false
	return r.persist(ctx, func() (bool, error) {
		before := sizeOf(path)
		if err := r.transfer(ctx, rel, path); err != nil {
			return sizeOf(path) > before, err
		}
		err := rel.sum.check(path)
		if err == nil {
			return true, nil
		}
		err = errors.Join(err, os.Remove(path))
		if wrong {
			return false, err
		}
		wrong = true // what was there before may have been at fault: once more, from the first byte
		return false, &passing{error: err}
	})
}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// transfer asks for what is missing of an archive and writes it.
func (r *registry) transfer(ctx context.Context, rel release, path string) error {
	offset := sizeOf(path)
	header := http.Header{}
	if offset > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	return r.get(ctx, rel.archive, header, func(answer *http.Response) error {
		from := fmt.Sprintf("bytes %d-", offset)
		switch {
		case answer.StatusCode == http.StatusOK:
			offset = 0
		case answer.StatusCode != http.StatusPartialContent || !strings.HasPrefix(answer.Header.Get("Content-Range"), from):
			return &passing{error: errors.Join(errors.New("the server has another part than was asked for"), os.Remove(path))}
		}
		return write(path, offset, answer.Body)
	})
}

// write writes what comes into a file, from an offset on.
func write(path string, offset int64, body io.Reader) (err error) {
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
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
	room := largestArchive - offset
	n, err := io.Copy(out, io.LimitReader(body, room+1))
	if err == nil && n > room {
		return errors.Join(fmt.Errorf("it is larger than %d bytes", int64(largestArchive)), os.Remove(path))
	}
	return err
}
