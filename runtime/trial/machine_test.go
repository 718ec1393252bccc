package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/agent"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/guest/protocol"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial/trydir"
)

func TestLifeOfATrial(t *testing.T) {
	for _, tt := range []struct {
		name, answer string
		status       Status
		rate         float64
	}{
		{"solved", solved, Resolved, 1},
		{"half solved", "t1 passed\nt2 failed\n", Unresolved, 0.5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t)
			b.play(work(tt.answer))
			s, told := b.until(b.machine(b.fresh()), b.fresh(), Done)
			if got := types(told); got != "trial.started trial.finished" {
				t.Errorf("reported: %s", got)
			}
			r := s.Result
			if r.Status != tt.status || r.Reason != ReasonAgentExit || !r.Final || r.Best == nil || r.Best.Round != "final-1" || r.Best.PassRate != tt.rate {
				t.Errorf("verdict %+v", r)
			}
			if len(r.FailToPass) != 1 || !r.FailToPass[0].Passed {
				t.Errorf("fail to pass: %+v", r.FailToPass)
			}
			if c := b.fake.Container(s.Workload.Name); c != nil {
				t.Error("the container is still there")
			}
			if exists(t, trydir.Of(b.host.StateDir, s.ID, 1).Sockets()) || !exists(t, trydir.Of(b.host.StateDir, s.ID, 1).Log()) {
				t.Error("want the trial's folder gone and its log kept")
			}
		})
	}
}

// TestEveryStepMayBeRepeated crashes the daemon after each step in turn, before its result
// is stored: the next one repeats it, and nothing happens twice.
func TestEveryStepMayBeRepeated(t *testing.T) {
	t.Run("without a private set", func(t *testing.T) { repeatEveryStep(t, 1) })
	t.Run("with one", func(t *testing.T) { repeatEveryStep(t, 2, withPrivate) })
	t.Run("in single mode", func(t *testing.T) { repeatEveryStep(t, 2, once) })
}

func repeatEveryStep(t *testing.T, verdicts int, change ...func(*Cell)) {
	for crash := 0; ; crash++ {
		steps := 0
		t.Run(fmt.Sprint(crash), func(t *testing.T) {
			b := newFixture(t)
			b.play(work(solved))
			b.before(sound)
			s := b.fresh(change...)
			m := New(b.host, s.ID, s.Spec)
			defer func() { m.Close() }()
			finals := 0
			for ; s.Phase != Done; steps++ {
				next, effects, err := m.Step(t.Context(), s)
				if err != nil {
					t.Fatalf("step %d in phase %s: %v", steps, s.Phase, err)
				}
				if steps == crash { // what it returned is lost, with all that the daemon held
					m.Close()
					m = New(b.host, s.ID, s.Spec)
					continue
				}
				stored, err := json.Marshal(next)
				if err != nil {
					t.Fatal(err)
				}
				s = State{}
				if err := json.Unmarshal(stored, &s); err != nil {
					t.Fatal(err)
				}
				for _, e := range effects {
					if e.Type == "trial.finished" {
						finals++
					}
				}
			}
			rounds, err := b.ledger.Submissions(t.Context(), s.ID)
			if err != nil || len(rounds) != verdicts || finals != 1 || s.Result.Status != Resolved {
				t.Errorf("%d verdicts, rounds %+v, %v, status %s (%s)", finals, rounds, err, s.Result.Status, s.Result.Detail)
			}
		})
		if crash > steps || t.Failed() {
			return
		}
	}
}

func TestTheDeadlineIsFixedOnce(t *testing.T) {
	b := newFixture(t)
	welcomes := make(chan protocol.Welcome, 2)
	b.play(func(ctx context.Context, g *scripted) int {
		welcomes <- g.hello(ctx)
		welcomes <- g.hello(ctx)
		g.event(ctx, protocol.Event{Seq: 1, Type: protocol.EventEnded, Reason: protocol.EndedDeadline})
		<-ctx.Done()
		return 137
	})
	begun := time.Now()
	m := b.machine(b.fresh())
	s, told := b.until(m, b.fresh(), Closing)
	if n := strings.Count(types(told), "trial.started"); n != 1 {
		t.Errorf("the trial started %d times", n)
	}
	one, two := <-welcomes, <-welcomes
	if !one.Deadline.Equal(s.Deadline) || !two.Deadline.Equal(s.Deadline) || one.EventNext != 1 || one.LogNext != 0 {
		t.Errorf("deadline %s, told %+v and %+v", s.Deadline, one, two)
	}
	if d := s.Deadline.Sub(begun); d < time.Hour || d > time.Hour+time.Minute {
		t.Errorf("the deadline is %s after the beginning, want an hour", d)
	}
	if s.Reason != ReasonDeadline || !s.TimedOut {
		t.Errorf("the guest's word on the end became %q, timed out %v", s.Reason, s.TimedOut)
	}
}

// TestAnAgentIsToldTheTimeThatIsLeft asks before the agent has begun, and after.
func TestAnAgentIsToldTheTimeThatIsLeft(t *testing.T) {
	b := newFixture(t)
	told := make(chan protocol.Left, 2)
	ask := func(ctx context.Context, g *scripted) {
		var left protocol.Left
		socket, _ := g.HostPath(protocol.JudgeSocket)
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		}}}
		q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://judge"+protocol.LeftPath, nil)
		if err != nil {
			t.Error(err)
			return
		}
		a, err := client.Do(q)
		for err != nil && ctx.Err() == nil { // the judge's socket is made once the container runs
			<-time.After(time.Millisecond)
			a, err = client.Do(q)
		}
		if err != nil {
			t.Error(err)
			return
		}
		if err := errors.Join(json.NewDecoder(a.Body).Decode(&left), a.Body.Close()); err != nil {
			t.Error(err)
		}
		told <- left
	}
	b.play(func(ctx context.Context, g *scripted) int {
		ask(ctx, g)
		g.hello(ctx)
		ask(ctx, g)
		g.event(ctx, protocol.Event{Seq: 1, Type: protocol.EventEnded, Reason: protocol.EndedExit})
		return 0
	})
	b.until(b.machine(b.fresh()), b.fresh(), Closing)
	for _, when := range []string{"before", "after"} {
		if left := <-told; left.Seconds < 3000 || left.Seconds > 3600 {
			t.Errorf("%s the agent began %d seconds are left of an hour", when, left.Seconds)
		}
	}
}

// TestAnEventIsAcknowledgedOnceItIsStored: the answer goes out with the step after the one
// that took the event in, because in between its effects are committed.
func TestAnEventIsAcknowledgedOnceItIsStored(t *testing.T) {
	b := newFixture(t)
	answered := make(chan bool, 1)
	b.play(func(ctx context.Context, g *scripted) int {
		g.hello(ctx)
		answered <- g.event(ctx, protocol.Event{Seq: 1, Type: protocol.EventTrouble, Reason: protocol.TroubleZombies})
		g.event(ctx, protocol.Event{Seq: 1, Type: protocol.EventTrouble, Reason: protocol.TroubleZombies}) // its answer was lost, say
		g.event(ctx, protocol.Event{Seq: 2, Type: protocol.EventEnded, Reason: protocol.EndedIdle})
		<-ctx.Done()
		return 137
	})
	m := b.machine(b.fresh())
	s, _ := b.until(m, b.fresh(), Running)
	for s.EventSeq == 0 {
		next, _, err := m.Step(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		s = next
	}
	select {
	case <-answered:
		t.Fatal("the event was answered before it could be stored")
	default:
	}
	s, told := b.until(m, s, Closing)
	if !<-answered || types(told) != "" || s.Reason != ReasonIdle {
		t.Errorf("a repeated event was reported again: %s; reason %s", types(told), s.Reason)
	}
}

// All that a guest has trouble with is in the records; what the agent ran into marks its verdict.
func TestTroubleIsAnEventAndMayBeAFlag(t *testing.T) {
	b := newFixture(t)
	troubles := []string{
		protocol.TroubleLogTruncated, protocol.TroubleZombies, protocol.TroubleSpawn, protocol.TroubleState, protocol.TroubleUnkillable,
		protocol.TroubleOOM, protocol.TroublePIDs,
	}
	b.play(func(ctx context.Context, g *scripted) int {
		g.hello(ctx)
		for i, reason := range troubles {
			g.event(ctx, protocol.Event{Seq: i + 1, Type: protocol.EventTrouble, Reason: reason, Detail: "so many"})
		}
		g.event(ctx, protocol.Event{Seq: len(troubles) + 1, Type: protocol.EventEnded, Reason: protocol.EndedExit})
		<-ctx.Done()
		return 137
	})
	s, told := b.until(b.machine(b.fresh()), b.fresh(), Done)
	want := "trial.started"
	for _, reason := range troubles {
		want += " trial.event:" + reason
	}
	if want += " trial.finished"; types(told) != want {
		t.Errorf("reported %q, want %q", types(told), want)
	}
	if diff := cmp.Diff([]string{"zombies", "oom", "pids"}, s.Result.Flags); diff != "" {
		t.Error(diff)
	}
}

// A program that is installed by steps of its own is called by its name, and none is fetched.
func TestAProgramOfOwnInstallSteps(t *testing.T) {
	b := newFixture(t)
	s := b.fresh(func(c *Cell) {
		c.Agent = agent.Agent{Name: agent.ClaudeCode, Program: agent.ClaudeCode, Layer: &agent.Layer{Setup: []string{"install it"}}}
	})
	s, _ = b.until(b.machine(s), s, Create)
	if s.Equipped == "" || s.Program != "claude" || len(s.Layers) != 0 {
		t.Errorf("equipped %q, program %q, layers %v", s.Equipped, s.Program, s.Layers)
	}
}

func TestAStoppedContainerGoesOnFromItsLayer(t *testing.T) {
	for _, tt := range []struct {
		name  string
		exit  container.Exit
		event string
		flags []string
	}{
		{"the host went down", container.Exit{Code: 255}, "engine_lost", nil},
		{"out of memory", container.Exit{Code: 137, OOM: true}, "oom", []string{"oom"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t)
			b.play(idle)
			m := b.machine(b.fresh())
			s, _ := b.until(m, b.fresh(), Running)
			deadline := s.Deadline
			b.play(work(solved))
			b.fake.Container(s.Workload.Name).WriteFile("/work/kept", []byte("x"))
			b.fake.Kill(s.Workload.Name, tt.exit)
			s, told := b.until(m, s, Closing)
			if got := types(told); got != "trial.event:"+tt.event {
				t.Errorf("reported: %s", got)
			}
			c := b.fake.Container(s.Workload.Name)
			if _, kept := c.ReadFile("/work/kept"); !kept || c.Run() != 2 || !s.Deadline.Equal(deadline) || s.Restarts != 1 {
				t.Errorf("layer kept %v, runs %d, restarts %d, deadline %s", kept, c.Run(), s.Restarts, s.Deadline)
			}
			if diff := cmp.Diff(tt.flags, s.Flags); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestADaemonThatStartsAgainTellsHowItFoundATrial, once.
func TestADaemonThatStartsAgainTellsHowItFoundATrial(t *testing.T) {
	for _, tt := range []struct {
		name  string
		found func(b *fixture, container string)
		want  string
	}{
		{"at work", func(*fixture, string) {}, "trial.event:adopted"},
		{"stopped", func(b *fixture, name string) { b.fake.Kill(name, container.Exit{Code: 255}) }, "trial.event:engine_lost"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t)
			again := make(chan struct{})
			b.play(func(ctx context.Context, g *scripted) int {
				g.hello(ctx)
				select {
				case <-again:
				case <-ctx.Done():
					return 137
				}
				g.hello(ctx)
				g.hello(ctx)
				return work(solved)(ctx, g)
			})
			first := b.machine(b.fresh())
			s, _ := b.until(first, b.fresh(), Running)
			first.Close()
			close(again)
			tt.found(b, s.Workload.Name)
			s.Line = s.Line.Renewed()
			if _, told := b.until(b.machine(s), s, Closing); types(told) != tt.want {
				t.Errorf("reported: %s", types(told))
			}
		})
	}
}

func TestOnlyAContainerThatIsGoneCostsATry(t *testing.T) {
	b := newFixture(t)
	b.play(idle)
	m := b.machine(b.fresh())
	s, _ := b.until(m, b.fresh(), Running)
	b.fake.Vanish(s.Workload.Name)
	s, told := b.until(m, s, Done)
	if r := s.Result; r.Status != InfraError || r.Reason != ReasonGuestLost || r.Final || types(told) != "trial.finished" {
		t.Errorf("%+v, reported: %s", r, types(told))
	}
	again, err := Restarted(s)
	if err != nil || again.Try != 2 || again.Phase != Pending || again.Container != "" || again.Token != "" || !again.StartedAt.IsZero() {
		t.Fatalf("%v %+v", err, again)
	}
	b.play(work(solved))
	if s, _ = b.until(b.machine(again), again, Done); s.Result.Status != Resolved || s.Result.Try != 2 {
		t.Errorf("the next try: %+v", s.Result)
	}
}

// TestAnEarlierTrysRoundsAreNotWaitedFor: what was in line when a try was lost is dropped.
func TestAnEarlierTrysRoundsAreNotWaitedFor(t *testing.T) {
	b := newFixture(t)
	b.play(work(solved))
	s := b.fresh()
	s.Try = 2
	b.ledger.all = []round.Submission{{ID: "lost", Trial: s.ID, Try: 1, Kind: round.KindAgent, Number: 1, State: round.StateQueued}}
	if s, _ = b.until(b.machine(s), s, Done); s.Result.Status != Resolved || s.Result.Submissions.Agent != 0 {
		t.Errorf("%+v", s.Result)
	}
}

func TestAnEngineThatIsAwayChangesNothing(t *testing.T) {
	b := newFixture(t)
	b.play(idle)
	first := b.machine(b.fresh())
	running, _ := b.until(first, b.fresh(), Running)
	first.Close()
	closing := running
	closing.Phase = Closing
	for _, s := range []State{b.fresh(), running, closing} {
		if s.Phase == Pending {
			s.Phase = Images
		}
		s.Line = s.Line.Renewed()
		b.fake.SetDown(true)
		m := b.machine(s)
		next, effects, err := m.Step(t.Context(), s)
		if !container.Unavailable(err) || len(effects) > 0 || !reflect.DeepEqual(next, s) {
			t.Errorf("%s: %v, reported: %s\n%s", s.Phase, err, types(effects), cmp.Diff(s, next))
		}
		b.fake.SetDown(false)
	}
	b.play(work(solved))
	b.fake.Kill(running.Workload.Name, container.Exit{Code: 255}) // the engine's restart stopped it
	if s, _ := b.until(b.machine(running), running, Done); s.Result.Status != Resolved {
		t.Errorf("when it is back: %+v", s.Result)
	}
}

func TestAFreezeThatACrashLeftIsUndone(t *testing.T) {
	b := newFixture(t)
	b.play(func(ctx context.Context, g *scripted) int {
		g.hello(ctx)
		g.WriteFile("/work/src/answer", []byte(solved)) // waits while it is frozen
		g.event(ctx, protocol.Event{Seq: 1, Type: protocol.EventEnded, Reason: protocol.EndedExit})
		<-ctx.Done()
		return 137
	})
	first := b.machine(b.fresh())
	s, _ := b.until(first, b.fresh(), Await)
	if err := b.fake.Freeze(t.Context(), s.Container); err != nil {
		t.Fatal(err)
	}
	first.Close()
	if s, _ = b.until(b.machine(s), s, Done); s.Result.Status != Resolved {
		t.Errorf("%+v", s.Result)
	}
}

func TestTheDaemonsEndIsNotTheTrials(t *testing.T) {
	b := newFixture(t)
	b.play(idle)
	m := b.machine(b.fresh())
	s, _ := b.until(m, b.fresh(), Running)
	why := errors.New("the daemon stops")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	for {
		next, _, err := m.Step(ctx, s)
		if err == nil { // something of the guest was waiting
			s = next
			continue
		}
		if !errors.Is(err, why) || next.Phase != Running {
			t.Errorf("%v in phase %s", err, next.Phase)
		}
		break
	}
	m.Close()
	if c, err := b.fake.Inspect(t.Context(), s.Container); err != nil || c.Phase != container.PhaseRunning {
		t.Errorf("the container: %+v, %v", c, err)
	}
}

func TestWithoutTheGuestsWord(t *testing.T) {
	for _, tt := range []struct {
		name   string
		phase  Phase
		change func(*fixture, *Machine, *State)
		want   string // phase, status or reason, records
	}{
		{"the deadline and a little more is the end", Running, func(_ *fixture, m *Machine, s *State) {
			s.Deadline, m.handle.since = time.Now().Add(-endPatience), time.Now().Add(-queuePatience)
		}, "closing deadline "},
		{"no hello is a lost guest", Await, func(b *fixture, m *Machine, s *State) {
			if err := m.attach(b.t.Context(), *s); err != nil {
				b.t.Fatal(err)
			}
			m.handle.since = time.Now().Add(-helloPatience)
		}, "verdict guest_lost "},
		{"too much written is the end", Running, func(b *fixture, m *Machine, s *State) {
			b.fake.Container(s.Workload.Name).SetUsage(container.Usage{DiskBytes: 1<<20 + 1})
			m.handle.nextMeter = time.Now()
		}, "closing disk trial.event:disk"},
		{"more than was reserved is the end where the disk is scarce", Running, func(b *fixture, m *Machine, s *State) {
			b.fake.Container(s.Workload.Name).SetUsage(container.Usage{DiskBytes: 1<<20 - 1})
			s.DiskHeld, m.host.Scarce, m.handle.nextMeter = 1<<19, func() bool { return true }, time.Now()
		}, "closing disk trial.event:disk"},
		{"a container that stops again and again is broken by its agent", Running, func(b *fixture, _ *Machine, s *State) {
			s.Restarts = maxRestarts
			b.fake.Kill(s.Workload.Name, container.Exit{Code: 1})
		}, "closing guest_lost "},
		{"a container that stops again and again before there is an agent is lost", Await, func(b *fixture, m *Machine, s *State) {
			if err := m.attach(b.t.Context(), *s); err != nil {
				b.t.Fatal(err)
			}
			s.Restarts = maxRestarts
			b.fake.Kill(s.Workload.Name, container.Exit{Code: 1})
		}, "verdict guest_lost "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t)
			if tt.phase == Running {
				b.play(idle)
			}
			m := b.machine(b.fresh())
			s, _ := b.until(m, b.fresh(), tt.phase)
			tt.change(b, m, &s)
			var told []Effect
			for s.Phase == tt.phase {
				next, effects, err := m.Step(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				s, told = next, append(told, effects...)
			}
			if u, err := b.fake.Usage(t.Context(), s.Container); s.Reason == ReasonDisk && (err != nil || s.DiskSeen != u.DiskBytes) {
				t.Errorf("its container was seen to take %d bytes", s.DiskSeen)
			}
			if got := fmt.Sprintf("%s %s %s", s.Phase, s.Reason, types(told)); got != tt.want {
				t.Errorf("%q, want %q (%s)", got, tt.want, s.Detail)
			}
		})
	}
}

func TestAMissingImageIsASetupError(t *testing.T) {
	b := newFixture(t)
	b.host.Where = func(kind, name, task string, attributes ...string) string {
		return fmt.Sprintf("%s.%s %s %v", kind, name, task, attributes)
	}
	nowhere := func(c *Cell) { c.Task.Work.Image = "nowhere:1" }
	s, _ := b.until(b.machine(b.fresh(nowhere)), b.fresh(nowhere), Done)
	if r := s.Result; r.Status != SetupError || r.Reason != ReasonImage || !r.Final || !strings.HasPrefix(r.Detail, "benchmark.edge one [image") {
		t.Errorf("%+v", r)
	}
}

// TestARegistryThatIsAwayIsWaitedFor: an outage of a minute costs no trial.
func TestARegistryThatIsAwayIsWaitedFor(t *testing.T) {
	for _, tt := range []struct {
		name   string
		err    error
		waits  bool
		status Status // in the end
		reason string // of an image
	}{
		{"a registry out of reach", container.ErrRegistry, true, SetupError, ReasonImage},
		{"a registry that nobody knows", container.ErrNoSuchRegistry, false, SetupError, ReasonImage},
		{"a full disk of the engine", container.ErrNoSpace, true, InfraError, ReasonDisk},
		{"an image that is not there", container.ErrNotFound, false, SetupError, ReasonImage},
	} {
		for what, failed := range map[string]func(*Machine, context.Context, State, error) (State, []Effect, error){
			"image": (*Machine).imageFailed, "agent": (*Machine).unequipped,
		} {
			t.Run(what+", "+tt.name, func(t *testing.T) {
				b := newFixture(t)
				s := b.fresh()
				s.Phase = Images
				m := b.machine(s)
				asked := 0
				for s.Phase == Images && asked <= maxAgain {
					s, _, _ = failed(m, t.Context(), s, fmt.Errorf("pull: %w", tt.err))
					asked++
				}
				if waits := asked > 1; waits != tt.waits || s.Failure != tt.status || what == "image" && s.Reason != tt.reason {
					t.Errorf("after %d failures %s (%s)", asked, s.Failure, s.Reason)
				}
			})
		}
	}
}

func TestKeep(t *testing.T) {
	for _, tt := range []struct {
		keep, answer string
		want         bool
	}{
		{"never", "t1 failed", false},
		{"failed", "t1 failed", true},
		{"failed", solved, false},
		{"always", solved, true},
	} {
		b := newFixture(t)
		b.play(work(tt.answer))
		s := b.fresh()
		s.Keep = tt.keep
		s, _ = b.until(b.machine(s), s, Done)
		c, err := b.fake.Inspect(t.Context(), s.Workload.Name)
		if kept := err == nil; kept != tt.want || kept && c.Phase != container.PhaseExited {
			t.Errorf("keep %s, %s: kept %v, want %v (%+v)", tt.keep, tt.answer, kept, tt.want, c)
		}
		roles := map[string]int{}
		all, err := b.fake.Observe(t.Context(), "owner")
		for _, c := range all {
			roles[c.Labels[container.LabelRole]]++
		}
		want := map[string]int{}
		if tt.want {
			want = map[string]int{container.RoleWork: 1, container.RoleJudge: 1}
		}
		if err != nil || !maps.Equal(roles, want) {
			t.Errorf("keep %s, %s: containers of %v are left, want %v (%v)", tt.keep, tt.answer, roles, want, err)
		}
	}
}
