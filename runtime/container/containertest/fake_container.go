package containertest

import (
	"context"
	"fmt"
	"maps"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/container"
)

// record is one container of a Fake; the fake's lock guards it.
type record struct {
	w     container.Workload
	inst  container.Instance
	base  tree // of the image
	files tree
	usage *container.Usage // set by a test
	runs  int              // how often it was started
	cpus  string           // where it may run; "" = everywhere

	changed chan struct{} // closed and made again whenever the container changes

	ctx  context.Context // of the present run
	kill context.CancelFunc
	term chan struct{} // closed by SIGTERM
}

func (r *record) snapshot() container.Instance {
	inst := r.inst
	inst.Labels = maps.Clone(inst.Labels)
	return inst
}

// FakeContainer is a container as its own processes and the tests see it.
type FakeContainer struct {
	fake    *Fake
	rec     *record
	run     int
	term    chan struct{}
	process bool // held up by a freeze and by its own end
}

// ID is the engine's id of the container.
func (c *FakeContainer) ID() string { return c.rec.inst.ID }

// Name is Workload.Name.
func (c *FakeContainer) Name() string { return c.rec.w.Name }

// Workload is what the container was made of.
func (c *FakeContainer) Workload() container.Workload { return c.rec.w }

// CPUs is where the container may run: what it was made with or last pinned to. Empty is
// everywhere.
func (c *FakeContainer) CPUs() string {
	c.fake.mu.Lock()
	defer c.fake.mu.Unlock()
	return c.rec.cpus
}

// allowed is CPUs as the kernel would tell it.
func (c *FakeContainer) allowed() string {
	if cpus := c.CPUs(); cpus != "" {
		return cpus
	}
	c.fake.mu.Lock()
	defer c.fake.mu.Unlock()
	return cpuRange(0, c.fake.host.CPUs-1)
}

// cpuRange writes a run of CPUs as the kernel does.
func cpuRange(first, last int) string {
	if first == last {
		return strconv.Itoa(first)
	}
	return fmt.Sprintf("%d-%d", first, last)
}

// Run counts the starts of the container up to the one this process belongs to: 1, 2, …
func (c *FakeContainer) Run() int { return c.run }

// Terminated is closed when the container is told to stop.
func (c *FakeContainer) Terminated() <-chan struct{} { return c.term }

// Env returns a variable of the workload or else of the image.
func (c *FakeContainer) Env(key string) string {
	if v, ok := c.rec.w.Env[key]; ok {
		return v
	}
	c.fake.mu.Lock()
	defer c.fake.mu.Unlock()
	if img := c.fake.image(c.rec.inst.ImageID); img != nil {
		return img.Config.Env[key]
	}
	return ""
}

// HostPath returns where a mount of the workload puts the path on the host.
func (c *FakeContainer) HostPath(name string) (string, bool) {
	name = clean(name)
	for _, m := range c.rec.w.Mounts {
		target := clean(m.Target)
		if name == target {
			return m.Source, true
		}
		if rest, ok := strings.CutPrefix(name, target+"/"); ok {
			return path.Join(m.Source, rest), true
		}
	}
	return "", false
}

// ReadFile returns a regular file's content, and whether there is such a file.
func (c *FakeContainer) ReadFile(name string) ([]byte, bool) {
	if !c.enter() {
		return nil, false
	}
	defer c.fake.mu.Unlock()
	return c.rec.files.read(name)
}

// WriteFile makes or replaces a regular file, and its parents. A process whose container
// has exited writes nothing.
func (c *FakeContainer) WriteFile(name string, data []byte) {
	if !c.enter() {
		return
	}
	defer c.fake.mu.Unlock()
	c.rec.files.write(name, data)
}

// RemoveFile removes a file or a folder with all that is in it.
func (c *FakeContainer) RemoveFile(name string) {
	if !c.enter() {
		return
	}
	defer c.fake.mu.Unlock()
	c.rec.files.remove(name)
}

// SetUsage sets what Usage answers for the container from now on.
func (c *FakeContainer) SetUsage(u container.Usage) {
	c.fake.mu.Lock()
	defer c.fake.mu.Unlock()
	c.rec.usage = &u
}

// enter takes the lock for an access to the files, for a process only once it is not
// frozen. It returns false, without the lock, when the process is dead.
func (c *FakeContainer) enter() bool {
	for {
		c.fake.mu.Lock()
		switch {
		case !c.process:
			return true
		case c.rec.runs != c.run || c.rec.inst.Phase != container.PhaseRunning:
			c.fake.mu.Unlock()
			return false
		case !c.rec.inst.Frozen:
			return true
		}
		changed := c.rec.changed
		c.fake.mu.Unlock()
		select {
		case <-changed:
		case <-c.fake.ctx.Done():
			return false
		}
	}
}

// boot starts the first process. The lock is held.
func (f *Fake) boot(r *record) {
	r.runs++
	r.term = make(chan struct{})
	r.ctx, r.kill = context.WithCancel(f.ctx)
	r.inst.Phase, r.inst.Exit = container.PhaseRunning, container.Exit{}
	r.inst.StartedAt = time.Now()
	c := &FakeContainer{fake: f, rec: r, run: r.runs, term: r.term, process: true}
	ctx, first := r.ctx, f.first
	f.wg.Go(func() {
		code := first(ctx, c)
		f.mu.Lock()
		defer f.mu.Unlock()
		if r.runs == c.run {
			f.end(r, container.Exit{Code: code})
		}
	})
	f.note(r)
}

// runnable says whether the program is in the container. The lock is held. An image
// without files, and what lies in a mount, is not looked at.
func (f *Fake) runnable(r *record, argv []string) bool {
	if len(r.base) == 0 || len(argv) == 0 {
		return true
	}
	candidates := []string{argv[0]}
	if !strings.Contains(argv[0], "/") {
		candidates = nil
		for _, dir := range []string{"/usr/local/bin", "/usr/bin", "/bin", "/"} {
			candidates = append(candidates, path.Join(dir, argv[0]))
		}
	}
	for _, name := range candidates {
		if _, ok := r.files.read(name); ok {
			return true
		}
		if _, ok := (&FakeContainer{rec: r}).HostPath(name); ok {
			return true
		}
	}
	return false
}
