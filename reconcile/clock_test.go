package reconcile

import (
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/runtime/clock"
)

var steps = map[string]time.Duration{"an hour ahead": time.Hour, "an hour back": -time.Hour}

// stepping is a reconciler since whose beginning the wall clock was stepped.
func stepping(by time.Duration) *Reconciler {
	r := New(Options{Log: slog.New(slog.DiscardHandler)})
	r.runs.line = clock.From(clock.Now().Add(-by))
	return r
}

// What the loop waits for is neither hurried nor delayed, and the loop seems as lively as it
// is; only what waits for a time of day is looked at again.
func TestTheLoopHeedsAStepOfTheWallClock(t *testing.T) {
	for name, step := range steps {
		t.Run(name, func(t *testing.T) {
			r := stepping(step)
			r.Heartbeat()
			if p := r.Progress(); p < 0 || p > time.Minute {
				t.Errorf("the last turn was %s ago", p)
			}
			daily, err := cron.ParseStandard("TZ=UTC 0 3 * * *")
			check(t, err)
			r.runs.desired = map[string]*plan.Run{"run.once": {}, "run.daily": {Schedule: daily}}
			r.runs.queue.Add("run.once", r.runs.now().Add(time.Minute))
			r.runs.queue.Add("run.daily", r.runs.now().Add(20*time.Hour))
			for range 2 {
				r.runs.onClockStep()
			}
			if key, ok := r.runs.queue.Pop(r.runs.now()); !ok || key != "run.daily" {
				t.Errorf("looked at is %q, %v", key, ok)
			}
			if key, ok := r.runs.queue.Pop(r.runs.now()); ok {
				t.Errorf("looked at is %q, too", key)
			}
			if key, wait, ok := r.runs.queue.Peek(r.runs.now()); !ok || key != "run.once" || wait > time.Minute || wait < 50*time.Second {
				t.Errorf("next is %q in %s, %v", key, wait, ok)
			}
		})
	}
}

// Mining whose block is gone has its grace, and no more.
func TestMiningEndsWhenItsBlockIsGoneForAMinuteAlthoughTheClockWasSet(t *testing.T) {
	const address = "mining.x"
	for name, step := range steps {
		t.Run(name, func(t *testing.T) {
			r := stepping(step)
			r.runs.miss(address, r.runs.now())
			for range 2 {
				r.runs.queue.Pop(r.runs.now())
				if !r.runs.graced(address) {
					t.Error("within the grace it ends")
				}
				if _, wait, ok := r.runs.queue.Peek(r.runs.now()); !ok || wait < 50*time.Second || wait > plan.RemovalGrace {
					t.Errorf("it is looked at in %s, %v", wait, ok)
				}
			}
			r.runs.gone[address] = r.runs.now().Add(-plan.RemovalGrace)
			if r.runs.graced(address) {
				t.Error("after the grace it goes on")
			}
		})
	}
}

// Of what others stamp with the wall clock, what they made lately is never taken for old.
func TestWhatIsYoungIsNotTakenForOldWhenTheClockWasSet(t *testing.T) {
	for name, step := range steps {
		r := stepping(step)
		hourAgo := r.runs.stamped(r.runs.now().Add(-time.Hour))
		for what, stamp := range map[string]time.Time{
			"before the step": r.runs.now().Add(-30 * time.Minute), // by the wall clock of that time
			"after it":        clock.Now().Add(-30 * time.Minute),
		} {
			if stamp.Before(hourAgo) {
				t.Errorf("%s: what was made half an hour ago, %s, is an hour old", name, what)
			}
		}
	}
	r := stepping(0)
	if old := clock.Now().Add(-2 * time.Hour); !old.Before(r.runs.stamped(r.runs.now().Add(-time.Hour))) {
		t.Error("nothing is ever old")
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
