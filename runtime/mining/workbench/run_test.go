package workbench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/mining/reason"
)

var errBudget = errors.New("no money is left")

func TestEnds(t *testing.T) {
	pytest := submitting("python3 -m pytest -rA tests/test_x.py", "pip install .")
	refusing := func(n int) Try { // the first n proposals
		return func(context.Context, Proposal) (string, error) {
			if n--; n >= 0 {
				return "nothing fails before", nil
			}
			return "", nil
		}
	}
	var many []Answer
	for i := range 15 {
		many = append(many, says(submitting(fmt.Sprintf("pytest -x%d", i))))
	}
	garbage := make([]Answer, 10)
	for i := range garbage {
		garbage[i] = Answer{Content: "I think that …"}
	}
	garbage[2] = says(called("make_coffee", nil))
	garbage[4] = says(Call{ID: "1", Name: "shell", Arguments: json.RawMessage(`{"command":`)})
	for name, c := range map[string]struct {
		change  func(*Job)
		answers []Answer
		ask     error
		try     Try
		code    string // of the rejection
		detail  string
		err     error
		turns   int
	}{
		"a proposal that is proved":                 {answers: []Answer{says(pytest)}, try: proved, turns: 1},
		"the second one is":                         {answers: []Answer{says(pytest), says(submitting("pytest -v"))}, try: refusing(1), turns: 2},
		"both in one answer":                        {answers: []Answer{says(pytest, submitting("pytest -v"))}, try: refusing(1), turns: 1},
		"the same again is not proved again":        {change: func(j *Job) { j.MaxTurns = 3 }, answers: []Answer{says(pytest), says(pytest), says(pytest)}, try: refusing(1), code: Turns, turns: 3},
		"no turns are left":                         {change: func(j *Job) { j.MaxTurns = 4 }, code: Turns, detail: "4", turns: 4},
		"the model gives up":                        {answers: []Answer{says(called("submit_tests", map[string]string{"impossible": "it needs a printer"}))}, code: GaveUp, detail: "printer", turns: 1},
		"the model calls nothing that there is":     {answers: garbage, code: GaveUp, detail: "8 turns", turns: 8},
		"no proposal is sound":                      {answers: many, try: refusing(100), code: Unproved, detail: "nothing fails before", turns: maxTries},
		"there are no tests":                        {change: func(j *Job) { j.Tests = nil }, code: NoTests},
		"the budget is spent":                       {ask: errBudget, err: errBudget, turns: 1},
		"proving has trouble":                       {answers: []Answer{says(pytest)}, try: func(context.Context, Proposal) (string, error) { return "", errBudget }, err: errBudget, turns: 1},
		"proving finds what no proposal could mend": {answers: []Answer{says(pytest)}, try: func(context.Context, Proposal) (string, error) { return "", reason.Reject("flaky", "") }, code: "flaky", turns: 1},
	} {
		t.Run(name, func(t *testing.T) {
			j, s := job("/work"), &script{answers: c.answers, err: c.ask}
			if c.change != nil {
				c.change(&j)
			}
			p, err := Run(t.Context(), j, newMemory(), s.ask, c.try)
			rejected := reason.Of(err)
			switch {
			case c.code != "":
				if rejected == nil || rejected.Code != c.code || !strings.Contains(rejected.Detail, c.detail) {
					t.Errorf("it ends with %v, want %s: …%s…", err, c.code, c.detail)
				}
			case !errors.Is(err, c.err) || rejected != nil:
				t.Errorf("it ends with %v, want %v", err, c.err)
			case err == nil && (!strings.HasPrefix(p.Test, "py") || p.Parser != "pytest"):
				t.Errorf("it ends with %+v", p)
			}
			if len(s.seen) != c.turns {
				t.Errorf("the model was asked %d times, want %d", len(s.seen), c.turns)
			}
		})
	}
}

func TestAHint(t *testing.T) {
	hint := &Environment{Setup: []string{"pip install ."}, Test: "python3 -m pytest -rA tests/test_x.py"}
	want := Proposal{Environment: Environment{Setup: hint.Setup, Test: hint.Test, Parser: "pytest"}}

	t.Run("that is sound costs nothing", func(t *testing.T) {
		j, s := job("/work"), &script{}
		j.Hint = hint
		p, err := Run(t.Context(), j, newMemory(), s.ask, proved)
		if diff := cmp.Diff(want, p); err != nil || diff != "" || len(s.seen) != 0 {
			t.Errorf("%v, asked %d times\n%s", err, len(s.seen), diff)
		}
	})
	t.Run("that is not is shown, with what is wrong", func(t *testing.T) {
		j, s := job("/work"), &script{answers: []Answer{says(submitting("pytest"))}}
		j.Hint = hint
		var tried []string
		_, err := Run(t.Context(), j, newMemory(), s.ask, func(_ context.Context, p Proposal) (string, error) {
			tried = append(tried, p.Test)
			return map[bool]string{true: "there is no libfoo"}[len(tried) == 1], nil
		})
		if diff := cmp.Diff([]string{hint.Test, "pytest"}, tried); err != nil || diff != "" {
			t.Error(err, diff)
		}
		if order := s.seen[0][1].Content; !strings.Contains(order, "there is no libfoo") || !strings.Contains(order, hint.Test) {
			t.Error(order)
		}
	})
	t.Run("that is rejected says nothing of the pull request", func(t *testing.T) {
		j, s := job("/work"), &script{answers: []Answer{says(submitting("pytest"))}}
		j.Hint = hint
		tries := 0
		p, err := Run(t.Context(), j, newMemory(), s.ask, func(context.Context, Proposal) (string, error) {
			if tries++; tries == 1 {
				return "", reason.Reject("passes_before", "9 tests pass before and after the fix")
			}
			return "", nil
		})
		if err != nil || p.Test != "pytest" || !strings.Contains(s.seen[0][1].Content, "passes_before: 9 tests") {
			t.Errorf("%v, %+v, shown %q", err, p, s.seen)
		}
	})
	t.Run("that nobody understands is only shown", func(t *testing.T) {
		j, s := job("/work"), &script{answers: []Answer{says(submitting("pytest"))}}
		j.Hint = &Environment{Test: "make check"}
		tried := 0
		_, err := Run(t.Context(), j, newMemory(), s.ask, func(context.Context, Proposal) (string, error) { tried++; return "", nil })
		if err != nil || tried != 1 || !strings.Contains(s.seen[0][1].Content, "make check") {
			t.Error(err, tried)
		}
	})
	t.Run("cannot be proved where tests are to be written", func(t *testing.T) {
		j, s := job("/work"), &script{err: errBudget}
		j.Hint, j.Write, j.Tests = hint, true, nil
		_, err := Run(t.Context(), j, newMemory(), s.ask, nil)
		if !errors.Is(err, errBudget) || !strings.Contains(s.seen[0][1].Content, hint.Test) {
			t.Error(err)
		}
	})
	t.Run("may meet trouble", func(t *testing.T) {
		j := job("/work")
		j.Hint = hint
		_, err := Run(t.Context(), j, newMemory(), nil, func(context.Context, Proposal) (string, error) { return "", errBudget })
		if !errors.Is(err, errBudget) {
			t.Error(err)
		}
	})
}

func TestTime(t *testing.T) {
	slow := func(d time.Duration) memoryRoom {
		room := newMemory()
		room.exec = func(ctx context.Context, _ []string, timeout time.Duration) (int, []byte, bool, error) {
			timer, late := time.NewTimer(d), time.NewTimer(timeout)
			defer timer.Stop()
			defer late.Stop()
			select {
			case <-timer.C:
				return 0, nil, false, nil
			case <-late.C:
				return -1, []byte("so far"), true, nil
			case <-ctx.Done():
				return 0, nil, false, context.Cause(ctx)
			}
		}
		return room
	}
	shell := says(called("shell", map[string]string{"command": "make"}))

	t.Run("of commands adds up", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			j, s, begun := job("/work"), &script{answers: []Answer{shell, shell, shell, shell}}, time.Now()
			j.Timeout, j.CommandTimeout = 70*time.Minute, time.Hour
			_, err := Run(t.Context(), j, slow(30*time.Minute), s.ask, nil)
			if r := reason.Of(err); r == nil || r.Code != Timeout || len(s.seen) != 3 || time.Since(begun) != j.Timeout {
				t.Errorf("%v after %d turns and %s", err, len(s.seen), time.Since(begun))
			}
		})
	})
	t.Run("of one command is bounded", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			j, s := job("/work"), &script{answers: []Answer{shell}, err: errBudget}
			_, err := Run(t.Context(), j, slow(30*time.Minute), s.ask, nil)
			if got := s.last(1); !errors.Is(err, errBudget) || !strings.HasPrefix(got, "ended after 1m0s") || !strings.HasSuffix(got, "so far") {
				t.Errorf("%v, %q", err, got)
			}
		})
	})
	t.Run("of the model counts, and is no fault of the pull request", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			_, err := Run(t.Context(), job("/work"), slow(10*time.Second), func(ctx context.Context, turn int, _ []Message, _ []Tool) (Answer, error) {
				if turn == 0 {
					return shell, nil
				}
				<-ctx.Done()
				return Answer{}, context.Cause(ctx)
			}, nil)
			if err == nil || reason.Of(err) != nil || !strings.Contains(err.Error(), "59m50s of 1h0m0s went to waiting for the model") || time.Since(begun) != time.Hour {
				t.Error(err)
			}
		})
	})
	t.Run("of a run before counts, and so do its turns", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			j, begun, spent := job("/work"), time.Now(), Spent{}
			j.Timeout, j.CommandTimeout, j.Spent = 70*time.Minute, time.Hour, &spent
			if _, err := Run(t.Context(), j, slow(30*time.Minute), (&script{answers: []Answer{shell, says(submitting("pytest"))}}).ask, proved); err != nil {
				t.Fatal(err)
			}
			if want := (Spent{Turns: 2, Worked: 30 * time.Minute}); spent != want {
				t.Errorf("spent are %+v, not %+v", spent, want)
			}
			var turns []int
			_, err := Run(t.Context(), j, slow(30*time.Minute), func(_ context.Context, turn int, _ []Message, _ []Tool) (Answer, error) {
				turns = append(turns, turn)
				return shell, nil
			}, nil)
			if r := reason.Of(err); r == nil || r.Code != Timeout || !slices.Equal(turns, []int{2, 3}) || time.Since(begun) != j.Timeout {
				t.Errorf("%v after the turns %d and %s", err, turns, time.Since(begun))
			}
			j.Timeout, j.MaxTurns = time.Hour*24, 4
			if _, err := Run(t.Context(), j, newMemory(), nil, nil); reason.Of(err) == nil || reason.Of(err).Code != Turns {
				t.Error(err)
			}
		})
	})
	t.Run("of proving does not count", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, tried := &script{answers: []Answer{says(submitting("pytest")), says(submitting("pytest -v"))}}, 0
			_, err := Run(t.Context(), job("/work"), newMemory(), s.ask, func(context.Context, Proposal) (string, error) {
				time.Sleep(5 * time.Hour)
				tried++
				return map[bool]string{true: "no"}[tried == 1], nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("ends with the caller's", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute/2, errBudget)
			defer cancel()
			_, err := Run(ctx, job("/work"), slow(time.Hour), (&script{answers: []Answer{shell}}).ask, nil)
			if !errors.Is(err, errBudget) || reason.Of(err) != nil {
				t.Error(err)
			}
		})
	})
}

func TestJobsThatAreNone(t *testing.T) {
	for name, change := range map[string]func(*Job){
		"no turns":           func(j *Job) { j.MaxTurns = 0 },
		"no time":            func(j *Job) { j.Timeout = 0 },
		"no time of command": func(j *Job) { j.CommandTimeout = 0 },
		"no folder":          func(j *Job) { j.Workdir = "" },
		"not a folder":       func(j *Job) { j.Workdir = "a/b" },
		"all of the machine": func(j *Job) { j.Workdir = "/" },
		"an unclean folder":  func(j *Job) { j.Workdir = "/work/" },
		"an odd patch":       func(j *Job) { j.Write, j.Source = true, []byte("--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-x\n+y\n") },
	} {
		j := job("/work")
		change(&j)
		if _, err := Run(t.Context(), j, newMemory(), nil, nil); err == nil || reason.Of(err) != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheLastTurnsAreTold(t *testing.T) {
	j, s := job("/work"), &script{answers: []Answer{{Content: "hm"}}}
	j.MaxTurns = 12
	_, _ = Run(t.Context(), j, newMemory(), s.ask, nil)
	for turn, want := range map[int]string{1: "", 2: "\n[turns left: 10]", 3: "\n[turns left: 9]", 11: "\n[turns left: 1]"} {
		if got := s.last(turn); !strings.HasSuffix(got, want) || want == "" && strings.Contains(got, "left") {
			t.Errorf("turn %d begins after %q, want %q", turn, got, want)
		}
	}
}

func TestACallThatIsMalformedDoesNotBreakTheNextRequest(t *testing.T) {
	for _, arguments := range []string{``, `{"command":"ls`, `[]`, `null`, `"ls"`, `{"command":1}`, `{}`, `{"command":"a\u0000b"}`} {
		s := &script{answers: []Answer{says(Call{Name: "shell", Arguments: json.RawMessage(arguments)})}, err: errBudget}
		if _, err := Run(t.Context(), job("/work"), newMemory(), s.ask, nil); !errors.Is(err, errBudget) {
			t.Fatal(arguments, err)
		}
		said, told := s.seen[1][2], s.seen[1][3]
		if _, err := json.Marshal(s.seen[1]); err != nil || said.Calls[0].Arguments[0] != '{' {
			t.Errorf("%s: %v, %s", arguments, err, said.Calls[0].Arguments)
		}
		if !strings.HasPrefix(told.Content, "error: ") || told.CallID == "" || told.CallID != said.Calls[0].ID {
			t.Errorf("%s: %+v", arguments, told)
		}
	}
}

func TestAllCallsOfAnAnswerAreDoneInOrder(t *testing.T) {
	room := newRoom(t, nil)
	var calls []Call
	for i := range maxCalls + 3 {
		calls = append(calls, Call{ID: fmt.Sprint(i), Name: "shell", Arguments: json.RawMessage(fmt.Sprintf(`{"command":"echo %d >> f; cat f"}`, i))})
	}
	s := &script{answers: []Answer{says(calls...)}, err: errBudget}
	if _, err := Run(t.Context(), job(room.dir), room, s.ask, nil); !errors.Is(err, errBudget) {
		t.Fatal(err)
	}
	want := "exit 0"
	for i, m := range s.seen[1][3:] {
		want += fmt.Sprintf("\n%d", i)
		got, note, _ := strings.Cut(m.Content, "\n[")
		if got != want || m.CallID != fmt.Sprint(i) || (note != "") != (i == maxCalls-1) {
			t.Errorf("call %d: %+v, want %q", i, m, want)
		}
	}
	if n := len(s.seen[1][2].Calls); n != maxCalls || len(s.seen[1]) != 3+maxCalls {
		t.Errorf("%d calls, %d messages", n, len(s.seen[1]))
	}
}

func TestAnAnswerIsMadePresentable(t *testing.T) {
	list := json.RawMessage(`{"path":"."}`)
	s := &script{answers: []Answer{says(
		Call{ID: "x", Name: "list_dir", Arguments: list}, Call{ID: "x", Name: "a b\n", Arguments: list}, Call{Name: "", Arguments: list},
		Call{ID: "y", Name: "shell", Arguments: json.RawMessage(`{"command":"` + strings.Repeat("x", maxArguments) + `"}`)},
	)}, err: errBudget}
	if _, err := Run(t.Context(), job("/work"), newMemory(), s.ask, nil); !errors.Is(err, errBudget) {
		t.Fatal(err)
	}
	want := []Call{
		{ID: "x", Name: "list_dir", Arguments: list},
		{ID: "call-0-1", Name: "unknown", Arguments: list},
		{ID: "call-0-2", Name: "unknown", Arguments: list},
		{ID: "y", Name: "shell", Arguments: json.RawMessage(`{}`)},
	}
	if diff := cmp.Diff(want, s.seen[1][2].Calls); diff != "" {
		t.Error(diff)
	}
	for i, m := range s.seen[1][3:] {
		if m.CallID != want[i].ID || strings.HasPrefix(m.Content, "error: ") != (i > 0) {
			t.Errorf("%+v", m)
		}
	}
}
