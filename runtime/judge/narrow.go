package judge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/assayd/assayd/runtime/container"
)

// narrowEvery is how often containers that started meanwhile are looked for.
const narrowEvery = time.Second

// watch keeps containers that start meanwhile off claimed CPUs, and gives back what could
// not be given back at once, or what a crash left narrowed, until the context ends.
func (e *exclusive) watch(ctx context.Context) {
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
			again = time.After(narrowEvery)
		}
		select {
		case <-e.wake:
			continue
		case <-again:
		case <-ctx.Done():
			return
		}
		if err := e.pass(ctx); err != nil && ctx.Err() == nil {
			e.judge.opts.Log.Debug("CPUs could not be kept apart", "error", err)
		}
	}
}

// unsettled reports whether anything is narrowed or has to be.
func (e *exclusive) unsettled(ctx context.Context) bool {
	if !e.lock(ctx) {
		return false
	}
	defer e.unlock()
	return e.marked
}

func (e *exclusive) lock(ctx context.Context) bool {
	select {
	case e.turn <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (e *exclusive) unlock() { <-e.turn }

// pass puts all containers where they belong now.
func (e *exclusive) pass(ctx context.Context) error {
	if !e.lock(ctx) {
		return context.Cause(ctx)
	}
	defer e.unlock()
	total, err := e.size(ctx)
	if err != nil {
		return err
	}
	e.mu.Lock()
	rest, all := cpuList(e.rest()), cpuList(firstCPUs(total))
	e.mu.Unlock()
	if rest == all && !e.marked {
		return nil
	}
	found, err := e.judge.opts.Engine.Observe(ctx, e.judge.opts.Owner)
	if err != nil {
		return err
	}
	e.forget(found)
	if rest != all {
		return e.narrow(ctx, found, rest)
	}
	return e.widen(ctx, found, all)
}

// forget drops containers that are gone.
func (e *exclusive) forget(found []container.Instance) {
	narrowed := map[string]string{}
	for _, c := range found {
		if set, ok := e.narrowed[c.ID]; ok {
			narrowed[c.ID] = set
		}
	}
	e.narrowed = narrowed
}

// narrow pins every container that runs and has no claim. One that cannot be pinned stays
// where it is: a judging beside it is better than none.
func (e *exclusive) narrow(ctx context.Context, found []container.Instance, rest string) error {
	e.mark()
	for _, c := range found {
		if c.Phase != container.PhaseRunning || e.narrowed[c.ID] == rest || e.cpuset(c.Labels[LabelSubmission]) != "" {
			continue
		}
		err := e.pinner.Pin(ctx, c.ID, rest)
		if err != nil && (ctx.Err() != nil || container.Unavailable(err)) {
			return err
		}
		if err != nil && !errors.Is(err, container.ErrNotFound) {
			e.judge.opts.Log.Warn("a container shares the CPUs of an exclusive judge", "container", c.Name, "error", err)
		}
		e.narrowed[c.ID] = rest
	}
	return nil
}

// widen gives all CPUs back, to what has stopped meanwhile as well: it may be started again.
func (e *exclusive) widen(ctx context.Context, found []container.Instance, all string) error {
	var errs []error
	for _, c := range found {
		if _, ours := e.narrowed[c.ID]; !ours && !e.lost {
			continue
		}
		err := e.pinner.Pin(ctx, c.ID, all)
		if err != nil && !errors.Is(err, container.ErrNotFound) {
			errs = append(errs, err)
			continue
		}
		delete(e.narrowed, c.ID)
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	if err := os.Remove(e.marker()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the marker of narrowed containers: %w", err)
	}
	e.marked, e.lost = false, false
	return nil
}

// marker is a file that is there while containers may be narrowed, so that a daemon that
// starts after a crash knows without asking for each.
func (e *exclusive) marker() string {
	dir := e.judge.opts.Spool
	if dir == "" {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "narrowed-"+filepath.Base(e.judge.opts.Owner))
}

// mark makes the marker, before the first container is pinned. A disk that is full does not
// hold up a judging; then only a crash in its midst leaves containers narrowed.
func (e *exclusive) mark() {
	if e.marked {
		return
	}
	e.marked = true
	f, err := os.OpenFile(e.marker(), os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	if err != nil {
		e.judge.opts.Log.Warn("a crash would leave containers without some CPUs", "error", err)
	}
}
