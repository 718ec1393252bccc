package trial

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/agent"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/guest/protocol"
	"github.com/assayd/assayd/runtime/judge"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/trial/record"
	"github.com/assayd/assayd/runtime/trial/reference"
)

// overfitted is an answer that knows what the open tests ask and nothing else.
const overfitted = "t1 passed\nt2 passed\nopen\n"

// withPrivate gives the task a private set: it says "p1 failed" of whatever is overfitted.
func withPrivate(c *Cell) {
	c.Task.Private = &task.Private{Command: task.Command{Argv: []string{"/judge", "privately"}}, Timeout: time.Minute}
}

// privateBench has a judge that says by the open set what the answer says, and by the
// private one whether it is overfitted.
func privateBench(t *testing.T) (b *fixture, runs *atomic.Int32) {
	b, runs = newFixture(t), &atomic.Int32{}
	b.fake.HandleExec(func(_ context.Context, c *containertest.FakeContainer, cmd container.Command) int {
		answer, _ := c.ReadFile("/work/src/answer")
		if len(cmd.Argv) == 1 {
			_, _ = cmd.Stdout.Write(bytes.ReplaceAll(answer, []byte("open\n"), nil))
			return 0
		}
		runs.Add(1)
		said := "p1 passed\np2 passed\n"
		if strings.Contains(string(answer), "open") {
			said = "p1 failed\np2 passed\n"
		}
		_, _ = io.WriteString(cmd.Stdout, said)
		return 0
	})
	return b, runs
}

// submits says hello, submits each answer and waits for its verdict, and leaves the last
// one as its tree.
func (b *fixture) submits(trial string, answers ...string) func(context.Context, *scripted) int {
	return func(ctx context.Context, g *scripted) int {
		g.hello(ctx)
		g.event(ctx, protocol.Event{Seq: 1, Type: protocol.EventStarted})
		for _, answer := range answers {
			var buf bytes.Buffer
			w := tar.NewWriter(&buf)
			head := &tar.Header{Typeflag: tar.TypeReg, Name: "src/answer", Mode: 0o644, Size: int64(len(answer))}
			err := w.WriteHeader(head)
			_, werr := io.WriteString(w, answer)
			err = errors.Join(err, werr, w.Close())
			sub, serr := b.host.Judge.Submit(ctx, trial, round.SubmitRequest{Kind: round.KindAgent, Archive: &buf})
			if err = errors.Join(err, serr); err == nil {
				_, err = b.host.Judge.Wait(ctx, sub.ID)
			}
			if err != nil {
				b.t.Error(err)
			}
			g.WriteFile("/work/src/answer", []byte(answer))
		}
		g.event(ctx, protocol.Event{Seq: 2, Type: protocol.EventEnded, Reason: protocol.EndedExit})
		<-ctx.Done()
		return 137
	}
}

func TestThePrivateSetDecides(t *testing.T) {
	sure := Score{Status: round.StatusOK, Valid: true, PassRate: 1}
	half := Score{Status: round.StatusOK, Valid: true, PassRate: 0.5}
	for _, tt := range []struct {
		name    string
		answers []string
		status  Status
		best    string
		private *PrivateSet
		runs    int32
	}{
		{"solved", []string{solved}, Resolved, "agent-1", &PrivateSet{Round: "agent-1", Score: sure}, 1},
		{"overfitted", []string{overfitted}, Unresolved, "agent-1", &PrivateSet{Round: "agent-1", Score: half}, 1},
		{"the best round, not the last tree", []string{solved, "t1 failed\n"}, Resolved, "agent-1", &PrivateSet{Round: "agent-1", Score: sure, Final: &sure}, 2},
		{"not even when the last tree is sound", []string{overfitted, solved}, Unresolved, "agent-1", &PrivateSet{Round: "agent-1", Score: half, Final: &sure}, 2},
		{"half solved", []string{"t1 passed\nt2 failed\n"}, Resolved, "agent-1", &PrivateSet{Round: "agent-1", Score: sure}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, runs := privateBench(t)
			fresh := b.fresh(withPrivate)
			b.play(b.submits(fresh.ID, tt.answers...))
			s, told := b.until(b.machine(fresh), fresh, Done)
			r := s.Result
			if r.Status != tt.status || r.Best == nil || r.Best.Round != tt.best || runs.Load() != tt.runs {
				t.Errorf("%s (%s), best %+v after %d private runs", r.Status, r.Detail, r.Best, runs.Load())
			}
			if diff := cmp.Diff(tt.private, r.Private); diff != "" {
				t.Error(diff)
			}
			if r.Submissions != (Counts{Agent: len(tt.answers)}) || types(told) != "trial.started trial.finished" {
				t.Errorf("counted %+v, told %s", r.Submissions, types(told))
			}
		})
	}
}

// TestACrashBetweenTwoPrivateJudgings repeats neither.
func TestACrashBetweenTwoPrivateJudgings(t *testing.T) {
	b, runs := privateBench(t)
	fresh := b.fresh(withPrivate)
	b.play(b.submits(fresh.ID, solved, "t1 failed\n"))
	m := b.machine(fresh)
	s, _ := b.until(m, fresh, Private)
	subs, err := b.ledger.Submissions(t.Context(), s.ID)
	if err != nil {
		t.Fatal(err)
	}
	first, err := b.host.Judge.Private(t.Context(), s.ID, subs[0]) // what a daemon did before it died
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.host.Judge.Wait(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	m.Close()
	b.host.Judge.Forget(s.ID) // the next daemon opens the session itself
	s, _ = b.until(b.machine(s), s, Done)
	if s.Result.Status != Resolved || s.Result.Private == nil || s.Result.Private.Final == nil || runs.Load() != 2 {
		t.Errorf("%+v after %d private runs", s.Result, runs.Load())
	}
}

func TestDecidePrivately(t *testing.T) {
	private := func(of string, r round.Report) round.Submission {
		s := judged(9, r)
		s.Kind, s.Key, s.Round = round.KindPrivate, judge.PrivateKey(of), "private-1"
		return s
	}
	cut := ok(1)
	cut.Valid, cut.Status = false, round.StatusTimeout
	for _, tt := range []struct {
		name   string
		change func(*State)
		rounds []round.Submission
		status Status
		reason string
		said   bool
		flags  int
	}{
		{"all pass", nil, []round.Submission{judged(1, ok(1)), private("agent-1", ok(1))}, Resolved, ReasonAgentExit, true, 0},
		{"some do", nil, []round.Submission{judged(1, ok(1)), private("agent-1", ok(0.5))}, Unresolved, ReasonAgentExit, true, 0},
		{"it is not valid", nil, []round.Submission{judged(1, ok(1)), private("agent-1", cut)}, Unresolved, ReasonAgentExit, true, 0},
		{"it is tampered with", nil, []round.Submission{judged(1, ok(1)), private("agent-1", tampered)}, Unresolved, ReasonAgentExit, true, 1},
		{"the machinery failed", nil, []round.Submission{judged(1, ok(1)), private("agent-1", broken)}, InfraError, ReasonJudge, false, 0},
		{"it was not judged", nil, []round.Submission{judged(1, ok(1))}, InfraError, ReasonJudge, false, 0},
		{"its command is not there", nil, []round.Submission{judged(1, ok(1)), private("agent-1", notRun)}, TestError, ReasonJudge, true, 0},
		{"of another round than the best", nil, []round.Submission{judged(1, ok(0.5)), judged(2, ok(1)), private("agent-1", ok(1))}, InfraError, ReasonJudge, false, 0},
		{"no round is valid", nil, []round.Submission{judged(1, invalid)}, Unresolved, ReasonAgentExit, false, 0},
		{"a game has no archive to judge", func(s *State) { s.Cell.Task.Judge.Game = "serve" }, []round.Submission{judged(1, ok(1))}, Resolved, ReasonAgentExit, false, 0},
		{"the agent crashed", func(s *State) { s.Crashed = true }, []round.Submission{judged(1, ok(1)), private("agent-1", ok(0))}, AgentError, ReasonAgentExit, true, 0},
		{"the trial was cancelled", func(s *State) { s.Failure, s.Reason = Cancelled, ReasonCancelled }, []round.Submission{judged(1, ok(1))}, Cancelled, ReasonCancelled, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := State{Try: 1, Retries: 2, StartedAt: began, EndedAt: began.Add(90 * time.Second), Reason: ReasonAgentExit}
			s.Cell.Task.Judge.Command.Shell, s.Cell.Task.Private = "true", &task.Private{}
			if tt.change != nil {
				tt.change(&s)
			}
			f := Decide(s, tt.rounds)
			if f.Status != tt.status || f.Reason != tt.reason || (f.Private != nil) != tt.said || len(f.Flags) != tt.flags || f.Submissions.Agent > 2 {
				t.Errorf("%s %s (%s), private %+v, flags %v", f.Status, f.Reason, f.Detail, f.Private, f.Flags)
			}
		})
	}
}

func TestAStagedTaskNeedsNoJudgeCommand(t *testing.T) {
	s := State{Try: 1, StartedAt: began, Reason: ReasonAgentExit}
	s.Cell.Task.Judge.Run, s.Cell.Task.Judge.Grade = &task.Stage{}, &task.Stage{}
	if f := Decide(s, nil); f.Status != Unresolved {
		t.Errorf("nothing was submitted: %s", f.Status)
	}
}

// TestStageImagesArePinned to what their names meant when the trial's images were made.
func TestStageImagesArePinned(t *testing.T) {
	b := newFixture(t)
	run := b.fake.AddImage("run:1", container.ImageConfig{}, nil)
	s, _ := b.until(b.machine(b.fresh()), b.fresh(func(c *Cell) {
		c.Task.Judge.Command = task.Command{}
		c.Task.Judge.Run = &task.Stage{Image: "run:1", Command: task.Command{Shell: "x"}}
		c.Task.Judge.Grade = &task.Stage{Command: task.Command{Shell: "x"}}
	}), Create)
	session := Session("owner", s)
	if session.RunImage != run.ID || session.GradeImage != "" || session.JudgeImage == "" {
		t.Errorf("run %q, grade %q, judge %q", session.RunImage, session.GradeImage, session.JudgeImage)
	}
	missing := b.fresh(func(c *Cell) {
		c.Task.Judge.Run, c.Task.Judge.Grade = &task.Stage{}, &task.Stage{Image: "nowhere:1"}
	})
	if s, _ = b.until(b.machine(missing), missing, Verdict); s.Failure != SetupError || s.Reason != ReasonImage {
		t.Errorf("an image that is nowhere: %s %s", s.Failure, s.Reason)
	}
}

// TestReferencesAreKeptForATrialsLife, are asked for once, and not by an oracle.
func TestReferencesAreKeptForATrialsLife(t *testing.T) {
	declared := func(c *Cell) { c.Task.FailToPass, c.Task.PassToPass = []string{"t1"}, nil }
	none := func(c *Cell) { c.Task.FailToPass, c.Task.PassToPass = nil, nil }
	bare := func(c *Cell) { none(c); c.Task.Solution = &task.Solution{Script: "true"} }
	oracle := func(c *Cell) {
		bare(c)
		c.Agent = agent.Agent{Name: agent.Oracle}
	}
	code := func(c *Cell) { bare(c); c.Task.Judge.Parser = "exit_code" }
	for _, tt := range []struct {
		name   string
		change func(*Cell)
		asked  int
		want   record.Manifest
		loose  bool
	}{
		{"no manifest is declared", bare, 1, record.Manifest{Source: "reference", Tests: 3}, false},
		{"one is declared", declared, 0, record.Manifest{Source: "declared", Tests: 1}, false},
		{"the oracle is held against none", oracle, 0, record.Manifest{Source: "none", Tests: 0}, false},
		{"nothing names tests", code, 0, record.Manifest{Source: "none", Tests: 0}, false},
		{"there is no solution", none, 1, record.Manifest{Source: "none", Tests: 0}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t)
			asked := 0
			b.host.Reference = func(context.Context, Subject) (reference.Reference, error) {
				asked++
				if tt.loose {
					return reference.Reference{Problem: "the task has no solution"}, nil
				}
				return reference.Reference{Tests: []string{"t1", "t2", "t3"}[:4-asked]}, nil // another run has been there meanwhile
			}
			b.play(idle)
			m := b.machine(b.fresh(tt.change))
			s, told := b.until(m, b.fresh(tt.change), Running)
			started, is := told[len(told)-1].Fields.(record.Started)
			if !is || started.Manifest != tt.want || asked != tt.asked {
				t.Errorf("asked %d times, told %+v", asked, started.Manifest)
			}
			if flagged := slices.Contains(Decide(s, nil).Flags, FlagNoManifest); flagged != tt.loose {
				t.Errorf("flagged %v, want %v", flagged, tt.loose)
			}
			if got := Session("owner", s).Reference; len(got) > 0 != (tt.want.Source == "reference") {
				t.Errorf("the session expects %v", got)
			}
		})
	}
}

// TestOutcomesOfAListAreAskedForOnce, and only where the judge's files may have a listed test
// fail as expected.
func TestOutcomesOfAListAreAskedForOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		file, content string
		list          []string
		agent         string
		asked         int
	}{
		"a listed test may fail":      {"/work/tests/test_a.py", "@xfail", []string{"tests/test_a.py::test_a"}, "mine", 1},
		"an oracle's":                 {"/work/tests/test_a.py", "@xfail", []string{"tests/test_a.py::test_a"}, agent.Oracle, 0},
		"another file's":              {"/work/tests/test_b.py", "@xfail", []string{"tests/test_a.py::test_a"}, "mine", 0},
		"nothing is expected to fail": {"/work/tests/test_a.py", "pass", []string{"tests/test_a.py::test_a"}, "mine", 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newFixture(t)
			b.fake.AddImage("judge:2", container.ImageConfig{}, map[string]string{"/hold": "", "/judge": "", tt.file: tt.content, "/etc/passwd": "root:x:0:0::/:\n"})
			asked := 0
			b.host.Reference = func(_ context.Context, of Subject) (reference.Reference, error) {
				asked++
				if of.Work.ID == "" || of.Task.Judge.Image == "" {
					t.Errorf("asked about %+v", of)
				}
				return reference.Reference{Passed: true, Expected: tt.list}, nil
			}
			b.play(idle)
			fresh := b.fresh(func(c *Cell) {
				c.Task.Judge.Image, c.Task.FailToPass, c.Task.PassToPass, c.Agent.Name = "judge:2", tt.list, nil, tt.agent
				if tt.agent == agent.Oracle {
					c.Task.Solution = &task.Solution{Script: "true"}
				}
			})
			s, _ := b.until(b.machine(fresh), fresh, Running)
			session := Session("owner", s)
			if asked != tt.asked || session.Outcomes != (tt.asked > 0) || len(session.Expected) != tt.asked {
				t.Errorf("asked %d times, the session expects %v: %v", asked, session.Outcomes, session.Expected)
			}
		})
	}
}

func TestFailuresThatAreExpectedAreFlagged(t *testing.T) {
	xfail := ok(1)
	xfail.Expected = []string{"a"}
	if flags := Decide(State{Try: 1}, []round.Submission{judged(1, xfail)}).Flags; !slices.Contains(flags, FlagExpected) {
		t.Errorf("what nobody has shown to be expected is not flagged: %v", flags)
	}
	if flags := Decide(State{Try: 1, Outcomes: true}, []round.Submission{judged(1, xfail)}).Flags; slices.Contains(flags, FlagExpected) {
		t.Errorf("what a reference run has shown is flagged: %v", flags)
	}
}

func TestAReferenceIsOfOneJudge(t *testing.T) {
	one, two := State{}, State{}
	two.Cell.Task.Judge.Timeout = time.Hour
	if ReferenceKey(one) != ReferenceKey(two) {
		t.Error("a timeout changes no test's name")
	}
	if two.JudgeImage.ID = "other"; ReferenceKey(one) == ReferenceKey(two) {
		t.Error("another image may hold other tests")
	}
}
