package judge

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

// betweenLooks is how often the judge looks for containers that started meanwhile.
const betweenLooks = time.Second

// crew is a bench whose judge commands run until they are let go, by their answer.
type crew struct {
	*fixture
	mu      sync.Mutex
	running map[string]*job
}

type job struct {
	where *containertest.FakeContainer
	end   chan struct{}
}

func newCrew(t *testing.T, cpus int, change ...func(*Options)) *crew {
	c := &crew{fixture: newFixture(t, change...), running: map[string]*job{}}
	c.fake.SetHost(container.HostInfo{CPUs: cpus, Memory: 1 << 30})
	c.fake.HandleExec(func(ctx context.Context, where *containertest.FakeContainer, cmd container.Command) int {
		answer, _ := where.ReadFile("/work/src/answer")
		j := &job{where, make(chan struct{})}
		c.mu.Lock()
		c.running[string(answer)] = j
		c.mu.Unlock()
		select {
		case <-j.end:
		case <-ctx.Done():
		}
		_, _ = io.WriteString(cmd.Stdout, "a passed")
		return 0
	})
	return c
}

// run sends a submission of an exclusive judge.
func (c *crew) run(t *testing.T, trial string, cpus float64) round.Submission {
	t.Helper()
	c.open(trial, func(s *round.Session) {
		s.Task.Judge.Exclusive, s.Task.Judge.Timeout = true, time.Hour
		s.Task.Judge.Part = task.Part{CPUs: cpus}
	})
	sub := c.submit(t, trial, round.KindAgent, trial)
	synctest.Wait()
	return sub
}

// where are the CPUs of a trial's judge command, "-" while it has not begun.
func (c *crew) where(trial string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if j := c.running[trial]; j != nil {
		return j.where.CPUs()
	}
	return "-"
}

// end lets a judge command end, and waits for its container to be gone.
func (c *crew) end(t *testing.T, trial string, sub round.Submission) {
	t.Helper()
	c.mu.Lock()
	close(c.running[trial].end)
	c.mu.Unlock()
	if r := c.judged(t, sub.ID).Report; r.Status != round.StatusOK {
		t.Errorf("%s: %+v", trial, r)
	}
	synctest.Wait()
}

// neighbour starts another container of the same owner.
func (c *crew) neighbour(t *testing.T, name string) *containertest.FakeContainer {
	t.Helper()
	inst, err := c.fake.Start(t.Context(), container.Workload{
		Name: name, Image: c.image, Argv: []string{"/hold"},
		Labels: map[string]string{container.LabelOwner: "owner-of-tests", container.LabelRole: container.RoleWork},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c.fake.Container(inst.ID)
}

func (c *crew) expect(t *testing.T, when string, have map[string]string) {
	t.Helper()
	for what, want := range have {
		got := ""
		if n := c.fake.Container(what); n != nil {
			got = n.CPUs()
		} else {
			got = c.where(what)
		}
		if got != want {
			t.Errorf("%s: %s is on CPUs %q, want %q", when, what, got, want)
		}
	}
}

func TestAnExclusiveJudgeHasCPUsOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew(t, 4)
		for _, name := range []string{"work", "stops", "frozen", "goes"} {
			c.neighbour(t, name)
		}
		if err := c.fake.Freeze(t.Context(), "frozen"); err != nil {
			t.Fatal(err)
		}
		sub := c.run(t, "t", 1.5)
		c.expect(t, "at once", map[string]string{"t": "2-3", "work": "0-1", "stops": "0-1", "frozen": "0-1"})
		c.neighbour(t, "late")
		c.fake.Kill("stops", container.Exit{})
		c.fake.Vanish("goes")
		time.Sleep(2 * betweenLooks)
		c.expect(t, "later", map[string]string{"late": "0-1", "t": "2-3"})
		if _, err := os.Stat(filepath.Join(c.opts.Spool, "narrowed-owner-of-tests")); err != nil {
			t.Errorf("a crash would be forgotten: %v", err)
		}
		c.end(t, "t", sub)
		c.expect(t, "afterwards", map[string]string{"work": "0-3", "stops": "0-3", "frozen": "0-3", "late": "0-3"})
		if _, err := os.Stat(filepath.Join(c.opts.Spool, "narrowed-owner-of-tests")); err == nil {
			t.Error("the marker is left")
		}
		var calls atomic.Int32
		c.fake.Intercept(func(string, string) error { calls.Add(1); return nil })
		time.Sleep(time.Minute)
		if n := calls.Load(); n > 0 {
			t.Errorf("%d calls of the engine when there is nothing to do", n)
		}
	})
}

func TestExclusiveJudgesRunSideBySideWhileThereAreCPUs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew(t, 4)
		c.neighbour(t, "work")
		a := c.run(t, "a", 1)
		b := c.run(t, "b", 1)
		big := c.run(t, "big", 2)
		small := c.run(t, "small", 1) // passes over the big one
		time.Sleep(time.Minute)
		c.expect(t, "three at once", map[string]string{"a": "3", "b": "2", "big": "-", "small": "1", "work": "0"})
		if got, err := c.ledger.Submission(t.Context(), big.ID); err != nil || got.State != round.StateQueued {
			t.Errorf("one that waits for CPUs is %s (%v)", got.State, err)
		}
		c.end(t, "b", b)
		c.expect(t, "one has ended", map[string]string{"a": "3", "big": "-", "small": "1", "work": "0,2"})
		c.end(t, "a", a)
		c.expect(t, "the next has ended", map[string]string{"big": "2-3", "small": "1", "work": "0"})
		c.end(t, "big", big)
		c.expect(t, "the big one has ended", map[string]string{"small": "1", "work": "0,2-3"})
		c.end(t, "small", small)
		c.expect(t, "all have ended", map[string]string{"work": "0-3"})
	})
}

func TestAbandonedRoundsLeaveTheLineForCPUs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew(t, 2)
		first, second, third := c.run(t, "first", 1), c.run(t, "second", 1), c.run(t, "third", 1)
		if err := c.Abandon(t.Context(), "second", 1, "over"); err != nil {
			t.Fatal(err)
		}
		if r := c.judged(t, second.ID).Report; r.Status != round.StatusError {
			t.Errorf("%+v", r)
		}
		c.end(t, "first", first)
		c.expect(t, "the next but one", map[string]string{"third": "1"})
		c.end(t, "third", third)
	})
}

// mute is an engine without a say on CPUs.
type mute struct {
	container.Engine
	container.Execer
	container.Copier
}

func TestWithoutCPUsToGiveAwayAnExclusiveJudgeRunsWithWhatThereIs(t *testing.T) {
	tests := map[string]struct {
		host   int
		mute   bool
		cpus   float64
		judge  string
		others string
		says   string
	}{
		"one CPU":                   {1, false, 1, "", "", "beside others"},
		"no say":                    {4, true, 1, "", "", "beside others"},
		"all that there is":         {4, false, 4, "0-3", "0", "wants all CPUs"},
		"more than there is":        {2, false, 64, "0-1", "0", "wants all CPUs"},
		"nothing asked means one":   {2, false, 0, "1", "0", ""},
		"a half means one as well":  {2, false, .5, "1", "0", ""},
		"as many as can be its own": {4, false, 3, "1-3", "0", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				c := newCrew(t, tc.host, func(o *Options) {
					o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
					if f, ok := o.Engine.(*containertest.Fake); ok && tc.mute {
						o.Engine = mute{f, f, f}
					}
				})
				c.neighbour(t, "work")
				for range 2 {
					sub := c.run(t, "t", tc.cpus)
					c.expect(t, "while it runs", map[string]string{"t": tc.judge, "work": tc.others})
					c.end(t, "t", sub)
					c.Forget("t")
					c.ledger.Mu.Lock()
					c.ledger.All = nil
					c.ledger.Mu.Unlock()
				}
				c.stop()
				if lines := strings.Count(log.String(), "\n"); lines > 1 || !strings.Contains(log.String(), tc.says) || (tc.says == "") != (lines == 0) {
					t.Errorf("the log says %q", log.String())
				}
			})
		})
	}
}

func TestAfterACrashAllContainersGetAllCPUsBack(t *testing.T) {
	for _, crashed := range []bool{true, false} {
		t.Run(fmt.Sprint("crashed ", crashed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spool := t.TempDir()
				if crashed {
					if err := os.WriteFile(filepath.Join(spool, "narrowed-owner-of-tests"), nil, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				calls, mu := 0, sync.Mutex{}
				c := newCrew(t, 4, func(o *Options) { o.Spool = spool })
				c.neighbour(t, "work")
				c.neighbour(t, "stopped")
				for _, name := range []string{"work", "stopped"} {
					if err := c.fake.Pin(t.Context(), name, "0"); err != nil {
						t.Fatal(err)
					}
				}
				c.fake.Kill("stopped", container.Exit{})
				c.fake.SetDown(true) // the engine comes up later than the daemon
				time.Sleep(10 * betweenLooks)
				c.fake.SetDown(false)
				c.fake.Intercept(func(string, string) error {
					mu.Lock()
					defer mu.Unlock()
					calls++
					return nil
				})
				time.Sleep(time.Minute)
				want := map[bool]string{true: "0-3", false: "0"}[crashed]
				c.expect(t, "later", map[string]string{"work": want, "stopped": want})
				mu.Lock()
				defer mu.Unlock()
				if !crashed && calls > 0 || calls > 10 {
					t.Errorf("the engine was called %d times", calls)
				}
			})
		})
	}
}

func TestTheEndOfTheJudgeGivesCPUsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew(t, 2)
		c.neighbour(t, "work")
		c.run(t, "t", 1)
		c.run(t, "waits", 1)
		c.expect(t, "while it runs", map[string]string{"t": "1", "work": "0"})
		c.stop()
		c.expect(t, "afterwards", map[string]string{"work": "0-1"})
		if _, err := os.Stat(filepath.Join(c.opts.Spool, "narrowed-owner-of-tests")); err == nil {
			t.Error("the marker is left")
		}
	})
}

func TestAnEngineThatCannotPinNowIsWaitedForOrDoneWithout(t *testing.T) {
	tests := map[string]struct {
		err      error
		failures int
		others   string
	}{
		"it is away for a while": {container.ErrUnavailable, 3, "0"},
		"it never works":         {fmt.Errorf("no such control group"), 1 << 30, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrew(t, 2)
				c.neighbour(t, "work")
				failed, mu := 0, sync.Mutex{}
				c.fake.Intercept(func(call, _ string) error {
					mu.Lock()
					defer mu.Unlock()
					if call == "Pin" && failed < tc.failures {
						failed++
						return tc.err
					}
					return nil
				})
				sub := c.run(t, "t", 1)
				time.Sleep(5 * time.Minute)
				c.expect(t, "at last", map[string]string{"t": "1", "work": tc.others})
				c.end(t, "t", sub)
				if got := c.judged(t, sub.ID); got.Refunds > 0 {
					t.Errorf("%d refunds", got.Refunds)
				}
				c.fake.Intercept(nil)
				time.Sleep(2 * betweenLooks)
				c.expect(t, "afterwards", map[string]string{"work": "0-1"})
			})
		})
	}
}
