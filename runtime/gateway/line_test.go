package gateway

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
	"pgregory.net/rapid"
)

// One trial with a hundred requests takes turns with one that has few.
func TestTrialsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(1, 0, 0)
		var mu sync.Mutex
		var order []string
		var all sync.WaitGroup
		join := func(trial string) {
			all.Go(func() {
				if err := l.enter(t.Context(), trial, "m", 0); err != nil {
					t.Error(err)
				}
				mu.Lock()
				order = append(order, trial)
				mu.Unlock()
				time.Sleep(time.Second)
				l.leave(0)
			})
			synctest.Wait() // so that they come in this order
		}
		for range 100 {
			join("greedy")
		}
		join("modest")
		join("modest")
		join("late")
		all.Wait()
		for trial, latest := range map[string]int{"modest": 5, "late": 4} {
			last := len(order) - 1 - slices.Index(reversed(order), trial)
			if last > latest {
				t.Errorf("the last of %s was number %d to be served", trial, last)
			}
		}
	})
}

func reversed(s []string) []string {
	s = slices.Clone(s)
	slices.Reverse(s)
	return s
}

// No more than the settings allow are under way, and no more a minute are let in.
func TestLimitsHold(t *testing.T) {
	for name, tc := range map[string]struct {
		places, requests, tokens int
		each                     int64
		served                   int // within ten minutes, at most and about
	}{
		"none":               {0, 0, 0, 1000, 2000},
		"places":             {3, 0, 0, 1000, 3 * 60},
		"requests":           {0, 12, 0, 1000, 120},
		"tokens":             {0, 0, 5000, 1000, 55},
		"requests are fewer": {10, 6, 60_000, 1000, 60},
		"a very large one":   {0, 0, 1000, 1e15, 11},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLine(tc.places, tc.requests, tc.tokens)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				var all sync.WaitGroup
				var mu sync.Mutex
				served, under, most := 0, 0, 0
				for i := range 2000 {
					all.Go(func() {
						if l.enter(ctx, fmt.Sprint(i%7), "m", tc.each) != nil {
							return
						}
						mu.Lock()
						served, under = served+1, under+1
						most = max(most, under)
						mu.Unlock()
						time.Sleep(10 * time.Second)
						mu.Lock()
						under--
						mu.Unlock()
						l.leave(0)
					})
				}
				all.Wait()
				if served > tc.served+tc.served/20+2 || served < tc.served-tc.served/20-2 {
					t.Errorf("%d were served, about %d should have been", served, tc.served)
				}
				if tc.places > 0 && most > tc.places {
					t.Errorf("%d at once", most)
				}
				l.stop()
			})
		})
	}
}

// What a request turned out to cost is taken from those who come after it.
func TestTokensThatWereNotKnownAreTakenLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(0, 0, 600) // ten a second
		begun := time.Now()
		for _, known := range []int64{100, 100} {
			if err := l.enter(t.Context(), "1", "m", known); err != nil {
				t.Fatal(err)
			}
			l.leave(1000)
		}
		// 600 are there at once. 1100 are owed for the first and 100 for the second, which
		// waits for 600 more than there are.
		if took := time.Since(begun).Round(time.Second); took != time.Minute {
			t.Errorf("the second waited for %v", took)
		}
	})
}

// Whatever happens to those in line, no place is lost and nobody waits in vain.
func TestNoPlaceIsLost(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		synctest.Test(t, func(t *testing.T) {
			places := rapid.IntRange(1, 4).Draw(r, "places")
			l := newLine(places, rapid.SampledFrom([]int{0, 600}).Draw(r, "requests"), rapid.SampledFrom([]int{0, 60_000}).Draw(r, "tokens"))
			// What is drawn is used by goroutines: it is drawn before.
			type client struct {
				trial         string
				tokens        int64
				after         time.Duration // until it comes
				patience      time.Duration
				work          time.Duration
				pause, stayed bool
			}
			var clients []client
			for range rapid.IntRange(1, 40).Draw(r, "clients") {
				ms := rapid.IntRange(0, 3000)
				clients = append(clients, client{
					trial:  rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "trial"),
					tokens: rapid.Int64Range(0, 100_000).Draw(r, "tokens"),
					after:  time.Duration(ms.Draw(r, "after")) * time.Millisecond, patience: time.Duration(ms.Draw(r, "patience")) * time.Millisecond,
					work: time.Duration(ms.Draw(r, "work")) * time.Millisecond, pause: rapid.IntRange(0, 9).Draw(r, "pause") == 0,
					stayed: rapid.Bool().Draw(r, "stays"),
				})
			}
			var all sync.WaitGroup
			for _, c := range clients {
				all.Go(func() {
					time.Sleep(c.after)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					if !c.stayed {
						defer time.AfterFunc(c.patience, cancel).Stop()
					}
					if l.enter(ctx, c.trial, "m", c.tokens) != nil {
						return
					}
					if c.pause {
						l.pause("m", time.Now().Add(c.work))
					}
					time.Sleep(c.work)
					l.leave(c.tokens / 2)
				})
			}
			all.Wait()
			if l.taken != 0 || len(l.turns) != 0 || len(l.waiting) != 0 {
				r.Fatalf("left behind: %d places, %v, %v", l.taken, l.turns, l.waiting)
			}
			l.stop()
		})
	})
}

// The same with real goroutines, for the race detector: they leave at the very moment in
// which they are called.
func TestManyComeAndGoAtOnce(t *testing.T) {
	l := newLine(2, 0, 0)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 1))
			for range 200 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.IntN(50))*time.Microsecond)
				if l.enter(ctx, fmt.Sprint(i%5), "m", 1) == nil {
					l.leave(0)
				}
				cancel()
			}
		})
	}
	all.Wait()
	if l.taken != 0 || len(l.turns) != 0 || len(l.waiting) != 0 {
		t.Errorf("left behind: %d places, %v, %v", l.taken, l.turns, l.waiting)
	}
}

// A line that is stopped sets no timer any more.
func TestAStoppedLineLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(0, 1, 0)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { _ = l.enter(ctx, "1", "m", 0) })
		}
		synctest.Wait()
		l.stop()
		cancel()
		all.Wait()
		if l.timer != nil && l.timer.Stop() {
			t.Error("a timer is set")
		}
	})
}

func TestPerMinute(t *testing.T) {
	if perMinute(0, 6) != nil {
		t.Error("zero is a limit")
	}
	if l := perMinute(60, 6); l.Limit() != rate.Limit(1) || l.Burst() != 10 {
		t.Errorf("%v, %d", l.Limit(), l.Burst())
	}
}

// A pause is for one model. Whoever asks another one does not wait, nor do its requests behind
// one that does.
func TestAPauseIsForOneModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(0, 0, 0)
		begun := time.Now()
		l.pause("busy", begun.Add(time.Minute))
		l.pause("busier", begun.Add(2*time.Minute))
		var all sync.WaitGroup
		for _, c := range []struct {
			trial, model string
			after        time.Duration
		}{{"a", "busier", 2 * time.Minute}, {"a", "busy", time.Minute}, {"a", "free", 0}, {"b", "busy", time.Minute}, {"b", "other", 0}} {
			all.Go(func() {
				if err := l.enter(t.Context(), c.trial, c.model, 0); err != nil {
					t.Error(err)
				}
				if waited := time.Since(begun); waited != c.after {
					t.Errorf("%s waited %v for %s, want %v", c.trial, waited, c.model, c.after)
				}
				l.leave(0)
			})
			synctest.Wait()
		}
		all.Wait()
		for n := range 2 * maxPauses {
			l.pause(fmt.Sprint(n), time.Now().Add(time.Minute))
		}
		if len(l.pauses) > maxPauses {
			t.Errorf("%d pauses are kept", len(l.pauses))
		}
	})
}
