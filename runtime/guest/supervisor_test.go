//go:build linux

package guest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/guest/protocol"
)

func TestAnAgentRunsOnceAndItsEndIsReported(t *testing.T) {
	for _, tt := range []struct {
		name    string
		command []string
		change  func(*protocol.Config)
		log     string
		code    int
		reason  string
		detail  string
	}{
		{name: "success", command: sh("echo out; echo err >&2"), log: "out\nerr\n", reason: protocol.EndedExit},
		{name: "failure", command: sh("exit 7"), code: 7, reason: protocol.EndedError, detail: "exit code 7"},
		{name: "killed by a signal", command: sh("kill -9 $$"), code: 137, reason: protocol.EndedError},
		{
			name:    "orphans in plenty do not hide the exit code",
			command: sh("i=0; while [ $i -lt 200 ]; do (true & ); i=$((i+1)); done; exit 3"), code: 3, reason: protocol.EndedError,
		},
		{name: "a child that stays behind does not hold up the end", command: sh("sleep 1000 & exit 4"), code: 4, reason: protocol.EndedError},
		{name: "no such command", command: []string{"no-such-agent"}, code: -1, reason: protocol.EndedError, detail: `"no-such-agent" not found`},
		{name: "no command", code: -1, reason: protocol.EndedError, detail: "no command"},
		{
			name: "no such folder", command: sh("true"), change: func(c *protocol.Config) { c.Workdir = "/nowhere" },
			code: -1, reason: protocol.EndedError, detail: `"/nowhere" is not a directory`,
		},
		{
			name: "no such user", command: sh("true"), change: func(c *protocol.Config) { c.User = "nobody-knows" },
			code: -1, reason: protocol.EndedError, detail: "no such user",
		},
		{
			name: "a broken template", command: sh("{{.Nothing}}"),
			code: -1, reason: protocol.EndedError, detail: "Nothing",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, tt.command...)
			if tt.change != nil {
				tt.change(&s.config)
			}
			s.boot()
			end := s.ended()
			if end.Reason != tt.reason || !strings.Contains(end.Detail, tt.detail) {
				t.Errorf("ended %q, %q; want %q, %q", end.Reason, end.Detail, tt.reason, tt.detail)
			}
			exits := s.find(protocol.EventExited)
			if tt.code < 0 {
				if len(exits) != 0 || len(s.find(protocol.EventStarted)) != 0 {
					t.Errorf("nothing can have run: %+v", s.events)
				}
			} else if len(exits) != 1 || exits[0].ExitCode != tt.code {
				t.Errorf("exits %+v, want one with code %d", exits, tt.code)
			}
			if got := string(s.log); tt.log != "" && got != tt.log {
				t.Errorf("log %q, want %q", got, tt.log)
			}
		})
	}
}

func TestTheAgentIsItsUserAndTheFirstToGoWhenMemoryIsShort(t *testing.T) {
	before := lines(read(t, "/proc/self/oom_score_adj"))[0]
	// The guest takes its own score back once the agent is there, so the agent may see it raised.
	s := newSite(t, sh("for i in $(seq 200); do [ $(cat /proc/1/oom_score_adj) = "+before+" ] && break; sleep 0.05; done; id -u; id -g; id -G; echo $HOME $USER; pwd; cat /proc/self/oom_score_adj; cat /proc/1/oom_score_adj; echo $GREETING $ASSAYD_DEADLINE; ps -o sid= -p $$ | grep -qw $$ && echo leader; echo {{.Model}} $((3500 < {{.TimeLeft}}))")...)
	home := filepath.Join(s.root, "home")
	if err := errors.Join(os.Mkdir(home, 0o700), os.Chown(home, 4321, 4322)); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(s.root, "etc/passwd"), "root:x:0:0::/root:/bin/sh\nworker:x:4321:4322::"+home+":/bin/sh\n")
	write(t, filepath.Join(s.root, "etc/group"), "worker:x:4322:\nextra:x:4400:other,worker\nelse:x:4500:other\n")
	s.config.User = "worker"
	s.config.Env = map[string]string{"GREETING": "hello"}
	s.config.Vars = map[string]string{"Model": "m1"}
	s.boot()
	s.ended()
	want := []string{
		"4321", "4322", "4322 4400", home + " worker", s.config.Workdir, "1000", before,
		"hello " + s.deadline.UTC().Format(time.RFC3339), "leader", "m1 1",
	}
	if diff := cmp.Diff(want, lines(string(s.log))); diff != "" {
		t.Error(diff)
	}
}

// watchFifo gives a channel that is closed when no process holds the pipe open any more.
func watchFifo(t *testing.T, path string) <-chan struct{} {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o666); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		f, err := os.Open(path) // until a writer is there
		if err == nil {
			_, _ = io.Copy(io.Discard, f)
			_ = f.Close()
		}
	}()
	return gone
}

func within(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("waited in vain for %s", what)
	}
}

// stubborn leaves processes behind that hold the pipe and ignore what can be ignored, in
// sessions of their own.
const stubborn = `exec 3>pipe; trap "" TERM HUP INT
setsid sh -c 'trap "" TERM; (setsid sleep 1000 &) ; sleep 1000' &
echo ready; `

func TestTheDeadlineKillsEverythingWithoutTheDaemon(t *testing.T) {
	s := newSite(t, sh(stubborn+"sleep 1000")...)
	s.deadline = time.Now().Add(1500 * time.Millisecond)
	gone := watchFifo(t, filepath.Join(s.root, "work/pipe"))
	s.boot()
	s.until("the agent is ready", func() bool { return string(s.log) == "ready\n" })
	s.away()
	within(t, "the end of all processes", gone)
	if early := time.Until(s.deadline); early > 0 {
		t.Errorf("killed %s before the deadline", early)
	}
	s.open()
	if end := s.ended(); end.Reason != protocol.EndedDeadline {
		t.Errorf("ended for %q", end.Reason)
	}
	if exits := s.find(protocol.EventExited); len(exits) != 1 || exits[0].ExitCode != 137 {
		t.Errorf("exits %+v", exits)
	}
	s.update(func() { s.beats = nil })
	s.until("a heartbeat of the guest alone", func() bool {
		return len(s.beats) > 0 && s.beats[0].PIDs == 0 && !s.beats[0].Running
	})
}

// A wall clock that was set is one that the daemon's clock is ahead of, or behind.
func TestTheDeadlineIsOfTheDaemonsClock(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, sh("echo ready; echo {{.TimeLeft}}; echo $ASSAYD_DEADLINE; sleep 1000")...)
			s.ahead, s.deadline = ahead, time.Now().Add(ahead+2*time.Second)
			first := s.boot()
			s.until("the agent is ready", func() bool { return len(lines(string(s.log))) == 3 })
			s.away()
			stop(first)
			s.boot() // before it hears from the daemon it knows of no end
			s.open()
			end := s.ended()
			if late := end.Time.Sub(s.deadline); end.Reason != protocol.EndedDeadline || late < 0 || late > patience {
				t.Errorf("ended for %q %s after the deadline", end.Reason, late)
			}
			got := lines(string(s.log))
			at, err := time.Parse(time.RFC3339, got[2])
			if left := time.Until(at) - time.Until(s.deadline.Add(-ahead)); err != nil || left.Abs() > 2*time.Second || len(got[1]) != 1 {
				t.Errorf("the agent is told of %q, which is %s off; %v", got, left, err)
			}
			for _, e := range s.find(protocol.EventStarted) {
				if off := s.deadline.Sub(e.Time); off < 0 || off > patience {
					t.Errorf("a start %s before the deadline", off)
				}
			}
		})
	}
}

func TestTheDaemonEndsTheAgent(t *testing.T) {
	s := newSite(t, sh(stubborn+"sleep 1000")...)
	gone := watchFifo(t, filepath.Join(s.root, "work/pipe"))
	s.boot()
	s.until("the agent is ready", func() bool { return string(s.log) == "ready\n" })
	close(s.order)
	within(t, "the end of all processes", gone)
	if end := s.ended(); end.Reason != protocol.EndedOrdered {
		t.Errorf("ended for %q", end.Reason)
	}
}

// A later deadline holds also where the container is stopped under its agent, and an earlier one never.
func TestTheDaemonMovesTheDeadlineToALaterTime(t *testing.T) {
	s := newSite(t, sh("echo ready; sleep 1000")...)
	first := s.boot()
	s.until("the agent is ready", func() bool { return string(s.log) == "ready\n" })
	declared := s.deadline
	for _, later := range []time.Time{declared.Add(-time.Minute), declared.Add(time.Hour), declared.Add(time.Minute)} {
		s.later <- later
	}
	known := func() bool { return s.beats[len(s.beats)-1].Deadline.Equal(declared.Add(time.Hour)) }
	s.until("the guest knows it", known)
	stop(first)
	s.away()
	s.boot()
	s.open()
	s.until("the guest says hello again", func() bool { return len(s.hellos) == 2 })
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.hellos[1]; !h.Deadline.Equal(declared.Add(time.Hour)) {
		t.Errorf("after a restart it knows of %s, want an hour behind %s", h.Deadline, declared)
	}
	for _, b := range s.beats {
		if !b.Deadline.IsZero() && b.Deadline.Before(declared) { // zero: it has not said hello yet
			t.Errorf("it knew of %s", b.Deadline)
		}
	}
}

func TestAnAgentThatEndsTakesItsChildrenAlong(t *testing.T) {
	s := newSite(t, sh(stubborn+"exit 0")...)
	gone := watchFifo(t, filepath.Join(s.root, "work/pipe"))
	s.boot()
	s.ended()
	within(t, "the end of all processes", gone)
}

func TestAContainerStoppedUnderItsAgentGoesOn(t *testing.T) {
	s := newSite(t, sh("echo first; sleep 1000")...)
	s.config.Resume = sh("echo again; exit 0")
	first := s.boot()
	s.until("the agent has begun", func() bool { return string(s.log) == "first\n" && len(s.events) == 1 })
	stop(first)
	s.boot()
	if end := s.ended(); end.Reason != protocol.EndedExit {
		t.Errorf("ended %+v", end)
	}
	if got := string(s.log); got != "first\nagain\n" {
		t.Errorf("log %q", got)
	}
	h := s.hellos
	if len(h) != 2 || h[0].Boot == h[1].Boot || h[0].Starts != 0 || h[1].Starts != 1 || !h[1].Deadline.Equal(s.deadline) {
		t.Errorf("hellos %+v", h)
	}
	starts := s.find(protocol.EventStarted)
	if len(starts) != 2 || starts[1].Count != 1 || starts[1].Reason != protocol.AgainAfterRestart {
		t.Errorf("starts %+v", starts)
	}
}

func TestWithoutAResumeCommandARestartedContainerRunsTheCommandAgain(t *testing.T) {
	s := newSite(t, sh("[ -e flag ] && echo again && exit 0; touch flag; echo run; sleep 1000")...)
	first := s.boot()
	s.until("the agent has begun", func() bool { return string(s.log) == "run\n" })
	stop(first)
	s.boot()
	s.ended()
	if got := string(s.log); got != "run\nagain\n" {
		t.Errorf("log %q", got)
	}
}

func TestNothingStartsAfterTheDeadline(t *testing.T) {
	s := newSite(t, sh("touch started; sleep 1000")...)
	s.deadline = time.Now().Add(-time.Second)
	s.boot()
	if end := s.ended(); end.Reason != protocol.EndedDeadline {
		t.Errorf("ended for %q", end.Reason)
	}
	if _, err := os.Stat(filepath.Join(s.root, "work/started")); err == nil {
		t.Error("the agent was started")
	}
}

func TestAnEndIsForGood(t *testing.T) {
	s := newSite(t, sh("echo run")...)
	first := s.boot()
	s.ended()
	stop(first)
	s.boot()
	s.until("a second hello", func() bool { return len(s.hellos) == 2 })
	s.update(func() { s.beats = nil })
	s.until("a heartbeat", func() bool { return len(s.beats) > 0 })
	if s.hellos[1].Ended != protocol.EndedExit || string(s.log) != "run\n" || len(s.find(protocol.EventEnded)) != 1 {
		t.Errorf("hello %+v, log %q, events %+v", s.hellos[1], s.log, s.events)
	}
}

func TestTheAgentWaitsForTheDaemonButTheGuestDoesNotGiveUp(t *testing.T) {
	s := newSite(t, sh("echo run")...)
	s.away()
	s.boot()
	s.open()
	s.ended()
	if got := string(s.log); got != "run\n" {
		t.Errorf("log %q", got)
	}
}

func TestResumeFollowsThePolicy(t *testing.T) {
	s := newSite(t, sh("echo first; exit 1")...)
	s.config.Resume = sh("echo again; exit 1")
	s.config.Policy = protocol.ResumePolicy{Max: 2, Backoff: time.Millisecond}
	s.boot()
	if end := s.ended(); end.Reason != protocol.EndedExit || !strings.Contains(end.Detail, "exit code 1") {
		t.Errorf("ended %+v", end)
	}
	if got := string(s.log); got != "first\nagain\nagain\n" {
		t.Errorf("log %q", got)
	}
	for i, e := range s.find(protocol.EventStarted) {
		if e.Count != i {
			t.Errorf("start %d has count %d", i, e.Count)
		}
	}
}

func TestIdleIsATreeThatDoesNotChange(t *testing.T) {
	s := newSite(t, sh("echo run; [ -e src/a ] || { mkdir src; echo x >src/a; }; date +%N >unwatched")...)
	s.config.Resume = s.config.Command
	s.config.Policy = protocol.ResumePolicy{Max: 100, Backoff: time.Millisecond, Idle: 2}
	s.config.WatchPaths = []string{"src"}
	s.boot()
	if end := s.ended(); end.Reason != protocol.EndedIdle {
		t.Errorf("ended %+v", end)
	}
	if got := strings.Count(string(s.log), "run"); got != 3 {
		t.Errorf("%d runs, want one that changes something and two that do not", got)
	}
}

// signalled sends everything that can be caught to a first process, from outside.
func signalled(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	for n := syscall.Signal(1); n <= 64; n++ {
		switch n {
		case syscall.SIGKILL, syscall.SIGSTOP:
		default:
			if err := cmd.Process.Signal(n); err != nil {
				t.Fatalf("signal %d: %v", n, err)
			}
		}
	}
}

// TestNoSignalEndsTheGuest: an agent that is root must not be able to stop its container.
func TestNoSignalEndsTheGuest(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, sh("kill -TERM 1; kill -SEGV 1; GUEST_TEST_ROLE=attack "+self+" && echo ready; sleep 1000")...)
	cmd := s.boot()
	s.until("the agent is ready", func() bool { return string(s.log) == "ready\n" })
	signalled(t, cmd)
	s.update(func() { s.beats = nil })
	s.until("two more heartbeats with an agent", func() bool { return len(s.beats) > 1 && s.beats[1].Running })
	if len(s.hellos) != 1 || len(s.find(protocol.EventStarted)) != 1 || len(s.find(protocol.EventEnded)) != 0 {
		t.Errorf("%d hellos, events %+v", len(s.hellos), s.events)
	}
}

// processLimit makes a control group for that many processes and threads.
func processLimit(t *testing.T, n int) string {
	t.Helper()
	group := fmt.Sprintf("/sys/fs/cgroup/pids/assayd-guest-test-%d", os.Getpid())
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		group = fmt.Sprintf("/sys/fs/cgroup/assayd-guest-test-%d", os.Getpid())
		_ = os.WriteFile("/sys/fs/cgroup/cgroup.subtree_control", []byte("+pids"), 0)
	}
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Fatalf("this test needs a writable pids control group: %v", err)
	}
	t.Cleanup(func() {
		if err := os.Remove(group); err != nil {
			t.Error(err)
		}
	})
	if err := os.WriteFile(filepath.Join(group, "pids.max"), []byte(strconv.Itoa(n)), 0); err != nil {
		t.Fatal(err)
	}
	return group
}

func TestAnAgentThatUsesUpTheProcessLimitStopsNothing(t *testing.T) {
	hog, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, sh("GUEST_TEST_ROLE=hog setsid "+hog+" 3>pipe & until [ -e full ]; do :; done; exit 1")...)
	s.cgroup = processLimit(t, 100)
	gone := watchFifo(t, filepath.Join(s.root, "work/pipe"))
	s.config.Resume = sh("echo again")
	s.config.Policy = protocol.ResumePolicy{Max: 1, Backoff: 200 * time.Millisecond} // for the hog to take the agent's place
	s.boot()
	s.until("no process can be made", func() bool { return len(s.events) > 2 && s.events[2].Reason == protocol.TroubleSpawn })
	within(t, "the end of what was left behind", gone)
	if end := s.ended(); end.Reason != protocol.EndedExit || string(s.log) != "again\n" {
		t.Errorf("the second run found no place: %+v, log %q", end, s.log)
	}
}

// Children that an agent does not wait for are nobody else's to reap while it lives: many of
// them are told of, once.
func TestManyZombiesAreAnEvent(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Those of other programs on this machine count, too.
	for _, tt := range []struct{ children, events int }{{manyZombies / 2, 0}, {manyZombies, 1}} {
		t.Run(strconv.Itoa(tt.children), func(t *testing.T) {
			s := newSite(t, sh(fmt.Sprintf("GUEST_TEST_ROLE=careless GUEST_TEST_CHILDREN=%d exec %s", tt.children, self))...)
			s.boot()
			s.until("two heartbeats have told of them", func() bool {
				told := slices.DeleteFunc(slices.Clone(s.beats), func(b protocol.Beat) bool { return b.Zombies < tt.children })
				return len(told) > 1
			})
			close(s.order)
			s.ended()
			var got []protocol.Event
			for _, e := range s.find(protocol.EventTrouble) {
				if e.Reason == protocol.TroubleZombies {
					got = append(got, e)
				}
			}
			if len(got) != tt.events {
				t.Fatalf("%d events of %d zombies: %+v", len(got), tt.children, s.events)
			}
			if len(got) > 0 && !strings.HasSuffix(got[0].Detail, " processes ended and no process waits for them") {
				t.Errorf("it says %q", got[0].Detail)
			}
		})
	}
}

// TestAnEventThatTheDaemonDoesNotKnowKeepsNoOtherBack: guest and daemon may be of two versions.
func TestAnEventThatTheDaemonDoesNotKnowKeepsNoOtherBack(t *testing.T) {
	s := newSite(t, sh("echo done")...)
	s.refuses = protocol.EventExited
	s.boot()
	if end := s.ended(); end.Reason != protocol.EndedExit || len(s.find(protocol.EventStarted)) != 1 || len(s.find(protocol.EventExited)) != 0 {
		t.Errorf("events %+v", s.events)
	}
}

func TestMuchOutputArrivesWholeAndBounded(t *testing.T) {
	s := newSite(t, sh("seq 1 200000")...)
	s.config.LogBytes = 64 << 20
	s.boot()
	s.ended()
	var want strings.Builder
	for i := range 200000 {
		fmt.Fprintln(&want, i+1)
	}
	if string(s.log) != want.String() {
		t.Errorf("%d bytes arrived of %d", len(s.log), want.Len())
	}
}

func TestNoSignalEndsAHold(t *testing.T) {
	cmd, stdout := container(t, "hold")
	if _, err := io.ReadFull(stdout, make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	signalled(t, cmd)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // nothing can be started behind a first process that is gone
		inside := exec.Command("nsenter", "--target", strconv.Itoa(cmd.Process.Pid), "--pid", self)
		inside.Env = []string{"GUEST_TEST_ROLE=attack"}
		if out, err := inside.CombinedOutput(); err != nil {
			t.Fatalf("attack from inside: %v: %s", err, out)
		}
	}
}

func TestTheGuestOfAnotherProcessIsRefused(t *testing.T) {
	if err := supervise(layoutAt(t.TempDir()), nil); err == nil || !strings.Contains(err.Error(), "first process") {
		t.Errorf("error %v", err)
	}
}
