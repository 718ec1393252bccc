package trial

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/guest/protocol"
	"github.com/assayd/assayd/runtime/judge/sanitize"
	"github.com/assayd/assayd/runtime/trial/trydir"
)

var errEngine = errors.New("the engine answers that it cannot")

// refuse lets the engine fail at some calls, so many times; below 0 = always.
func (b *fixture) refuse(calls string, times int, err error) {
	var mu sync.Mutex // the engine is called from many goroutines
	b.fake.Intercept(func(call, _ string) error {
		mu.Lock()
		defer mu.Unlock()
		if times == 0 || !slices.Contains(strings.Fields(calls), call) {
			return nil
		}
		times--
		return err
	})
}

// insist is until for an engine that fails: steps that do are repeated.
func (b *fixture) insist(m *Machine, s State, phase Phase) (_ State, told []Effect, failed int) {
	b.t.Helper()
	for s.Phase != phase {
		next, effects, err := m.Step(b.t.Context(), s)
		if err != nil {
			if failed++; failed > 3*maxAgain {
				b.t.Fatalf("no end of failures in phase %s: %v", s.Phase, err)
			}
			continue
		}
		s, told = next, append(told, effects...)
	}
	return s, told, failed
}

// TestAContainerThatCannotBeStartedAgain: an agent that breaks its container does not win
// another try by it.
func TestAContainerThatCannotBeStartedAgain(t *testing.T) {
	for _, tt := range []struct {
		name, answer string
		err          error
		times        int
		status       Status
		reason       string
	}{
		{"once", solved, errEngine, 1, Resolved, ReasonAgentExit},
		{"for good", "t1 passed\nt2 failed\n", errEngine, -1, AgentError, ReasonGuestLost},
		{"for good, but what is left solves the task", solved, errEngine, -1, Resolved, ReasonGuestLost},
		{"for want of space", solved, container.ErrNoSpace, -1, InfraError, ReasonGuestLost},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t)
			b.play(idle)
			m := b.machine(b.fresh())
			s, _ := b.until(m, b.fresh(), Running)
			b.play(work(tt.answer))
			c := b.fake.Container(s.Workload.Name)
			c.WriteFile("/work/src/answer", []byte(tt.answer))
			n := tt.times
			b.fake.Intercept(func(call, target string) error {
				if call != "Start" || target != s.Workload.Name || n == 0 {
					return nil
				}
				n--
				return tt.err
			})
			b.fake.Kill(s.Workload.Name, container.Exit{Code: 137})
			s, _, _ = b.insist(m, s, Done)
			if r := s.Result; r.Status != tt.status || r.Reason != tt.reason || r.AgentDuration < 0 {
				t.Errorf("%s %s (%s), want %s %s", r.Status, r.Reason, r.Detail, tt.status, tt.reason)
			}
		})
	}
}

// TestATreeThatCannotBeCopied: what an agent makes of the paths costs its last snapshot,
// a fault of the machinery costs the try.
func TestATreeThatCannotBeCopied(t *testing.T) {
	for _, tt := range []struct {
		name  string
		calls string
		err   error
		times int
		want  string
	}{
		{"a loop of links", "CopyFrom", errors.New("too many links"), -1, "unresolved agent_exit [final_refused]"},
		{"once", "CopyFrom", errEngine, 1, "resolved agent_exit []"},
		{"no space", "CopyFrom", container.ErrNoSpace, -1, "infra_error judge []"},
		{"an engine that cannot freeze any more", "Freeze", errEngine, -1, "infra_error judge []"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t)
			b.play(work(solved))
			m := b.machine(b.fresh())
			s, _ := b.until(m, b.fresh(), Closing)
			n := tt.times
			b.fake.Intercept(func(call, target string) error {
				if call != tt.calls || target != s.Container || n == 0 {
					return nil
				}
				n--
				return tt.err
			})
			s, _, _ = b.insist(m, s, Done)
			if got := fmt.Sprint(s.Result.Status, " ", s.Result.Reason, " ", s.Result.Flags); got != tt.want {
				t.Errorf("%s, want %s (%s)", got, tt.want, s.Result.Detail)
			}
		})
	}
}

// stalled sends the head of a request and waits until its body is waited for.
func stalled(socket, path string) (net.Conn, error) {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: d\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n", path)
	if err == nil {
		_, err = bufio.NewReader(c).ReadString('\n')
	}
	return c, err
}

func TestAnUploadThatStallsHoldsUpNothing(t *testing.T) {
	b := newFixture(t)
	b.play(func(ctx context.Context, g *scripted) int {
		socket, _ := g.HostPath(protocol.GuestSocket)
		for ctx.Err() == nil {
			if c, err := stalled(socket, "/v1/log?offset=0"); err == nil {
				defer func() { _ = c.Close() }()
				break
			}
		}
		return work(solved)(ctx, g)
	})
	if s, _ := b.until(b.machine(b.fresh()), b.fresh(), Done); s.Result.Status != Resolved {
		t.Errorf("%+v", s.Result)
	}
}

// TestADaemonThatComesBackLateHearsHowItEnded: what the guest has to tell counts, not when
// somebody was there to hear it.
func TestADaemonThatComesBackLateHearsHowItEnded(t *testing.T) {
	for _, tt := range []struct {
		reason, want string
		at           time.Duration // after the start, of two hours ago; the deadline is an hour after it
		duration     float64
	}{
		{protocol.EndedExit, ReasonAgentExit, 30 * time.Minute, 1800},
		{protocol.EndedError, ReasonAgent, 30 * time.Minute, 1800},
		{protocol.EndedDeadline, ReasonDeadline, time.Hour + time.Second, 3600},
		{protocol.EndedExit, ReasonAgentExit, -time.Hour, 0},
		{protocol.EndedExit, ReasonAgentExit, 100 * time.Hour, 3600},
	} {
		t.Run(tt.want, func(t *testing.T) {
			b := newFixture(t)
			begun := make(chan time.Time, 1)
			b.play(func(ctx context.Context, g *scripted) int {
				g.hello(ctx)
				at := <-begun
				g.post(ctx, "/v1/log?offset=0", "last", nil)
				g.event(ctx, protocol.Event{Seq: 1, Type: protocol.EventEnded, Reason: tt.reason, Time: at.Add(tt.at)})
				<-ctx.Done()
				return 137
			})
			first := b.machine(b.fresh())
			s, _ := b.until(first, b.fresh(), Running)
			first.Close()
			s.StartedAt = s.StartedAt.Add(-2 * time.Hour)
			s.Deadline = s.StartedAt.Add(time.Hour)
			begun <- s.StartedAt
			s, _ = b.until(b.machine(s), s, Done)
			if r := s.Result; r.Reason != tt.want || r.AgentDuration != tt.duration || r.TimedOut != (tt.want == ReasonDeadline) {
				t.Errorf("%s after %gs, timed out %v", r.Reason, r.AgentDuration, r.TimedOut)
			}
			if text, err := os.ReadFile(trydir.Of(b.host.StateDir, s.ID, 1).Log()); string(text) != `"last"` || err != nil {
				t.Errorf("log %q, %v", text, err)
			}
		})
	}
}

// TestTheLastOutputIsWaitedFor also when the end came from the daemon.
func TestTheLastOutputIsWaitedFor(t *testing.T) {
	b := newFixture(t)
	over := make(chan struct{})
	b.play(func(ctx context.Context, g *scripted) int {
		g.hello(ctx)
		<-over
		g.post(ctx, "/v1/poll", protocol.Beat{}, &protocol.Order{})
		g.post(ctx, "/v1/log?offset=0", "last", nil)
		g.event(ctx, protocol.Event{Seq: 1, Type: protocol.EventEnded, Reason: protocol.EndedOrdered})
		<-ctx.Done()
		return 137
	})
	m := b.machine(b.fresh())
	s, _ := b.until(m, b.fresh(), Running)
	s.Phase, s.Reason, s.EndedAt = Closing, ReasonDisk, time.Now()
	close(over)
	s, _ = b.until(m, s, Done)
	if text, err := os.ReadFile(trydir.Of(b.host.StateDir, s.ID, 1).Log()); string(text) != `"last"` || err != nil || s.Result.Reason != ReasonDisk {
		t.Errorf("log %q, %v, reason %s", text, err, s.Result.Reason)
	}
}

func TestAHelloIsWaitedForFromTheDaemonsStart(t *testing.T) {
	b := newFixture(t)
	first := b.machine(b.fresh())
	s, _ := b.until(first, b.fresh(), Await)
	first.Close()
	s.Deadline = time.Now().Add(-time.Hour) // of the hello, as an older daemon stored it
	m := b.machine(s)
	if err := m.attach(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if left := time.Until(m.nextWake(s)); left < helloPatience-time.Minute || left > helloPatience {
		t.Errorf("the hello is waited for %s", left)
	}
}

// TestAnEngineThatCannotIsWaitedFor: its disk is full, or it is unable to freeze; no try is spent
// on it before half an hour is over.
func TestAnEngineThatCannotIsWaitedFor(t *testing.T) {
	for _, tt := range []struct {
		name  string
		call  string
		until Phase // the phase before which it begins
		err   error
	}{
		{"a try that begins", "Start", Create, container.ErrNoSpace},
		{"a container that cannot be mounted", "Start", Create, errEngine},
		{"the last snapshot", "Freeze", Closing, errors.New("unable to freeze")},
		{"its copy", "CopyFrom", Closing, container.ErrNoSpace},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t)
			b.play(work(solved))
			m := b.machine(b.fresh())
			m.patient = enginePatience
			s, _ := b.until(m, b.fresh(), tt.until)
			b.fake.Intercept(func(call, target string) error {
				if call == tt.call && (target == s.Container || target == s.Workload.Name) {
					return tt.err
				}
				return nil
			})
			for range 5 * maxAgain {
				next, effects, err := m.Step(t.Context(), s)
				if err == nil && (next.Phase != s.Phase || len(effects) > 0) {
					t.Fatalf("the trial goes on to %s, reported: %s (%s)", next.Phase, types(effects), next.Detail)
				}
				s = next
			}
			b.fake.Intercept(nil)
			if s, _, _ = b.insist(m, s, Done); s.Result.Status != Resolved || s.Try != 1 {
				t.Errorf("%s %s (%s), try %d", s.Result.Status, s.Result.Reason, s.Result.Detail, s.Try)
			}
		})
	}
}

// TestALogThatCannotBeOpenedCostsNoTry: it is the daemon that lacks it.
func TestALogThatCannotBeOpenedCostsNoTry(t *testing.T) {
	b := newFixture(t)
	b.play(work(solved))
	m := b.machine(b.fresh())
	s, _ := b.until(m, b.fresh(), Await)
	log := trydir.Of(b.host.StateDir, s.ID, s.Try).Log()
	if err := os.Mkdir(log, 0o755); err != nil {
		t.Fatal(err)
	}
	for range 3 * maxAgain {
		next, _, err := m.Step(t.Context(), s)
		if err == nil {
			t.Fatalf("the trial goes on to %s (%s)", next.Phase, next.Detail)
		}
	}
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	if s, _, _ = b.insist(m, s, Done); s.Result.Status != Resolved {
		t.Errorf("%s %s (%s)", s.Result.Status, s.Result.Reason, s.Result.Detail)
	}
}

func TestCleaningGivesUp(t *testing.T) {
	for _, tt := range []struct {
		err     error
		times   int
		failed  int
		stopped bool
	}{
		{errEngine, 2, 2, false},
		{errEngine, -1, maxAgain - 1, true},
		{container.ErrUnavailable, 2 * maxAgain, 2 * maxAgain, false}, // as long as it takes
	} {
		b := newFixture(t)
		b.play(work(solved))
		m := b.machine(b.fresh())
		s, _ := b.until(m, b.fresh(), Cleanup)
		b.refuse("Remove", tt.times, tt.err)
		s, _, failed := b.insist(m, s, Done)
		c, err := b.fake.Inspect(t.Context(), s.Container)
		if failed != tt.failed || tt.stopped != (err == nil && c.Phase == container.PhaseExited) || !tt.stopped && err == nil {
			t.Errorf("%v: gave up after %d failures; container %s, %v", tt.err, failed, c.Phase, err)
		}
	}
}

func TestAThawThatFailedIsMadeUpFor(t *testing.T) {
	for _, call := range []string{"Thaw", "Freeze"} {
		t.Run(call, func(t *testing.T) {
			b := newFixture(t)
			goOn := make(chan struct{})
			b.play(func(ctx context.Context, g *scripted) int {
				g.WriteFile("/work/src/answer", []byte("t1 failed"))
				g.hello(ctx)
				<-goOn
				g.WriteFile("/work/src/answer", []byte(solved)) // waits while it is frozen
				g.event(ctx, protocol.Event{Seq: 1, Type: protocol.EventEnded, Reason: protocol.EndedExit})
				<-ctx.Done()
				return 137
			})
			hourly := func(c *Cell) { c.AutoEval = 20 * time.Minute }
			m := b.machine(b.fresh(hourly))
			s, _ := b.until(m, b.fresh(hourly), Running)
			if call == "Freeze" { // which froze, but whose answer was lost
				if err := b.fake.Freeze(t.Context(), s.Container); err != nil {
					t.Fatal(err)
				}
			}
			b.refuse(call, 2, errEngine)
			s.NextAuto = time.Now()
			var told []Effect
			for len(told) == 0 { // the agent waits for it
				if next, effects, err := m.Step(t.Context(), s); err == nil {
					s, told = next, effects
				}
			}
			close(goOn)
			s, more, _ := b.insist(m, s, Done)
			told = append(told, more...)
			if s.Result.Status != Resolved || !strings.HasPrefix(types(told), "trial.event:auto_eval") {
				t.Errorf("%+v, reported: %s", s.Result, types(told))
			}
		})
	}
}

// TestAnAgentThatWasNotToldToEnd: a daemon that is started again in the closing of a trial
// cannot know, so the agent does nothing more while its last snapshot is tried.
func TestAnAgentThatWasNotToldToEnd(t *testing.T) {
	for _, change := range [][]func(*Cell){nil, {once}} {
		b := newFixture(t)
		b.before(sound)
		b.play(idle)
		first := b.machine(b.fresh(change...))
		s, _ := b.until(first, b.fresh(change...), Running)
		b.fake.Container(s.Workload.Name).WriteFile("/work/src/answer", []byte(solved))
		first.Close()
		s.Phase, s.Reason, s.EndedAt, s.Line = Closing, ReasonDisk, time.Now(), s.Line.Renewed()
		m := b.machine(s)
		for _, call := range []string{"Freeze", "CopyFrom"} {
			n := 1
			b.fake.Intercept(func(c, target string) error {
				if c != call || target != s.Container || n == 0 {
					return nil
				}
				n--
				return errEngine
			})
			next, _, err := m.Step(t.Context(), s)
			c, ierr := b.fake.Inspect(t.Context(), s.Container)
			if !errors.Is(err, errEngine) || ierr != nil || c.Frozen != (call == "CopyFrom") {
				t.Errorf("after a %s that failed: frozen %v in phase %s (%v)", call, c.Frozen, next.Phase, err)
			}
		}
		if s, _, _ = b.insist(m, s, Done); s.Result.Status != Resolved || s.Result.Reason != ReasonDisk || b.fake.Container(s.Workload.Name) != nil {
			t.Errorf("%+v", s.Result)
		}
	}
}

// TestWhatCannotBeSubmittedIsLeftOut: one odd name must not cost the whole tree.
func TestWhatCannotBeSubmittedIsLeftOut(t *testing.T) {
	var in bytes.Buffer
	w := tar.NewWriter(&in)
	for _, h := range []tar.Header{
		{Name: "src/", Typeflag: tar.TypeDir},
		{Name: "src/pipe", Typeflag: tar.TypeFifo},
		{Name: "src/tty", Typeflag: tar.TypeChar},
		{Name: "src/disk", Typeflag: tar.TypeBlock},
		{Name: "src/new\nline", Typeflag: tar.TypeReg},
		{Name: "src/\xff", Typeflag: tar.TypeReg},
		{Name: "src/" + strings.Repeat("d/", 128) + "deep", Typeflag: tar.TypeReg},
		{Name: "src/" + strings.Repeat(strings.Repeat("d", 200)+"/", 25), Typeflag: tar.TypeDir},
		{Name: "src/" + strings.Repeat(strings.Repeat("d", 200)+"/", 19) + strings.Repeat("e", 190), Typeflag: tar.TypeReg},
		{Name: "src/hard", Typeflag: tar.TypeLink, Linkname: "src/\xff"},
		{Name: "src/node_modules/", Typeflag: tar.TypeDir},
		{Name: "src/node_modules/a", Typeflag: tar.TypeReg},
		{Name: "src/.git/config", Typeflag: tar.TypeReg},
		{Name: "src/good", Typeflag: tar.TypeDir},
		{Name: "src/good/ünïcode", Typeflag: tar.TypeSymlink, Linkname: "x"},
	} {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	task := (&fixture{}).fresh().Cell.Task
	task.Submit.Exclude = []string{"node_modules"}
	filter, err := sanitize.NewFilter(task.Submit)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	kept := tar.NewWriter(&out)
	keep := func(h *tar.Header) bool { return sanitize.Submittable(h, task.Workdir) && filter.Keep(h.Name) }
	if err := errors.Join(sanitize.Renamed(tar.NewReader(&in), kept, "src", "src", keep), kept.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := sanitize.Clean(bytes.NewReader(out.Bytes()), io.Discard, sanitize.Rules{Submit: task.Submit, Workdir: task.Workdir, Spool: t.TempDir()}); err != nil {
		t.Errorf("the judge refuses what was left: %v", err)
	}
	if diff := cmp.Diff([]string{"src/", "src/good/", "src/good/ünïcode -> x"}, listed(t, &out)); diff != "" {
		t.Error(diff)
	}
}

// TestWhatIsExcludedDoesNotCount: a large folder that is never submitted does not make
// the tree too large.
func TestWhatIsExcludedDoesNotCount(t *testing.T) {
	b := newFixture(t)
	b.play(func(ctx context.Context, g *scripted) int {
		for n := range 10 {
			g.WriteFile(fmt.Sprintf("/work/src/big/%d", n), make([]byte, 1<<20))
		}
		return work(solved)(ctx, g)
	})
	without := func(c *Cell) { c.Task.Submit.Exclude = []string{"big"} }
	if s, _ := b.until(b.machine(b.fresh(without)), b.fresh(without), Done); s.Result.Status != Resolved {
		t.Errorf("%+v", s.Result)
	}
}

func TestDoorsArePrivateAndShort(t *testing.T) {
	state := strings.Repeat("s", trydir.MaxStateDir)
	one, two := trydir.Of(state, "r.e1.aaaaaaaa", 1).Sockets(), trydir.Of(state, "r.e1.aaaaaaaa", 2).Sockets()
	if one == two {
		t.Error("two tries share a folder")
	}
	if n := len(filepath.Join(one, filepath.Base(protocol.GuestSocket))); n > 107 {
		t.Errorf("a socket's path has %d bytes, 107 are possible", n)
	}
	b := newFixture(t)
	m := b.machine(b.fresh())
	s, _ := b.until(m, b.fresh(), Await)
	dir := trydir.Of(b.host.StateDir, s.ID, 1).Sockets()
	parent, err := os.Stat(filepath.Dir(dir))
	if err != nil || parent.Mode().Perm() != 0o700 {
		t.Errorf("the parent of the folders: %v, %v", parent, err)
	}
}
