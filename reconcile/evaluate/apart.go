package evaluate

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/assayd/assayd/runtime/clock"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/waiting"
)

// JudgePatch is mining.Options.Judge: what a trial's patch would come to, in a session of its
// own.
func (r *Evaluator) JudgePatch(ctx context.Context, t task.Task, diff []byte) (round.Report, error) {
	ask := Ask(Untouched)
	if diff != nil {
		ask = func() (Evaluation, func() error, error) {
			return Evaluation{Patch: diff}, func() error { return nil }, nil
		}
	}
	out, refused, err := r.JudgeApart(ctx, t, "mining."+t.Benchmark+": "+t.Name, ask, func(string) {})
	switch {
	case err != nil:
		return round.Report{}, err
	case refused != nil:
		return round.Report{}, fmt.Errorf("have a patch of %s judged: %w", t.Name, refused)
	case out.NotApplied != "":
		return round.Report{}, fmt.Errorf("have a patch of %s judged: %w", t.Name, &patch.NotApplied{Words: out.NotApplied})
	}
	return out.Report, nil
}

// JudgeApart has something judged in a session of its own, and waits while the judge is full.
// began hears of each session. A refusal that waiting does not change is returned.
func (r *Evaluator) JudgeApart(ctx context.Context, t task.Task, address string, ask Ask, began func(session string)) (Evaluated, *round.Refusal, error) {
	return r.judgeBy(ctx, t, func(out *Evaluated) (round.Session, error) {
		out.Task = address
		return r.evalSession(ctx, t, out)
	}, ask, began)
}

// judgeBy is judgeApart with the terms of each session.
func (r *Evaluator) judgeBy(ctx context.Context, t task.Task, terms func(*Evaluated) (round.Session, error), ask Ask, began func(session string)) (Evaluated, *round.Refusal, error) {
	for {
		var out Evaluated
		session, err := terms(&out)
		if err != nil {
			return out, nil, err
		}
		e, done, err := ask()
		if err != nil {
			return out, nil, err
		}
		began(out.Session)
		if e.Patch != nil {
			err = r.evaluatePatch(ctx, t, session, e, &out)
		} else {
			err = r.judgeIn(ctx, session, e, &out)
		}
		err = errors.Join(err, done())
		refused, isRefusal := errors.AsType[*round.Refusal](err)
		switch {
		case isRefusal && refused.RetryAfter > 0:
			waiting.Because(ctx, refused)
			if err := clock.Sleep(ctx, refused.RetryAfter); err != nil {
				return out, nil, err
			}
			waiting.Because(ctx, nil)
		case isRefusal:
			return out, refused, nil
		default:
			return out, nil, err
		}
	}
}

// Ask makes what is to be judged; done gives back what it takes.
type Ask func() (e Evaluation, done func() error, err error)

// Opened asks for an archive that can be opened as often as needed.
func Opened(open func() (io.ReadCloser, error)) Ask {
	return func() (Evaluation, func() error, error) {
		archive, err := open()
		if err != nil {
			return Evaluation{}, nil, err
		}
		return Evaluation{Archive: archive}, archive.Close, nil
	}
}

// Untouched asks for the untouched tree.
func Untouched() (Evaluation, func() error, error) {
	var empty bytes.Buffer
	err := tar.NewWriter(&empty).Close()
	return Evaluation{Archive: &empty}, func() error { return nil }, err
}
