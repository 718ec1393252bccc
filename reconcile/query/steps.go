package query

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/gateway/transcript"
	"github.com/assayd/assayd/runtime/trial"
)

// StepQuery says which steps of a trial are asked for.
type StepQuery struct {
	Try    int       // 0 = the last one
	From   int       // place of the first one, from 0
	At     time.Time // instead of From: those from a moment on; zero = by From
	Until  time.Time // and before that; zero = to the end
	Limit  int
	Tool   string // of those that called it; "" = any
	Failed bool   // only those that the model did not answer as it should
}

// StepPage is a page of the steps of a trial: of what its agent and its models said to each other.
type StepPage struct {
	Steps []transcript.Step
	First int // place of the first one
	Next  int // place to go on from
	All   int // steps of the try
	Start time.Time
}

// indices are the indices of transcripts that were asked for last.
type indices struct {
	mu  sync.Mutex
	all map[string]*indexed
	n   int // of the last use
}

// indexed is an index with what belongs to it.
type indexed struct {
	turn  chan struct{} // held by who uses the index
	index transcript.Index
	used  int
}

// maxStepBytes is after how much text a page of steps ends.
const maxStepBytes = 2 << 20

// maxIndices bounds the indices in memory: one of 15,000 steps takes two megabytes.
const maxIndices = 16

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

// Steps reads a page of the steps of a trial's try. An agent that asked no model has none.
func (r *Reader) Steps(ctx context.Context, id string, q StepQuery) (p StepPage, err error) {
	if err := needsContent(ctx, "steps of agents"); err != nil {
		return p, err
	}
	s, err := r.knownTrial(ctx, id)
	if err != nil {
		return p, err
	}
	if q.Try == 0 {
		q.Try = s.Try
	}
	p.Start = s.StartedAt
	path := trial.TranscriptOf(r.o.StateDir, id, q.Try)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, fmt.Errorf("read the transcript of %s: %w", id, err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return p, fmt.Errorf("read the transcript of %s: %w", id, err)
	}
	i := r.indices.of(path)
	select {
	case i.turn <- struct{}{}:
		defer func() { <-i.turn }()
	case <-ctx.Done():
		return p, context.Cause(ctx)
	}
	if err := i.index.Extend(ctx, file, info.Size()); err != nil {
		return p, fmt.Errorf("read the transcript of %s: %w", id, err)
	}
	if p.All, p.First = i.index.Len(), q.From; !q.At.IsZero() {
		p.First = i.index.From(q.At)
	}
	places, next := i.index.Matching(p.First, q.Limit, q.Tool, q.Failed)
	p.Next = next
	size := 0
	for _, at := range places {
		step, err := i.index.Read(file, at)
		if err != nil {
			return p, fmt.Errorf("read the transcript of %s: %w", id, err)
		}
		if !q.Until.IsZero() && !step.Time.Before(q.Until) {
			p.Next = at
			break
		}
		p.Steps = append(p.Steps, step)
		if size += step.Bytes(); size > maxStepBytes {
			p.Next = at + 1
			break
		}
		if err := ctx.Err(); err != nil {
			return p, err
		}
	}
	return p, nil
}

// knownTrial is the state of a trial of any execution; another is an ErrUnknown.
func (r *Reader) knownTrial(ctx context.Context, id string) (s trial.State, err error) {
	err = r.o.Store.View(ctx, func(tx *store.Tx) error {
		s, err = history.KnownTrial(tx, id)
		return err
	})
	return s, err
}
