package taskcheck

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query/tasklookup"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/image"
	"github.com/assayd/assayd/runtime/task"
)

// ImageWork asks that something is done with the images of tasks, outside any run.
type ImageWork struct {
	Verb  string   `json:"verb"`  // image.Build, image.Pull or image.Push
	Files []string `json:"files"` // absolute paths of the spec files that declare the tasks; none = the specs in force
	Tasks []string `json:"tasks"` // addresses of tasks, benchmarks and mining specs; none = all of Files
}

// ImageDone is what became of one image of a task.
type ImageDone struct {
	Task string `json:"task"` // address
	image.Made
}

// tasksAtOnce is how many tasks have their images done at once; how many builds run is the
// builder's business.
const tasksAtOnce = 4

// Images does what is asked with the images of tasks and tells of each, whatever becomes of
// the others. What is wrong with Files comes as diagnostics, and what else the asker must
// mend as a *request.Mistake. tell is called by one goroutine at a time.
func (r *Checker) Images(ctx context.Context, w ImageWork, tell func(ImageDone)) (config.Diagnostics, error) {
	if r.o.Host.Images == nil {
		return nil, request.ErrIdle
	}
	batch, err := r.o.Host.Images.Batch(w.Verb)
	if err != nil {
		return nil, request.Mistakef("%w", err)
	}
	set, ds, err := r.o.Reader.SpecsFor(ctx, w.Files)
	if err != nil || ds.HasErrors() {
		return ds, err
	}
	chosen, err := chooseTasks(set, w)
	if err != nil {
		return ds, err
	}
	labels := map[string]string{container.LabelOwner: r.o.Host.Owner, container.LabelRole: container.RoleBuild}
	var mu sync.Mutex
	told := map[string]bool{}
	var g errgroup.Group
	g.SetLimit(tasksAtOnce)
	for _, s := range chosen {
		g.Go(func() error {
			address := s.Address()
			one := func(m image.Made) {
				mu.Lock()
				defer mu.Unlock()
				key := m.Role + " " + m.Name + m.Error
				if m.Role == container.RoleBase && told[key] {
					return // shared, and done once
				}
				told[key] = true
				tell(ImageDone{address, m})
			}
			t, err := compileForImages(s)
			if err != nil {
				one(image.Made{Role: "task", State: "failed", Error: err.Error()})
				return nil
			}
			batch.Task(ctx, t, labels, one)
			return nil
		})
	}
	return ds, errors.Join(g.Wait(), ctx.Err())
}

// compileForImages is CompileTask for tasks that this version can make images of.
func compileForImages(s config.Selected) (t task.Task, err error) {
	if gaps := s.Unsupported(); len(gaps) > 0 {
		return t, fmt.Errorf("%s is not in this version yet", gaps[0])
	}
	return plan.CompileTask(s)
}

// chooseTasks are the tasks that were asked for, each once.
func chooseTasks(set *config.Set, w ImageWork) (chosen []config.Selected, err error) {
	seen := map[string]bool{}
	add := func(all ...config.Selected) {
		for _, s := range all {
			if address := s.Address(); !seen[address] {
				seen[address] = true
				chosen = append(chosen, s)
			}
		}
	}
	for _, address := range w.Tasks {
		all, err := tasklookup.Selected(set, address)
		if err != nil {
			return nil, err
		}
		add(all...)
	}
	if len(w.Tasks) == 0 {
		add(tasklookup.All(set)...)
	}
	if len(chosen) == 0 {
		return nil, request.Mistakef("there is no task to %s the images of", w.Verb)
	}
	return chosen, nil
}
