package trialview

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/assayd/assayd/runtime/gateway/transcript"
)

// indices are the indices of transcripts that were asked for last. That of a long transcript takes seconds: it is made by
// the one goroutine that calls run, one at a time, while questions say how far it is.
type indices struct {
	jobs chan *job
	runs atomic.Bool

	mu  sync.Mutex
	all map[string]*indexed
	n   int // of the last use
}

// indexed is an index with what belongs to it.
type indexed struct {
	turn  chan struct{} // held by who uses the index
	index transcript.Index
	read  atomic.Int64 // bytes of the transcript so far
	used  int
	job   *job // under the lock of all: that makes it; nil = none does
}

// job is an index to be made.
type job struct {
	path string
	of   *indexed
	done chan struct{} // closed at its end
	err  error         // then
}

const (
	// maxIndices bounds the indices in memory: one of 15,000 steps takes two megabytes.
	maxIndices = 16
	// soonRead is how much of a transcript is read while somebody waits, in bytes.
	soonRead = 2 << 20
)

func newIndices() *indices {
	return &indices{jobs: make(chan *job, maxIndices), all: map[string]*indexed{}}
}

// of returns the index of a transcript.
func (x *indices) of(path string) *indexed {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.n++
	i := x.all[path]
	if i == nil {
		if len(x.all) >= maxIndices {
			oldest := ""
			for path, i := range x.all {
				if oldest == "" || i.used < x.all[oldest].used {
					oldest = path
				}
			}
			delete(x.all, oldest)
		}
		i = &indexed{turn: make(chan struct{}, 1)}
		x.all[path] = i
	}
	i.used = x.n
	return i
}

// run makes the indices that are asked for until the context ends.
func (x *indices) run(ctx context.Context) {
	x.runs.Store(true)
	defer x.runs.Store(false)
	for {
		select {
		case j := <-x.jobs:
			j.err = j.make(ctx)
			x.mu.Lock()
			j.of.job = nil
			x.mu.Unlock()
			close(j.done)
		case <-ctx.Done():
			return
		}
	}
}

// make reads all that a transcript has.
func (j *job) make(ctx context.Context) (err error) {
	file, err := os.Open(j.path)
	if err != nil {
		return fmt.Errorf("read a transcript: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("read a transcript: %w", err)
	}
	if err := j.of.take(ctx); err != nil {
		return err
	}
	defer j.of.release()
	return j.of.extend(ctx, file, info.Size())
}

// take waits until nobody else uses the index.
func (i *indexed) take(ctx context.Context) error {
	select {
	case i.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (i *indexed) release() { <-i.turn }

// extend reads what a transcript has got since. The index is taken.
func (i *indexed) extend(ctx context.Context, file io.ReaderAt, size int64) error {
	err := i.index.Extend(ctx, &progress{file, &i.read}, size)
	i.read.Store(i.index.End())
	return err
}

// progress tells how far a file is read.
type progress struct {
	io.ReaderAt
	read *atomic.Int64
}

// ReadAt implements io.ReaderAt.
func (p *progress) ReadAt(b []byte, at int64) (int, error) {
	n, err := p.ReaderAt.ReadAt(b, at)
	p.read.Store(at + int64(n))
	return n, err
}

// await returns whether the index of a transcript that has so many bytes can be had soon. One that is long is made by run,
// for which it waits for that long.
func (x *indices) await(ctx context.Context, path string, i *indexed, size int64, within time.Duration) (soon bool, err error) {
	if within == 0 || size-i.read.Load() <= soonRead && x.jobOf(i) == nil || !x.runs.Load() {
		return true, nil
	}
	j := x.ask(path, i)
	if j == nil {
		return false, nil
	}
	patience := time.NewTimer(within)
	defer patience.Stop()
	select {
	case <-j.done:
		return true, j.err
	case <-patience.C:
		return false, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

func (x *indices) jobOf(i *indexed) *job {
	x.mu.Lock()
	defer x.mu.Unlock()
	return i.job
}

// ask has an index made, once for all who ask; nil = too many others are.
func (x *indices) ask(path string, i *indexed) *job {
	x.mu.Lock()
	defer x.mu.Unlock()
	if i.job != nil {
		return i.job
	}
	j := &job{path: path, of: i, done: make(chan struct{})}
	select {
	case x.jobs <- j:
		i.job = j
		return j
	default:
		return nil
	}
}
