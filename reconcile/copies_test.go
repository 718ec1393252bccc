package reconcile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/store"
)

// copier copies folders into the store of a house, when it is let, and counts how often.
type copier struct {
	mu    sync.Mutex
	gate  chan struct{} // closed: copies are made
	began atomic.Int32
	fail  error
}

func (h *fixture) copier() *copier {
	c := &copier{gate: make(chan struct{})}
	before := h.more
	h.more = func(o *Options) {
		if before != nil {
			before(o)
		}
		o.Config.Snapshot = func(dir string) (digest string, err error) {
			c.began.Add(1)
			c.mu.Lock()
			gate := c.gate
			c.mu.Unlock()
			w, err := h.store.Blobs().Create()
			if err != nil {
				return "", err
			}
			defer func() { err = errors.Join(err, w.Close()) }()
			err = config.Pack(dir, w)
			<-gate // what is written from here on is not in the copy
			c.mu.Lock()
			defer c.mu.Unlock()
			if err = errors.Join(err, c.fail); err != nil {
				return "", err
			}
			digest, _, err = w.Commit()
			return digest, err
		}
	}
	return c
}

// let lets copies be made, or fail; hold does not let later ones.
func (c *copier) let(fail error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = fail
	close(c.gate)
}

func (c *copier) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gate = make(chan struct{})
}

func (c *copier) until(t *testing.T, n int32) {
	t.Helper()
	for deadline := time.Now().Add(patience); c.began.Load() < n; <-time.After(time.Millisecond) {
		if !time.Now().Before(deadline) {
			t.Fatalf("%d copies were begun, want %d", c.began.Load(), n)
		}
	}
}

// withFolder is spec with an agent that has a folder.
const withFolder = benchmarkSpec + `
agent "mine" {
  dir     = "tool"
  command = "true"
}
run "r" {
  tasks     = [benchmark.edge]
  auto_eval = "0s"
  agent "mine" {}
}
`

// folder is the digest of the agent's folder in force, "" for none, and whether another is being copied.
func (d *daemon) folder(t *testing.T) (digest string, copying bool) {
	t.Helper()
	check(t, d.do(t.Context(), func() {
		if a := d.specs.Set().Agent("mine"); a != nil {
			digest, copying = a.Dir.Digest, a.Dir.Pending
		}
	}))
	return digest, copying
}

// packedNow is the digest that a copy of a folder has now.
func packedNow(t *testing.T, dir string) string {
	t.Helper()
	sum := sha256.New()
	check(t, config.Pack(dir, sum))
	return hex.EncodeToString(sum.Sum(nil))
}

// A folder is copied beside the loop, once. Its run waits and says for what, all else goes on, and a
// daemon that ends meanwhile costs nothing.
func TestAFolderIsCopiedBesideTheLoop(t *testing.T) {
	h := newFixture(t)
	c := h.copier()
	put(t, h.specs, "tool/main.sh", "one")
	h.write("a.hcl", withFolder)
	close(h.let)
	d := h.start()
	c.until(t, 1)
	run := d.until(t, "waiting", func(r query.RunStatus) bool { return r.State == "waiting" && r.Note != "" })
	if want := "agent.mine is not here yet: the folder " + filepath.Join(h.specs, "tool") + " is being copied"; !strings.Contains(run.Note, want) {
		t.Errorf("it waits: %q, want %q", run.Note, want)
	}
	h.write("b.hcl", strings.NewReplacer(`"edge"`, `"other"`, "benchmark.edge", "benchmark.other", `run "r"`, `run "other"`).Replace(spec("x")))
	d.look(t)
	d.untilOver(t, "run.other")
	d.look(t)
	if _, copying := d.folder(t); !copying || c.began.Load() != 1 {
		t.Errorf("it is being copied: %v; %d copies were begun", copying, c.began.Load())
	}
	if run.Execution != 0 {
		t.Errorf("execution %d has begun", run.Execution)
	}
	stopped := make(chan struct{})
	go func() { d.stop(); close(stopped) }()
	<-d.beside.life.Done()
	c.let(errors.New("the daemon ended"))
	<-stopped

	c.hold()
	d = h.start()
	c.until(t, 2)
	c.let(nil)
	run = d.untilState(t, "finished")
	digest, copying := d.folder(t)
	if run.Execution != 1 || copying || digest != packedNow(t, filepath.Join(h.specs, "tool")) || c.began.Load() != 2 {
		t.Errorf("execution %d with %q (%v), after %d copies", run.Execution, digest, copying, c.began.Load())
	}
}

// What is changed while a folder is copied is in the copy that counts.
func TestAnEditWhileAFolderIsCopiedIsSeen(t *testing.T) {
	h := newFixture(t)
	c := h.copier()
	put(t, h.specs, "tool/main.sh", "one")
	h.write("a.hcl", withFolder)
	close(h.let)
	d := h.start()
	c.until(t, 1)
	put(t, h.specs, "tool/main.sh", "one and more")
	c.let(nil)
	d.untilState(t, "finished")
	if digest, _ := d.folder(t); digest != packedNow(t, filepath.Join(h.specs, "tool")) || c.began.Load() != 2 {
		t.Errorf("%q after %d copies", digest, c.began.Load())
	}
}

// A folder that cannot be copied is an error of the file, as one that is not there, until it can be.
func TestAFolderThatCannotBeCopiedIsAnError(t *testing.T) {
	h := newFixture(t)
	c := h.copier()
	put(t, h.specs, "tool/main.sh", "one")
	h.write("a.hcl", withFolder)
	c.let(errors.New("the disk is full"))
	d := h.start()
	d.untilComplaints(t, 1)
	s, err := d.Status(t.Context(), "")
	check(t, err)
	if d := s.Diagnostics[0]; d.Severity != config.Error || d.Summary != "Folder not readable" || !strings.Contains(d.Detail, "disk is full") {
		t.Errorf("it says %+v", d)
	}
	c.hold()
	c.let(nil)
	put(t, h.specs, "tool/main.sh", "two")
	close(h.let)
	d.look(t)
	d.untilState(t, "finished")
}

// An execution keeps the folder that it began with while another copy is made, and its run is stale
// once that is there.
func TestAnExecutionGoesOnWhileAFolderIsCopiedAgain(t *testing.T) {
	h := newFixture(t)
	c := h.copier()
	c.let(nil)
	put(t, h.specs, "tool/main.sh", "one")
	h.write("a.hcl", withFolder)
	d := h.start()
	d.until(t, "at work", func(r query.RunStatus) bool { return strings.Contains(phases(r), "running") })
	before, _ := d.folder(t)
	c.hold()
	put(t, h.specs, "tool/main.sh", "two and more")
	check(t, d.Look(t.Context(), true))
	run := d.until(t, "at work still", func(r query.RunStatus) bool { return strings.Contains(phases(r), "running") })
	if digest, copying := d.folder(t); digest != before || !copying || run.Stale != nil {
		t.Errorf("%q, which was %q; it is being copied: %v; stale: %v", digest, before, copying, run.Stale)
	}
	close(h.let)
	c.let(nil)
	d.until(t, "stale", func(r query.RunStatus) bool { return r.State == "finished" && r.Stale != nil })
	if n := strings.Count(h.records(), "run.stale"); n != 1 {
		t.Errorf("it became stale %d times: %s", n, h.records())
	}
	if _, err := d.Rerun(t.Context(), "run.r"); err != nil {
		t.Fatal(err)
	}
	run = d.until(t, "done again", func(r query.RunStatus) bool { return r.Execution == 2 && r.State == "finished" })
	if run.Stale != nil {
		t.Errorf("done again, it is stale: %v", run.Stale)
	}
}

// Who hands a file in waits for its folders: the run begins with what they hold then, at once, and each
// is copied once.
func TestAFileThatIsHandedInIsCopiedFirst(t *testing.T) {
	h := newFixture(t)
	c := h.copier()
	d := h.start()
	dir := t.TempDir()
	put(t, dir, "tool/main.sh", "one")
	put(t, dir, "a.hcl", withFolder)
	submitted := make(chan error, 1)
	go func() {
		addresses, ds, err := d.Submit(t.Context(), []string{filepath.Join(dir, "a.hcl")})
		if err == nil && (len(addresses) != 1 || len(ds) > 0) {
			err = fmt.Errorf("%v %v", addresses, ds)
		}
		submitted <- err
	}()
	c.until(t, 1)
	if _, err := d.Status(t.Context(), ""); err != nil { // the loop is free
		t.Error(err)
	}
	close(h.let)
	c.let(nil)
	check(t, <-submitted)
	if _, copying := d.folder(t); copying || c.began.Load() != 1 {
		t.Errorf("it is being copied: %v, the %dth time", copying, c.began.Load())
	}
	d.untilState(t, "finished")
	put(t, dir, "tool/main.sh", "two and more")
	if _, _, err := d.Submit(t.Context(), []string{filepath.Join(dir, "a.hcl")}); err != nil {
		t.Fatal(err)
	}
	d.until(t, "done with what is there now", func(r query.RunStatus) bool { return r.Execution == 2 && r.State == "finished" })
}

// A run whose time has come begins with the folder as it is then: it waits for the copy.
func TestARunThatIsDueWaitsForItsFolder(t *testing.T) {
	h := newFixture(t)
	c := h.copier()
	c.let(nil)
	put(t, h.specs, "tool/main.sh", "one")
	h.write("a.hcl", strings.Replace(withFolder, "auto_eval", "schedule = \"0 0 1 1 *\"\n  auto_eval", 1))
	close(h.let)
	d := h.start()
	d.untilState(t, "waiting")
	before, _ := d.folder(t)
	c.hold()
	put(t, h.specs, "tool/main.sh", "two and more")
	check(t, h.store.Do(t.Context(), func(tx *store.Tx) error { return tx.PutMeta(history.FiredKey("run.r"), "2020-01-01T00:00:00Z") }))
	check(t, d.do(t.Context(), func() { d.runs.queue.Add("run.r", d.runs.now()) }))
	run := d.until(t, "waiting for its folder", func(r query.RunStatus) bool { return strings.Contains(r.Note, "is being copied") })
	if digest, copying := d.folder(t); run.Execution != 0 || digest != before || !copying {
		t.Errorf("execution %d with %q, which was %q; it is being copied: %v", run.Execution, digest, before, copying)
	}
	c.let(nil)
	run = d.until(t, "done", func(r query.RunStatus) bool { return r.Execution == 1 && phases(r) == "mine/1 resolved" })
	if digest, _ := d.folder(t); run.Stale != nil || digest == before {
		t.Errorf("it began with %q, which was %q, and is stale: %v", digest, before, run.Stale)
	}
}
