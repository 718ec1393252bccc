package judge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

// lots has the judge command print another score at every run, after a while: the n-th has
// n tests of ten that pass. Two runs of one tree at a time are an error.
func (b *fixture) lots(t *testing.T) (runs *atomic.Int32) {
	runs = &atomic.Int32{}
	var now atomic.Int32
	b.fake.HandleExec(func(_ context.Context, _ *containertest.FakeContainer, cmd container.Command) int {
		if now.Add(1) > 1 {
			t.Error("a tree is judged twice at a time")
		}
		defer now.Add(-1)
		time.Sleep(time.Second)
		n := int(runs.Add(1))
		for i := range 10 {
			status := "failed"
			if i < n {
				status = "passed"
			}
			_, _ = fmt.Fprintf(cmd.Stdout, "t%d %s\n", i, status)
		}
		return 0
	})
	return runs
}

func TestEqualRoundsSentAtOnceDrawOneLot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		b.open("t")
		runs := b.lots(t)
		var subs []round.Submission
		for range 7 {
			subs = append(subs, b.submit(t, "t", round.KindAgent, "same"))
		}
		subs = append(subs, b.submit(t, "t", round.KindFinal, "same"))
		synctest.Wait()
		if b.queue.taken != 7 || b.opts.Capacity.(*judgetest.Places).Held() != 1 {
			t.Errorf("while one is judged %d have a place in the queue and %d have room", b.queue.taken, b.opts.Capacity.(*judgetest.Places).Held())
		}
		fresh := 0
		for _, sub := range subs {
			got := b.judged(t, sub.ID)
			if got.Report.PassRate != .1 || len(got.Report.Tests) != 10 || got.StartedAt.IsZero() {
				t.Errorf("%s: %+v", got.Round, got.Report)
			}
			if !got.Report.Cached {
				fresh++
			}
		}
		synctest.Wait()
		if n := runs.Load(); n != 1 || fresh != 1 || b.queue.taken != 0 || len(b.coalescer.flights) != 0 {
			t.Errorf("%d runs, %d fresh verdicts, %d places, %d flights", n, fresh, b.queue.taken, len(b.coalescer.flights))
		}
	})
}

// What counts as another tree is judged for itself.
func TestRoundsThatAreNoTwinsDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		withPrivate := func(s *round.Session) {
			s.Task.Private = &task.Private{Command: task.Command{Argv: []string{"/judge"}}, Timeout: time.Minute}
		}
		b.open("t", withPrivate)
		b.open("other")
		var running atomic.Int32
		hold := make(chan struct{})
		b.fake.HandleExec(func(_ context.Context, _ *containertest.FakeContainer, cmd container.Command) int {
			running.Add(1)
			<-hold
			_, _ = io.WriteString(cmd.Stdout, "a passed")
			return 0
		})
		first := b.submit(t, "t", round.KindAgent, "same")
		private, err := b.Private(t.Context(), "t", first)
		if err != nil {
			t.Fatal(err)
		}
		again, err := b.Private(t.Context(), "t", round.Submission{Round: "final-1", Archive: first.Archive})
		if err != nil {
			t.Fatal(err)
		}
		ids := []string{first.ID, private.ID, again.ID, b.submit(t, "other", round.KindAgent, "same").ID}
		b.open("t", withPrivate, func(s *round.Session) { s.Try = 2 })
		ids = append(ids, b.submit(t, "t", round.KindAgent, "same").ID)
		synctest.Wait()
		if n := running.Load(); n != 4 {
			t.Errorf("%d are judged at once, want the round, its private set, the other trial's and the other try's", n)
		}
		close(hold)
		for _, id := range ids {
			if got := b.judged(t, id); got.Report.Cached != (id == again.ID) || got.Report.PassRate != 1 {
				t.Errorf("%s of try %d: %+v", got.Round, got.Try, got.Report)
			}
		}
	})
}

func TestATwinIsJudgedWhenTheFirstGotNoSoundVerdict(t *testing.T) {
	tests := map[string]struct {
		fail   func(t *testing.T, b *fixture) // what spoils the first round
		status round.Status
	}{
		"the machinery": {func(_ *testing.T, b *fixture) {
			var n atomic.Int32
			b.fake.Intercept(func(call, _ string) error {
				if call == "CopyTo" && n.Add(1) <= maxTries {
					return container.ErrNotFound
				}
				return nil
			})
		}, round.StatusError},
		"a flaky runner": {func(t *testing.T, b *fixture) {
			b.fake.HandleExec(func(context.Context, *containertest.FakeContainer, container.Command) int {
				b.lots(t)
				return 127
			})
		}, round.StatusInvalid},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newFixture(t)
				b.open("t")
				runs := b.lots(t)
				tc.fail(t, b)
				var subs []round.Submission
				for range 3 {
					subs = append(subs, b.submit(t, "t", round.KindAgent, "same"))
				}
				if got := b.judged(t, subs[0].ID); got.Report.Status != tc.status {
					t.Errorf("the first is %+v", got.Report)
				}
				cached := 0 // either of the others may be judged
				for _, sub := range subs[1:] {
					got := b.judged(t, sub.ID)
					if got.Report.Status != round.StatusOK || got.Report.PassRate != .1 || got.Refunds != 0 {
						t.Errorf("%s: %+v", got.Round, got.Report)
					}
					if got.Report.Cached {
						cached++
					}
				}
				if cached != 1 {
					t.Errorf("%d of the others have the verdict of the other", cached)
				}
				if n := runs.Load(); n > 1 {
					t.Errorf("the command ran %d times", n)
				}
			})
		})
	}
}

// What a run out of time has shown counts, so it is a lot, too.
func TestATreeThatRanOutOfTimeIsJudgedAgainOnlyIfNothingCounted(t *testing.T) {
	for name, tc := range map[string]struct {
		expect []string
		cached bool
	}{"with a manifest": {[]string{"a", "b"}, true}, "without": {nil, false}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newFixture(t)
				b.open("t", func(s *round.Session) { s.Task.Judge.Expect = tc.expect })
				var runs atomic.Int32
				b.fake.HandleExec(func(ctx context.Context, _ *containertest.FakeContainer, cmd container.Command) int {
					_, _ = io.WriteString(cmd.Stdout, "a passed\n")
					if runs.Add(1) == 1 {
						<-ctx.Done()
						return 137
					}
					_, _ = io.WriteString(cmd.Stdout, "b passed\n")
					return 0
				})
				first, second := b.submit(t, "t", round.KindAgent, "same"), b.submit(t, "t", round.KindAgent, "same")
				if r := b.judged(t, first.ID).Report; r.Status != round.StatusTimeout || r.Valid != tc.cached {
					t.Errorf("the first is %+v", r)
				}
				if r := b.judged(t, second.ID).Report; r.Cached != tc.cached || (r.PassRate == 1) == tc.cached {
					t.Errorf("the second is %+v", r)
				}
			})
		})
	}
}

func TestTwinsThatARestartFoundAreJudgedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		b.open("t")
		stored := b.judged(t, b.submit(t, "t", round.KindAgent, "same").ID).Archive
		b.open("t", func(s *round.Session) { s.Try = 2 })
		runs := b.lots(t)
		var left []round.Submission
		for i, state := range []round.State{round.StateRunning, round.StateQueued, round.StateRunning} {
			left = append(left, round.Submission{
				ID: fmt.Sprintf("%016d", i+1), Trial: "t", Kind: round.KindAgent, Try: 2, Number: i + 2,
				Round: fmt.Sprintf("agent-%d", i+2), State: state, Archive: stored,
			})
		}
		b.ledger.Mu.Lock()
		b.ledger.All = append(b.ledger.All, left...)
		b.ledger.Mu.Unlock()
		if err := b.Resume(t.Context(), left); err != nil {
			t.Fatal(err)
		}
		for i, sub := range left {
			if r := b.judged(t, sub.ID).Report; r.PassRate != .1 || r.Cached != (i > 0) {
				t.Errorf("%s: %+v", sub.Round, r)
			}
		}
		if n := runs.Load(); n != 1 {
			t.Errorf("the command ran %d times", n)
		}
	})
}

func TestTwinsOfATrialThatIsOverLeaveNothing(t *testing.T) {
	for name, over := range map[string]func(*fixture) error{
		"abandoned": func(b *fixture) error { return b.Abandon(context.Background(), "t", 1, "it is cancelled") },
		"forgotten": func(b *fixture) error {
			err := b.Abandon(context.Background(), "t", 1, "it is cancelled")
			b.Forget("t")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newFixture(t)
				b.open("t")
				b.fake.HandleExec(func(ctx context.Context, _ *containertest.FakeContainer, _ container.Command) int {
					<-ctx.Done()
					return 137
				})
				subs := []round.Submission{b.submit(t, "t", round.KindAgent, "same"), b.submit(t, "t", round.KindAgent, "same"), b.submit(t, "t", round.KindAgent, "same")}
				synctest.Wait()
				if err := over(b); err != nil {
					t.Fatal(err)
				}
				for _, sub := range subs {
					if r := b.judged(t, sub.ID).Report; r.Status != round.StatusError {
						t.Errorf("%s: %+v", sub.Round, r)
					}
				}
				synctest.Wait()
				if b.queue.taken != 0 || len(b.queue.byTrial) != 0 || len(b.coalescer.flights) != 0 {
					t.Errorf("%d places, %v, %d flights", b.queue.taken, b.queue.byTrial, len(b.coalescer.flights))
				}
			})
		})
	}
}

// A ledger that cannot be read holds a round up, and loses none.
func TestARoundThatCannotBeLookedAtComesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		b.open("t")
		var failed atomic.Int32
		b.opts.Ledger = flakyLedger{b.ledger, func() bool { return failed.Add(1) <= 2 }}
		first, second := b.submit(t, "t", round.KindAgent, "a passed"), b.submit(t, "t", round.KindAgent, "a passed")
		for _, sub := range []round.Submission{first, second} {
			if r := b.judged(t, sub.ID).Report; r.PassRate != 1 {
				t.Errorf("%s: %+v", sub.Round, r)
			}
		}
	})
}

// flakyLedger lists nothing while it fails.
type flakyLedger struct {
	*judgetest.Ledger
	failing func() bool
}

func (l flakyLedger) Submissions(ctx context.Context, trial string) ([]round.Submission, error) {
	if l.failing() {
		return nil, errors.New("the disk is slow")
	}
	return l.Ledger.Submissions(ctx, trial)
}
