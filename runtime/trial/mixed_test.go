package trial

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/decoy"
	"github.com/assayd/assayd/runtime/decoy/mixed"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial/mixedruns"
)

// mixedBench has a judge image with two hidden tests, t1 and t2, and decoys of both. What a
// submission does is what its answer says:
//
//	honest      passes a test that is as it was, and no other
//	always      passes whatever there is
//	once        is honest, but for the first changed test that it meets
//	flaky       is honest, and fails t2 in the second mixed run
//	half        passes t1 honestly, and never t2
//	nothing     passes nothing
//	mute        is honest in its round, and prints nothing in any other run
//	hiccup      is honest, and prints nothing in the first mixed run
type mixedBench struct {
	*fixture
	runs  atomic.Int32
	mu    sync.Mutex
	texts []string // of both tests, run by run
	lucky atomic.Bool

	controls atomic.Int32
	broken   bool // the solution shows no test in a mixed run either
}

const hiddenTest = "assert answer() == 1\n"

func newMixedBench(t *testing.T) *mixedBench {
	b := &mixedBench{fixture: newFixture(t)}
	b.fake.AddImage("judge:1", container.ImageConfig{}, map[string]string{
		"/hold": "", "/judge": "", "/work/src/old": "", "/etc/passwd": "root:x:0:0::/:\n",
		"/work/tests/test_t1.py": hiddenTest, "/work/tests/test_t2.py": hiddenTest,
	})
	b.fake.HandleExec(func(_ context.Context, c *containertest.FakeContainer, cmd container.Command) int {
		answer, _ := c.ReadFile("/work/src/answer")
		b.mu.Lock() // runs are counted in the order of their texts
		defer b.mu.Unlock()
		n := b.runs.Add(1)
		if kind := strings.TrimSpace(string(answer)); kind == "mute" && n > 1 || kind == "hiccup" && n == 2 {
			return 0
		}
		var texts []string
		for _, test := range []string{"t1", "t2"} {
			text, _ := c.ReadFile("/work/tests/test_" + test + ".py")
			texts = append(texts, strings.TrimSpace(string(text)))
			passed := string(text) == hiddenTest
			switch kind := strings.TrimSpace(string(answer)); {
			case kind == "always", kind == "once" && !passed && b.lucky.CompareAndSwap(false, true):
				passed = true
			case kind == "nothing", kind == "half" && test == "t2", kind == "flaky" && test == "t2" && n == 3:
				passed = false
			}
			said := test + " failed\n"
			if passed {
				said = test + " passed\n"
			}
			_, _ = io.WriteString(cmd.Stdout, said)
		}
		b.texts = append(b.texts, strings.Join(texts, " | "))
		return 0
	})
	b.host.Decoys = b.decoys
	b.host.Control = func(context.Context, Subject, map[string][]byte) (mixed.Observed, error) {
		b.controls.Add(1)
		return mixed.Observed{Tests: map[string]mixed.Outcome{"t1": {Seen: !b.broken}}}, nil
	}
	return b
}

// decoys are two of each test: the 1 at the end becomes 2 or 3.
func (b *mixedBench) decoys(context.Context, Subject) (mixedruns.Decoys, error) {
	set := mixed.Set{Files: map[string][]byte{}}
	at := strings.IndexByte(hiddenTest, '1')
	for _, test := range []string{"t1", "t2"} {
		file := "tests/test_" + test + ".py"
		set.Files[file] = []byte(hiddenTest)
		g := mixed.Group{Tests: []string{test}}
		for _, to := range []string{"2", "3"} {
			g.Decoys = append(g.Decoys, mixed.Decoy{Variant: decoy.Variant{Test: test, File: file, From: at, To: at + 1, Old: "1", New: to, Side: decoy.Expected}})
		}
		set.Groups = append(set.Groups, g)
	}
	return b.keep(set)
}

func (b *fixture) keep(set mixed.Set) (d mixedruns.Decoys, err error) {
	blob := &blob{blobs: b.store}
	_, _ = blob.Write(set.Encode())
	digest, _, err := blob.Commit()
	return mixedruns.Decoys{Digest: digest, Set: set}, err
}

func withDecoys(c *Cell) {
	c.Task.Judge.Decoys = 4
	c.Task.FailToPass, c.Task.PassToPass = []string{"t1", "t2"}, nil
	c.Task.Submit.Exclude = []string{"tests/"}
}

func TestMixedRunsTellForgersFromSolutions(t *testing.T) {
	for answer, want := range map[string]struct {
		status Status
		flags  []string
		runs   int32 // judgings in all
		best   bool
		detail string
	}{
		"honest":  {Resolved, []string{}, 5, true, ""},
		"always":  {Unresolved, []string{"tampered"}, 5, false, "tampered with"},
		"once":    {Resolved, []string{"decoy_passed"}, 9, true, ""},
		"flaky":   {Unresolved, []string{"unstable"}, 5, true, "does not always pass: t2"},
		"half":    {Unresolved, []string{}, 5, true, ""},
		"nothing": {Unresolved, []string{}, 1, true, ""},
	} {
		t.Run(answer, func(t *testing.T) {
			b := newMixedBench(t)
			fresh := b.fresh(withDecoys)
			b.play(b.submits(fresh.ID, answer))
			s, told := b.until(b.machine(fresh), fresh, Done)
			r := s.Result
			if answer == "flaky" && r.Status == Resolved { // the run in question had t2 changed
				if strings.HasSuffix(b.texts[2], "| "+strings.TrimSpace(hiddenTest)) {
					t.Errorf("t2 was real in %q", b.texts)
				}
				return
			}
			if r.Status != want.status || !slices.Equal(r.Flags, want.flags) || (r.Best != nil) != want.best || !strings.Contains(r.Detail, want.detail) {
				t.Errorf("%s %v, best %v (%s)", r.Status, r.Flags, r.Best, r.Detail)
			}
			if b.runs.Load() != want.runs {
				t.Errorf("%d judgings, want %d", b.runs.Load(), want.runs)
			}
			if r.Submissions != (Counts{Agent: 1}) || types(told) != "trial.started trial.finished" {
				t.Errorf("counted %+v, told %s", r.Submissions, types(told))
			}
			if r.Decoys == nil || r.Decoys.Knowledge != mixedruns.Blind || r.Decoys.Checked != 2 || r.Decoys.SHA256 == "" {
				t.Errorf("told of the decoys %+v", r.Decoys)
			}
		})
	}
}

// TestARunWithoutATestHasSomebodyAtFault: the solution shows whether it is what was laid.
func TestARunWithoutATestHasSomebodyAtFault(t *testing.T) {
	for name, c := range map[string]struct {
		answer         string
		broken         bool
		status         Status
		flags          []string
		runs, controls int32 // runs: with the round
		silent, void   int
		cut            string
	}{
		"the submission is, again and again": {"mute", false, Unresolved, []string{"unstable"}, 7, 2, 2, 6, ""},
		"the submission is, once":            {"hiccup", false, Resolved, []string{}, 7, 1, 1, 1, ""},
		"what was laid is, once":             {"hiccup", true, Resolved, []string{}, 7, 1, 0, 1, ""},
		"what was laid is, always":           {"mute", true, Resolved, []string{}, 7, 6, 0, 6, "in 6 mixed runs no test was seen"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newMixedBench(t)
			b.broken = c.broken
			fresh := b.fresh(withDecoys)
			b.play(b.submits(fresh.ID, c.answer))
			s, _ := b.until(b.machine(fresh), fresh, Done)
			r := s.Result
			v := r.Decoys.Rounds[0]
			if r.Status != c.status || !slices.Equal(r.Flags, c.flags) || v.Silent != c.silent || v.Void != c.void || !strings.Contains(r.Decoys.Cut, c.cut) || (c.cut == "") != (r.Decoys.Cut == "") {
				t.Errorf("%s %v %q: %s", r.Status, r.Flags, r.Detail, r.Decoys)
			}
			if b.runs.Load() != c.runs || b.controls.Load() != c.controls {
				t.Errorf("%d judgings and %d of the solution, want %d and %d", b.runs.Load(), b.controls.Load(), c.runs, c.controls)
			}
		})
	}
}

func TestOnlyRoundsThatDecideAreJudgedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		answers []string
		rounds  []string
	}{
		"one round":                 {[]string{"honest"}, []string{"agent-1"}},
		"the best of several":       {[]string{"half", "honest", "nothing"}, []string{"agent-2"}},
		"the first of equal ones":   {[]string{"honest", "honest\n", "nothing"}, []string{"agent-1"}},
		"nothing of a decoy passed": {[]string{"nothing"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newMixedBench(t)
			fresh := b.fresh(withDecoys)
			b.play(b.submits(fresh.ID, c.answers...))
			s, _ := b.until(b.machine(fresh), fresh, Done)
			var rounds []string
			for _, r := range s.Result.Decoys.Rounds {
				rounds = append(rounds, r.Round)
			}
			if !slices.Equal(rounds, c.rounds) {
				t.Errorf("judged again: %q, want %q", rounds, c.rounds)
			}
		})
	}
}

// TestACrashDrawsAndJudgesNothingTwice goes through the phase with a new machine for each step.
func TestACrashDrawsAndJudgesNothingTwice(t *testing.T) {
	for _, answer := range []string{"honest", "once", "always"} {
		t.Run(answer, func(t *testing.T) {
			b := newMixedBench(t)
			fresh := b.fresh(withDecoys)
			b.play(b.submits(fresh.ID, answer))
			m := b.machine(fresh)
			s, _ := b.until(m, fresh, Mixed)
			var draws string
			for s.Phase == Mixed {
				m.Close()
				b.host.Judge.Forget(s.ID) // the next daemon opens the session itself
				m = b.machine(s)
				next, _, err := m.Step(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				again, _, err := b.machine(s).Step(t.Context(), s) // it died before this was stored
				if err != nil {
					t.Fatal(err)
				}
				if s.Mixed != nil { // what was drawn before stays
					if diff := cmp.Diff(next.Mixed.Rounds[0].Draws[:4], again.Mixed.Rounds[0].Draws[:4]); diff != "" {
						t.Error(diff)
					}
					if got := fmt.Sprint(next.Mixed.Rounds[0].Draws[:4]); draws != "" && got != draws {
						t.Errorf("drawn again: %s, before %s", got, draws)
					} else {
						draws = got
					}
				}
				s = next
			}
			s, _ = b.until(b.machine(s), s, Done)
			runs := int32(5)
			if answer == "once" {
				runs = 9
			}
			if b.runs.Load() != runs {
				t.Errorf("%d judgings, want %d", b.runs.Load(), runs)
			}
			v := s.Result.Decoys.Rounds[0]
			if int32(v.Runs) != runs-1 || int32(v.Laid) != runs-1 {
				t.Errorf("counted %+v", v)
			}
		})
	}
}

func TestWithoutDecoysATrialSaysWhy(t *testing.T) {
	b := newMixedBench(t)
	b.host.Decoys = func(context.Context, Subject) (mixedruns.Decoys, error) {
		return b.keep(mixed.Set{None: "there are none for the parser junit", Unchecked: map[string]string{"t1": "why"}})
	}
	fresh := b.fresh(withDecoys)
	b.play(b.submits(fresh.ID, "always"))
	s, _ := b.until(b.machine(fresh), fresh, Done)
	want := &mixedruns.Record{
		Knowledge: mixedruns.None, Reason: "there are none for the parser junit", SHA256: s.Result.Decoys.SHA256, Eligible: 1, Unchecked: []mixedruns.UncheckedTest{{Test: "t1", Reason: "why"}},
	}
	if diff := cmp.Diff(want, s.Result.Decoys); diff != "" || s.Result.Status != Resolved || b.runs.Load() != 1 {
		t.Errorf("%s after %d runs: %s", s.Result.Status, b.runs.Load(), diff)
	}
}

func TestATaskThatWantsNoDecoysHasNone(t *testing.T) {
	b := newMixedBench(t)
	fresh := b.fresh(withDecoys, func(c *Cell) { c.Task.Judge.Decoys = 0 })
	b.play(b.submits(fresh.ID, "always"))
	s, _ := b.until(b.machine(fresh), fresh, Done)
	if s.Result.Status != Resolved || s.Result.Decoys != nil || b.runs.Load() != 1 {
		t.Errorf("%s after %d runs: %+v", s.Result.Status, b.runs.Load(), s.Result.Decoys)
	}
}

func TestAMixedRunThatTakesTooLongIsCut(t *testing.T) {
	b := newMixedBench(t)
	fresh := b.fresh(withDecoys)
	b.play(b.submits(fresh.ID, "honest"))
	m := b.machine(fresh)
	s, _ := b.until(m, fresh, Mixed)
	s, _, err := m.Step(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	s.Mixed.Until = s.Line.Now()
	s, _ = b.until(m, s, Done)
	if r := s.Result; r.Status != Resolved || r.Decoys.Cut == "" {
		t.Errorf("%s, cut %q", r.Status, r.Decoys.Cut)
	}
}

func TestMixedRunsAreInNoKey(t *testing.T) {
	plain, with := Cell{}, Cell{}
	with.Task.Judge.Decoys = 4
	if plain.Key() != with.Key() {
		t.Error("a task with mixed runs has other cells")
	}
}

func TestFeedbackSaysWhatAnAgentMayKnow(t *testing.T) {
	s := State{Mixed: &mixedruns.Runs{Decoys: "x"}}
	for feedback, want := range map[string]string{"names": mixedruns.Blind, "score": mixedruns.Blind, "full": mixedruns.Fed} {
		s.Cell.Task.Judge.Feedback = feedback
		if got := mixedruns.RecordOf(s.Mixed, s.Cell.Task, s.Cell.Agent.Model); got.Knowledge != want {
			t.Errorf("feedback %s: %s, want %s", feedback, got.Knowledge, want)
		}
	}
}

func TestAForgedTreeIsInNoCurve(t *testing.T) {
	f := Finished{Decoys: &mixedruns.Record{Rounds: []mixedruns.RoundVerdict{{Round: "agent-2", Verdict: mixed.Verdict{Tampered: "why"}}}}}
	subs := []round.Submission{
		{Round: "agent-1", Kind: round.KindAgent, Archive: "fair"},
		{Round: "agent-2", Kind: round.KindAgent, Archive: "forged"},
		{Round: "final-1", Kind: round.KindFinal, Archive: "forged"},
		{Round: "mixed-1", Kind: round.KindMixed, Archive: "forged"},
	}
	var left []string
	for _, sub := range f.Trusted(subs) {
		left = append(left, sub.Round)
	}
	if got := strings.Join(left, " "); got != "agent-1 mixed-1" {
		t.Errorf("trusted are %s", got)
	}
}

// TestDecoysAreAskedForOnceWhileTheAgentWorks, by each daemon that has the trial.
func TestDecoysAreAskedForOnceWhileTheAgentWorks(t *testing.T) {
	for decoys, want := range map[int]int32{4: 2, 0: 0} {
		b := newMixedBench(t)
		var asked atomic.Int32
		b.host.Foresee = func(s State, of func(context.Context) (Subject, error)) {
			asked.Add(1)
			if subject, err := of(t.Context()); err != nil || s.Phase != Running || subject.Work.ID == "" {
				t.Errorf("asked in phase %s for %+v, %v", s.Phase, subject.Work, err)
			}
		}
		fresh := b.fresh(withDecoys, func(c *Cell) { c.Task.Judge.Decoys = decoys })
		b.play(b.submits(fresh.ID, "honest"))
		m := b.machine(fresh)
		s, _ := b.until(m, fresh, Running)
		m.foresee(s)
		m.foresee(s)
		m.Close()
		s, _ = b.until(b.machine(s), s, Done)
		if s.Result.Status != Resolved || asked.Load() != want {
			t.Errorf("with %d mixed runs decoys were asked for %d times, want %d; the trial ended %s", decoys, asked.Load(), want, s.Result.Status)
		}
	}
}
