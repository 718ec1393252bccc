package mining

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/output"
	"github.com/assayd/assayd/runtime/task"
)

// writtenKey is under which it is kept where a task is written.
const writtenKey = "written"

// written says where a task is written before anything is decided.
type written struct {
	At      time.Time // for the first time
	Task    string
	URL     string // of the pull request
	Dir     string
	Formats []string
}

// writes notes where the task of a pull request is about to be written, and gives the time.
// Written again after a crash, it is the same.
func (m *Miner) writes(ctx context.Context, ref github.Ref, w written) (time.Time, error) {
	before, err := m.written(ctx, ref)
	if err != nil {
		return w.At, err
	}
	if before != nil {
		return before.At, nil
	}
	w.At = time.Now().UTC().Truncate(time.Second)
	value, err := json.Marshal(w)
	if err != nil {
		return w.At, fmt.Errorf("encode where %s is written: %w", ref.String(), err)
	}
	return w.At, m.o.Book.Keep(ctx, Answer{ref.String(), writtenKey, value})
}

// written is where the task of a pull request may be written already; nil = nowhere.
func (m *Miner) written(ctx context.Context, ref github.Ref) (*written, error) {
	value, ok, err := m.o.Book.Answer(ctx, ref.String(), writtenKey)
	if err != nil || !ok {
		return nil, err
	}
	w := &written{}
	if err := json.Unmarshal(value, w); err != nil {
		return nil, fmt.Errorf("read where %s is written: %w", ref.String(), err)
	}
	return w, nil
}

// unwrite removes what an earlier life has written of a pull request that becomes no task after
// all: who reads the folder would take it for one.
func (m *Miner) unwrite(ctx context.Context, ref github.Ref) error {
	w, err := m.written(ctx, ref)
	if err != nil || w == nil {
		return err
	}
	mined := output.Mined{Task: task.Task{Name: w.Task}, Provenance: output.Provenance{URL: w.URL, MinedAt: w.At}}
	if err := output.Remove(ctx, w.Dir, w.Formats, mined, m.o.Trees); err != nil {
		return fmt.Errorf("remove the task of %s, which is none: %w", ref.String(), err)
	}
	return nil
}
