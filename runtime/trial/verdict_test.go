package trial

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/assayd/assayd/runtime/agent"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

var began = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

// judged is the round of an agent with its report.
func judged(n int, r round.Report) round.Submission {
	return round.Submission{
		Try: 1, Kind: round.KindAgent, Number: n, Round: "agent-" + string(rune('0'+n)), State: round.StateJudged,
		AcceptedAt: began.Add(time.Duration(n) * time.Minute), Report: &r,
	}
}

func ok(rate float64) round.Report {
	return round.Report{Status: round.StatusOK, Valid: true, PassRate: rate}
}

var (
	broken   = round.Report{Status: round.StatusError, Problem: "no room"}
	tampered = round.Report{Status: round.StatusTampered, Valid: true, PassRate: 1, Tampered: true}
	notRun   = round.Report{Status: round.StatusInvalid, NotRun: true, Problem: "not in the image"}
	invalid  = round.Report{Status: round.StatusInvalid, PassRate: 1}
)

func TestDecide(t *testing.T) {
	late := func(s round.Submission) round.Submission { s.Try = 2; return s }
	oracle := func(s *State) { s.Cell.Agent, _ = agent.Builtin("oracle", "guest") }
	for _, tt := range []struct {
		name   string
		change func(*State)
		rounds []round.Submission
		status Status
		best   string
		final  bool
		flags  []string
	}{
		{"all tests pass", nil, []round.Submission{judged(1, ok(1))}, Resolved, "agent-1", true, nil},
		{"the best round counts", nil, []round.Submission{judged(1, ok(0.5)), judged(2, ok(1)), judged(3, ok(0))}, Resolved, "agent-2", true, nil},
		{"some do", nil, []round.Submission{judged(1, ok(0.5))}, Unresolved, "agent-1", true, nil},
		{"nothing was submitted", nil, nil, Unresolved, "", true, nil},
		{"what passed stays passed though the agent crashed", func(s *State) { s.Crashed = true }, []round.Submission{judged(1, ok(1))}, Resolved, "agent-1", true, nil},
		{"the agent crashed", func(s *State) { s.Crashed = true }, []round.Submission{judged(1, ok(0.5))}, AgentError, "agent-1", true, nil},
		{"running out of time is the normal end", func(s *State) { s.TimedOut = true }, []round.Submission{judged(1, ok(0.5))}, Unresolved, "agent-1", true, nil},
		{"a tampered round never resolves", nil, []round.Submission{judged(1, tampered)}, Unresolved, "", true, []string{"tampered"}},
		{"a fair one beside it does", nil, []round.Submission{judged(1, tampered), judged(2, ok(1)), judged(3, tampered)}, Resolved, "agent-2", true, []string{"tampered"}},
		{"an invalid result is none", nil, []round.Submission{judged(1, invalid)}, Unresolved, "", true, nil},
		{"nor is the solution's, and then the task is broken", oracle, []round.Submission{judged(1, invalid)}, TestError, "", true, nil},
		{"a solution that does not pass is none", oracle, []round.Submission{judged(1, ok(0.5))}, Unresolved, "agent-1", true, nil},
		{"the judge's machinery failed on the last round", nil, []round.Submission{judged(1, ok(0.5)), judged(2, broken)}, InfraError, "agent-1", false, nil},
		{"which is no matter when the trial is resolved", nil, []round.Submission{judged(1, ok(1)), judged(2, broken)}, Resolved, "agent-1", true, nil},
		{"nor on an earlier round", nil, []round.Submission{judged(1, broken), judged(2, ok(0.5))}, Unresolved, "agent-2", true, nil},
		{"the judge command never ran", nil, []round.Submission{judged(1, notRun), judged(2, notRun)}, TestError, "", true, nil},
		{"it ran once", nil, []round.Submission{judged(1, notRun), judged(2, ok(0.5))}, Unresolved, "agent-2", true, nil},
		{"there is no judge command", func(s *State) { s.Cell.Task.Judge.Command = task.Command{} }, nil, TestError, "", true, nil},
		{"the machine failed", func(s *State) { s.Failure = InfraError }, []round.Submission{judged(1, ok(1))}, InfraError, "agent-1", false, nil},
		{"again, at the last try", func(s *State) { s.Failure, s.Retries = InfraError, 0 }, nil, InfraError, "", true, nil},
		{"setup is tried again", func(s *State) { s.Failure = SetupError }, nil, SetupError, "", false, nil},
		{"until the tries are over", func(s *State) { s.Failure, s.Retries = SetupError, 0 }, nil, SetupError, "", true, nil},
		{"cancelled", func(s *State) { s.Failure = Cancelled }, []round.Submission{judged(1, ok(1))}, Cancelled, "agent-1", true, nil},
		{"sanity", func(s *State) { s.Failure = SanityFail }, nil, SanityFail, "", true, nil},
		{"rounds of another try are not this one's", nil, []round.Submission{late(judged(1, ok(1))), late(judged(2, tampered))}, Unresolved, "", true, nil},
		{"flags of the trial stay", func(s *State) { s.Flags = []string{"oom"} }, []round.Submission{judged(1, tampered)}, Unresolved, "", true, []string{"oom", "tampered"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := State{Try: 1, Retries: 2, StartedAt: began, EndedAt: began.Add(90 * time.Second), Reason: ReasonAgentExit}
			s.Cell.Task.Judge.Command.Shell = "true"
			if tt.change != nil {
				tt.change(&s)
			}
			f := Decide(s, tt.rounds)
			best := ""
			if f.Best != nil {
				best = f.Best.Round
			}
			if f.Status != tt.status || best != tt.best || f.Final != tt.final || !slices.Equal(f.Flags, tt.flags) {
				t.Errorf("%s, best %q, final %v, flags %v (%s)", f.Status, best, f.Final, f.Flags, f.Detail)
			}
			if f.Flags == nil || f.FailToPass == nil || f.PassToPass == nil || f.AgentDuration != 90 {
				t.Errorf("lists are never null, and the agent worked for 90 s: %+v", f)
			}
		})
	}
}

func TestDecideTellsOfTheBestRound(t *testing.T) {
	s := State{ID: "r.e1.aaaaaaaa", Try: 1, StartedAt: began}
	s.Cell.Agent, s.Cell.Attempt = agent.Agent{Name: "mine", Label: "twice", Model: "m"}, 2
	s.Cell.Task = task.Task{Name: "one", FailToPass: []string{"f", "gone"}, PassToPass: []string{"p", "q"}, Judge: task.Judge{Select: "score_first", Command: task.Command{Shell: "true"}}}
	one, two := ok(0.5), ok(0.25)
	one.Score, two.Score = new(1.0), new(2.0)
	two.Tests = []parser.Test{{Name: "f", Status: parser.Passed}, {Name: "p", Status: parser.Passed}, {Name: "q", Status: parser.Failed}}
	f := Decide(s, []round.Submission{judged(1, one), judged(2, two), {Try: 1, Kind: round.KindAuto, State: round.StateQueued}})
	want := Finished{
		Trial: "r.e1.aaaaaaaa", Try: 1, Final: true, Task: "one", Agent: "twice", Model: "m", Attempt: 2, Status: Unresolved,
		Best: &Best{"agent-2", 0.25, new(2.0), nil, 120}, Submissions: Counts{Agent: 2, Auto: 1},
		FailToPass: []TestRecord{{Name: "f", Passed: true}, {Name: "gone"}},
		PassToPass: []TestRecord{{Name: "p", Passed: true}, {Name: "q"}}, Flags: []string{},
	}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Error(diff)
	}
}

// TestNoVerdictIsBetterThanItsRounds holds what makes numbers trusted: resolved needs a
// sound round in which all passed, and a failure of the machinery is never a score.
func TestNoVerdictIsBetterThanItsRounds(t *testing.T) {
	reports := []round.Report{ok(0), ok(0.5), ok(1), broken, tampered, notRun, invalid}
	rapid.Check(t, func(t *rapid.T) {
		s := State{Try: 1, Retries: rapid.IntRange(0, 2).Draw(t, "retries"), Crashed: rapid.Bool().Draw(t, "crashed")}
		s.Failure = rapid.SampledFrom([]Status{"", "", "", InfraError, Cancelled}).Draw(t, "failure")
		s.Cell.Task.Judge.Command.Shell = "true"
		var rounds []round.Submission
		sound := false
		for i := range rapid.IntRange(0, 5).Draw(t, "rounds") {
			r := rapid.SampledFrom(reports).Draw(t, "report")
			rounds = append(rounds, judged(i+1, r))
			sound = sound || r.Status == round.StatusOK && r.Valid && r.PassRate == 1
		}
		f := Decide(s, rounds)
		if got := f.Status == Resolved; got != (sound && s.Failure == "") {
			t.Fatalf("%s, with a sound round: %v", f.Status, sound)
		}
		if f.Final == (f.Status.Retryable() && s.Try <= s.Retries) {
			t.Fatalf("%s at try %d of %d counts: %v", f.Status, s.Try, s.Retries+1, f.Final)
		}
	})
}

func TestRestarted(t *testing.T) {
	next := State{ID: "i", Spec: "run.r", Execution: 2, Key: "k", Try: 2, Retries: 2, Keep: "never", Phase: Pending}
	before := next
	before.Try, before.Phase, before.Container, before.Token, before.Flags = 1, Done, "c", "t", []string{"oom"}
	for _, tt := range []struct {
		name   string
		change func(*State)
		ok     bool
	}{
		{"a try that does not count", func(s *State) { s.Result = &Finished{Status: InfraError} }, true},
		{"a cell that is wanted again", func(s *State) { s.Result, s.Unwanted = &Finished{Status: Cancelled, Final: true}, true }, true},
		{"a verdict", func(s *State) { s.Result = &Finished{Status: Unresolved, Final: true} }, false},
		{"a try under way", func(s *State) { s.Phase = Running }, false},
	} {
		s := before
		tt.change(&s)
		got, err := Restarted(s)
		if (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(next, got); tt.ok && diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}
