package results

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/assayd/assayd/runtime/fault"
)

// Stream is one file of a stream of lines and how far it has been written.
type Stream struct {
	ID   int64
	Spec string
	Root string // the watched directory that Path is under
	Path string // where the file is wanted
	Open bool   // of the streams of a spec, the one that goes on
	Last int    // seq of the last stored line, at least 1

	// What follows is the writer's, and kept for it by Mark.

	Folder  string // real path of the folder of Path when it was first written to
	File    string // the file in use; "" before the first write
	Number  int    // 1 is Path itself, 2 is its <name>.2.jsonl, …
	Written int    // seq of the last line that is durable in File
	Why     string // why File is not beside the spec; "" when it is
}

// Line is one stored line.
type Line struct {
	Seq  int
	Ends int64  // bytes of a file that ends with this line and its newline
	Data []byte // without its newline
}

// Source is the store, as the writer sees it.
type Source interface {
	// Pulse receives after lines have been stored; pulses may coalesce.
	Pulse() <-chan struct{}
	// Streams returns all streams, or those with Written < Last only.
	Streams(ctx context.Context, dirty bool) ([]Stream, error)
	// Lines returns lines of a stream from seq on: a bounded number, at least one where
	// there is one.
	Lines(ctx context.Context, stream int64, seq int) ([]Line, error)
	// Mark keeps the writer's part of streams, in one durable transaction.
	Mark(ctx context.Context, streams []Stream) error
}

// Options of NewWriter.
type Options struct {
	// Dir is where the files are that cannot be beside their spec:
	// <Dir>/<root>/<relative path>.
	Dir string
	// Log receives what was repaired and what is retried; nil discards it.
	Log *slog.Logger
	// Failed is told each time that a file cannot be written; nil tells nobody.
	Failed func()
}

// Writer keeps the files. Run does all the work; Recheck may be called at any time from any
// goroutine. Where the files are is kept by the source.
type Writer struct {
	src     Source
	dir     string
	log     *slog.Logger
	told    func()
	recheck chan struct{}

	retries map[int64]retry // of Run alone: streams whose last write failed
	traces  map[int64]trace // of Run alone: the files as they were left
}

// NewWriter returns a writer that does nothing until Run.
func NewWriter(src Source, o Options) *Writer {
	w := &Writer{
		src: src, dir: o.Dir, log: o.Log, told: o.Failed,
		recheck: make(chan struct{}, 1),
		retries: map[int64]retry{},
		traces:  map[int64]trace{},
	}
	if w.log == nil {
		w.log = slog.New(slog.DiscardHandler)
	}
	if w.told == nil {
		w.told = func() {}
	}
	return w
}

// Recheck makes Run compare all files with their lines soon, and try again the folders
// that could not be written.
func (w *Writer) Recheck() {
	select {
	case w.recheck <- struct{}{}:
	default:
	}
}

// A write that failed is tried again after minDelay, then twice as long each time.
const (
	minDelay   = 200 * time.Millisecond
	maxDelay   = 30 * time.Second
	lastEffort = 5 * time.Second
)

type retry struct {
	at    time.Time
	delay time.Duration // that led to at
	why   string        // as it was logged

	pauses backoff.ExponentialBackOff
}

func (r retry) next(now time.Time) retry {
	if r.delay == 0 {
		r.pauses = backoff.ExponentialBackOff{InitialInterval: minDelay, Multiplier: 2, MaxInterval: maxDelay}
		r.pauses.Reset()
	}
	r.delay = r.pauses.NextBackOff()
	r.at = now.Add(r.delay)
	return r
}

// Run verifies all files and then writes what is stored, until ctx is done; a last time
// then. It returns an error only for what that last time could not write: all other
// failures are logged and tried again, and nothing is lost, since the lines are stored.
func (w *Writer) Run(ctx context.Context) error {
	all := true // verify everything in the next pass
	var outage retry
	for {
		var wake <-chan time.Time
		err := w.pass(ctx, all)
		if ctx.Err() != nil {
			return w.finish(ctx)
		}
		if err != nil { // the store itself
			if outage = outage.next(time.Now()); outage.why != err.Error() {
				outage.why = err.Error()
				w.log.Error("cannot read or mark stored result lines; it is tried again and again", "err", err)
			}
			wake = time.After(outage.delay)
		} else {
			all, outage = false, retry{}
			wake = w.earliest()
		}
		select {
		case <-ctx.Done():
			return w.finish(ctx)
		case <-w.src.Pulse():
		case <-w.recheck:
			all = true
		case <-wake:
		}
	}
}

// finish writes what is stored when Run is told to end.
func (w *Writer) finish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastEffort)
	defer cancel()
	clear(w.retries)
	if err := w.pass(ctx, false); err != nil {
		return fmt.Errorf("write last result lines: %w", err)
	}
	if len(w.retries) > 0 {
		return fmt.Errorf("write last result lines: %d files could not be written and will be at the next start", len(w.retries))
	}
	return nil
}

// earliest fires when the first retry is due; it is nil when there is none.
func (w *Writer) earliest() <-chan time.Time {
	var first time.Time
	for _, r := range w.retries {
		if first.IsZero() || r.at.Before(first) {
			first = r.at
		}
	}
	if first.IsZero() {
		return nil
	}
	return time.After(time.Until(first))
}

// pass flushes the dirty streams, or all, and marks what became durable. Its error is the
// store's; a file that cannot be written is retried and holds up no other.
func (w *Writer) pass(ctx context.Context, all bool) error {
	streams, err := w.src.Streams(ctx, !all)
	if err != nil {
		return err
	}
	var marks []Stream
	folders := map[string]string{}
	for _, s := range streams {
		r, failed := w.retries[s.ID]
		if all && !failed && w.untouched(s, folders) {
			continue
		}
		if failed && !all && time.Now().Before(r.at) {
			continue
		}
		done, err := w.flush(ctx, s, all)
		if ctx.Err() != nil {
			break // what was flushed until now is worth its mark
		}
		if err != nil {
			w.failed(s, err)
			continue
		}
		delete(w.retries, s.ID)
		w.note(done)
		if done != s {
			marks = append(marks, done)
		}
	}
	if len(marks) == 0 {
		return ctx.Err()
	}
	fault.Reached(fault.LineFlushed)
	err = w.src.Mark(context.WithoutCancel(ctx), marks)
	fault.Reached(fault.LineMarked)
	return errors.Join(err, ctx.Err())
}

func (w *Writer) failed(s Stream, err error) {
	w.told()
	r := w.retries[s.ID].next(time.Now())
	level := slog.LevelDebug
	if r.why != err.Error() {
		r.why, level = err.Error(), slog.LevelWarn
	}
	w.log.Log(context.Background(), level, "cannot write result file; it is tried again and again", "spec", s.Spec, "file", s.Path, "err", err)
	w.retries[s.ID] = r
}
