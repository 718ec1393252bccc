package judge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
)

// filesParser wants a result file.
func filesParser(name string) (parser.Parser, bool) {
	return parser.Parser{Name: name, Files: []string{"out.xml"}, Parse: func(in parser.Input) parser.Result {
		if len(in.Files["out.xml"]) == 0 {
			return parser.Result{Problem: "there is no out.xml"}
		}
		return parser.Result{Complete: true, Tests: []parser.Test{{Name: "a", Status: parser.Passed}}}
	}}, true
}

// TestASubmissionCannotBreakTheFetchingOfResults: what it makes of its result files is its
// own doing; only an engine that is away is waited for.
func TestASubmissionCannotBreakTheFetchingOfResults(t *testing.T) {
	tests := map[string]struct {
		failures int32
		err      error
		status   round.Status
		refunds  int
	}{
		"a workdir that is a link to itself": {99, errors.New("too many levels of symbolic links"), round.StatusInvalid, 0},
		"an engine that goes away":           {2, container.ErrUnavailable, round.StatusOK, 0},
		"a full disk for a moment":           {1, container.ErrNoSpace, round.StatusOK, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newFixture(t, func(o *Options) { o.Parsers = filesParser })
				b.open("t")
				var ran atomic.Bool
				var failed atomic.Int32
				b.fake.HandleExec(func(_ context.Context, c *containertest.FakeContainer, _ container.Command) int {
					c.WriteFile("/work/out.xml", []byte("x"))
					ran.Store(true)
					return 0
				})
				b.fake.Intercept(func(call, _ string) error {
					if call == "CopyFrom" && ran.Load() && failed.Add(1) <= tc.failures {
						return tc.err
					}
					return nil
				})
				got := b.judged(t, b.submit(t, "t", round.KindAgent, "x").ID)
				if got.Report.Status != tc.status || got.Refunds != tc.refunds {
					t.Errorf("%s (%s) after %d refunds", got.Report.Status, got.Report.Problem, got.Refunds)
				}
			})
		})
	}
}

func TestWhatFailsInEveryTryOnASoundEngineIsInvalid(t *testing.T) {
	for failing, problem := range map[string]string{
		"CopyTo": "could not be written into the image: ",
		"Exec":   "the judge command could not be run: ",
	} {
		t.Run(failing, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newFixture(t)
				b.open("t")
				b.fake.Intercept(func(call, _ string) error {
					if call == failing {
						return errors.New("the kernel takes no such thing")
					}
					return nil
				})
				got := b.judged(t, b.submit(t, "t", round.KindAgent, "x").ID)
				r := got.Report
				if r.Status != round.StatusInvalid || r.Valid || got.Refunds != 2 || !strings.Contains(r.Problem, problem) {
					t.Errorf("%s (%s) after %d refunds", r.Status, r.Problem, got.Refunds)
				}
			})
		})
	}
}

// TestAnUnreleasedReservationIsTakenOver: it neither poisons its key nor counts.
func TestAnUnreleasedReservationIsTakenOver(t *testing.T) {
	for name, key := range map[string]string{"same key": "k", "another key": "l", "no key": ""} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newFixture(t)
				b.open("t", func(s *round.Session) { s.Max, s.Cooldown = 1, time.Minute })
				full := errors.New("disk full")
				b.ledger.Fail = func(call string) error {
					if call == "reserve" {
						return nil
					}
					return full
				}
				_, err := b.Submit(t.Context(), "t", round.SubmitRequest{Kind: round.KindAgent, Key: "k", Archive: upload(t, "a passed")})
				if !errors.Is(err, full) {
					t.Fatalf("a full disk: %v", err)
				}
				b.ledger.Fail = nil
				sub, err := b.Submit(t.Context(), "t", round.SubmitRequest{Kind: round.KindAgent, Key: key, Archive: upload(t, "a passed")})
				if err != nil || sub.Round != "agent-1" || sub.Key != key {
					t.Fatalf("the next round is %+v, %v", sub, err)
				}
				all := b.ledger.Of("t")
				if left := round.Remaining(round.Session{Max: 3}, sub, all); len(all) != 1 || *left != 2 {
					t.Errorf("%d rounds are stored and %d are left", len(all), *left)
				}
				b.judged(t, sub.ID)
			})
		})
	}
}

// TestAbandonedRoundsGetTheirVerdicts: whatever was acknowledged has one verdict, also when
// its trial ends first.
func TestAbandonedRoundsGetTheirVerdicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t, func(o *Options) { o.Capacity, o.Warm = judgetest.NewPlaces(1), -1 })
		b.open("t")
		b.open("other")
		b.fake.HandleExec(func(ctx context.Context, _ *containertest.FakeContainer, _ container.Command) int {
			<-ctx.Done()
			return 137
		})
		var subs []round.Submission
		for i := range 3 {
			subs = append(subs, b.submit(t, "t", round.KindAgent, fmt.Sprintf("a%d passed", i)))
		}
		synctest.Wait() // the first is running
		b.ledger.Fail = func(string) error { return errors.New("disk full") }
		if err := b.Abandon(t.Context(), "t", 1, "cancelled"); err == nil {
			t.Error("nothing can be stored, and nobody hears of it")
		}
		b.ledger.Mu.Lock() // the judge is at the next round
		b.ledger.Fail = nil
		b.ledger.Mu.Unlock()
		for range 2 { // again after an error, or a restart
			if err := b.Abandon(t.Context(), "t", 1, "cancelled"); err != nil {
				t.Fatal(err)
			}
		}
		for _, sub := range subs {
			got := b.judged(t, sub.ID)
			r := got.Report
			if r.Status != round.StatusError || r.Valid || r.Isolation != "shared" || r.QueuedMS < 0 || r.DurationMS < 0 ||
				r.Problem != "the trial was over before this round was judged: cancelled" {
				t.Errorf("%s: %+v", sub.Round, r)
			}
		}
		for _, kind := range []round.Kind{round.KindAgent, round.KindFinal} {
			if _, err := b.Submit(t.Context(), "t", round.SubmitRequest{Kind: kind, Archive: upload(t, "x")}); err == nil {
				t.Errorf("a round of kind %s came after the end", kind)
			}
		}
		b.Forget("t")
		synctest.Wait()
		if left := containers(t, b); len(left) > 0 {
			t.Errorf("what ran is not interrupted: %v", left)
		}
		b.fake.HandleExec(func(_ context.Context, _ *containertest.FakeContainer, cmd container.Command) int {
			_, _ = io.WriteString(cmd.Stdout, "a passed")
			return 0
		})
		b.open("t", func(s *round.Session) { s.Try = 2 })
		for _, trial := range []string{"t", "other"} {
			if r := b.judged(t, b.submit(t, trial, round.KindAgent, "y").ID).Report; r.Status != round.StatusOK {
				t.Errorf("a round of %s afterwards: %+v", trial, r)
			}
		}
	})
}

// TestRoundsWithoutASessionAreAbandonedByTry: a restart finds rounds of tries that are over.
func TestRoundsWithoutASessionAreAbandonedByTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		b.ledger.All = []round.Submission{
			{ID: "1", Trial: "t", Try: 1, State: round.StateRunning, StartedAt: time.Now()},
			{ID: "2", Trial: "t", Try: 2, State: round.StateQueued},
			{ID: "3", Trial: "t", Try: 1, State: round.StateReserved},
		}
		if err := b.Abandon(t.Context(), "t", 1, ""); err != nil {
			t.Fatal(err)
		}
		b.judged(t, "1")
		if all := b.ledger.Of("t"); all[1].State != round.StateQueued || all[2].State != round.StateReserved {
			t.Errorf("the others are %+v", all[1:])
		}
	})
}

func TestACommandThatFillsTheDiskIsStopped(t *testing.T) {
	tests := map[string]struct {
		used   int64
		status round.Status
		took   time.Duration
	}{
		"within the limit": {1 << 30, round.StatusOK, 20 * time.Second},
		"beyond it":        {3 << 30, round.StatusInvalid, 7 * time.Second}, // the second look
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newFixture(t)
				b.open("t", func(s *round.Session) { s.Task.Judge.Disk = 2 << 30 })
				b.fake.HandleExec(func(ctx context.Context, c *containertest.FakeContainer, cmd container.Command) int {
					_, _ = io.WriteString(cmd.Stdout, "a passed")
					for at, used := range map[time.Duration]int64{0: 1, 3 * time.Second: tc.used} {
						go func() {
							select {
							case <-time.After(at):
								c.SetUsage(container.Usage{DiskBytes: used})
							case <-ctx.Done():
							}
						}()
					}
					select {
					case <-time.After(20 * time.Second):
						return 0
					case <-ctx.Done():
						return 137
					}
				})
				got := b.judged(t, b.submit(t, "t", round.KindAgent, "x").ID)
				r := got.Report
				if r.Status != tc.status || got.Refunds != 0 || r.JudgeMS != tc.took.Milliseconds() {
					t.Errorf("%s (%s) after %d ms and %d refunds", r.Status, r.Problem, r.JudgeMS, got.Refunds)
				}
				if said := strings.Contains(r.Problem, "disk limit: it used 3.0 GiB of disk; 2.0 GiB is the limit"); said != (tc.status == round.StatusInvalid) {
					t.Errorf("the problem is %q", r.Problem)
				}
			})
		})
	}
}

// TestASnapshotMayHoldMuchThatIsLeftOut: a workdir is full of what nobody chose to send.
func TestASnapshotMayHoldMuchThatIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		b.open("t", func(s *round.Session) {
			s.Task.Submit.MaxBytes = 64 << 10
			s.Task.Submit.Exclude = []string{"modules/"}
		})
		entries := []judgetest.Entry{judgetest.File("src/answer", "a passed")}
		for i := range 2500 {
			entries = append(entries, judgetest.File(fmt.Sprintf("src/modules/%d/x", i), strings.Repeat("x", 300)))
		}
		archive := judgetest.Pack(t, entries...)
		for _, kind := range []round.Kind{round.KindAuto, round.KindFinal, round.KindManual} {
			sub, err := b.Submit(t.Context(), "t", round.SubmitRequest{Kind: kind, Archive: bytes.NewReader(archive)})
			if err != nil || sub.Dropped != 2500 {
				t.Errorf("%s: dropped %d, %v", kind, sub.Dropped, err)
			}
		}
		_, err := b.Submit(t.Context(), "t", round.SubmitRequest{Kind: round.KindAgent, Archive: bytes.NewReader(archive)})
		if r, ok := errors.AsType[*round.Refusal](err); !ok || r.Code != 413 {
			t.Errorf("an upload as large: %v", err)
		}
	})
}

// One trial cannot fill the disk under the others: what is left is for last snapshots.
func TestAFullDiskIsKeptForLastSnapshots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := false
		b := newFixture(t, func(o *Options) { o.Full = func() bool { return full } })
		b.open("t")
		b.submit(t, "t", round.KindAgent, "a passed")
		full = true
		for kind, code := range map[round.Kind]int{round.KindAgent: 503, round.KindAuto: 503, round.KindFinal: 0} {
			_, err := b.Submit(t.Context(), "t", round.SubmitRequest{Kind: kind, Archive: upload(t, string(kind))})
			refusal, _ := errors.AsType[*round.Refusal](err)
			if got := (refusal != nil && refusal.Code == code) || code == 0 && err == nil; !got {
				t.Errorf("%s: %v, want %d", kind, err, code)
			}
		}
	})
}
