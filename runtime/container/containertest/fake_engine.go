package containertest

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/assayd/assayd/runtime/container"
)

// Observe implements container.Engine.
func (f *Fake) Observe(ctx context.Context, owner string) ([]container.Instance, error) {
	if err := f.begin(ctx, "Observe", owner); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []container.Instance
	for _, r := range f.sorted() {
		if r.inst.Labels[container.LabelOwner] == owner {
			all = append(all, r.snapshot())
		}
	}
	return all, nil
}

// Inspect implements container.Engine.
func (f *Fake) Inspect(ctx context.Context, id string) (container.Instance, error) {
	if err := f.begin(ctx, "Inspect", id); err != nil {
		return container.Instance{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.find(id)
	if r == nil {
		return container.Instance{}, fmt.Errorf("inspect container %q: %w", id, container.ErrNotFound)
	}
	return r.snapshot(), nil
}

// Start implements container.Engine.
func (f *Fake) Start(ctx context.Context, w container.Workload) (container.Instance, error) {
	if err := f.begin(ctx, "Start", w.Name); err != nil {
		return container.Instance{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.find(w.Name)
	if r != nil {
		if r.inst.Labels[container.LabelHash] != w.Hash() || r.inst.Labels[container.LabelOwner] != w.Labels[container.LabelOwner] {
			return container.Instance{}, fmt.Errorf("start container %q: %w: there is another one of that name", w.Name, container.ErrConflict)
		}
	} else {
		var err error
		if r, err = f.create(w); err != nil {
			return container.Instance{}, fmt.Errorf("start container %q: %w", w.Name, err)
		}
	}
	if r.inst.Phase != container.PhaseRunning {
		f.boot(r)
	}
	return r.snapshot(), nil
}

// Restart implements container.Restarter.
func (f *Fake) Restart(ctx context.Context, id string) (container.Instance, error) {
	if err := f.begin(ctx, "Restart", id); err != nil {
		return container.Instance{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.find(id)
	if r == nil {
		return container.Instance{}, fmt.Errorf("start container %q again: %w", id, container.ErrNotFound)
	}
	if r.inst.Phase != container.PhaseRunning {
		f.boot(r)
	}
	return r.snapshot(), nil
}

// create makes the container without starting it. The lock is held.
func (f *Fake) create(w container.Workload) (*record, error) {
	img := f.image(w.Image)
	if img == nil {
		return nil, fmt.Errorf("image %q: %w", w.Image, container.ErrNotFound)
	}
	if len(w.Argv) == 0 {
		w.Argv = img.Config.Cmd
	}
	if w.Limits.CPUSet != "" && !f.has(w.Limits.CPUSet) {
		return nil, fmt.Errorf("the host does not have the CPUs %q", w.Limits.CPUSet)
	}
	hash := w.Hash()
	w = w.WithLabels(map[string]string{container.LabelHash: hash})
	f.serial++
	r := &record{
		w: w, changed: make(chan struct{}),
		cpus: w.Limits.CPUSet,
		base: img.files, files: maps.Clone(img.files),
		inst: container.Instance{
			ID: fmt.Sprintf("%064x", f.serial), Name: w.Name, Labels: w.Labels,
			Phase: container.PhaseCreated, ImageID: img.ID, CreatedAt: time.Now(),
		},
	}
	if !f.runnable(r, w.Argv) {
		return nil, fmt.Errorf("%w: %q", container.ErrCommandNotFound, w.Argv[0])
	}
	if r.files == nil {
		r.files = tree{}
	}
	f.containers[r.inst.ID], f.names[w.Name] = r, r
	return r, nil
}

// Wait implements container.Engine.
func (f *Fake) Wait(ctx context.Context, id string) (container.Exit, error) {
	if err := f.begin(ctx, "Wait", id); err != nil && !container.Unavailable(err) {
		return container.Exit{}, err
	}
	var exit container.Exit
	gone := false
	err := f.await(ctx, func() (bool, <-chan struct{}) {
		r := f.find(id)
		if r == nil {
			gone = !f.down
			return gone, f.changed
		}
		exit = r.inst.Exit
		return !f.down && r.inst.Phase == container.PhaseExited, r.changed
	})
	switch {
	case err != nil:
		return container.Exit{}, fmt.Errorf("wait for container %q: %w", id, err)
	case gone:
		return container.Exit{}, fmt.Errorf("wait for container %q: %w", id, container.ErrNotFound)
	}
	return exit, nil
}

// Stop implements container.Engine.
func (f *Fake) Stop(ctx context.Context, id string, grace time.Duration) error {
	if err := f.begin(ctx, "Stop", id); err != nil {
		return err
	}
	f.mu.Lock()
	r := f.find(id)
	if r == nil || r.inst.Phase != container.PhaseRunning {
		f.mu.Unlock()
		return nil
	}
	run := r.runs
	over := func() bool { return r.runs != run || r.inst.Phase != container.PhaseRunning }
	gentle := grace > 0 && !r.inst.Frozen
	if gentle {
		select {
		case <-r.term:
		default:
			close(r.term)
		}
	}
	f.mu.Unlock()
	if gentle {
		patience, cancel := context.WithTimeout(ctx, grace)
		defer cancel()
		if err := f.await(patience, func() (bool, <-chan struct{}) { return over(), r.changed }); err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("stop container %q: %w", id, context.Cause(ctx))
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !over() {
		f.end(r, container.Exit{Code: 137})
	}
	return nil
}

// Remove implements container.Engine.
func (f *Fake) Remove(ctx context.Context, id string) error {
	if err := f.begin(ctx, "Remove", id); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if r := f.find(id); r != nil {
		f.drop(r)
	}
	return nil
}
