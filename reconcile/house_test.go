package reconcile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/assayd/assayd/reconcile/admission"
	"github.com/assayd/assayd/reconcile/control"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/query/snapshot"
	"github.com/assayd/assayd/reconcile/specs"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/blob"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/guest/protocol"
	"github.com/assayd/assayd/runtime/image"
	"github.com/assayd/assayd/runtime/judge"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/trial"
)

// fixture is a watched folder, a state directory and a fake engine, in which one daemon
// after the other works. Agents say hello and work until the test lets them end.
type fixture struct {
	t      *testing.T
	specs  string
	store  *store.Store
	fake   *containertest.Fake
	let    chan struct{}   // closed: agents end with the answer
	git    *specs.Checkout // what the folder is of; nil = of no repository
	more   func(*Options)
	tune   func(*Reconciler) // before it runs
	most   int               // work containers at once; 0 = as many as fit
	byHand bool              // a test makes its trials, without cells

	answers map[string]string                              // of agents, by label; of others "passed"
	script  string                                         // what the script of a solution leaves as its answer
	solved  atomic.Int32                                   // how often a script ran
	judged  atomic.Int32                                   // how often a judge command ran
	runner  func(answer string) (printed string, code int) // the judge command; nil = it prints the answer

	tests func(c *containertest.FakeContainer) string // what the judge command prints by what is in its container; nil = runner
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return newFixtureIn(t, shortDir(t))
}

// shortDir is a folder that goes with the test; sockets need a short path.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "house")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { check(t, os.RemoveAll(dir)) })
	return dir
}

// newFixtureIn is a house whose state directory and folder may be there already.
func newFixtureIn(t *testing.T, dir string) *fixture {
	t.Helper()
	h := &fixture{t: t, specs: filepath.Join(dir, "specs"), fake: containertest.NewFake(), let: make(chan struct{})}
	var err error
	if h.store, err = store.Open(t.Context(), filepath.Join(dir, "s"), store.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !h.byHand && !t.Failed() {
			h.checkCells()
		}
		check(t, errors.Join(h.fake.Close(), h.store.Close()))
	})
	h.fake.AddImage("work:1", container.ImageConfig{}, nil)
	h.fake.AddImage("judge:1", container.ImageConfig{}, map[string]string{"/hold": "", "/bin/sh": "", "/workspace/x": "", "/etc/passwd": "root:x:0:0::/:\n"})
	h.fake.Handle(func(ctx context.Context, c *containertest.FakeContainer) int {
		if c.Workload().Labels[container.LabelRole] == container.RoleWork {
			h.work(ctx, c)
		}
		<-ctx.Done()
		return 137
	})
	h.fake.HandleExec(func(_ context.Context, c *containertest.FakeContainer, cmd container.Command) int {
		if strings.HasSuffix(cmd.Argv[len(cmd.Argv)-1], "/solution.sh") {
			h.solved.Add(1)
			c.WriteFile("/workspace/answer", []byte(h.script))
			return 0
		}
		h.judged.Add(1)
		answer, _ := c.ReadFile("/workspace/answer")
		code := 0
		if h.tests != nil {
			answer = []byte(h.tests(c))
		}
		if h.runner != nil {
			var printed string
			printed, code = h.runner(string(answer))
			answer = []byte(printed)
		}
		_, _ = cmd.Stdout.Write(answer)
		return code
	})
	return h
}

// checkCells holds that lists and counts show of trials what these are, unless cells of an earlier
// version are still to be made.
func (h *fixture) checkCells() {
	h.t.Helper()
	ctx := context.WithoutCancel(h.t.Context()) // also when the test is over
	var filled string
	check(h.t, h.store.View(ctx, func(tx *store.Tx) (err error) {
		filled, err = tx.Meta(history.FilledKey)
		return err
	}))
	if filled == history.FilledAll {
		check(h.t, history.CheckCells(ctx, h.store))
	}
}

// work is a guest with an agent that answers when it is let.
func (h *fixture) work(ctx context.Context, c *containertest.FakeContainer) {
	post(ctx, c, "/v1/hello", protocol.Hello{Version: protocol.Version})
	select {
	case <-h.let:
	case <-ctx.Done():
	}
	c.WriteFile("/workspace/answer", []byte(h.answer(ctx, c)))
	post(ctx, c, "/v1/event", protocol.Event{Seq: 1, Type: protocol.EventEnded, Reason: protocol.EndedExit})
}

// answer is what the agent of a work container leaves.
func (h *fixture) answer(ctx context.Context, c *containertest.FakeContainer) string {
	answer := "passed"
	_ = h.store.View(ctx, func(tx *store.Tx) error { // what cannot be read has the usual answer
		row, err := tx.Trial(c.Workload().Labels[container.LabelTrial])
		if err != nil {
			return err
		}
		s, err := history.StateOf(row)
		if err != nil {
			return err
		}
		if other, ok := h.answers[s.Cell.Agent.Title()]; ok {
			answer = other
		}
		return nil
	})
	return answer
}

// post repeats a request of the guest until it is answered.
func post(ctx context.Context, c *containertest.FakeContainer, path string, question any) {
	body, err := json.Marshal(question)
	if err != nil {
		return
	}
	socket, _ := c.HostPath(protocol.GuestSocket)
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}}
	for ctx.Err() == nil {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://daemon"+path, bytes.NewReader(body))
		if err != nil {
			return
		}
		if res, err := client.Do(req); err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
			if res.StatusCode < 300 {
				return
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Millisecond):
		}
	}
}

// parsers knows a judge command that says "passed", or names tests by letters: those in upper
// case passed; or names them line by line, with a message behind a tab if one failed.
func parsers(name string) (parser.Parser, bool) {
	return parser.Parser{Name: name, Parse: func(in parser.Input) parser.Result {
		if len(in.Output) == 0 || in.ExitCode != 0 {
			return parser.Result{}
		}
		if letters, ok := strings.CutPrefix(string(in.Output), "tests:"); ok {
			r := parser.Result{Complete: true}
			for _, letter := range letters {
				t := parser.Test{Name: strings.ToUpper(string(letter)), Status: parser.Failed}
				if t.Name == string(letter) {
					t.Status = parser.Passed
				}
				r.Tests = append(r.Tests, t)
			}
			return r
		}
		if lines, ok := strings.CutPrefix(string(in.Output), "named:\n"); ok {
			r := parser.Result{Complete: true}
			for line := range strings.Lines(lines) {
				name, message, failed := strings.Cut(strings.TrimSpace(line), "\t")
				t := parser.Test{Name: name, Status: parser.Passed, Message: message}
				if failed {
					t.Status = parser.Failed
				}
				r.Tests = append(r.Tests, t)
			}
			return r
		}
		return parser.Result{Complete: true, Tests: []parser.Test{{Name: "answer", Status: parser.Status(in.Output)}}}
	}}, true
}

type storeBlobs struct{ *blob.Blobs }

func (b storeBlobs) Create() (round.BlobWriter, error) { return b.Blobs.Create() }

// daemon is a reconciler at work.
type daemon struct {
	*Reconciler
	stop func()
}

// cancel has a run, a mining spec or a trial cancelled.
func (d *daemon) cancel(ctx context.Context, name string) error {
	_, err := d.Cancel(ctx, control.Ask{Target: name})
	return err
}

// start makes the next daemon of the house.
func (h *fixture) start() *daemon {
	h.t.Helper()
	d, ready := h.begin()
	select {
	case <-ready:
	case <-time.After(patience):
		h.t.Fatal("the daemon does not become ready")
	}
	return d
}

// begin is start without waiting for the daemon to become ready.
func (h *fixture) begin() (d *daemon, ready chan struct{}) {
	h.t.Helper()
	log, ledger, owner := slog.New(slog.DiscardHandler), history.NewLedger(h.store), h.store.Owner()
	d = &daemon{}
	spool := filepath.Join(h.store.Dir(), "spool")
	check(h.t, os.MkdirAll(spool, 0o700))
	admission := admission.New(admission.Limits{CPUs: 8, Memory: 32 << 30, Containers: h.most, Judge: 0.25}, roomy, func() { d.Freed() })
	j, err := judge.New(judge.Options{
		Engine: h.fake, Ledger: ledger, Blobs: storeBlobs{h.store.Blobs()}, Capacity: admission, Owner: owner, PauseProcess: []string{"/hold"}, Dial: []string{"/dial"},
		Parsers: parsers, Spool: spool, Log: log,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	ready = make(chan struct{})
	o := Options{
		Store: h.store, Ledger: ledger, Admission: admission, Roots: []string{h.specs}, Checkout: h.git, Log: log, Ready: func() { close(ready) },
		Host: trial.Host{
			Patches: patch.New(filepath.Join(h.store.Dir(), "patches")),
			Engine:  h.fake, Judge: j, Ledger: ledger, OpenBlob: h.store.Blobs().Open, StateDir: h.store.Dir(), GuestDir: h.store.Dir(),
			Owner: owner, Log: log, Images: image.New(image.Options{Engine: h.fake, Owner: owner, Log: log}),
		},
	}
	if h.more != nil {
		h.more(&o)
	}
	d.Reconciler = New(o)
	d.runs.shown.checked = func(latest *snapshot.Snapshot) { d.checkSnapshot(h.t, latest) }
	if h.tune != nil {
		h.tune(d.Reconciler)
	}
	ctx, cancel := context.WithCancel(h.t.Context())
	var all sync.WaitGroup
	all.Go(func() { check(h.t, j.Run(ctx)) })
	all.Go(func() { check(h.t, d.Run(ctx, nil)) })
	d.stop = sync.OnceFunc(func() { cancel(); all.Wait() })
	h.t.Cleanup(d.stop)
	return d, ready
}

// checkSnapshot holds that a snapshot is what a new one of everything would be.
func (d *daemon) checkSnapshot(t *testing.T, latest *snapshot.Snapshot) {
	t.Helper()
	runs, minings := map[string]snapshot.RunView{}, map[string]snapshot.MiningView{}
	for _, all := range []iter.Seq[string]{maps.Keys(d.runs.desired), maps.Keys(d.runs.gone), slices.Values(d.minings.all.Addresses())} {
		for address := range all {
			if view, is := d.publisher.runView(address); is && !plan.IsMining(address) {
				runs[address] = view
			}
			if view, is := d.publisher.miningView(address); is {
				minings[address] = view
			}
		}
	}
	if !maps.Equal(runs, maps.Collect(latest.Runs())) || !maps.Equal(minings, maps.Collect(latest.Minings())) {
		t.Errorf("a snapshot differs from what the loop knows: %v and %v, want %v and %v",
			maps.Collect(latest.Runs()), maps.Collect(latest.Minings()), runs, minings)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// spec is a benchmark and run.r with the agents.
func spec(agents ...string) string {
	text := benchmarkSpec + "run \"r\" {\n tasks = [benchmark.edge]\n auto_eval = \"0s\"\n parallel = 4\n"
	for _, a := range agents {
		text += fmt.Sprintf(" agent \"nop\" { label = %q }\n", a)
	}
	return text + "}\n"
}

const benchmarkSpec = `
benchmark "edge" {
  task "one" {
    image       = "work:1"
    instruction = "do it"
    judge {
      image   = "judge:1"
      command = "true"
      parser  = "pytest"
    }
  }
}
`

// write puts a file into the watched folder; an empty text removes it. The daemon is told
// to look by look.
func (h *fixture) write(name, text string) {
	h.t.Helper()
	if text == "" {
		check(h.t, os.Remove(filepath.Join(h.specs, name)))
		return
	}
	put(h.t, h.specs, name, text)
}

// patience bounds every wait; none of them takes long on a machine that is not busy.
const patience = 2 * time.Minute

func (d *daemon) look(t *testing.T) {
	t.Helper()
	check(t, d.Look(t.Context(), false))
}

// until waits for a state of run.r.
func (d *daemon) until(t *testing.T, what string, is func(query.RunStatus) bool) query.RunStatus {
	t.Helper()
	var last query.Status
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(2 * time.Millisecond) {
		s, err := d.Status(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(s.Runs, func(r query.RunStatus) bool { return r.Address == "run.r" })
		run := query.RunStatus{State: "forgotten"}
		if i >= 0 {
			run = s.Runs[i]
		}
		if is(run) {
			return run
		}
		last = s
	}
	text, _ := json.MarshalIndent(last, "", " ")
	t.Fatalf("run.r never was %s:\n%s", what, text)
	return query.RunStatus{}
}

// phases are those of a run's trials, "label/try phase-or-status".
func phases(r query.RunStatus) string {
	var all []string
	for _, t := range r.Trials {
		state := string(t.Phase)
		if t.Phase == trial.Done {
			state = string(t.Status)
		}
		all = append(all, fmt.Sprintf("%s/%d %s", t.Agent, t.Try, state))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func (d *daemon) untilTrials(t *testing.T, want string) query.RunStatus {
	t.Helper()
	return d.until(t, want, func(r query.RunStatus) bool { return phases(r) == want })
}

// untilComplaints waits until so many things are wrong: a young file is given time.
func (d *daemon) untilComplaints(t *testing.T, n int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; <-time.After(2 * time.Millisecond) {
		s, err := d.Status(t.Context(), "")
		check(t, err)
		if len(s.Diagnostics) == n {
			return
		}
		if !time.Now().Before(deadline) {
			t.Fatalf("%d complaints, want %d: %v", len(s.Diagnostics), n, s.Diagnostics)
		}
	}
}

func (d *daemon) untilState(t *testing.T, want string) query.RunStatus {
	t.Helper()
	return d.until(t, want, func(r query.RunStatus) bool { return r.State == want })
}

// untilOver waits until a run is finished.
func (d *daemon) untilOver(t *testing.T, address string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; <-time.After(2 * time.Millisecond) {
		s, err := d.Status(t.Context(), address)
		if !errors.Is(err, history.ErrUnknown) { // a young file is given time
			check(t, err)
		}
		if len(s.Runs) == 1 && s.Runs[0].State == "finished" {
			return
		}
		if !time.Now().Before(deadline) {
			t.Fatalf("%s is never over: %+v", address, s.Runs)
		}
	}
}

// records are the types of the lines of run.r.
func (h *fixture) records() string {
	h.t.Helper()
	var all []string
	err := h.store.View(h.t.Context(), func(tx *store.Tx) error {
		stream, err := tx.Stream("run.r")
		if err != nil {
			return err
		}
		lines, err := tx.LinesFrom(stream.ID, 1, 1000)
		for _, l := range lines {
			var line struct{ Type, Event string }
			err = errors.Join(err, json.Unmarshal(l.Data, &line))
			if line.Event != "adopted" { // a trial may be over before its guest is heard again
				all = append(all, line.Type)
			}
		}
		return err
	})
	check(h.t, err)
	return strings.Join(all, " ")
}

// untilEmpty waits until no container is left.
func (h *fixture) untilEmpty() {
	h.t.Helper()
	var found []container.Instance
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(2 * time.Millisecond) {
		var err error
		found, err = h.fake.Observe(h.t.Context(), h.store.Owner())
		check(h.t, err)
		if len(found) == 0 {
			return
		}
	}
	h.t.Fatalf("containers are left: %+v", found)
}

// container is the work container of the first trial, or nil.
func (h *fixture) container(r query.RunStatus) *containertest.FakeContainer {
	h.t.Helper()
	found, err := h.fake.Observe(h.t.Context(), h.store.Owner())
	check(h.t, err)
	for _, c := range found {
		if c.Labels[container.LabelTrial] == r.Trials[0].ID && c.Labels[container.LabelRole] == container.RoleWork {
			return h.fake.Container(c.Name)
		}
	}
	return nil
}

// roomy is a disk that has enough left.
func roomy() int64 { return 1 << 40 }

// noon is the present of these tests.
var noon = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	check(t, os.MkdirAll(filepath.Dir(path), 0o755))
	check(t, os.WriteFile(path, []byte(text), 0o644))
}
