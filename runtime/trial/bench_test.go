package trial

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/assayd/assayd/runtime/agent"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/guest/protocol"
	"github.com/assayd/assayd/runtime/image"
	"github.com/assayd/assayd/runtime/judge"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial/record"
)

// A connection that the server refuses lingers for half a second of its own, which is about as long as goleak looks.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// ledger is a round.Ledger in memory.
type ledger struct {
	mu  sync.Mutex
	all []round.Submission
}

func (l *ledger) Reserve(_ context.Context, id string, decide func([]round.Submission) (round.Submission, error)) (round.Submission, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, err := decide(l.of(id))
	if err == nil {
		l.all = append(l.all, s)
	}
	return s, err
}

func (l *ledger) Update(_ context.Context, id string, change func(*round.Submission) error) (round.Submission, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.all, func(s round.Submission) bool { return s.ID == id })
	if i < 0 {
		return round.Submission{}, fs.ErrNotExist
	}
	s := l.all[i]
	if err := change(&s); err != nil {
		return round.Submission{}, err
	}
	l.all[i] = s
	return s, nil
}

func (l *ledger) Release(_ context.Context, id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = slices.DeleteFunc(l.all, func(s round.Submission) bool { return s.ID == id })
	return nil
}

func (l *ledger) Submission(_ context.Context, id string) (round.Submission, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.all, func(s round.Submission) bool { return s.ID == id })
	if i < 0 {
		return round.Submission{}, fs.ErrNotExist
	}
	return l.all[i], nil
}

func (l *ledger) Submissions(_ context.Context, id string) ([]round.Submission, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of(id), nil
}

func (l *ledger) of(id string) []round.Submission {
	own := slices.DeleteFunc(slices.Clone(l.all), func(s round.Submission) bool { return s.Trial != id })
	for i, s := range own {
		if s.Report != nil {
			brief := *s.Report
			brief.Tests, own[i].Report = nil, &brief
		}
	}
	return own
}

// blobs is a round.Blobs in memory.
type blobs struct {
	mu  sync.Mutex
	all map[string][]byte
}

func (b *blobs) Create() (round.BlobWriter, error) { return &blob{blobs: b}, nil }

func (b *blobs) Open(digest string) (io.ReadCloser, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	content, ok := b.all[digest]
	if !ok {
		return nil, fmt.Errorf("blob %s: %w", digest, fs.ErrNotExist)
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

type blob struct {
	bytes.Buffer
	blobs *blobs
}

func (b *blob) Commit() (string, int64, error) {
	sum := sha256.Sum256(b.Bytes())
	b.blobs.mu.Lock()
	defer b.blobs.mu.Unlock()
	b.blobs.all[hex.EncodeToString(sum[:])] = bytes.Clone(b.Bytes())
	return hex.EncodeToString(sum[:]), int64(b.Len()), nil
}

func (b *blob) Close() error { return nil }

// plenty is a round.Capacity without bounds.
type plenty struct{}

func (plenty) TryJudge(float64, int64) (func(), bool)       { return func() {}, true }
func (plenty) TryGame(float64, int64) (func(), bool, error) { return func() {}, true, nil }
func (plenty) Changed() <-chan struct{}                     { return nil }

// lines is a parser of "name status" lines.
func lines(name string) (parser.Parser, bool) {
	return parser.Parser{Name: name, Parse: func(in parser.Input) parser.Result {
		r := parser.Result{Complete: true}
		for line := range strings.Lines(string(in.Output)) {
			name, status, _ := strings.Cut(strings.TrimSpace(line), " ")
			r.Tests = append(r.Tests, parser.Test{Name: name, Status: parser.Status(status)})
		}
		return r
	}}, true
}

// fixture is all that a machine needs, on a fake engine. The judge command prints the
// submitted src/answer; what the guest does is the test's.
type fixture struct {
	t      *testing.T
	fake   *containertest.Fake
	ledger *ledger
	store  *blobs
	host   Host

	mu    sync.Mutex
	guest func(context.Context, *scripted) int
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	state, err := os.MkdirTemp("", "trial") // sockets need a short path
	if err != nil {
		t.Fatal(err)
	}
	b := &fixture{t: t, fake: containertest.NewFake(), ledger: &ledger{}}
	b.fake.AddImage("work:1", container.ImageConfig{}, nil)
	b.fake.AddImage("judge:1", container.ImageConfig{}, map[string]string{"/hold": "", "/judge": "", "/work/src/old": "", "/etc/passwd": "root:x:0:0::/:\n"})
	b.fake.Handle(func(ctx context.Context, c *containertest.FakeContainer) int {
		b.mu.Lock()
		script := b.guest
		b.mu.Unlock()
		if c.Workload().Labels[container.LabelRole] == container.RoleWork && script != nil {
			return script(ctx, &scripted{c})
		}
		<-ctx.Done()
		return 137
	})
	b.fake.HandleExec(func(_ context.Context, c *containertest.FakeContainer, cmd container.Command) int {
		answer, _ := c.ReadFile("/work/src/answer")
		_, _ = cmd.Stdout.Write(answer)
		return 0
	})
	if err := os.Mkdir(filepath.Join(state, "spool"), 0o700); err != nil {
		t.Fatal(err)
	}
	store := &blobs{all: map[string][]byte{}}
	b.store = store
	j, err := judge.New(judge.Options{
		Engine: b.fake, Ledger: b.ledger, Blobs: store, Capacity: plenty{}, Owner: "owner", PauseProcess: []string{"/hold"}, Dial: []string{"/dial"}, Parsers: lines, Spool: filepath.Join(state, "spool"),
	})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	b.host = Host{
		Engine: b.fake, Judge: j, Ledger: b.ledger, OpenBlob: store.Open, StateDir: state, GuestDir: state, Owner: "owner", Log: log,
		Images:  image.New(image.Options{Engine: b.fake, Owner: "owner", Log: log}),
		Patches: patch.New(filepath.Join(state, "patches")),
	}
	ctx, cancel := context.WithCancel(t.Context())
	var judging sync.WaitGroup
	judging.Go(func() {
		if err := j.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		judging.Wait()
		if err := errors.Join(b.fake.Close(), os.RemoveAll(state)); err != nil {
			t.Error(err)
		}
	})
	return b
}

// play sets what guests do from their next start on.
func (b *fixture) play(script func(context.Context, *scripted) int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.guest = script
}

// fresh is a trial that has just been admitted.
func (b *fixture) fresh(change ...func(*Cell)) State {
	c := Cell{
		Agent: agent.Agent{Name: "mine", Command: task.Command{Shell: "work"}}, Attempt: 1, Mode: "iterative", Timeout: time.Hour,
		Task: task.Task{
			Benchmark: "edge", Name: "one", Workdir: "/work", Instruction: "do it", Network: task.Network{Mode: "none"},
			Submit: task.Submit{Paths: []string{"src"}, MaxBytes: 1 << 20, MaxFiles: 100}, Work: task.Part{Image: "work:1", Disk: 1 << 20},
			Judge:      task.Judge{Part: task.Part{Image: "judge:1"}, Command: task.Command{Argv: []string{"/judge"}}, Parser: "lines", Timeout: time.Minute},
			FailToPass: []string{"t1"}, PassToPass: []string{"t2"},
		},
	}
	for _, f := range change {
		f(&c)
	}
	return State{ID: ID("r", 1, c.Key()), Spec: "run.r", Execution: 1, Key: c.Key(), Cell: c, Try: 1, Retries: 2, Phase: Pending}
}

func (b *fixture) machine(s State) *Machine {
	m := New(b.host, s.ID, s.Spec)
	m.patient = 0 // steps are repeated at once
	b.t.Cleanup(m.Close)
	return m
}

// until makes steps until the trial is in the phase, and adds up what they report.
func (b *fixture) until(m *Machine, s State, phase Phase) (State, []Effect) {
	b.t.Helper()
	var told []Effect
	for s.Phase != phase {
		next, effects, err := m.Step(b.t.Context(), s)
		if err != nil {
			b.t.Fatalf("step in phase %s: %v", s.Phase, err)
		}
		s, told = next, append(told, effects...)
		if s.Phase == Done && phase != Done {
			b.t.Fatalf("the trial is over before it was %s: %s %s", phase, s.Reason, s.Detail)
		}
	}
	return s, told
}

// types are the types of records.
func types(effects []Effect) string {
	var all []string
	for _, e := range effects {
		t := e.Type
		if h, ok := e.Fields.(record.Happened); ok {
			t += ":" + h.Event
		}
		all = append(all, t)
	}
	return strings.Join(all, " ")
}

// scripted is a guest that does what a test says, over the real protocol.
type scripted struct{ *containertest.FakeContainer }

// post sends a request until it is answered, as a guest does; it gives up with its
// container.
func (g *scripted) post(ctx context.Context, path string, question, reply any) bool {
	body, err := json.Marshal(question)
	if err != nil {
		return false
	}
	socket, _ := g.HostPath(protocol.GuestSocket)
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}}
	for ctx.Err() == nil {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://daemon"+path, bytes.NewReader(body))
		if err != nil {
			return false
		}
		res, err := client.Do(req)
		if err == nil {
			if res.StatusCode < 300 && reply != nil {
				err = json.NewDecoder(res.Body).Decode(reply)
			}
			if cerr := res.Body.Close(); err == nil && cerr == nil && res.StatusCode < 300 {
				return true
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Millisecond):
		}
	}
	return false
}

func (g *scripted) hello(ctx context.Context) (w protocol.Welcome) {
	g.post(ctx, "/v1/hello", protocol.Hello{Version: protocol.Version, Boot: fmt.Sprint(g.Run())}, &w)
	return w
}

func (g *scripted) event(ctx context.Context, e protocol.Event) bool {
	return g.post(ctx, "/v1/event", e, nil)
}

// work says hello, does one run of the agent with an answer, ends, and waits to be removed.
func work(answer string) func(context.Context, *scripted) int {
	return func(ctx context.Context, g *scripted) int {
		g.hello(ctx)
		g.event(ctx, protocol.Event{Seq: 1, Type: protocol.EventStarted})
		g.WriteFile("/work/src/answer", []byte(answer))
		g.event(ctx, protocol.Event{Seq: 2, Type: protocol.EventExited})
		g.event(ctx, protocol.Event{Seq: 3, Type: protocol.EventEnded, Reason: protocol.EndedExit})
		<-ctx.Done()
		return 137
	}
}

// solved is an answer with which all tests pass.
const solved = "t1 passed\nt2 passed\n"

// idle says hello and waits.
func idle(ctx context.Context, g *scripted) int {
	g.hello(ctx)
	<-ctx.Done()
	return 137
}

func exists(t *testing.T, elem ...string) bool {
	t.Helper()
	_, err := os.Lstat(filepath.Join(elem...))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}
