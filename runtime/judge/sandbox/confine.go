package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/assayd/assayd/runtime/container"
)

// confineEvery is how often containers that started meanwhile are looked for.
const confineEvery = time.Second

// Watch keeps containers that start meanwhile off claimed CPUs, and gives back what could
// not be given back at once, or what a crash left confined, until the context ends.
func (e *CPUs) Watch(ctx context.Context) {
	if e.pinner == nil || !e.lock(ctx) {
		return
	}
	if _, err := os.Stat(e.marker()); err == nil {
		e.marked, e.lost = true, true
	}
	e.unlock()
	for {
		var again <-chan time.Time
		if e.unsettled(ctx) {
			again = time.After(confineEvery)
		}
		select {
		case <-e.wake:
			continue
		case <-again:
		case <-ctx.Done():
			return
		}
		if err := e.pass(ctx); err != nil && ctx.Err() == nil {
			e.host.Log.Debug("CPUs could not be kept apart", "error", err)
		}
	}
}

// unsettled reports whether anything is confined or has to be.
func (e *CPUs) unsettled(ctx context.Context) bool {
	if !e.lock(ctx) {
		return false
	}
	defer e.unlock()
	return e.marked
}

func (e *CPUs) lock(ctx context.Context) bool {
	select {
	case e.turn <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (e *CPUs) unlock() { <-e.turn }

// pass puts all containers where they belong now.
func (e *CPUs) pass(ctx context.Context) error {
	if !e.lock(ctx) {
		return context.Cause(ctx)
	}
	defer e.unlock()
	total, err := e.Size(ctx)
	if err != nil {
		return err
	}
	e.mu.Lock()
	rest, all := cpuList(e.rest()), cpuList(firstCPUs(total))
	e.mu.Unlock()
	if rest == all && !e.marked {
		return nil
	}
	found, err := e.host.Engine.Observe(ctx, e.host.Owner)
	if err != nil {
		return err
	}
	e.forget(found)
	if rest != all {
		return e.confineCPUs(ctx, found, rest)
	}
	return e.widen(ctx, found, all)
}

// forget drops containers that are gone.
func (e *CPUs) forget(found []container.Instance) {
	confined := map[string]string{}
	for _, c := range found {
		if set, ok := e.confined[c.ID]; ok {
			confined[c.ID] = set
		}
	}
	e.confined = confined
}

// confineCPUs pins every container that runs and has no claim. One that cannot be pinned stays
// where it is: a judging beside it is better than none.
func (e *CPUs) confineCPUs(ctx context.Context, found []container.Instance, rest string) error {
	e.mark()
	for _, c := range found {
		if c.Phase != container.PhaseRunning || e.confined[c.ID] == rest || e.CPUSet(c.Labels[LabelSubmission]) != "" {
			continue
		}
		err := e.pinner.Pin(ctx, c.ID, rest)
		if err != nil && (ctx.Err() != nil || container.Unavailable(err)) {
			return err
		}
		if err != nil && !errors.Is(err, container.ErrNotFound) {
			e.host.Log.Warn("a container shares the CPUs of an exclusive judge", "container", c.Name, "error", err)
		}
		e.confined[c.ID] = rest
	}
	return nil
}

// widen gives all CPUs back, to what has stopped meanwhile as well: it may be started again.
func (e *CPUs) widen(ctx context.Context, found []container.Instance, all string) error {
	var errs []error
	for _, c := range found {
		if _, ours := e.confined[c.ID]; !ours && !e.lost {
			continue
		}
		err := e.pinner.Pin(ctx, c.ID, all)
		if err != nil && !errors.Is(err, container.ErrNotFound) {
			errs = append(errs, err)
			continue
		}
		delete(e.confined, c.ID)
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	if err := os.Remove(e.marker()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the marker of confined containers: %w", err)
	}
	e.marked, e.lost = false, false
	return nil
}

// marker is a file that is there while containers may be confined, so that a daemon that
// starts after a crash knows without asking for each.
func (e *CPUs) marker() string {
	dir := e.host.Spool
	if dir == "" {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "narrowed-"+filepath.Base(e.host.Owner))
}

// mark makes the marker, before the first container is pinned. A disk that is full does not
// hold up a judging; then only a crash in its midst leaves containers confined.
func (e *CPUs) mark() {
	if e.marked {
		return
	}
	e.marked = true
	f, err := os.OpenFile(e.marker(), os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	if err != nil {
		e.host.Log.Warn("a crash would leave containers without some CPUs", "error", err)
	}
}
