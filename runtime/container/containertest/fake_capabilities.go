package containertest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/assayd/assayd/runtime/container"
)

// CommandNotFound is what a function given to HandleExec returns for a program that the
// container does not have; Exec then fails with container.ErrCommandNotFound.
const CommandNotFound = -1

// Exec implements container.Execer.
func (f *Fake) Exec(ctx context.Context, id string, cmd container.Command) (int, error) {
	if err := f.begin(ctx, "Exec", id); err != nil {
		return 0, err
	}
	if err := f.await(ctx, func() (bool, <-chan struct{}) {
		r := f.find(id)
		if r == nil || !r.inst.Frozen {
			return true, nil
		}
		return false, r.changed
	}); err != nil {
		return 0, fmt.Errorf("run in container %q: wait for its thaw: %w", id, err)
	}
	f.mu.Lock()
	r, err := f.running(id)
	if err == nil && !f.runnable(r, cmd.Argv) {
		err = fmt.Errorf("%w: %q", container.ErrCommandNotFound, cmd.Argv[0])
	}
	if err != nil {
		f.mu.Unlock()
		return 0, fmt.Errorf("run in container %q: %w", id, err)
	}
	c := &FakeContainer{fake: f, rec: r, run: r.runs, term: r.term, process: true}
	life, exec := r.ctx, f.exec
	f.mu.Unlock()

	var gate gate
	cmd.Stdout, cmd.Stderr = gate.guard(cmd.Stdout), gate.guard(cmd.Stderr)
	if cmd.Stdin == nil {
		cmd.Stdin = bytes.NewReader(nil)
	}
	result := make(chan int, 1)
	f.wg.Go(func() { result <- exec(life, c, cmd) })
	defer gate.close()
	select {
	case code := <-result:
		if code == CommandNotFound {
			return 0, fmt.Errorf("run in container %q: %w: %q", id, container.ErrCommandNotFound, cmd.Argv)
		}
		return code, nil
	case <-life.Done():
		return 137, nil
	case <-ctx.Done():
		return 0, fmt.Errorf("run in container %q: %w", id, context.Cause(ctx))
	}
}

// gate keeps a process that lives on from writing to a caller who has gone.
type gate struct {
	mu     sync.Mutex
	closed bool
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

func (g *gate) guard(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return guarded{g, w}
}

type guarded struct {
	gate *gate
	w    io.Writer
}

func (g guarded) Write(p []byte) (int, error) {
	g.gate.mu.Lock()
	defer g.gate.mu.Unlock()
	if g.gate.closed {
		return len(p), nil
	}
	return g.w.Write(p)
}

// running returns the container if it runs. The lock is held.
func (f *Fake) running(id string) (*record, error) {
	r := f.find(id)
	switch {
	case r == nil:
		return nil, container.ErrNotFound
	case r.inst.Phase != container.PhaseRunning:
		return nil, fmt.Errorf("%w: it is not running", container.ErrConflict)
	}
	return r, nil
}

// CopyTo implements container.Copier.
func (f *Fake) CopyTo(ctx context.Context, id, dir string, stream io.Reader) error {
	if err := f.begin(ctx, "CopyTo", id); err != nil {
		return err
	}
	content, err := io.ReadAll(stream)
	if err != nil {
		return fmt.Errorf("copy to %q in container %q: %w", dir, id, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.find(id)
	if r == nil {
		return fmt.Errorf("copy to container %q: %w", id, container.ErrNotFound)
	}
	if !r.files.isDir(dir) {
		return fmt.Errorf("copy to %q in container %q: %w", dir, id, container.ErrNotFound)
	}
	if err := r.files.extract(dir, bytes.NewReader(content)); err != nil {
		return fmt.Errorf("copy to %q in container %q: %w", dir, id, err)
	}
	return nil
}

// CopyFrom implements container.Copier.
func (f *Fake) CopyFrom(ctx context.Context, id, path string) (io.ReadCloser, error) {
	if err := f.begin(ctx, "CopyFrom", id); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.find(id)
	if r == nil {
		return nil, fmt.Errorf("copy from container %q: %w", id, container.ErrNotFound)
	}
	content, err := r.files.archive(path)
	if err != nil {
		return nil, fmt.Errorf("copy from container %q: %w", id, err)
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

// Freeze implements container.Freezer.
func (f *Fake) Freeze(ctx context.Context, id string) error {
	return f.setFrozen(ctx, "Freeze", id, true)
}

// Thaw implements container.Freezer.
func (f *Fake) Thaw(ctx context.Context, id string) error { return f.setFrozen(ctx, "Thaw", id, false) }

func (f *Fake) setFrozen(ctx context.Context, call, id string, frozen bool) error {
	if err := f.begin(ctx, call, id); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.find(id)
	switch {
	case r == nil:
		return fmt.Errorf("%s container %q: %w", call, id, container.ErrNotFound)
	case r.inst.Phase != container.PhaseRunning:
		return fmt.Errorf("%s container %q: %w: it is not running", call, id, container.ErrConflict)
	}
	r.inst.Frozen = frozen
	f.note(r)
	return nil
}

// Pin implements container.Pinner.
func (f *Fake) Pin(ctx context.Context, id, cpuset string) error {
	if err := f.begin(ctx, "Pin", id); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.find(id)
	if r == nil {
		return fmt.Errorf("pin container %q: %w", id, container.ErrNotFound)
	}
	if !f.has(cpuset) {
		return fmt.Errorf("pin container %q: the host does not have the CPUs %q", id, cpuset)
	}
	r.cpus = cpuset
	return nil
}

// has says whether the host has all CPUs of a list such as "0-2,5". The lock is held.
func (f *Fake) has(cpuset string) bool {
	for part := range strings.SplitSeq(cpuset, ",") {
		first, last, span := strings.Cut(part, "-")
		if !span {
			last = first
		}
		low, err := strconv.Atoi(first)
		high, err2 := strconv.Atoi(last)
		if err != nil || err2 != nil || low < 0 || high < low || high >= f.host.CPUs {
			return false
		}
	}
	return true
}

// Hints implements container.Hinter.
func (f *Fake) Hints(ctx context.Context, owner string) <-chan string {
	hints := make(chan string)
	f.mu.Lock()
	seen := len(f.journal)
	f.mu.Unlock()
	f.wg.Go(func() {
		defer close(hints)
		for {
			var next hint
			err := f.await(ctx, func() (bool, <-chan struct{}) {
				for !f.down && seen < len(f.journal) {
					next = f.journal[seen]
					seen++
					if next.owner == "" || next.owner == owner {
						return true, nil
					}
				}
				return false, f.changed
			})
			if err != nil {
				return
			}
			select {
			case hints <- next.id:
			case <-ctx.Done():
				return
			case <-f.ctx.Done():
				return
			}
		}
	})
	return hints
}

// Usage implements container.Meter.
func (f *Fake) Usage(ctx context.Context, id string) (container.Usage, error) {
	if err := f.begin(ctx, "Usage", id); err != nil {
		return container.Usage{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.find(id)
	switch {
	case r == nil:
		return container.Usage{}, fmt.Errorf("usage of container %q: %w", id, container.ErrNotFound)
	case r.usage != nil:
		return *r.usage, nil
	}
	u := container.Usage{DiskBytes: r.files.written(r.base)}
	if r.inst.Phase == container.PhaseRunning {
		u.MemoryBytes, u.PIDs, u.CPUSeconds = 1<<20, 1, 0.01
	}
	return u, nil
}

// HostInfo implements container.Host.
func (f *Fake) HostInfo(ctx context.Context) (container.HostInfo, error) {
	if err := f.begin(ctx, "HostInfo", ""); err != nil {
		return container.HostInfo{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	info := f.host
	if info.BootID == "" {
		info.BootID = fmt.Sprintf("boot-%d", f.boots)
	}
	return info, nil
}
