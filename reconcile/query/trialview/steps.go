package trialview

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/runtime/gateway/transcript"
	"github.com/assayd/assayd/runtime/trial/trydir"
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
	// Within is for how long the first reading of a long transcript is waited for. It goes on by itself. 0 = to its end.
	Within time.Duration
}

// StepPage is a page of the steps of a trial: of what its agent and its models said to each other.
type StepPage struct {
	Steps []transcript.Step
	First int // place of the first one
	Next  int // place to go on from
	All   int // steps of the try
	Start time.Time
	// Reading says that the transcript is being read for the first time, so that there are no steps yet; Read is how much
	// of it is, from 0 to 1.
	Reading bool
	Read    float64
}

// maxStepBytes is after how much text a page of steps ends.
const maxStepBytes = 2 << 20

// Steps reads a page of the steps of a trial's try. An agent that asked no model has none.
func (r *Trials) Steps(ctx context.Context, id string, q StepQuery) (p StepPage, err error) {
	if err := request.NeedsContent(ctx, "steps of agents"); err != nil {
		return p, err
	}
	s, err := history.ReadTrial(ctx, r.store, id)
	if err != nil {
		return p, err
	}
	if q.Try == 0 {
		q.Try = s.Try
	}
	p.Start = s.StartedAt
	path := trydir.Of(r.stateDir, id, q.Try).Transcript()
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
	if soon, err := r.indices.await(ctx, path, i, info.Size(), q.Within); err != nil {
		return p, fmt.Errorf("read the transcript of %s: %w", id, err)
	} else if !soon {
		p.Reading, p.Read = true, float64(i.read.Load())/float64(max(info.Size(), 1))
		return p, nil
	}
	if err := i.take(ctx); err != nil {
		return p, err
	}
	defer i.release()
	if err := i.extend(ctx, file, info.Size()); err != nil {
		return p, fmt.Errorf("read the transcript of %s: %w", id, err)
	}
	err = p.fill(ctx, &i.index, file, q)
	if err != nil {
		err = fmt.Errorf("read the transcript of %s: %w", id, err)
	}
	return p, err
}

// fill reads the steps of the page.
func (p *StepPage) fill(ctx context.Context, index *transcript.Index, file io.ReaderAt, q StepQuery) error {
	if p.All, p.First = index.Len(), q.From; !q.At.IsZero() {
		p.First = index.From(q.At)
	}
	places, next := index.Matching(p.First, q.Limit, q.Tool, q.Failed)
	p.Next = next
	size := 0
	for _, at := range places {
		step, err := index.Read(file, at)
		if err != nil {
			return err
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
			return err
		}
	}
	return nil
}
