package cellhost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/assayd/assayd/contrib/bench/client"
	"github.com/assayd/assayd/contrib/bench/result"
	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/daemon/web"
	"github.com/assayd/assayd/reconcile"
	"github.com/assayd/assayd/reconcile/admission"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/blob"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/guest/protocol"
	"github.com/assayd/assayd/runtime/image"
	"github.com/assayd/assayd/runtime/judge"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/trial"
)

// Repeats is how often something is asked, of which the median counts.
const Repeats = 7

// Endings is how many trials end while the loop's CPU is measured, one after the other.
const Endings = 24

// Host is a daemon's parts in this process, on an engine in memory. run.r has so many cells.
type Host struct {
	dir, specs string
	Store      *store.Store
	fake       *containertest.Fake
	Client     *http.Client
	begun      chan struct{} // one value for each agent that began
	let        chan struct{} // closed: agents go on
	loop       atomic.Int64  // the thread of the loop
	rec        *reconcile.Reconciler
	Sessions   *web.Sessions // of browsers
	end        func()
}

// New makes the parts on a folder, which must have a short path, with the files of specs of so many cells.
func New(ctx context.Context, dir string, cells int) (h *Host, err error) {
	h = &Host{
		dir: dir, specs: filepath.Join(dir, "w"), fake: containertest.NewFake(), begun: make(chan struct{}, cells+2*cellTasks), let: make(chan struct{}),
	}
	socket := filepath.Join(dir, "api")
	h.Client = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	if err := os.Mkdir(h.specs, 0o755); err != nil {
		return nil, err
	}
	if h.Store, err = store.Open(ctx, filepath.Join(dir, "s"), store.Options{}); err != nil {
		return nil, err
	}
	h.fake.AddImage("work:1", container.ImageConfig{}, nil)
	h.fake.AddImage("judge:1", container.ImageConfig{}, map[string]string{
		"/hold": "", "/bin/true": "", "/bin/sh": "", "/workspace/x": "", "/etc/passwd": "root:x:0:0::/:\n",
	})
	h.fake.HandleExec(func(context.Context, *containertest.FakeContainer, container.Command) int { return 0 })
	h.fake.Handle(h.play)
	return h, errors.Join(h.write("r.hcl", cellSpec(cells)), h.write("other.hcl", otherSpec(1)))
}

func (h *Host) write(name, text string) error {
	return os.WriteFile(filepath.Join(h.specs, name), []byte(text), 0o644)
}

// cellTasks is how many tasks the run has, whatever its cells are: its text is the same but for a number.
const cellTasks = 100

// cellSpec is a run of at least so many cells, one at a time, of two agents.
func cellSpec(cells int) string {
	var tasks strings.Builder
	for i := range cellTasks {
		fmt.Fprintf(&tasks, `
  task "t%d" {
    image       = "work:1"
    instruction = "do it"
    submit {
      paths = ["src/"]
    }
    judge {
      image   = "judge:1"
      command = ["true"]
      parser  = "exit_code"
    }
  }
`, i)
	}
	return fmt.Sprintf(`
benchmark "edge" {%s}

agent "mine" {
  command = ["work"]
}

run "r" {
  tasks     = [benchmark.edge]
  auto_eval = "0s"
  parallel  = 1
  attempts  = %d
  agent "mine" {}
  agent "mine" {
    label = "other"
  }
}
`, tasks.String(), (cells+2*cellTasks-1)/(2*cellTasks))
}

// otherSpec is another run, of one task of its own, which never begins.
func otherSpec(day int) string {
	return fmt.Sprintf(`
benchmark "small" {
  task "one" {
    image       = "work:1"
    instruction = "do it"
    judge {
      image   = "judge:1"
      command = ["true"]
      parser  = "exit_code"
    }
  }
}

run "other" {
  tasks    = [benchmark.small]
  schedule = "0 0 %d 1 *"
  agent "mine" {}
}
`, day)
}

// play is a guest whose agent submits three rounds once it is let.
func (h *Host) play(ctx context.Context, c *containertest.FakeContainer) int {
	if c.Workload().Labels[container.LabelRole] == container.RoleWork {
		h.begun <- struct{}{}
		select {
		case <-h.let:
			_ = h.work(ctx, c) // what fails ends the wait for the trial
		case <-ctx.Done():
		}
	}
	<-ctx.Done()
	return 137
}

func (h *Host) work(ctx context.Context, c *containertest.FakeContainer) error {
	to, _ := c.HostPath(protocol.GuestSocket)
	judges, _ := c.HostPath(protocol.JudgeSocket)
	told, d := client.OverSocket(to), &client.Judge{Client: client.OverSocket(judges)}
	defer told.CloseIdleConnections()
	defer d.CloseIdleConnections()
	if err := insist(ctx, &told, "/v1/hello", protocol.Hello{Version: protocol.Version}); err != nil {
		return err
	}
	if err := insist(ctx, &told, "/v1/event", protocol.Event{Seq: 1, Type: protocol.EventStarted}); err != nil {
		return err
	}
	for n := range 3 {
		a, err := d.Submit(ctx, n)
		if err == nil {
			err = d.Verdict(ctx, a.ID)
		}
		if err != nil {
			return err
		}
	}
	c.WriteFile("/workspace/src/number", []byte("2"))
	return insist(ctx, &told, "/v1/event", protocol.Event{Seq: 2, Type: protocol.EventEnded, Reason: protocol.EndedExit})
}

// Started starts the parts and returns the CPU that this process took until they were ready and so
// was what the caller waits for, in milliseconds.
func (h *Host) Started(ctx context.Context, until func(context.Context) error) (float64, error) {
	runtime.GC()
	before := ProcessCPU()
	ready := make(chan struct{})
	if err := h.start(ctx, func() { close(ready) }); err != nil {
		return 0, err
	}
	select {
	case <-ready:
	case <-time.After(client.Patience):
		return 0, errors.New("the reconciler does not become ready")
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	err := until(ctx)
	return result.Milliseconds(ProcessCPU() - before), err
}

func (h *Host) start(ctx context.Context, ready func()) error {
	log, ledger, owner := slog.New(slog.DiscardHandler), history.NewLedger(h.Store), h.Store.Owner()
	spool := filepath.Join(h.Store.Dir(), "spool")
	if err := os.MkdirAll(spool, 0o700); err != nil {
		return err
	}
	admission := admission.New(admission.Limits{CPUs: 8, Memory: 32 << 30, Judge: 0.25}, func() int64 { return 1 << 40 }, func() { h.rec.Freed() })
	j, err := judge.New(judge.Options{
		Engine: h.fake, Ledger: ledger, Blobs: blobs{h.Store.Blobs()}, Capacity: admission, Owner: owner, PauseProcess: []string{"/hold"}, Spool: spool, Log: log,
	})
	if err != nil {
		return err
	}
	h.rec = reconcile.New(reconcile.Options{
		Store: h.Store, Ledger: ledger, Admission: admission, Roots: []string{h.specs}, Log: log, Ready: ready,
		Host: trial.Host{
			Patches: patch.New(filepath.Join(h.Store.Dir(), "patches")),
			Engine:  h.fake, Judge: j, Ledger: ledger, OpenBlob: h.Store.Blobs().Open, StateDir: h.Store.Dir(), GuestDir: h.Store.Dir(),
			Owner: owner, Log: log, Images: image.New(image.Options{Engine: h.fake, Owner: owner, Log: log}),
		},
	})
	socket := filepath.Join(h.dir, "api")
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	if h.Sessions, err = web.OpenSessions(ctx, h.Store, false); err != nil {
		return err
	}
	control := api.Handler(h.rec, "bench", nil)
	mux := http.NewServeMux()
	mux.Handle("/v1/", control)
	mux.Handle("/", web.New(web.Options{Reader: h.rec.Reader, Trials: h.rec.Trials, Summaries: h.rec.Summaries, API: control, Sessions: h.Sessions, Hosts: []string{"assayd"}, Owner: owner, Version: "bench", Log: log}).Handler())
	server := &http.Server{Handler: mux} //nolint:gosec // the bench's own
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() { _ = server.Serve(l) })
	all.Go(func() { _ = j.Run(ctx) })
	all.Go(func() {
		runtime.LockOSThread() // so that its CPU can be told from that of all else
		defer runtime.UnlockOSThread()
		h.loop.Store(int64(thisThread()))
		_ = h.rec.Run(ctx, nil)
	})
	h.end = func() {
		cancel()
		h.Client.CloseIdleConnections()
		_ = server.Close()
		all.Wait()
	}
	return nil
}

// Stop ends the parts; containers go on.
func (h *Host) Stop() { h.end() }

// Close ends the engine and the store. The parts are stopped before.
func (h *Host) Close() error { return errors.Join(h.fake.Close(), h.Store.Close()) }

type blobs struct{ *blob.Blobs }

func (b blobs) Create() (round.BlobWriter, error) { return b.Blobs.Create() }

// loopCPU is what the thread of the loop has taken.
func (h *Host) loopCPU() (time.Duration, error) { return threadCPU(int(h.loop.Load())) }

// Filled waits until the cells of all trials are made.
func (h *Host) Filled(ctx context.Context) error {
	return client.Until(ctx, "all cells are filled", 20*time.Millisecond, func() (bool, error) {
		done := false
		err := h.Store.View(ctx, func(tx *store.Tx) error {
			counts, err := tx.CellCounts("run.r", 1)
			n := 0
			for _, c := range counts {
				n += c.Cells
			}
			rows, rerr := tx.TrialsAfter("", 1)
			done = len(rows) > 0 && n > 0
			return errors.Join(err, rerr)
		})
		if err != nil || !done {
			return false, err
		}
		s, err := h.rec.Status(ctx, "run.other")
		if errors.Is(err, history.ErrUnknown) { // its file is not accepted yet
			return false, nil
		}
		return err == nil && !s.Runs[0].Filling, err
	})
}

// Quiet waits until the process does nothing.
func (h *Host) Quiet(ctx context.Context) error {
	var last time.Duration
	return client.Until(ctx, "nothing is at work", 200*time.Millisecond, func() (bool, error) {
		now := ProcessCPU()
		rests := last > 0 && now-last < 10*time.Millisecond // the first look has nothing to compare with
		last = now
		return rests, nil
	})
}

// Events measures the CPU of the loop for an accepted file and for an ended trial.
func (h *Host) Events(ctx context.Context, costs map[string]float64) error {
	if err := h.next(ctx); err != nil { // the first one has begun
		return err
	}
	var accepted []float64
	for n := range Repeats {
		path := filepath.Join(h.specs, "other.hcl")
		if err := h.write("other.hcl", otherSpec(n+2)); err != nil {
			return err
		}
		cost, err := h.ofLoop(func() error { return h.rec.Fetched(ctx, []string{path}) })
		if err != nil {
			return err
		}
		accepted = append(accepted, cost)
	}
	costs["accepted"] = result.Median(accepted)
	cost, err := h.ofLoop(func() error {
		close(h.let)
		for range Endings - 2 { // the last one would end the run
			if err := h.next(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	costs["ended"] = cost / (Endings - 2)
	return err
}

// next waits until another agent has begun.
func (h *Host) next(ctx context.Context) error {
	select {
	case <-h.begun:
		return nil
	case <-time.After(client.Patience):
		return errors.New("no other trial begins")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ofLoop is what the loop takes while something is done, in milliseconds.
func (h *Host) ofLoop(do func() error) (float64, error) {
	before, err := h.loopCPU()
	if err == nil {
		err = do()
	}
	after, lerr := h.loopCPU()
	return result.Milliseconds(after - before), errors.Join(err, lerr)
}

// ProcessCPU is what this process has taken until now.
func ProcessCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0 // it does not fail for the process itself
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Ask makes a request and returns what this process took for it and how long it took, in
// milliseconds.
func (h *Host) Ask(ctx context.Context, path string) (cpu, wall float64, err error) {
	_, cpu, wall, err = h.Answer(ctx, path)
	return cpu, wall, err
}

// Answer is Ask with what is answered.
func (h *Host) Answer(ctx context.Context, path string) (text []byte, cpu, wall float64, err error) {
	address, err := url.Parse("http://assayd" + path)
	if err != nil {
		return nil, 0, 0, err
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, 0, 0, err
	}
	before, began := ProcessCPU(), time.Now()
	answer, err := h.Client.Do(q)
	if err != nil {
		return nil, 0, 0, err
	}
	defer func() { _ = answer.Body.Close() }() // only read
	text, err = io.ReadAll(answer.Body)
	if err != nil {
		return nil, 0, 0, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, 0, 0, fmt.Errorf("GET %s: %s: %.200s", path, answer.Status, text)
	}
	return text, result.Milliseconds(ProcessCPU() - before), result.Milliseconds(time.Since(began)), nil
}
