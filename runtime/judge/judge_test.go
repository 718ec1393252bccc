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
	"github.com/assayd/assayd/runtime/judge/scoring"
	"github.com/assayd/assayd/runtime/task"
)

// fixture is a judge at work on a fake engine. Its judge command prints the submitted
// src/answer, one "name status" a line.
type fixture struct {
	*Judge
	fake   *containertest.Fake
	ledger *judgetest.Ledger
	blobs  *judgetest.Blobs
	image  string
	stop   func()
}

func lineParser(name string) (parser.Parser, bool) {
	return parser.Parser{Name: name, Parse: func(in parser.Input) parser.Result {
		r := parser.Result{Complete: true}
		for line := range strings.Lines(string(in.Output)) {
			name, status, _ := strings.Cut(strings.TrimSpace(line), " ")
			r.Tests = append(r.Tests, parser.Test{Name: name, Status: parser.Status(status), Message: "because"})
		}
		return r
	}}, name == "lines"
}

func newFixture(t *testing.T, change ...func(*Options)) *fixture {
	t.Helper()
	b := &fixture{fake: containertest.NewFake(), ledger: judgetest.NewLedger(), blobs: judgetest.NewBlobs()}
	b.image = b.fake.AddImage("judge:1", container.ImageConfig{User: "agent"}, map[string]string{
		"/hold": "", "/judge": "", "/etc/passwd": "root:x:0:0::/:\nagent:x:1000:1001::/:\n", "/work/tests/hidden": "hidden", "/work/src/old": "old",
	}).ID
	b.fake.Handle(func(ctx context.Context, c *containertest.FakeContainer) int { <-ctx.Done(); return 137 })
	b.fake.HandleExec(func(_ context.Context, c *containertest.FakeContainer, cmd container.Command) int {
		answer, _ := c.ReadFile("/work/src/answer")
		_, _ = cmd.Stdout.Write(answer)
		return 0
	})
	o := Options{
		Engine: b.fake, Ledger: b.ledger, Blobs: b.blobs, Capacity: judgetest.NewPlaces(4),
		Owner: "owner-of-tests", PauseProcess: []string{"/hold"}, Parsers: lineParser, Spool: t.TempDir(),
	}
	for _, c := range change {
		c(&o)
	}
	var err error
	if b.Judge, err = New(o); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	b.stop = func() {
		cancel()
		if done == nil {
			return
		}
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
		done = nil
	}
	t.Cleanup(func() {
		b.stop()
		if err := b.fake.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// container is the name of one of the judge's containers.
func (b *fixture) container(what string) string { return "assayd-j-owner-of-" + what }

func (b *fixture) open(trial string, change ...func(*round.Session)) {
	s := round.Session{
		Trial: trial, Try: 1, Token: "token-" + trial, JudgeImage: b.image, Deadline: time.Now().Add(time.Hour),
		Task: task.Task{
			Name: "sums", Workdir: "/work", Submit: task.Submit{Paths: []string{"src"}, Exclude: []string{"tests/"}, MaxBytes: 1 << 20, MaxFiles: 100},
			Judge: task.Judge{Parser: "lines", Command: task.Command{Argv: []string{"/judge"}}, Timeout: time.Minute},
		},
	}
	for _, c := range change {
		c(&s)
	}
	b.Open(s)
}

func (b *fixture) submit(t *testing.T, trial string, kind round.Kind, answer string) round.Submission {
	t.Helper()
	sub, err := b.Submit(t.Context(), trial, round.SubmitRequest{Kind: kind, Archive: upload(t, answer)})
	if err != nil {
		t.Fatalf("submit %s: %v", kind, err)
	}
	return sub
}

func (b *fixture) judged(t *testing.T, id string) round.Submission {
	t.Helper()
	sub, err := b.Wait(t.Context(), id)
	if err != nil {
		t.Fatalf("wait for %s: %v", id, err)
	}
	b.ledger.Mu.Lock()
	defer b.ledger.Mu.Unlock()
	if n := b.ledger.Verdicts[id]; n != 1 {
		t.Errorf("submission %s has %d verdicts", id, n)
	}
	return sub
}

func upload(t testing.TB, answer string) io.Reader {
	return bytes.NewReader(judgetest.Zipped(t, judgetest.Pack(t, judgetest.File("src/answer", answer))))
}

func containers(t *testing.T, b *fixture) []container.Instance {
	t.Helper()
	all, err := b.fake.Observe(t.Context(), "owner-of-tests")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestASubmissionBecomesAVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		b.open("t")
		sub := b.submit(t, "t", round.KindAgent, "a passed\nb failed\n")
		if sub.Round != "agent-1" || sub.State != round.StateQueued || sub.Archive == "" {
			t.Errorf("accepted as %+v", sub)
		}
		got := b.judged(t, sub.ID)
		if r := got.Report; r.Status != round.StatusOK || r.PassRate != .5 || r.Output == "" || r.Isolation != "shared" {
			t.Errorf("report %+v", got.Report)
		}
		b.stop()
		if left := containers(t, b); len(left) > 0 {
			t.Errorf("containers are left: %v", left)
		}
	})
}

func TestTheVerdictDoesNotWaitForCleaning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		var ran atomic.Bool
		hold, held := make(chan struct{}), make(chan struct{})
		b.fake.HandleExec(func(context.Context, *containertest.FakeContainer, container.Command) int {
			ran.Store(true)
			return 0
		})
		b.fake.Intercept(func(call, target string) error {
			if call == "Remove" && ran.Load() {
				close(held)
				<-hold
			}
			return nil
		})
		b.open("t")
		b.judged(t, b.submit(t, "t", round.KindAgent, "a passed").ID)
		<-held
		close(hold)
	})
}

func TestFailuresOfTheMachineryAreRefundedAndNeverAZero(t *testing.T) {
	tests := map[string]struct {
		failures int32
		err      error
		status   round.Status
		refunds  int
	}{
		"once":                   {1, errors.New("boom"), round.StatusOK, 1},
		"for good":               {99, container.ErrNotFound, round.StatusError, 3},
		"a disk that is seen to": {20, container.ErrNoSpace, round.StatusOK, 0},
		"a disk that stays full": {9999, container.ErrNoSpace, round.StatusError, 3},
		"the engine is away":     {7, container.ErrUnavailable, round.StatusOK, 0},
		"somebody removed them":  {2, container.ErrNotFound, round.StatusOK, 2},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newFixture(t)
				b.open("t", func(s *round.Session) { s.Max = 1 })
				var failed atomic.Int32
				b.fake.Intercept(func(call, target string) error {
					if call == "CopyTo" && failed.Add(1) <= tc.failures {
						return tc.err
					}
					return nil
				})
				sub := b.submit(t, "t", round.KindAgent, "a passed")
				got := b.judged(t, sub.ID)
				if got.Report.Status != tc.status || got.Refunds != tc.refunds || got.Report.Valid == (tc.status == round.StatusError) {
					t.Errorf("status %s after %d refunds, want %s after %d", got.Report.Status, got.Refunds, tc.status, tc.refunds)
				}
				_, err := b.Submit(t.Context(), "t", round.SubmitRequest{Kind: round.KindAgent, Archive: upload(t, "b passed")})
				if again := err == nil; again != (tc.status == round.StatusError) {
					t.Errorf("another round of a budget of one: %v", err)
				}
			})
		})
	}
}

// A trial has but one last snapshot, and the engine may be seen to meanwhile.
func TestTheMachineryMayFailLongerOnTheLastSnapshot(t *testing.T) {
	for kind, want := range map[round.Kind]int{round.KindAgent: maxTries, round.KindAuto: maxTries, round.KindFinal: lastTries} {
		for _, failures := range []int{want - 1, want} {
			t.Run(fmt.Sprint(kind, failures), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newFixture(t)
					b.open("t")
					var failed atomic.Int32
					b.fake.Intercept(func(call, _ string) error {
						if call == "CopyTo" && int(failed.Add(1)) <= failures {
							return container.ErrNotFound // somebody removes it each time
						}
						return nil
					})
					began := time.Now()
					got := b.judged(t, b.submit(t, "t", kind, "a passed").ID)
					status := round.StatusOK
					if failures == want {
						status = round.StatusError
					}
					if took := time.Since(began); got.Report.Status != status || kind == round.KindFinal && (took < 7*time.Minute || took > 9*time.Minute) {
						t.Errorf("%s after %s, want %s", got.Report.Status, took, status)
					}
				})
			})
		}
	}
}

// A start that was not answered may come to its end when nobody asks any more.
func TestAContainerThatComesUpLateIsLeftToBeRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var left []string
		b := newFixture(t, func(o *Options) { o.RemoveLater = func(id string) { left = append(left, id) } })
		b.open("t")
		var failed atomic.Int32
		b.fake.Intercept(func(call, _ string) error {
			if call == "CopyTo" && failed.Add(1) <= 2 {
				return container.ErrNotFound
			}
			return nil
		})
		sub := b.submit(t, "t", round.KindAgent, "a passed")
		if got := b.judged(t, sub.ID); got.Report.Status != round.StatusOK || got.Refunds != 2 {
			t.Errorf("%s after %d refunds", got.Report.Status, got.Refunds)
		}
		synctest.Wait()
		for n := range 2 { // and not that of the try whose verdict counts
			if want := fmt.Sprintf("-%s-%d", sub.ID, n); len(left) != 2 || !strings.HasSuffix(left[n], want) {
				t.Errorf("left to be removed: %q, want one that ends in %s", left, want)
			}
		}
	})
}

func TestARestartLosesNothingAndJudgesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		b.open("t")
		b.judged(t, b.submit(t, "t", round.KindAgent, "first passed").ID) // its archive is what the others get
		stored := b.ledger.Of("t")[0].Archive
		left := []round.Submission{
			{ID: "0000000000000001", Trial: "t", Kind: round.KindAgent, Try: 2, Number: 2, Round: "agent-2", State: round.StateRunning, Archive: stored},
			{ID: "0000000000000002", Trial: "t", Kind: round.KindAgent, Try: 3, Number: 3, Round: "agent-3", State: round.StateQueued, Archive: stored},
			{ID: "0000000000000003", Trial: "t", Kind: round.KindAgent, Try: 3, Number: 4, Round: "agent-4", State: round.StateReserved},
			{ID: "0000000000000004", Trial: "gone", Kind: round.KindAgent, Try: 1, Number: 1, Round: "agent-1", State: round.StateQueued, Archive: stored},
		}
		b.ledger.Mu.Lock()
		b.ledger.All = append(b.ledger.All, left...)
		b.ledger.Mu.Unlock()
		// The interrupted judging left its container, with something in it.
		s := b.session("t")
		dirty, err := b.fake.Start(t.Context(), b.host.Workload(s.terms, b.container(left[0].ID+"-0"), left[0].ID, ""))
		if err != nil {
			t.Fatal(err)
		}
		b.fake.HandleExec(func(_ context.Context, c *containertest.FakeContainer, cmd container.Command) int {
			if c.ID() == dirty.ID {
				t.Error("the container of the interrupted judging was used again")
			}
			answer, _ := c.ReadFile("/work/src/answer")
			_, _ = cmd.Stdout.Write(answer)
			return 0
		})
		if err := b.Resume(t.Context(), left); err == nil || !strings.Contains(err.Error(), "gone") {
			t.Errorf("a trial without session: %v", err)
		}
		for _, sub := range left[:2] {
			if got := b.judged(t, sub.ID); got.Report.PassRate != 1 {
				t.Errorf("%s: %+v", sub.Round, got.Report)
			}
		}
		for _, sub := range b.ledger.Of("t") {
			if sub.State == round.StateReserved {
				t.Error("a reservation without archive survived")
			}
		}
	})
}

func TestWhatIsRejectedSpendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		b.open("t", func(s *round.Session) { s.Max, s.Cooldown = 1, time.Minute })
		bad := []io.Reader{
			strings.NewReader("no archive"), bytes.NewReader(judgetest.Pack(t, judgetest.File("../x", ""))),
			io.MultiReader(bytes.NewReader(judgetest.Zipped(t, judgetest.Pack(t, judgetest.File("src/a", "1")))[:30]), failingReader{}),
		}
		for _, r := range bad {
			if _, err := b.Submit(t.Context(), "t", round.SubmitRequest{Kind: round.KindAgent, Archive: r}); err == nil {
				t.Error("a bad archive was accepted")
			}
		}
		b.ledger.Fail = func(call string) error { return fmt.Errorf("disk full at %s", call) }
		if _, err := b.Submit(t.Context(), "t", round.SubmitRequest{Kind: round.KindAgent, Archive: upload(t, "")}); err == nil {
			t.Error("accepted without being stored")
		}
		b.ledger.Fail = nil
		if b.queue.taken != 0 || len(b.ledger.All) != 0 {
			t.Errorf("%d places and %d rounds are spent", b.queue.taken, len(b.ledger.All))
		}
		b.submit(t, "t", round.KindAgent, "a passed")
	})
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errors.New("connection lost") }

func TestNothingIsAcceptedAfterTheDeadlineButTheLastSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		b.open("t")
		r, w := io.Pipe()
		refused := make(chan error, 1)
		go func() {
			_, err := b.Submit(t.Context(), "t", round.SubmitRequest{Kind: round.KindAgent, Archive: r})
			refused <- err
		}()
		whole := judgetest.Pack(t, judgetest.File("src/answer", "a passed"))
		if _, err := w.Write(whole[:600]); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour) // the deadline passes while the archive is under way
		b.Close("t")
		if got := b.submit(t, "t", round.KindFinal, "a passed"); got.Round != "final-1" {
			t.Errorf("the last snapshot is %s", got.Round)
		}
		if _, err := w.Write(whole[600:]); err != nil {
			t.Fatal(err)
		}
		_ = w.Close()
		if r, ok := errors.AsType[*round.Refusal](<-refused); !ok || r.Code != 403 {
			t.Errorf("a late archive: %v", r)
		}
		if rounds, err := b.ledger.Submissions(t.Context(), "t"); err != nil || len(rounds) != 1 {
			t.Errorf("%d rounds, %v", len(rounds), err)
		}
	})
}

func TestAnUnchangedTreeIsNotJudgedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		b.open("t")
		var runs atomic.Int32
		b.fake.HandleExec(func(_ context.Context, c *containertest.FakeContainer, cmd container.Command) int {
			runs.Add(1)
			_, _ = io.WriteString(cmd.Stdout, "a passed")
			return 0
		})
		first := b.submit(t, "t", round.KindAgent, "same")
		known, err := b.Submit(t.Context(), "t", round.SubmitRequest{Kind: round.KindFinal, Archive: upload(t, "same"), SkipKnown: true})
		if err != nil || known.ID != first.ID {
			t.Errorf("the known tree became %s (%v)", known.Round, err)
		}
		b.judged(t, first.ID)
		again := b.judged(t, b.submit(t, "t", round.KindAgent, "same").ID)
		if !again.Report.Cached || again.Report.PassRate != 1 || again.Round != "agent-2" {
			t.Errorf("the same tree again: %+v", again.Report)
		}
		if n := runs.Load(); n != 1 {
			t.Errorf("the judge command ran %d times", n)
		}
	})
}

func TestHiddenFilesAreOutOfReachInTheContainer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		b.open("t", func(s *round.Session) {
			s.Task.Submit.Paths, s.HiddenPaths = []string{"."}, []string{"src/old"}
			s.Task.Judge.Protect = []string{"*.cfg"}
		})
		b.fake.HandleExec(func(_ context.Context, c *containertest.FakeContainer, cmd container.Command) int {
			for name, want := range map[string]string{"tests/hidden": "hidden", "src/old": "old", "src/answer": "mine", "x.cfg": ""} {
				if got, _ := c.ReadFile("/work/" + name); string(got) != want {
					t.Errorf("%s reads %q, want %q", name, got, want)
				}
			}
			if cmd.User != "agent" || c.Workload().User != "0:0" || c.Workload().Network != container.NetworkNone {
				t.Errorf("run as %q in %+v", cmd.User, c.Workload())
			}
			_, _ = io.WriteString(cmd.Stdout, "a passed")
			return 0
		})
		evil := judgetest.Pack(t, judgetest.File("./tests/hidden", "evil"), judgetest.File("src//old", "evil"), judgetest.Link("tests", "src"), judgetest.File("x.cfg", "evil"),
			judgetest.Hard("src/h", "tests/hidden"), judgetest.Link("src/l", "../tests/hidden"), judgetest.File("src/answer", "mine"))
		sub, err := b.Submit(t.Context(), "t", round.SubmitRequest{Kind: round.KindAgent, Archive: bytes.NewReader(evil)})
		if err != nil {
			t.Fatal(err)
		}
		if got := b.judged(t, sub.ID); got.Dropped != 6 || got.Report.Status != round.StatusOK {
			t.Errorf("dropped %d, %+v", got.Dropped, got.Report)
		}
	})
}

func TestWhatASubmissionDoesToTheContainerIsNamed(t *testing.T) {
	tests := map[string]struct {
		exec    func(ctx context.Context, b *fixture, c *containertest.FakeContainer) int
		status  round.Status
		problem string
		refunds int
	}{
		"runs too long": {
			func(ctx context.Context, _ *fixture, _ *containertest.FakeContainer) int { <-ctx.Done(); return 137 },
			round.StatusTimeout, "within 1m", 0,
		},
		"takes all memory": {func(ctx context.Context, b *fixture, c *containertest.FakeContainer) int {
			b.fake.Kill(c.ID(), container.Exit{Code: 137, OOM: true})
			<-ctx.Done()
			return 137
		}, round.StatusInvalid, "memory", 0},
		"ends its own container each time": {func(ctx context.Context, b *fixture, c *containertest.FakeContainer) int {
			b.fake.Kill(c.ID(), container.Exit{Code: 137})
			<-ctx.Done()
			return 137
		}, round.StatusInvalid, "stopped while the submission ran", 2},
		"is killed, and told of only then": {func(_ context.Context, b *fixture, c *containertest.FakeContainer) int {
			time.AfterFunc(100*time.Millisecond, func() { b.fake.Vanish(c.ID()) })
			return 137
		}, round.StatusError, "", 3},
		"vanishes": {func(ctx context.Context, b *fixture, c *containertest.FakeContainer) int {
			b.fake.Vanish(c.ID())
			<-ctx.Done()
			return 137
		}, round.StatusError, "", 3},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newFixture(t)
				b.open("t")
				b.fake.HandleExec(func(ctx context.Context, c *containertest.FakeContainer, cmd container.Command) int {
					_, _ = io.WriteString(cmd.Stdout, "a passed\n")
					return tc.exec(ctx, b, c)
				})
				got := b.judged(t, b.submit(t, "t", round.KindAgent, "x").ID)
				r := got.Report
				if r.Status != tc.status || !strings.Contains(r.Problem, tc.problem) || r.PassRate == 1 || got.Refunds != tc.refunds {
					t.Errorf("%s (%s), rate %v after %d refunds", r.Status, r.Problem, r.PassRate, got.Refunds)
				}
			})
		})
	}
}

func TestATripwireIsArmedAndShowsTampering(t *testing.T) {
	is := func(want string) func(string) bool { return func(name string) bool { return name == want } }
	var site parser.Site
	wired := func(name string) (parser.Parser, bool) {
		p, _ := lineParser("lines")
		p.Tripwire = func(s parser.Site) (parser.Tripwire, bool) {
			site = s
			return parser.Tripwire{
				Files: map[string]string{"/plugin.py": "canary"}, Env: map[string]string{"OPTIONS": "-p canary"},
				MustPass: is("P"), MustFail: is("F"), ExitCode: 1,
			}, true
		}
		return p, true
	}
	tests := map[string]struct {
		output string
		exit   int
		status round.Status
		rate   float64
	}{
		"an honest run":    {"a passed\nP passed\nF failed", 1, round.StatusOK, 1},
		"a patched runner": {"a passed\nP passed\nF passed", 0, round.StatusTampered, 0},
		"a forged output":  {"a passed", 0, round.StatusTampered, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newFixture(t, func(o *Options) { o.Parsers = wired })
				b.open("t", func(s *round.Session) {
					s.Task.Judge.Command = task.Command{Argv: []string{"/judge", "a b"}}
					s.Task.Judge.Env = map[string]string{"GIVEN": "1"}
				})
				b.fake.HandleExec(func(_ context.Context, c *containertest.FakeContainer, cmd container.Command) int {
					if canary, _ := c.ReadFile("/plugin.py"); string(canary) != "canary" || cmd.Env["OPTIONS"] != "-p canary" || cmd.Env["GIVEN"] != "1" {
						t.Errorf("the command sees %q and %v", canary, cmd.Env)
					}
					_, _ = io.WriteString(cmd.Stdout, tc.output)
					return tc.exit
				})
				r := b.judged(t, b.submit(t, "t", round.KindAgent, "x").ID).Report
				if r.Status != tc.status || r.PassRate != tc.rate || r.TotalTests != 1 || len(r.Tests) != 1 {
					t.Errorf("%+v", r)
				}
				if best, ok := scoring.Best(task.Judge{}, b.ledger.All); ok != (tc.status == round.StatusOK) {
					t.Errorf("best is %s, %t", best.Round, ok)
				}
				if got := string(site.Read("tests/hidden")); got != "hidden" || site.Command != "/judge 'a b'" || len(site.Nonce) != 16 {
					t.Errorf("the tripwire was built for %+v, with a hidden file that reads %q", site, got)
				}
			})
		})
	}
}

func TestAParserThatIsUnknownOrStumblesStopsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t, func(o *Options) {
			o.Parsers = func(name string) (parser.Parser, bool) {
				return parser.Parser{Name: name, Parse: func(parser.Input) parser.Result { panic("bug") }}, name == "buggy"
			}
		})
		for _, name := range []string{"buggy", "no-such"} {
			b.open(name, func(s *round.Session) { s.Task.Judge.Parser = name })
			r := b.judged(t, b.submit(t, name, round.KindAgent, "x").ID).Report
			if r.Status != round.StatusInvalid || r.Valid || !strings.Contains(r.Problem, name) {
				t.Errorf("%s: %+v", name, r)
			}
		}
	})
}
