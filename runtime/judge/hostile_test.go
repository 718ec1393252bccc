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
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/task"
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
		status   Status
		refunds  int
	}{
		"a workdir that is a link to itself": {99, errors.New("too many levels of symbolic links"), StatusInvalid, 0},
		"an engine that goes away":           {2, container.ErrUnavailable, StatusOK, 0},
		"a full disk for a moment":           {1, container.ErrNoSpace, StatusOK, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, func(o *Options) { o.Parsers = filesParser })
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
				got := b.judged(t, b.submit(t, "t", KindAgent, "x").ID)
				if got.Report.Status != tc.status || got.Refunds != tc.refunds {
					t.Errorf("%s (%s) after %d refunds", got.Report.Status, got.Report.Problem, got.Refunds)
				}
			})
		})
	}
}

func TestWhatFailsInEveryTryOnASoundEngineIsInvalid(t *testing.T) {
	for failing, problem := range map[string]string{
		"CopyTo": "could not be laid over the image: ",
		"Exec":   "the judge command could not be run: ",
	} {
		t.Run(failing, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.open("t")
				b.fake.Intercept(func(call, _ string) error {
					if call == failing {
						return errors.New("the kernel takes no such thing")
					}
					return nil
				})
				got := b.judged(t, b.submit(t, "t", KindAgent, "x").ID)
				r := got.Report
				if r.Status != StatusInvalid || r.Valid || got.Refunds != 2 || !strings.Contains(r.Problem, problem) {
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
				b := newBench(t)
				b.open("t", func(s *Session) { s.Max, s.Cooldown = 1, time.Minute })
				full := errors.New("disk full")
				b.ledger.fail = func(call string) error {
					if call == "reserve" {
						return nil
					}
					return full
				}
				_, err := b.Submit(t.Context(), "t", SubmitRequest{Kind: KindAgent, Key: "k", Archive: upload(t, "a passed")})
				if !errors.Is(err, full) {
					t.Fatalf("a full disk: %v", err)
				}
				b.ledger.fail = nil
				sub, err := b.Submit(t.Context(), "t", SubmitRequest{Kind: KindAgent, Key: key, Archive: upload(t, "a passed")})
				if err != nil || sub.Round != "agent-1" || sub.Key != key {
					t.Fatalf("the next round is %+v, %v", sub, err)
				}
				all := b.ledger.of("t")
				if left := remaining(Session{Max: 3}, sub, all); len(all) != 1 || *left != 2 {
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
		b := newBench(t, func(o *Options) { o.Capacity, o.Warm = newPlaces(1), -1 })
		b.open("t")
		b.open("other")
		b.fake.HandleExec(func(ctx context.Context, _ *containertest.FakeContainer, _ container.Command) int {
			<-ctx.Done()
			return 137
		})
		var subs []Submission
		for i := range 3 {
			subs = append(subs, b.submit(t, "t", KindAgent, fmt.Sprintf("a%d passed", i)))
		}
		synctest.Wait() // the first is running
		b.ledger.fail = func(string) error { return errors.New("disk full") }
		if err := b.Abandon(t.Context(), "t", 1, "cancelled"); err == nil {
			t.Error("nothing can be stored, and nobody hears of it")
		}
		b.ledger.mu.Lock() // the judge is at the next round
		b.ledger.fail = nil
		b.ledger.mu.Unlock()
		for range 2 { // again after an error, or a restart
			if err := b.Abandon(t.Context(), "t", 1, "cancelled"); err != nil {
				t.Fatal(err)
			}
		}
		for _, sub := range subs {
			got := b.judged(t, sub.ID)
			r := got.Report
			if r.Status != StatusError || r.Valid || r.Isolation != "shared" || r.QueuedMS < 0 || r.DurationMS < 0 ||
				r.Problem != "the trial was over before this round was judged: cancelled" {
				t.Errorf("%s: %+v", sub.Round, r)
			}
		}
		for _, kind := range []Kind{KindAgent, KindFinal} {
			if _, err := b.Submit(t.Context(), "t", SubmitRequest{Kind: kind, Archive: upload(t, "x")}); err == nil {
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
		b.open("t", func(s *Session) { s.Try = 2 })
		for _, trial := range []string{"t", "other"} {
			if r := b.judged(t, b.submit(t, trial, KindAgent, "y").ID).Report; r.Status != StatusOK {
				t.Errorf("a round of %s afterwards: %+v", trial, r)
			}
		}
	})
}

// TestRoundsWithoutASessionAreAbandonedByTry: a restart finds rounds of tries that are over.
func TestRoundsWithoutASessionAreAbandonedByTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.ledger.all = []Submission{
			{ID: "1", Trial: "t", Try: 1, State: StateRunning, StartedAt: time.Now()},
			{ID: "2", Trial: "t", Try: 2, State: StateQueued},
			{ID: "3", Trial: "t", Try: 1, State: StateReserved},
		}
		if err := b.Abandon(t.Context(), "t", 1, ""); err != nil {
			t.Fatal(err)
		}
		b.judged(t, "1")
		if all := b.ledger.of("t"); all[1].State != StateQueued || all[2].State != StateReserved {
			t.Errorf("the others are %+v", all[1:])
		}
	})
}

func TestACommandThatFillsTheDiskIsStopped(t *testing.T) {
	tests := map[string]struct {
		used   int64
		status Status
		took   time.Duration
	}{
		"within the limit": {1 << 30, StatusOK, 20 * time.Second},
		"beyond it":        {3 << 30, StatusInvalid, 7 * time.Second}, // the second look
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.open("t", func(s *Session) { s.Task.Judge.Disk = 2 << 30 })
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
				got := b.judged(t, b.submit(t, "t", KindAgent, "x").ID)
				r := got.Report
				if r.Status != tc.status || got.Refunds != 0 || r.JudgeMS != tc.took.Milliseconds() {
					t.Errorf("%s (%s) after %d ms and %d refunds", r.Status, r.Problem, r.JudgeMS, got.Refunds)
				}
				if said := strings.Contains(r.Problem, "disk limit: it used 3.0 GiB of disk; 2.0 GiB is the limit"); said != (tc.status == StatusInvalid) {
					t.Errorf("the problem is %q", r.Problem)
				}
			})
		})
	}
}

// TestASnapshotMayHoldMuchThatIsLeftOut: a workdir is full of what nobody chose to send.
func TestASnapshotMayHoldMuchThatIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.open("t", func(s *Session) {
			s.Task.Submit.MaxBytes = 64 << 10
			s.Task.Submit.Exclude = []string{"modules/"}
		})
		entries := []tarEntry{file("src/answer", "a passed")}
		for i := range 2500 {
			entries = append(entries, file(fmt.Sprintf("src/modules/%d/x", i), strings.Repeat("x", 300)))
		}
		archive := pack(t, entries...)
		for _, kind := range []Kind{KindAuto, KindFinal, KindManual} {
			sub, err := b.Submit(t.Context(), "t", SubmitRequest{Kind: kind, Archive: bytes.NewReader(archive)})
			if err != nil || sub.Dropped != 2500 {
				t.Errorf("%s: dropped %d, %v", kind, sub.Dropped, err)
			}
		}
		_, err := b.Submit(t.Context(), "t", SubmitRequest{Kind: KindAgent, Archive: bytes.NewReader(archive)})
		if r, ok := errors.AsType[*Refusal](err); !ok || r.Code != 413 {
			t.Errorf("an upload as large: %v", err)
		}
	})
}

func TestAPathHasToFitBehindTheWorkdir(t *testing.T) {
	long := strings.Repeat(strings.Repeat("x", 199)+"/", 19) // 3800 bytes
	for workdir, fits := range map[string]bool{"/w": true, "/" + strings.Repeat("w", 220): false} {
		rules := testRules(t)
		rules.Workdir = workdir
		_, err := Clean(bytes.NewReader(pack(t, file(long+"f", "1"))), io.Discard, rules)
		if r, ok := errors.AsType[*Refusal](err); ok == fits || !fits && r.Code != 400 {
			t.Errorf("below a workdir of %d bytes: %v", len(workdir), err)
		}
	}
}

// TestWhatIsLeftOutIsNotRemembered: folders below an excluded one cost nothing but their
// reading.
func TestWhatIsLeftOutIsNotRemembered(t *testing.T) {
	book, err := newRulebook(testRules(t))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		if book.open(fmt.Sprintf("src/tests/%d/%d/x", i, i)) {
			t.Fatal("an excluded file is open")
		}
	}
	if n := len(book.folders); n != 2 {
		t.Errorf("%d folders are remembered", n)
	}
}

// One trial cannot fill the disk under the others: what is left is for last snapshots.
func TestAFullDiskIsKeptForLastSnapshots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := false
		b := newBench(t, func(o *Options) { o.Full = func() bool { return full } })
		b.open("t")
		b.submit(t, "t", KindAgent, "a passed")
		full = true
		for kind, code := range map[Kind]int{KindAgent: 503, KindAuto: 503, KindFinal: 0} {
			_, err := b.Submit(t.Context(), "t", SubmitRequest{Kind: kind, Archive: upload(t, string(kind))})
			refusal, _ := errors.AsType[*Refusal](err)
			if got := (refusal != nil && refusal.Code == code) || code == 0 && err == nil; !got {
				t.Errorf("%s: %v, want %d", kind, err, code)
			}
		}
	})
}

// Twenty braces already take a second for each path, and thirty an hour.
func TestAPatternCannotMultiply(t *testing.T) {
	for glob, ok := range map[string]bool{
		"*.{go,mod,sum}":                                     true,
		"{a,b}{c,d}{e,f}/**":                                 true,
		`\{a,b\}{c,{d,e}}[{]`:                                true,
		strings.Repeat("{a,a}", 30) + "x":                    false,
		strings.Repeat("{a,{b,c}}", 9):                       false,
		strings.Repeat(`\{a,a\}`, 30):                        true, // letters
		"{" + strings.Repeat("a,", 999) + "a}":               true,
		"{" + strings.Repeat("a,", 1000) + "a}":              false,
		strings.Repeat("{a[}],a}", 30):                       false,
		strings.Repeat("{", 40) + strings.Repeat("a,a}", 40): false,
	} {
		if _, err := NewFilter(task.Submit{Exclude: []string{glob}}); (err == nil) != ok {
			t.Errorf("%.60s: %v", glob, err)
		}
	}
}
