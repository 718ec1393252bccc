//go:build linux

package daemon_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/assayd/assayd/daemon/api"
	"github.com/assayd/assayd/daemon/api/apitest"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/container/docker"
)

// binary is the program under test, base the image that its containers begin with. Both
// are made once, before any test.
var binary, base string

func TestMain(m *testing.M) {
	if did, err := crowdProcess(); did && err == nil {
		return
	} else if did {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	flag.Parse()
	if testing.Short() {
		fmt.Println("the tests of the whole daemon need containers, and these are left out with -short")
		return
	}
	dir, err := prepare()
	if err != nil {
		fmt.Fprintln(os.Stderr, "prepare the tests of the daemon:", errors.Join(err, os.RemoveAll(dir)))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	}))
}

// prepare builds the static program and the base image.
func prepare() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "assayd-e2e"); err != nil {
		return "", err
	}
	binary = filepath.Join(dir, "assayd")
	if err := buildProgram(binary); err != nil {
		return dir, err
	}
	image := exec.Command("../contrib/images/base", "python")
	image.Stderr = os.Stderr
	name, err := image.Output()
	if err != nil {
		return dir, fmt.Errorf("make the base image (is Docker there?): %w", err)
	}
	base = strings.TrimSpace(string(name))
	return dir, nil
}

func buildProgram(path string, flags ...string) error {
	build := exec.Command("go", append(append([]string{"build"}, flags...), "-o", path, "./assayd")...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build the program: %w", err)
	}
	return nil
}

// faulty builds the test build once: the program that breaks where its environment says,
// see runtime/fault.
var faulty = sync.OnceValues(func() (path string, err error) {
	path = binary + "-faulty"
	return path, buildProgram(path, "-tags", "faults")
})

// breakable makes the world's daemons test builds.
func (w *fixture) breakable() {
	w.Helper()
	program, err := faulty()
	if err != nil {
		w.Fatal(err)
	}
	w.program = program
}

// patience bounds every wait for something that should happen soon.
const patience = 4 * time.Minute

// fixture is one state directory, one watched folder, and the daemon on them.
type fixture struct {
	*testing.T
	state, specs string
	owner        string
	bench        string // name of the benchmark, so that no two tests share an image
	engine       *docker.Engine
	client       *api.Client
	image        string     // what the containers of its tasks begin with
	program      string     // what daemons are started from
	flags        []string   // of each assayd serve
	alone        bool       // the folder is not watched
	env          []string   // what their environment has in addition
	sockets      []*os.File // that they inherit
	daemon       *process   // nil = none runs
}

// newFixture makes the two folders. When the test is over, no container may be left.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	return newFixtureBelow(t, "/tmp")
}

// newFixtureBelow makes the two folders below another one, whose path must be short.
func newFixtureBelow(t *testing.T, parent string) *fixture {
	t.Helper()
	return newFixtureOn(t, parent, "")
}

// newFixtureOn is newWorldBelow with another engine than the machine's own.
func newFixtureOn(t *testing.T, parent, engine string) *fixture {
	t.Helper()
	dir, err := os.MkdirTemp(parent, "a") // short, because sockets lie below
	if err != nil {
		t.Fatal(err)
	}
	w := &fixture{T: t, state: filepath.Join(dir, "s"), specs: filepath.Join(dir, "w"), image: base, program: binary, bench: "e2e" + strings.ToLower(containertest.Unique())}
	if err := os.Mkdir(w.specs, 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), w.state, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.owner = s.Owner()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if w.engine, err = docker.New(t.Context(), docker.Options{Host: engine, Log: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatalf("these tests need Docker: %v", err)
	}
	w.client = api.NewClient(api.Socket(w.state)).Via(func(next http.RoundTripper) http.RoundTripper { return apitest.Transport(t, next) })
	t.Cleanup(func() {
		if w.daemon != nil {
			w.daemon.kill()
		}
		if t.Failed() {
			w.explain()
		}
		w.client.Close()
		if err := errors.Join(w.sweep(), w.engine.Close(), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	return w
}

func tail(text []byte, n int) []byte { return text[max(0, len(text)-n):] }

// process is a running program of ours.
type process struct {
	cmd    *exec.Cmd
	log    string
	exited chan struct{}
	err    error // of Wait, once exited
}

// launch starts `assayd serve` without waiting for anything.
func (w *fixture) launch(flags ...string) *process {
	w.Helper()
	if w.daemon != nil {
		w.Fatal("a daemon runs already")
	}
	log, err := os.CreateTemp(filepath.Dir(w.state), "daemon-*.log")
	if err != nil {
		w.Fatal(err)
	}
	watch := []string{"--watch", w.specs}
	if w.alone {
		watch = nil
	}
	cmd := exec.Command(w.program, slices.Concat([]string{"serve", "--state", w.state}, watch, w.flags, flags)...)
	cmd.Env = append(os.Environ(), w.env...)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = log, log, w.sockets
	p := &process{cmd: cmd, log: log.Name(), exited: make(chan struct{})}
	if err := errors.Join(cmd.Start(), log.Close()); err != nil {
		w.Fatal(err)
	}
	go func() {
		defer close(p.exited)
		p.err = cmd.Wait()
	}()
	w.daemon = p
	return p
}

// serve starts the daemon and waits until it answers.
func (w *fixture) serve(flags ...string) {
	w.Helper()
	p := w.launch(flags...)
	w.until("the daemon answers", func() error {
		select {
		case <-p.exited:
			w.Fatalf("the daemon ended: %v", p.err)
		default:
		}
		_, err := w.client.Status(w.Context(), "")
		return err
	})
}

// kill -9s the daemon, as a crash of the machine's software would.
func (w *fixture) kill() {
	w.Helper()
	w.daemon.kill()
	w.daemon = nil
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended by itself
	<-p.exited
}

// terminate sends SIGTERM and waits until the daemon has ended well.
func (w *fixture) terminate() {
	w.Helper()
	w.signal(syscall.SIGTERM)
	w.ended(patience)
}

func (w *fixture) signal(s os.Signal) {
	w.Helper()
	if err := w.daemon.cmd.Process.Signal(s); err != nil {
		w.Fatal(err)
	}
}

// ended waits until the daemon has ended well.
func (w *fixture) ended(within time.Duration) {
	w.Helper()
	p := w.daemon
	select {
	case <-p.exited:
	case <-time.After(within):
		w.Fatalf("the daemon did not end within %s", within)
	}
	if p.err != nil {
		w.Fatalf("the daemon ended with %v", p.err)
	}
	w.daemon = nil
}

// assayd runs a command of the program on the world's state directory.
func (w *fixture) assayd(args ...string) (stdout, stderr string, code int) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, append(args, "--state", w.state)...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		w.Fatalf("assayd %s: %v", strings.Join(args, " "), errors.Join(err, ctx.Err()))
	}
	return out.String(), problems.String(), cmd.ProcessState.ExitCode()
}

// ok runs a command that must succeed and returns what it printed.
func (w *fixture) ok(args ...string) string {
	w.Helper()
	stdout, stderr, code := w.assayd(args...)
	if code != 0 {
		w.Fatalf("assayd %s: exit %d\n%s%s", strings.Join(args, " "), code, stdout, stderr)
	}
	return stdout
}

// daemonLog is what the running daemon has said so far.
func (w *fixture) daemonLog() string {
	w.Helper()
	text, err := os.ReadFile(w.daemon.log)
	if err != nil {
		w.Fatal(err)
	}
	return string(text)
}

// until waits for a condition: it is met when the function returns nil.
func (w *fixture) until(what string, met func() error) {
	w.Helper()
	w.untilWithin(patience, what, met)
}

func (w *fixture) untilWithin(limit time.Duration, what string, met func() error) {
	w.Helper()
	deadline := time.After(limit)
	for {
		asked := time.Now()
		err := met()
		if err == nil {
			return
		}
		select { // what takes long to ask is asked seldom: it is work for the daemon, too
		case <-time.After(max(50*time.Millisecond, 4*time.Since(asked))):
		case <-deadline:
			w.Fatalf("waited %s until %s: %v", limit, what, err)
		}
	}
}

// status is the state of one run, as the daemon tells it.
func (w *fixture) status(address string) (query.RunStatus, error) {
	s, err := w.client.Status(w.Context(), address)
	if err != nil {
		return query.RunStatus{}, err
	}
	return s.Runs[0], nil
}

// trial returns the trial of an agent in the present execution of a run.
func (w *fixture) trial(address, agent string) (trialview.TrialStatus, error) {
	run, err := w.status(address)
	if err != nil {
		return trialview.TrialStatus{}, err
	}
	for _, t := range run.Trials {
		if t.Agent == agent {
			return t, nil
		}
	}
	return trialview.TrialStatus{}, fmt.Errorf("%s has no trial of agent %s yet", address, agent)
}

// settled waits until a run has no open trial.
func (w *fixture) settled(address string, within time.Duration) query.RunStatus {
	w.Helper()
	var run query.RunStatus
	w.untilWithin(within, address+" is finished", func() (err error) {
		if run, err = w.status(address); err == nil && run.State != "finished" {
			err = fmt.Errorf("it is %s: %s", run.State, run.Note)
		}
		return err
	})
	return run
}

// write saves a file in the watched folder as an editor does: whole, by rename.
func (w *fixture) write(name, text string) {
	w.Helper()
	path := filepath.Join(w.specs, name)
	temporary := filepath.Join(filepath.Dir(path), ".tmp-"+filepath.Base(path))
	err := errors.Join(
		os.MkdirAll(filepath.Dir(path), 0o755),
		os.WriteFile(temporary, []byte(text), 0o644),
		os.Rename(temporary, path),
	)
	if err != nil {
		w.Fatal(err)
	}
}

func (w *fixture) remove(name string) {
	w.Helper()
	if err := os.Remove(filepath.Join(w.specs, name)); err != nil {
		w.Fatal(err)
	}
}

// agentLog is what a trial's agent has written so far, as the daemon keeps it.
func (w *fixture) agentLog(trial string) string {
	text, err := os.ReadFile(filepath.Join(w.state, "trials", trial, "try-1", "agent.log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.Fatal(err)
	}
	return string(text)
}

// said waits until a trial's agent has written a line with the given text.
func (w *fixture) said(trial, text string) {
	w.Helper()
	w.until(fmt.Sprintf("the agent of %s says %q", trial, text), func() error {
		if !strings.Contains(w.agentLog(trial), text) {
			return errors.New("it did not")
		}
		return nil
	})
}
