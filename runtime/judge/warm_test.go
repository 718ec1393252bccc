package judge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/sandbox"
	"github.com/assayd/assayd/runtime/task"
)

// soon is when the pool has done, in a bubble, what it was woken for.
func soon() {
	time.Sleep(2 * sandbox.WarmRest)
	synctest.Wait()
}

// waiting are the containers that were started ahead.
func waiting(t *testing.T, b *fixture) (all []container.Instance) {
	t.Helper()
	for _, c := range containers(t, b) {
		if c.Labels[sandbox.LabelWarm] != "" {
			all = append(all, c)
		}
	}
	return all
}

func one(t *testing.T, all []container.Instance) container.Instance {
	t.Helper()
	if len(all) != 1 {
		t.Fatalf("%d containers, want one: %v", len(all), all)
	}
	return all[0]
}

// usedBy has the judge command note in which containers it ran.
func usedBy(b *fixture) (ids func() []string) {
	var mu sync.Mutex
	var used []string
	b.fake.HandleExec(func(_ context.Context, c *containertest.FakeContainer, cmd container.Command) int {
		mu.Lock()
		defer mu.Unlock()
		used = append(used, c.ID())
		_, _ = io.WriteString(cmd.Stdout, "a passed")
		return 0
	})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string{}, used...)
	}
}

func TestASubmissionIsJudgedInAContainerThatWaitedAndThatIsUsedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		used := usedBy(b)
		b.open("t", func(s *round.Session) {
			s.Labels = map[string]string{container.LabelRole: container.RoleJudge, container.LabelSpec: "run.x"}
			s.Task.Judge.Part = task.Part{CPUs: 2, Memory: 1 << 30, PIDs: 7}
		})
		soon()
		first := one(t, containers(t, b)) // nothing but it: the profile's is gone
		want := map[string]string{
			container.LabelOwner: "owner-of-tests", container.LabelRole: container.RoleJudge, sandbox.LabelWarm: "true",
			container.LabelHash: first.Labels[container.LabelHash],
		}
		if !maps.Equal(first.Labels, want) {
			t.Errorf("labels %v, want %v", first.Labels, want)
		}
		if w := b.fake.Container(first.ID).Workload(); w.Limits != (container.Limits{CPUs: 2, Memory: 1 << 30, PIDs: 7}) ||
			w.Image != b.image || w.User != "0:0" || w.Argv[0] != "/hold" || w.Network != container.NetworkNone || len(w.Env) > 0 {
			t.Errorf("what waits is %+v", w)
		}
		for _, answer := range []string{"x", "y"} {
			b.judged(t, b.submit(t, "t", round.KindAgent, answer).ID)
			soon()
		}
		ids := used()
		if len(ids) != 2 || ids[0] != first.ID || ids[1] == first.ID {
			t.Errorf("judged in %v, and %s was waiting first", ids, first.ID)
		}
		if last := one(t, containers(t, b)); last.ID == ids[0] || last.ID == ids[1] {
			t.Error("a container waits in which something was judged")
		}
		b.stop()
		if left := containers(t, b); len(left) > 0 {
			t.Errorf("containers are left: %v", left)
		}
	})
}

func TestTheVerdictDoesNotWaitForTheCleaningOfAWarmContainer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		b.open("t")
		soon()
		id := one(t, waiting(t, b)).ID
		hold := make(chan struct{})
		b.fake.Intercept(func(call, target string) error {
			if call == "Remove" && target == id {
				<-hold
			}
			return nil
		})
		b.judged(t, b.submit(t, "t", round.KindAgent, "a passed").ID)
		if _, err := b.fake.Inspect(t.Context(), id); err != nil {
			t.Errorf("the container that was judged in: %v", err)
		}
		close(hold)
	})
}

func TestWhatIsStartedAhead(t *testing.T) {
	open := func(n int, change func(*round.Session)) func(*fixture) {
		return func(b *fixture) {
			for i := range n {
				b.open(fmt.Sprint("t", i), change)
			}
		}
	}
	tests := map[string]struct {
		warm int
		open func(*fixture)
		want int
	}{
		"one for a session":      {0, open(1, func(*round.Session) {}), 1},
		"four at most":           {0, open(9, func(*round.Session) {}), 4},
		"or as many as are told": {2, open(9, func(*round.Session) {}), 2},
		"or none":                {-1, open(9, func(*round.Session) {}), 0},
		"none for a session whose judge runs alone": {0, open(1, func(s *round.Session) { s.Task.Judge.Exclusive = true }), 0},
		"none for a session that keeps one":         {0, open(1, func(s *round.Session) { s.Keep = true }), 0},
		"none for games":                            {0, open(1, func(s *round.Session) { s.Task.Judge.Game = "/play" }), 0},
		"none for what cannot run":                  {0, open(1, func(s *round.Session) { s.Task.Judge.Parser = "unknown" }), 0},
		"none without its image":                    {0, open(1, func(s *round.Session) { s.JudgeImage = "gone:1" }), 0},
		"one with the same network":                 {0, open(1, func(s *round.Session) { s.Task.Judge.Network = true }), 1},
		"each kind before a second of one": {3, func(b *fixture) {
			open(5, func(*round.Session) {})(b)
			b.open("other", func(s *round.Session) { s.Task.Judge.CPUs = 3 })
			b.open("third", func(s *round.Session) { s.Task.Judge.Network = true })
		}, 3},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newFixture(t, func(o *Options) { o.Warm = tc.warm })
				tc.open(b)
				soon()
				all := waiting(t, b)
				if len(all) != tc.want {
					t.Errorf("%d containers wait, want %d", len(all), tc.want)
				}
				kinds := map[string]bool{}
				for _, c := range all {
					w := b.fake.Container(c.ID).Workload()
					kinds[fmt.Sprint(w.Image, w.Network, w.Limits)] = true
				}
				if s := b.session("third"); s != nil && len(kinds) != 3 {
					t.Errorf("they are of %d kinds", len(kinds))
				}
			})
		})
	}
}

func TestAContainerWaitsTenMinutesAndForASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		b.open("t")
		b.open("heavy", func(s *round.Session) { s.Task.Judge.CPUs = 3 })
		soon()
		began := time.Now()
		for _, c := range waiting(t, b) {
			b.fake.Container(c.ID).WriteFile("/old", nil)
		}
		for time.Since(began) < time.Hour {
			time.Sleep(time.Minute)
			synctest.Wait()
			all := waiting(t, b)
			if len(all) != 2 {
				t.Fatalf("%d containers wait after %s", len(all), time.Since(began))
			}
			for _, c := range all {
				if age := time.Since(c.CreatedAt); age > sandbox.WarmLife+2*sandbox.WarmRest {
					t.Fatalf("a container waits for %s", age)
				}
			}
		}
		b.open("t", func(s *round.Session) { s.Task.Judge.CPUs = 3 }) // its terms have changed
		soon()
		b.Forget("heavy")
		soon()
		if c := one(t, waiting(t, b)); b.fake.Container(c.ID).Workload().Limits.CPUs != 3 {
			t.Error("a container waits whose kind no session has any more")
		}
		b.Forget("t")
		soon()
		if left := containers(t, b); len(left) > 0 {
			t.Errorf("without a session there wait %v", left)
		}
	})
}

func TestNoContainerIsUsedThatIsOfAnotherKind(t *testing.T) {
	tests := map[string]func(b *fixture){
		"other limits": func(b *fixture) { b.open("t", func(s *round.Session) { s.Task.Judge.PIDs = 9 }) },
		"other image": func(b *fixture) {
			other := b.fake.AddImage("judge:2", container.ImageConfig{}, map[string]string{"/hold": "", "/judge": "", "/work/src/x": ""})
			b.open("t", func(s *round.Session) { s.JudgeImage = other.ID })
		},
		"network":   func(b *fixture) { b.open("t", func(s *round.Session) { s.Task.Judge.Network = true }) },
		"exclusive": func(b *fixture) { b.open("t", func(s *round.Session) { s.Task.Judge.Exclusive = true }) },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newFixture(t)
				used := usedBy(b)
				b.open("t")
				soon()
				old := one(t, waiting(t, b)).ID
				change(b)
				if got := b.judged(t, b.submit(t, "t", round.KindFinal, "x").ID); got.Report.Status != round.StatusOK {
					t.Errorf("%+v", got.Report)
				}
				if ids := used(); len(ids) != 1 || ids[0] == old {
					t.Errorf("judged in %v, while %s waited", ids, old)
				}
			})
		})
	}
}

func TestAWarmContainerThatDiedCostsNobodyAnything(t *testing.T) {
	tests := map[string]func(b *fixture, id string){
		"its first process died": func(b *fixture, id string) { b.fake.Kill(id, container.Exit{Code: 1}) },
		"it was removed":         func(b *fixture, id string) { b.fake.Vanish(id) },
		"it was frozen": func(b *fixture, id string) {
			if err := b.fake.Freeze(context.Background(), id); err != nil {
				panic(err)
			}
		},
		"nobody knows": func(b *fixture, id string) {
			b.fake.Intercept(func(call, target string) error {
				if call == "Inspect" && target == id {
					return container.ErrUnavailable
				}
				return nil
			})
		},
	}
	for name, harm := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newFixture(t)
				used := usedBy(b)
				b.open("t")
				soon()
				id := one(t, waiting(t, b)).ID
				harm(b, id)
				got := b.judged(t, b.submit(t, "t", round.KindAgent, "x").ID)
				if got.Report.Status != round.StatusOK || got.Refunds > 0 || used()[0] == id {
					t.Errorf("%s after %d refunds in %v", got.Report.Status, got.Refunds, used())
				}
				soon()
				if c := one(t, containers(t, b)); c.ID == id {
					t.Error("the broken container is still there")
				}
			})
		})
	}
}

func TestAnEngineThatFailsWhileWarmingHarmsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := make(chan string, 100)
		b := newFixture(t, func(o *Options) { o.RemoveLater = func(id string) { left <- id } })
		var broken atomic.Bool
		broken.Store(true)
		b.fake.Intercept(func(call, target string) error {
			if broken.Load() && strings.Contains(target, "-warm-") && call != "Inspect" {
				return errors.New("boom")
			}
			return nil
		})
		b.open("t")
		soon()
		got := b.judged(t, b.submit(t, "t", round.KindAgent, "a passed").ID)
		if got.Report.Status != round.StatusOK || got.Refunds > 0 {
			t.Errorf("%+v after %d refunds", got.Report, got.Refunds)
		}
		broken.Store(false)
		time.Sleep(2 * sandbox.WarmRetry)
		synctest.Wait()
		id := one(t, waiting(t, b)).ID

		b.fake.Intercept(func(call, target string) error {
			if broken.Load() && call == "Remove" && target == id {
				return container.ErrUnavailable
			}
			return nil
		})
		broken.Store(true)
		b.Forget("t")
		soon()
		one(t, waiting(t, b))
		if told := drained(left); !slices.Contains(told, id) {
			t.Errorf("what could not be removed is not left to be: %q", told)
		}
	})
}

// drained is what a channel holds.
func drained(c chan string) (all []string) {
	for {
		select {
		case s := <-c:
			all = append(all, s)
		default:
			return all
		}
	}
}
