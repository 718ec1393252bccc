package evaluate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/trial"
	"github.com/assayd/assayd/runtime/trial/trydir"
)

// ErrNeedsEngine says that only a process with a container engine can do something.
var ErrNeedsEngine = errors.New("only a process with a container engine can tell the changes")

// Patch is what a trial has changed, as a unified diff to the tree that its agent began with:
// in single mode the patch that was judged, else what the archive of its best round, or of its
// last one, changes. That of a trial without either is empty.
func (r *Evaluator) Patch(ctx context.Context, id string) (diff []byte, err error) {
	s, err := history.ReadTrial(ctx, r.o.Store, id)
	if err != nil {
		return nil, err
	}
	diff, err = os.ReadFile(trydir.Of(r.o.Host.StateDir, s.ID, s.Try).Patch())
	switch {
	case err == nil && s.Result != nil && s.Result.Extended != nil: // it was handed in beyond the declared deadline
		return nil, nil
	case !errors.Is(err, fs.ErrNotExist):
		return diff, err
	}
	round, err := r.roundThatCounts(ctx, s)
	if err != nil || round == "" {
		return nil, err
	}
	if r.o.Host.Images == nil || r.o.Host.Patches == nil {
		return nil, ErrNeedsEngine
	}
	archive, err := r.storedArchive(ctx, Evaluation{Trial: id, Round: round}, &Evaluated{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	return r.patchOf(ctx, s, archive)
}

// roundThatCounts is the best round of a trial, or the last that has an archive; "" = none has.
func (r *Evaluator) roundThatCounts(ctx context.Context, s trial.State) (string, error) {
	if s.Result != nil && s.Result.Best != nil {
		return s.Result.Best.Round, nil
	}
	all, err := r.o.Ledger.Submissions(ctx, s.ID)
	last := ""
	for _, sub := range s.Counted(all) {
		if sub.Archive != "" && !sub.Kind.Internal() {
			last = sub.Round
		}
	}
	return last, err
}

// patchOf compares an archive with the tree of the work image.
func (r *Evaluator) patchOf(ctx context.Context, s trial.State, archive io.Reader) ([]byte, error) {
	h, t := r.o.Host, s.Cell.Task
	labels := map[string]string{container.LabelOwner: h.Owner, container.LabelTrial: s.ID, container.LabelRole: container.RoleBuild}
	work, err := h.Images.Work(ctx, t, labels)
	if err != nil {
		return nil, fmt.Errorf("make the work image of %s: %w", plan.TaskAddress(t.Benchmark, t.Name), err)
	}
	base, err := h.Trees().Base(ctx, t, work.Ref, work.ID, labels)
	if err != nil {
		return nil, err
	}
	return base.Diff(ctx, archive, t.Submit.Paths)
}
