package judge

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/task"
)

func TestTheUntouchedTreeIsJudgedApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.open("t", func(s *Session) { s.Max, s.Cooldown, s.Deadline = 1, time.Hour, time.Time{} })
		ask := func() Submission {
			sub, err := b.Submit(t.Context(), "t", SubmitRequest{Kind: KindSanity, Key: "sanity"})
			if err != nil {
				t.Fatal(err)
			}
			return b.judged(t, sub.ID)
		}
		sane := ask()
		if sane.Round != "sanity-1" || sane.Report.Status == StatusError {
			t.Errorf("%s: %+v", sane.Round, sane.Report)
		}
		if again := ask(); again.ID != sane.ID {
			t.Error("a repeated key is another round")
		}
		b.Close("t") // it is asked before an agent may, and after
		if again, err := b.Submit(t.Context(), "t", SubmitRequest{Kind: KindSanity, Key: "more"}); err != nil {
			t.Error(err)
		} else {
			b.judged(t, again.ID)
		}
		b.open("t", func(s *Session) { s.Max, s.Cooldown, s.Deadline = 1, time.Hour, time.Time{} })
		mine, err := b.Submit(t.Context(), "t", SubmitRequest{Kind: KindFinal, SkipKnown: true}) // the same tree
		if err != nil {
			t.Fatal(err)
		}
		if mine = b.judged(t, mine.ID); mine.Kind != KindFinal || mine.Report.Cached {
			t.Errorf("a tree that was not touched is %s, cached %t", mine.Round, mine.Report.Cached)
		}
		first := b.submit(t, "t", KindAgent, "a passed\n") // neither budget nor cooldown were spent
		b.judged(t, first.ID)
		view := historyView(b.session("t").Task, "t", []Submission{b.judged(t, first.ID)})
		if view.Agent != 1 {
			t.Errorf("history %+v", view)
		}
		for _, sub := range b.ledger.of("t") {
			if api := (&agentAPI{judge: b.Judge, trial: "t"}); api.owns(b.session("t"), sub) != (sub.Kind == KindAgent) {
				t.Errorf("the agent learns of %s", sub.Round)
			}
		}
	})
}

func TestTheUntouchedTreeIsNeverTheBestRound(t *testing.T) {
	r := &Report{Status: StatusOK, Valid: true, PassRate: 1}
	if best, ok := Best(task.Judge{}, []Submission{{Kind: KindSanity, State: StateJudged, Report: r}, {Kind: KindPrivate, State: StateJudged, Report: r}}); ok {
		t.Errorf("%s is the best round", best.Kind)
	}
}

func TestSanityOfATask(t *testing.T) {
	const passed, failed, skipped = parser.Passed, parser.Failed, parser.Skipped
	of := func(status parser.Status, names ...string) (tests []parser.Test) {
		for _, name := range names {
			tests = append(tests, parser.Test{Name: name, Status: status, Message: "because"})
		}
		return tests
	}
	report := func(tests ...[]parser.Test) Report {
		r := Report{Status: StatusOK, Valid: true}
		for _, some := range tests {
			r.Tests = append(r.Tests, some...)
		}
		return r
	}
	for _, tt := range []struct {
		name     string
		f2p, p2p []string
		report   Report
		offence  string
	}{
		{"sound", []string{"a", "b"}, []string{"c"}, report(of(failed, "a"), of(parser.Errored, "b"), of(passed, "c")), ""},
		{"what is not there yet fails", []string{"a"}, []string{"c"}, report(of(passed, "c")), ""},
		{"what is skipped does not pass", []string{"a"}, nil, report(of(skipped, "a")), ""},
		{"a passes", []string{"b", "a"}, []string{"c"}, report(of(failed, "b", "c"), of(passed, "a")), "a of fail_to_pass passes before any change"},
		{"c fails", []string{"a"}, []string{"d", "c"}, report(of(failed, "a", "c"), of(passed, "d")), "c of pass_to_pass fails (because) before any change"},
		{"c is skipped", nil, []string{"c"}, report(of(skipped, "c")), "c of pass_to_pass is skipped (because) before any change"},
		{"c is not there", nil, []string{"c"}, report(), "c of pass_to_pass is not seen before any change"},
		{"in another form", []string{"TestA"}, nil, report(of(passed, "x::TestA")), "TestA of fail_to_pass passes before any change"},
		{"no lists, something fails", nil, nil, Report{Status: StatusOK, Valid: true, PassRate: .9}, ""},
		{"no lists, nothing is valid", nil, nil, Report{Status: StatusInvalid, PassRate: 1}, ""},
		{"no lists, all passes", nil, nil, Report{Status: StatusOK, Valid: true, PassRate: 1}, "all tests pass before any change"},
	} {
		if got := Sane(task.Task{FailToPass: tt.f2p, PassToPass: tt.p2p}, tt.report); got != tt.offence {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.offence)
		}
	}
}

func TestAReportThatTellsOfNoTestIsUnusable(t *testing.T) {
	bad := []parser.Test{{Name: "a", Status: parser.Failed}}
	for _, tt := range []struct {
		name   string
		report Report
		want   bool
	}{
		{"a verdict", Report{Status: StatusOK, Valid: true, Problem: "x"}, false},
		{"out of time", Report{Status: StatusTimeout, Problem: "x"}, false},
		{"tampered", Report{Status: StatusTampered, Problem: "x"}, false},
		{"invalid, for a test failed", Report{Status: StatusInvalid, Problem: "x", Tests: bad}, false},
		{"invalid", Report{Status: StatusInvalid, Problem: "x"}, true},
		{"not run", Report{Status: StatusInvalid, NotRun: true, Problem: "x", Tests: bad}, true},
		{"the machinery failed", Report{Status: StatusError, Problem: "x"}, true},
	} {
		if got := Unusable(tt.report); (got != "") != tt.want || tt.want && !strings.Contains(got, "x") {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
}
