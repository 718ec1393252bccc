package containertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/assayd/assayd/runtime/container"
)

// Fake is an engine in memory with all capabilities. Its containers run Go functions as
// their first process and keep files in a map. It starts no goroutine before a container
// starts, so that it can live in a synctest bubble.
//
// What it does not do: it has no kernel. Limits are recorded, not enforced; a function
// that does not look at its context runs on after its container was killed, but can no
// longer touch the container's files; freezing holds a function at its next access to
// the container's files. Mounts are not files of the container: see HostPath.
type Fake struct {
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu         sync.Mutex
	changed    chan struct{} // closed and made again for those who wait for hints, whenever there may be one
	down       bool
	serial     int
	boots      int
	containers map[string]*record // by id
	names      map[string]*record // the same by name
	images     []*fakeImage       // what is present
	remote     []*fakeImage       // what a pull would find
	journal    []hint             // what subscribers of Hints have to be told, oldest first
	host       container.HostInfo
	first      func(context.Context, *FakeContainer) int
	exec       func(context.Context, *FakeContainer, container.Command) int
	intercept  func(call, target string) error
}

type hint struct{ owner, id string } // no owner: for all

var (
	_ container.Engine    = (*Fake)(nil)
	_ container.Execer    = (*Fake)(nil)
	_ container.Restarter = (*Fake)(nil)
	_ container.Copier    = (*Fake)(nil)
	_ container.Freezer   = (*Fake)(nil)
	_ container.Pinner    = (*Fake)(nil)
	_ container.Hinter    = (*Fake)(nil)
	_ container.Meter     = (*Fake)(nil)
	_ container.Images    = (*Fake)(nil)
	_ container.Host      = (*Fake)(nil)
)

// NewFake returns an engine without containers and images. Until Handle and HandleExec
// say otherwise its processes behave like the probe program: see Probe.
func NewFake() *Fake {
	ctx, cancel := context.WithCancel(context.Background())
	return &Fake{
		ctx: ctx, cancel: cancel,
		changed:    make(chan struct{}),
		containers: map[string]*record{},
		names:      map[string]*record{},
		boots:      1,
		host: container.HostInfo{
			CPUs: 8, Memory: 16 << 30, Platform: "linux/amd64", Version: "fake", DataRoot: "/var/lib/fake",
		},
		first: Probe,
		exec:  ProbeExec,
	}
}

// Close kills every process and waits until their functions have returned.
func (f *Fake) Close() error {
	f.cancel()
	f.wg.Wait()
	return nil
}

// Handle registers what every container's first process does from its next start on. The
// context ends when the container is killed; SIGTERM is told by Terminated. The result
// is the exit code.
func (f *Fake) Handle(first func(ctx context.Context, c *FakeContainer) int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.first = first
}

// HandleExec registers what Exec runs. The context ends when the container exits. Output
// that comes after the function has returned is thrown away.
func (f *Fake) HandleExec(exec func(ctx context.Context, c *FakeContainer, cmd container.Command) int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.exec = exec
}

// Intercept registers a function that sees every call of a contract method before it
// happens, with the method's name and the container or image it is about. An error from
// it is what the call returns. It may block, and it runs without any lock held.
func (f *Fake) Intercept(hook func(call, target string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.intercept = hook
}

// SetDown makes the engine unavailable or available again. Containers go on meanwhile.
func (f *Fake) SetDown(down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down && !down {
		f.journal = append(f.journal, hint{})
	}
	f.down = down
	for _, r := range f.containers {
		r.touch()
	}
	f.touch()
}

// SetHost sets what HostInfo answers; an empty BootID is filled in.
func (f *Fake) SetHost(h container.HostInfo) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.host = h
}

// Kill ends the container's first process with the given exit, as the kernel or an
// operator would. A container that does not run is left alone.
func (f *Fake) Kill(name string, exit container.Exit) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r := f.find(name); r != nil {
		f.end(r, exit)
	}
}

// Vanish makes the container disappear with its layer, as if somebody had removed it.
func (f *Fake) Vanish(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r := f.find(name); r != nil {
		f.drop(r)
	}
}

// Reboot stops every container with exit code 255 and changes the host's boot id.
func (f *Fake) Reboot() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.boots++
	for _, r := range f.containers {
		f.end(r, container.Exit{Code: 255})
	}
}

// Container returns the container for a test to look at and to change, or nil. Unlike
// the one that a process gets it is not held up by a freeze.
func (f *Fake) Container(name string) *FakeContainer {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.find(name)
	if r == nil {
		return nil
	}
	return &FakeContainer{fake: f, rec: r, run: r.runs, term: r.term}
}

// begin is the start of every contract method: it fails if the engine is down, if the
// context has ended or if the test wants it to.
func (f *Fake) begin(ctx context.Context, call, target string) error {
	f.mu.Lock()
	hook := f.intercept
	f.mu.Unlock()
	if hook != nil {
		if err := hook(call, target); err != nil {
			return fmt.Errorf("%s %q: %w", call, target, err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s %q: %w", call, target, context.Cause(ctx))
	case f.down || f.ctx.Err() != nil:
		return fmt.Errorf("%s %q: %w: the fake is down", call, target, container.ErrUnavailable)
	}
	return nil
}

// await blocks until done or the context's end. done is called with the lock held; unless it is
// true it returns what is closed once that may have changed.
func (f *Fake) await(ctx context.Context, done func() (ok bool, changed <-chan struct{})) error {
	for {
		f.mu.Lock()
		ok, changed := done()
		f.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-f.ctx.Done():
			return errors.New("the fake is closed")
		}
	}
}

// touch wakes those who wait for hints. The lock is held.
func (f *Fake) touch() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// touch wakes those who wait for a change of this container alone: of a thousand others, which
// change all the time, they have no part. The fake's lock is held.
func (r *record) touch() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// note records that a container changed. The lock is held.
func (f *Fake) note(r *record) {
	f.journal = append(f.journal, hint{r.inst.Labels[container.LabelOwner], r.inst.ID})
	r.touch()
	f.touch()
}

// find returns a container by id or name, or nil. The lock is held.
func (f *Fake) find(id string) *record {
	if r, ok := f.containers[id]; ok {
		return r
	}
	return f.names[id]
}

// end makes a running container an exited one. The lock is held.
func (f *Fake) end(r *record, exit container.Exit) {
	if r.inst.Phase != container.PhaseRunning {
		return
	}
	if exit.FinishedAt.IsZero() {
		exit.FinishedAt = time.Now()
	}
	r.inst.Phase, r.inst.Frozen = container.PhaseExited, false
	r.inst.Exit, r.inst.FinishedAt = exit, exit.FinishedAt
	r.kill()
	f.note(r)
}

// drop removes a container. The lock is held.
func (f *Fake) drop(r *record) {
	f.end(r, container.Exit{Code: 137})
	delete(f.containers, r.inst.ID)
	delete(f.names, r.inst.Name)
	f.note(r)
}

// sorted returns the containers by name. The lock is held.
func (f *Fake) sorted() []*record {
	var all []*record
	for _, r := range f.containers {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *record) int { return strings.Compare(a.inst.Name, b.inst.Name) })
	return all
}
