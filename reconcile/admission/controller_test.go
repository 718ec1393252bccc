package admission

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/assayd/assayd/runtime/judge/round"
)

// machine has four CPUs, of which one is the judge's.
var machine = Limits{CPUs: 4, Memory: 8 << 30, Judge: 0.25}

func newAdmission(l Limits) *Controller { return New(l, plenty, func() {}) }

// plenty is a disk that has enough left.
func plenty() int64 { return 1 << 40 }

// acquire waits for room as the judge does.
func acquire(ctx context.Context, a *Controller, game bool, cpus float64, memory int64) (release func(), err error) {
	for {
		changed, ok := a.Changed(), false
		if game {
			release, ok, err = a.TryGame(cpus, memory)
		} else {
			release, ok = a.TryJudge(cpus, memory)
		}
		if ok || err != nil {
			return release, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func TestWorkShare(t *testing.T) {
	for _, tt := range []struct {
		name   string
		limits Limits
		want   Need
	}{
		{"a fifth of many", Limits{CPUs: 20, Memory: 100, Judge: 0.2}, Need{CPUs: 16, Memory: 80}},
		{"at least one of a few", Limits{CPUs: 2, Memory: 100, Judge: 0.2}, Need{CPUs: 1, Memory: 80}},
		{"a part of the only one", Limits{CPUs: 1, Memory: 100, Judge: 0.2}, Need{CPUs: 0.8, Memory: 80}},
	} {
		if got := tt.limits.workShare(); got != tt.want {
			t.Errorf("%s: work may have %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestTryWork(t *testing.T) {
	one := Need{CPUs: 1, Memory: 1 << 30}
	for _, tt := range []struct {
		name   string
		limits Limits
		held   []Need
		need   Need
		want   bool
	}{
		{"room", machine, []Need{one, one}, one, true},
		{"the judge's CPU is not for work", machine, []Need{one, one, one}, one, false},
		{"nor is its memory", machine, []Need{{Memory: 6 << 30}}, Need{Memory: 1}, false},
		{"the first one always", machine, nil, Need{CPUs: 4, Memory: 8 << 30}, true},
		{"the second one not", machine, []Need{{CPUs: 4}}, Need{CPUs: 0.1}, false},
		{"disk", Limits{CPUs: 4, Memory: 1, Disk: 10}, []Need{{Disk: 6}}, Need{Disk: 6}, false},
		{"containers", Limits{CPUs: 4, Memory: 8 << 30, Containers: 2}, []Need{{}, {}}, Need{}, false},
	} {
		a := newAdmission(tt.limits)
		for _, n := range tt.held {
			a.ForceWork(n)
		}
		if got := a.TryWork(tt.need); got != tt.want {
			t.Errorf("%s: admitted %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestOneJudgeIsAlwaysAdmitted(t *testing.T) {
	a := newAdmission(machine)
	a.ForceWork(Need{CPUs: 400, Memory: 1 << 60})
	release, err := acquire(t.Context(), a, false, 99, 1<<60)
	if err != nil {
		t.Fatal(err)
	}
	release()
	release() // is nothing
	if a.judges != 0 || a.judge != (Need{}) {
		t.Errorf("after its release a judge still holds %+v", a.judge)
	}
}

// TestGamesLeaveRoomForJudging: they are open for hours, and all judging would wait
// for them.
func TestGamesLeaveRoomForJudging(t *testing.T) {
	one := Need{CPUs: 1, Memory: 1 << 30}
	for _, tt := range []struct {
		name   string
		limits Limits
		work   Need
		games  int // of one CPU, that are admitted
	}{
		{"on an idle machine", machine, Need{}, 3},
		{"beside work", machine, Need{CPUs: 2, Memory: 1 << 30}, 1},
		{"where only the judge's share is left", machine, Need{CPUs: 3, Memory: 6 << 30}, 1},
		{"on a small machine", Limits{CPUs: 2, Memory: 4 << 30, Judge: 0.25}, one, 1},
		{"where memory is short", Limits{CPUs: 64, Memory: 4 << 30, Judge: 0.25}, Need{}, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := newAdmission(tt.limits)
			a.ForceWork(tt.work)
			for n := 0; ; n++ {
				release, err := acquire(t.Context(), a, true, one.CPUs, one.Memory)
				if err == nil {
					defer release()
					continue
				}
				if n != tt.games || !errors.Is(err, round.ErrBusy) {
					t.Errorf("%d games were admitted: %v", n, err)
				}
				break
			}
			for range 3 { // one after the other
				release, err := acquire(t.Context(), a, false, one.CPUs, one.Memory)
				if err != nil {
					t.Fatal(err)
				}
				release()
			}
		})
	}
}

// TestAGameWaitsForJudgings: those end soon.
func TestAGameWaitsForJudgings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAdmission(machine)
		judging, err := acquire(t.Context(), a, false, 4, 0)
		if err != nil {
			t.Fatal(err)
		}
		admitted := make(chan func())
		go func() {
			release, err := acquire(t.Context(), a, true, 1, 0)
			if err != nil {
				t.Error(err)
			}
			admitted <- release
		}()
		synctest.Wait()
		judging()
		(<-admitted)()
		if a.games != 0 || a.game != (Need{}) || a.judges != 0 || a.judge != (Need{}) {
			t.Errorf("in the end %d games hold %+v, and %d judgings %+v", a.games, a.game, a.judges, a.judge)
		}
	})
}

// TestJudgesHaveTheirShare: however much work there is, a second judge that fits into the
// share is admitted, too.
func TestJudgesHaveTheirShare(t *testing.T) {
	a := newAdmission(machine)
	a.ForceWork(Need{CPUs: 400, Memory: 1 << 60})
	for range 2 {
		release, err := acquire(t.Context(), a, false, 0.5, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		defer release()
	}
}

func TestWorkAfterJudgesOnAnIdleMachine(t *testing.T) {
	woken := 0
	a := New(machine, plenty, func() { woken++ })
	first, err := acquire(t.Context(), a, false, 2, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	second, err := acquire(t.Context(), a, false, 2, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	if !a.TryWork(Need{CPUs: 1}) || a.TryWork(Need{CPUs: 1}) {
		t.Error("beside judging that takes all of the machine exactly one work container is admitted")
	}
	first()
	if woken != 1 {
		t.Errorf("work was told %d times that a judge gave room back", woken)
	}
	if !a.TryWork(Need{CPUs: 1}) {
		t.Error("the room that a judge gave back is not to be had")
	}
	second()
}

func TestAcquireWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAdmission(machine)
		a.ForceWork(Need{CPUs: 3})
		release, err := acquire(t.Context(), a, false, 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		admitted := make(chan func())
		go func() {
			release, err := acquire(t.Context(), a, false, 2, 0)
			if err != nil {
				t.Error(err)
			}
			admitted <- release
		}()
		synctest.Wait()
		release()
		(<-admitted)() // the only judge is always admitted

		hold, err := acquire(t.Context(), a, false, 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			release, err := acquire(t.Context(), a, false, 3, 0)
			if err != nil {
				t.Error(err)
			}
			admitted <- release
		}()
		synctest.Wait()
		a.ReleaseWork(Need{CPUs: 3})
		(<-admitted)()
		hold()
	})
}

func TestAcquireEndsWithItsContext(t *testing.T) {
	a := newAdmission(machine)
	a.ForceWork(Need{CPUs: 3})
	release, err := acquire(t.Context(), a, false, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := acquire(ctx, a, false, 1, 0); !errors.Is(err, why) {
		t.Errorf("acquire with an ended context: %v", err)
	}
	release()
	if a.judges != 0 {
		t.Errorf("%d judges are left", a.judges)
	}
}

// TestAdmissionNeverOverbooks holds that work stays in its share and all together within
// the limits, but for the one work container and the one judge that are always admitted.
func TestAdmissionNeverOverbooks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := newAdmission(machine)
		var work []Need
		var judges []func()
		t.Repeat(map[string]func(*rapid.T){
			"work": func(t *rapid.T) {
				n := Need{CPUs: float64(rapid.IntRange(1, 8).Draw(t, "halves")) / 2}
				if a.TryWork(n) {
					work = append(work, n)
				}
			},
			"judge": func(t *rapid.T) {
				ctx, cancel := context.WithCancel(context.Background())
				cancel()
				if release, err := acquire(ctx, a, false, float64(rapid.IntRange(1, 8).Draw(t, "halves"))/2, 0); err == nil {
					judges = append(judges, release)
				}
			},
			"work ends": func(*rapid.T) {
				if len(work) > 0 {
					a.ReleaseWork(work[0])
					work = work[1:]
				}
			},
			"judge ends": func(*rapid.T) {
				if len(judges) > 0 {
					judges[0]()
					judges = judges[1:]
				}
			},
			"": func(t *rapid.T) {
				if len(work) > 1 && a.work.CPUs > 3+slack {
					t.Fatalf("%d work containers have %v CPUs", len(work), a.work.CPUs)
				}
				if len(work) > 1 && len(judges) > 1 && a.work.CPUs+a.judge.CPUs > 7+slack {
					t.Fatalf("work %v and judges %v are more than the machine and one exception", a.work.CPUs, a.judge.CPUs)
				}
			},
		})
	})
}

// TestNoWakeUpIsLost has many judges and work containers pass through a machine for one.
func TestNoWakeUpIsLost(t *testing.T) {
	var a *Controller
	freed := make(chan struct{}, 1)
	a = New(Limits{CPUs: 2, Memory: 1 << 30, Judge: 0.5}, plenty, func() {
		select {
		case freed <- struct{}{}:
		default:
		}
	})
	var all sync.WaitGroup
	var judged atomic.Int64
	for range 50 {
		all.Go(func() {
			release, err := acquire(t.Context(), a, false, 1, 1<<20)
			if err != nil {
				t.Error(err)
				return
			}
			judged.Add(1)
			release()
		})
	}
	need := Need{CPUs: 1, Memory: 1 << 20}
	for done := 0; done < 50; {
		if !a.TryWork(need) {
			<-freed
			continue
		}
		done++
		all.Go(func() { a.ReleaseWork(need) })
	}
	all.Wait()
	if judged.Load() != 50 {
		t.Errorf("%d of 50 judges were admitted", judged.Load())
	}
}
