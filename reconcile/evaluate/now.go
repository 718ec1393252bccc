package evaluate

import (
	"context"
	"fmt"
	"slices"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query/tasklookup"
)

// AsItIsNow is the set with the file that declares the asked task as that file and its
// folders are now. All the rest, and this one too where it is gone or wrong, is as it was
// accepted; of what the daemon has in force nothing changes.
func (r *Evaluator) AsItIsNow(ctx context.Context, set *config.Set, e Evaluation) (*config.Set, config.Diagnostics, error) {
	if plan.IsMining(e.Task) {
		return set, nil, nil // it is what it was when it was mined
	}
	ref, err := r.askedNames(ctx, e)
	if err != nil {
		return nil, nil, err
	}
	b := set.Benchmark(ref.Name)
	if b == nil {
		return set, nil, nil
	}
	previous, err := r.o.Accepted(ctx)
	if err != nil {
		return nil, nil, err
	}
	fresh, why := r.reread(b, ref.Task, previous)
	if why == "" {
		return fresh, nil, nil
	}
	return set, config.Diagnostics{{
		Severity: config.Warning, Summary: "Judged by the spec that was accepted earlier", Detail: fmt.Sprintf("%s %s.", b.Path, why),
		File: b.Path, Path: b.Path, Context: fmt.Sprintf("%s %q", b.Kind, b.Name),
	}}, nil
}

// askedNames are the benchmark and the task that are asked for; the latter may be "".
func (r *Evaluator) askedNames(ctx context.Context, e Evaluation) (config.Ref, error) {
	if e.Task != "" {
		return tasklookup.Split(e.Task)
	}
	state, err := history.ReadTrial(ctx, r.o.Store, e.Trial)
	return config.Ref{Name: state.Cell.Task.Benchmark, Task: state.Cell.Task.Name}, err
}

// reread compiles the file of a benchmark anew, beside what was accepted of all others. It
// says why the outcome is of no use, or "".
func (r *Evaluator) reread(b *config.Benchmark, task string, previous config.Previous) (fresh *config.Set, why string) {
	release, known := r.o.Hold()
	defer release()
	now := config.Read(b.Path)
	switch {
	case !known && r.o.Commit(b.Path) != "":
		return nil, "is being replaced by another commit"
	case now.Gone:
		return nil, "is gone"
	case now.Unknown != "":
		return nil, "cannot be read: " + now.Unknown
	}
	now.Root, now.Named = previous[b.Path].Root, previous[b.Path].Named
	inputs := []config.Input{now}
	for path, c := range previous {
		if path != b.Path {
			inputs = append(inputs, config.Input{Path: path, Display: path, Root: c.Root, Kept: true})
		}
	}
	o := r.o.Config
	o.Fresh = func(path string) bool { return path == b.Path }
	fresh = config.Load(inputs, previous, o)
	at := slices.IndexFunc(fresh.Files, func(f config.FileState) bool { return f.Path == b.Path })
	if at < 0 || fresh.Files[at].Status != config.OK {
		return nil, "has errors"
	}
	found := fresh.Benchmark(b.Name)
	if found == nil || found.Path != b.Path {
		return nil, "does not declare " + b.Address() + " any more"
	}
	for _, i := range found.Imports {
		for _, p := range i.Problems {
			if p.Kept && (task == "" || p.Task == "" || p.Task == task) {
				return nil, "imports a task that has errors: " + p.Text
			}
		}
	}
	return fresh, ""
}
