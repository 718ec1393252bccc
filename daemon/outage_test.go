//go:build linux

package daemon_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/container"
)

// eager submits again and again until it is let go, and does not wait for the verdicts: an
// outage finds it at work however long it lasts.
const eager = `
echo "born $$"
n=0
until [ -e /var/tmp/go ]; do
	n=$((n+1))
	echo $((1 + n % 8)) >src/level
	assay-submit || echo "submit failed" &
	echo "step $n of $$"
	sleep 6
done
wait
echo "done $$"
`

// An engine that is away under a run, with containers that go on, costs time and nothing
// else: not an agent, not a submission, not a try.
func TestAnEngineThatIsAwayCostsNothing(t *testing.T) {
	t.Parallel()
	d := newDockerd(t, true)
	w := d.fixture("")
	w.write("r.hcl", w.benchmark()+w.agent("eager", eager)+w.run("away", []string{
		`agent "eager" { label = "a" }`, `agent "eager" { label = "b" }`, `agent "eager" { label = "c" }`,
	}, `timeout = "5m"`, `parallel = 3`, `auto_eval = "7s"`))
	const file = "r.run.away.jsonl"
	w.serve()
	w.until("three trials submit", func() error {
		started := ofType("trial.started", w.records(file))
		for _, r := range started {
			if accepted.FindString(w.agentLog(r.Trial)) == "" {
				return fmt.Errorf("%s does not", r.Trial)
			}
		}
		if len(started) != 3 {
			return fmt.Errorf("%d do", len(started))
		}
		return nil
	})
	started := ofType("trial.started", w.records(file))
	for _, r := range started {
		w.body(r.Trial)
	}
	bodies := w.bodies()
	for _, outage := range []struct {
		signal syscall.Signal
		lasts  time.Duration
	}{{syscall.SIGKILL, 20 * time.Second}, {syscall.SIGTERM, 2 * time.Second}} {
		before := map[string]int{}
		for _, r := range started {
			before[r.Trial] = len(accepted.FindAllString(w.agentLog(r.Trial), -1))
		}
		d.stop(outage.signal)
		back := time.After(outage.lasts)
		if outage.lasts > 10*time.Second {
			// Of those that work: one that was frozen for a snapshot just then waits for the engine.
			w.until("a submission is accepted while the engine is away", func() error {
				for trial, n := range before {
					if len(accepted.FindAllString(w.agentLog(trial), -1)) > n {
						return nil
					}
				}
				return errors.New("none is")
			})
		}
		<-back
		d.start()
		w.untouched(bodies)
	}
	for _, r := range started {
		w.letGo(r.Trial)
	}
	run := w.settled("run.away", 12*time.Minute)
	for _, trial := range run.Trials {
		if trial.Status != "unresolved" || trial.Try != 1 || trial.Reason != "agent_exit" || trial.Best == "" {
			t.Errorf("trial %s: %s %s, try %d, best %q, %s", trial.ID, trial.Status, trial.Reason, trial.Try, trial.Best, trial.Detail)
		}
		for _, r := range started {
			if r.Trial == trial.ID && !r.Deadline.Equal(trial.Deadline) {
				t.Errorf("deadline of %s moved from %s to %s", r.Trial, r.Deadline, trial.Deadline)
			}
		}
		if !w.forgotten(bodies[trial.ID]) {
			w.keptCounting(trial.ID)
		}
	}
	w.nothingIsLost(file)
}

// nothingIsLost is what holds at the end of each run whose agents did no wrong, whatever
// the machinery did to it.
func (w *fixture) nothingIsLost(file string) {
	w.Helper()
	all := w.history(file)
	w.oneVerdictEach(all)
	w.everyRoundHasItsVerdict(all)
	for _, r := range ofType("submission", all) {
		if r.Status != "ok" {
			w.Errorf("round %s of %s is judged as %s", r.Round, r.Trial, r.Status)
		}
	}
	for _, r := range ofType("trial.finished", all) {
		if r.Try != 1 {
			w.Errorf("trial %s took the try %d", r.Trial, r.Try)
		}
	}
	w.noContainerIsLeft()
}

// An engine that stops its containers when it goes has them started again from their own
// layers, and their agents resumed with the time that is left.
func TestAnEngineThatStopsItsContainersResumesThem(t *testing.T) {
	t.Parallel()
	d := newDockerd(t, false)
	w := d.fixture("")
	slow := strings.Replace(w.benchmark(), `command = "sh tests/check.sh"`, `command = "sleep 2; sh tests/check.sh"`, 1)
	w.write("r.hcl", slow+w.agent("waiter", waiter)+w.run("stopped", []string{
		`agent "waiter" { label = "a" }`, `agent "waiter" { label = "b" }`,
	}, `timeout = "4m"`, `parallel = 2`, `auto_eval = "0s"`))
	const file = "r.run.stopped.jsonl"
	w.serve()
	w.until("two trials submit", func() error {
		n := 0
		for _, r := range ofType("trial.started", w.records(file)) {
			if accepted.MatchString(w.agentLog(r.Trial)) {
				n++
			}
		}
		if n < 2 {
			return fmt.Errorf("%d do", n)
		}
		return nil
	})
	started := ofType("trial.started", w.records(file))
	first := w.bodies()
	for i, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		d.stop(signal) // under the judgings
		d.start()
		for _, r := range started {
			w.said(r.Trial, fmt.Sprintf("start %d", i+2))
		}
	}
	for _, r := range started {
		w.said(r.Trial, "waiting")
		if b := w.body(r.Trial); b.ID != first[r.Trial].ID {
			t.Errorf("trial %s has another container than before", r.Trial)
		}
		w.letGo(r.Trial)
	}
	for _, trial := range w.settled("run.stopped", 12*time.Minute).Trials {
		if trial.Status != "resolved" || trial.Try != 1 {
			t.Errorf("trial %s is %s in try %d: %s", trial.ID, trial.Status, trial.Try, trial.Detail)
		}
		for _, r := range started {
			if r.Trial == trial.ID && !r.Deadline.Equal(trial.Deadline) {
				t.Errorf("deadline of %s moved from %s to %s", r.Trial, r.Deadline, trial.Deadline)
			}
		}
	}
	all := w.history(file)
	for _, r := range started {
		starts := strings.Count("\n"+w.agentLog(r.Trial), "\nstart ")
		resumed := 0
		for _, event := range ofType("trial.resumed", all) {
			if event.Trial == r.Trial {
				resumed++
			}
		}
		if resumed != starts-1 || resumed < 2 {
			t.Errorf("trial %s was started %d times and %d resumes are recorded", r.Trial, starts, resumed)
		}
	}
	w.nothingIsLost(file)
}

// An engine that is killed while it freezes a container takes it for one that runs when it is back,
// and can neither freeze nor thaw it. The container is started again, from its layer and in its try.
func TestAnEngineThatForgetsAFreezeLosesNoTrial(t *testing.T) {
	t.Parallel()
	d := newDockerd(t, true)
	w := d.fixture("")
	w.write("r.hcl", w.benchmark()+w.agent("eager", eager)+w.run("frozen", []string{`agent "eager" {}`}, `timeout = "5m"`, `auto_eval = "0s"`))
	w.serve()
	var trial string
	w.until("a trial submits", func() error {
		for _, r := range ofType("trial.started", w.records("r.run.frozen.jsonl")) {
			if trial = r.Trial; accepted.MatchString(w.agentLog(trial)) {
				return nil
			}
		}
		return errors.New("none does")
	})
	before := w.body(trial)
	d.freezeUnheard(before.ID)
	d.stop(syscall.SIGKILL)
	d.start()
	w.until("the agent is started again", func() error {
		if n := strings.Count(w.agentLog(trial), "born "); n != 2 {
			return fmt.Errorf("it was started %d times", n)
		}
		return nil
	})
	if after := w.body(trial); after.ID != before.ID {
		t.Error("the trial has another container than before")
	}
	w.letGo(trial)
	for _, trial := range w.settled("run.frozen", 12*time.Minute).Trials {
		if trial.Status != "unresolved" || trial.Try != 1 || trial.Reason != "agent_exit" {
			t.Errorf("trial %s: %s %s in try %d: %s", trial.ID, trial.Status, trial.Reason, trial.Try, trial.Detail)
		}
	}
	w.nothingIsLost("r.run.frozen.jsonl")
}

// A slow engine, and one whose connections break, make everything slower and nothing else.
func TestABadConnectionToTheEngineOnlyTakesTime(t *testing.T) {
	t.Parallel()
	d := newDockerd(t, true)
	for name, spoil := range map[string]func(*wire){
		"slow": func(c *wire) {
			c.delay = func() time.Duration { return time.Duration(300+rand.IntN(500)) * time.Millisecond }
		},
		"broken": func(c *wire) { c.breaks = func() bool { return rand.IntN(20) == 0 } },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mine := *d
			mine.T = t
			wire := newWire(t, d.socket())
			spoil(wire)
			w := mine.fixture(wire.host())
			w.write("r.hcl", w.benchmark()+w.agent("climber", climber)+w.run("bad", []string{
				`agent "climber" {
    label = "a"
    env   = { STEPS = "2", PAUSE = "1" }
  }`, `agent "climber" {
    label = "b"
    env   = { STEPS = "2", PAUSE = "1" }
  }`,
			}, `timeout = "4m"`, `parallel = 2`, `auto_eval = "3s"`))
			w.serve()
			w.untilWithin(3*time.Minute, "the run is finished", func() error {
				w.noTwins()
				run, err := w.status("run.bad")
				if err == nil && run.State != "finished" {
					err = fmt.Errorf("it is %s: %s", run.State, run.Note)
				}
				return err
			})
			run, err := w.status("run.bad")
			if err != nil {
				t.Fatal(err)
			}
			for _, trial := range run.Trials {
				if trial.Status != "unresolved" || trial.Reason != "agent_exit" {
					t.Errorf("trial %s: %s %s, %s", trial.ID, trial.Status, trial.Reason, trial.Detail)
				}
				if log := w.agentLog(trial.ID); strings.Count(log, "born ") != 1 || !strings.Contains(log, "step 2 of") {
					t.Errorf("trial %s:\n%s", trial.ID, log)
				}
			}
			w.nothingIsLost("r.run.bad.jsonl")
		})
	}
}

// noTwins fails when a trial has two work containers.
func (w *fixture) noTwins() {
	w.Helper()
	all, err := w.engine.Observe(w.Context(), w.owner)
	if err != nil {
		w.Fatal(err)
	}
	seen := map[string]string{}
	for _, c := range all {
		if c.Labels[container.LabelRole] != container.RoleWork {
			continue
		}
		trial := c.Labels[container.LabelTrial]
		if other, ok := seen[trial]; ok {
			w.Errorf("trial %s has the containers %s and %s", trial, other, c.Name)
		}
		seen[trial] = c.Name
	}
}

// A daemon waits for an engine that is not there: when it starts, at a trial's deadline,
// and not at all when it is told to stop.
func TestADaemonWaitsForItsEngine(t *testing.T) {
	t.Parallel()
	d := newDockerd(t, true)
	w := d.fixture("")
	w.write("r.hcl", w.benchmark()+w.agent("immortal", immortalShell)+w.run("late", []string{`agent "immortal" {}`}, `timeout = "15s"`, `auto_eval = "0s"`))
	const file = "r.run.late.jsonl"
	d.stop(syscall.SIGKILL)
	w.serve()
	w.until("the daemon says that the engine is away", func() error {
		if !strings.Contains(w.daemonLog(), "the container engine does not answer") {
			return errors.New("it does not")
		}
		return nil
	})
	w.terminate()
	w.serve()
	d.start()

	started := w.recorded(file, "the trial's start", func(r record) bool { return r.Type == "trial.started" })
	w.said(started.Trial, "waiting")
	id := w.body(started.Trial).ID
	d.stop(syscall.SIGKILL)
	w.until("only the guest lives", func() error {
		if left := processes(t, id); len(left) != 1 {
			return fmt.Errorf("there are %d processes", len(left))
		}
		return nil
	})
	if early := time.Until(started.Deadline); early > 0 {
		t.Errorf("the agent died %s before its deadline", early)
	}
	w.terminate()
	w.serve()
	d.start()
	w.settled("run.late", patience)
	all := w.history(file)
	judged, finished := ofType("submission", all), ofType("trial.finished", all)
	if len(judged) != 1 || judged[0].Round != "final-1" || judged[0].Status != "ok" {
		t.Errorf("judged were %+v", judged)
	}
	if len(finished) != 1 || finished[0].Reason != "deadline" || !finished[0].TimedOut || finished[0].Status != "unresolved" {
		t.Errorf("finished is %+v", finished)
	}
	w.nothingIsLost(file)
}

// immortalShell is immortal where there is nothing but a shell.
const immortalShell = `
trap '' HUP INT QUIT TERM USR1 USR2 PIPE ALRM TSTP
echo 7 >src/level
(trap "" HUP INT TERM; while :; do sleep 1; done) &
echo waiting
while :; do sleep 1; done
`

// wire is a bad connection to an engine.
type wire struct {
	t        *testing.T
	engine   string // socket
	socket   string
	listener net.Listener
	work     sync.WaitGroup
	delay    func() time.Duration // before each answer
	breaks   func() bool          // whether a question or an answer is lost, with its connection

	mu   sync.Mutex
	live map[net.Conn]bool // nil = it is over
}

// newWire makes one. It is to be spoilt before it is used.
func newWire(t *testing.T, engine string) *wire {
	t.Helper()
	c := &wire{
		t: t, engine: engine, socket: filepath.Join(shortDir(t), "w.sock"), live: map[net.Conn]bool{},
		delay: func() time.Duration { return 0 }, breaks: func() bool { return false },
	}
	l, err := net.Listen("unix", c.socket)
	if err != nil {
		t.Fatal(err)
	}
	c.listener = l
	c.work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed
			}
			c.work.Go(func() { c.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		c.mu.Lock()
		for conn := range c.live {
			_ = conn.Close()
		}
		c.live = nil
		c.mu.Unlock()
		c.work.Wait()
	})
	return c
}

func (c *wire) host() string { return "unix://" + c.socket }

// hold keeps a connection until the wire is over, which it may be.
func (c *wire) hold(conn net.Conn) (ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.live == nil {
		_ = conn.Close()
		return false
	}
	c.live[conn] = true
	return true
}

func (c *wire) drop(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.live, conn)
	_ = conn.Close()
}

func (c *wire) serve(client net.Conn) {
	engine, err := net.Dial("unix", c.engine)
	if err != nil {
		_ = client.Close()
		return
	}
	if !c.hold(client) || !c.hold(engine) {
		return
	}
	var asked atomic.Bool // a question was passed on, and nothing of its answer
	var both sync.WaitGroup
	pass := func(from, to net.Conn, spoil func() (whole bool)) {
		buf := make([]byte, 64<<10)
		for {
			n, err := from.Read(buf)
			if n > 0 {
				if !spoil() {
					break
				}
				if _, err := to.Write(buf[:n]); err != nil {
					break
				}
			}
			if err != nil {
				if half, ok := to.(*net.UnixConn); ok {
					_ = half.CloseWrite()
					return
				}
				break
			}
		}
		c.drop(client)
		c.drop(engine)
	}
	both.Go(func() {
		pass(client, engine, func() bool {
			first := !asked.Swap(true)
			return !first || !c.breaks()
		})
	})
	both.Go(func() {
		pass(engine, client, func() bool {
			if !asked.Swap(false) {
				return true
			}
			<-time.After(c.delay())
			return !c.breaks()
		})
	})
	both.Wait()
	c.drop(client)
	c.drop(engine)
}
