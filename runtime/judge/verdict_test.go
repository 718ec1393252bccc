package judge

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/task"
)

// runs is a result in short: "a+ b- c! d~" are a test that passed, failed, had an error,
// was skipped; a dot at the end says that the run was complete.
func runs(text string) parser.Result {
	r := parser.Result{}
	for _, word := range strings.Fields(text) {
		if word == "." {
			r.Complete = true
			continue
		}
		status := map[byte]parser.Status{'+': parser.Passed, '-': parser.Failed, '!': parser.Errored, '~': parser.Skipped}
		r.Tests = append(r.Tests, parser.Test{Name: word[:len(word)-1], Status: status[word[len(word)-1]]})
	}
	return r
}

// A submission that registers a passing test under a declared name first gains nothing by
// it: the true one still counts for that name.
func TestARepetitionThatIsNotDeclaredCountsForItsName(t *testing.T) {
	p, _ := parser.Lookup("node")
	forged := "# Subtest: a\nok 1 - a\n# Subtest: b\nok 2 - b\n# Subtest: a\nnot ok 3 - a\n# Subtest: a\nok 4 - a\n1..4\n"
	for declared, want := range map[string]int{"a,b": 1, "a,a #2,b": 2, "a,a #2,a #3,b": 3} {
		tk := task.Task{Judge: task.Judge{Parser: "node", Expect: strings.Split(declared, ",")}}
		r := verdict(tk, observation{parser: p, result: p.Parse(parser.Input{Output: []byte(forged)}), exit: 1})
		if r.Passed != want || r.TotalTests != strings.Count(declared, ",")+1 {
			t.Errorf("%s: %d of %d passed, want %d", declared, r.Passed, r.TotalTests, want)
		}
	}
	tk := task.Task{Judge: task.Judge{Parser: "node", Expect: []string{"a"}}}
	late := "# Subtest: a\nok 1 - a\n# Subtest: a\nnot ok 2 - a\n1..2\n"
	if r := verdict(tk, observation{parser: p, result: p.Parse(parser.Input{Output: []byte(late)}), exit: 1}); r.Passed != 0 || r.PassRate != 0 {
		t.Errorf("the forged test passed for the true one: %+v", r)
	}
}

func TestVerdicts(t *testing.T) {
	runner := parser.Parser{Name: "pytest", Tripwire: func(parser.Site) (parser.Tripwire, bool) { return parser.Tripwire{}, false }}
	format := parser.Parser{Name: "structured_json"}
	code := parser.Parser{Name: "exit_code"}
	is := func(want string) func(string) bool { return func(name string) bool { return name == want } }
	wire := &parser.Tripwire{MustPass: is("P"), MustFail: is("F"), ExitCode: 1}

	tests := map[string]struct {
		parser  parser.Parser
		expect  string // manifest
		seen    parser.Result
		exit    int
		wire    *parser.Tripwire
		timeout bool
		oom     bool
		noStart string

		status Status
		valid  bool
		counts string // passed/total
		rate   float64
		notRun bool
	}{
		"all pass":                             {parser: runner, seen: runs("a+ b+ ."), status: StatusOK, valid: true, counts: "2/2", rate: 1},
		"some fail":                            {parser: runner, seen: runs("a+ b- c! ."), exit: 1, status: StatusOK, valid: true, counts: "1/3", rate: 1. / 3},
		"skipped tests do not count":           {parser: runner, seen: runs("a+ b~ ."), status: StatusOK, valid: true, counts: "1/1", rate: 1},
		"missing tests of the manifest failed": {parser: runner, expect: "a b c d", seen: runs("a+ ."), status: StatusOK, valid: true, counts: "1/4", rate: .25},
		"other tests do not help":              {parser: runner, expect: "a b", seen: runs("a+ x+ y+ z+ ."), status: StatusOK, valid: true, counts: "1/2", rate: .5},
		"other tests do not harm":              {parser: runner, expect: "a b", seen: runs("a+ b+ x- ."), exit: 1, status: StatusOK, valid: true, counts: "2/2", rate: 1},
		"a skipped test of the manifest fails": {parser: runner, expect: "a b", seen: runs("a+ b~ ."), status: StatusOK, valid: true, counts: "1/2", rate: .5},
		"the worst result of a name counts":    {parser: runner, expect: "a", seen: runs("a+ a- a+ ."), exit: 1, status: StatusOK, valid: true, counts: "0/1", rate: 0},

		"a timeout after the first test":        {parser: runner, seen: runs("a+"), timeout: true, status: StatusTimeout, counts: "1/2", rate: .5},
		"a timeout with a manifest":             {parser: runner, expect: "a b c d", seen: runs("a+ b+"), timeout: true, status: StatusTimeout, valid: true, counts: "2/4", rate: .5},
		"a timeout after the last test":         {parser: runner, expect: "a b", seen: runs("a+ b+"), timeout: true, status: StatusTimeout, valid: true, counts: "2/3", rate: 2. / 3},
		"a timeout with a stated rate":          {parser: format, seen: stated(runs(""), 1), timeout: true, status: StatusTimeout, counts: "0/1", rate: 0},
		"an early exit that looks like success": {parser: runner, seen: runs("a+"), status: StatusInvalid, counts: "1/2", rate: .5},
		"an early exit with a manifest":         {parser: runner, expect: "a b", seen: runs("a+"), status: StatusOK, valid: true, counts: "1/2", rate: .5},
		"success without the runner's summary":  {parser: runner, expect: "a", seen: runs("a+"), status: StatusOK, valid: true, counts: "1/2", rate: .5},
		"out of memory":                         {parser: runner, expect: "a b", seen: runs("a+"), exit: 137, oom: true, status: StatusInvalid, counts: "1/2", rate: .5},
		"passed, but exit code 3":               {parser: runner, seen: runs("a+ ."), exit: 3, status: StatusInvalid, counts: "1/2", rate: .5},
		"a format without runner may exit 3":    {parser: format, seen: runs("a+ ."), exit: 3, status: StatusOK, valid: true, counts: "1/1", rate: 1},

		"armed and sound":                     {parser: runner, wire: wire, seen: runs("a+ P+ F- ."), exit: 1, status: StatusOK, valid: true, counts: "1/1", rate: 1},
		"armed, and a test fails":             {parser: runner, wire: wire, seen: runs("a- P+ F- ."), exit: 1, status: StatusOK, valid: true, counts: "0/1", rate: 0},
		"the test that must fail passed":      {parser: runner, wire: wire, seen: runs("a+ P+ F+ ."), status: StatusTampered, counts: "1/1"},
		"the test that must fail was skipped": {parser: runner, wire: wire, seen: runs("a+ P+ F~ ."), status: StatusTampered, counts: "1/1"},
		"the test that must pass failed":      {parser: runner, wire: wire, seen: runs("a+ P- F- ."), exit: 1, status: StatusTampered, counts: "1/1"},
		"the added tests are gone":            {parser: runner, wire: wire, seen: runs("a+ ."), status: StatusTampered, counts: "1/1"},
		"success after a failing test":        {parser: runner, wire: wire, seen: runs("a+ P+ F- ."), exit: 0, status: StatusTampered, counts: "1/1"},
		"a crash is no tampering":             {parser: runner, wire: wire, expect: "a b", seen: runs("a+"), exit: 139, status: StatusOK, valid: true, counts: "1/2", rate: .5},

		"nothing understood":                {parser: format, seen: runs("."), status: StatusInvalid},
		"nothing of the manifest seen":      {parser: runner, expect: "a b", seen: runs("."), exit: 2, status: StatusOK, valid: true, counts: "0/2"},
		"a score alone":                     {parser: format, seen: scored(runs("."), 7), status: StatusOK, valid: true},
		"the grader says invalid":           {parser: format, seen: denied(runs("a+ .")), status: StatusOK, counts: "1/1", rate: 1},
		"a stated rate":                     {parser: format, seen: stated(runs("."), .75), status: StatusOK, valid: true, rate: .75},
		"a stated rate against the tests":   {parser: format, seen: stated(runs("a+ b- ."), 1), status: StatusOK, valid: true, counts: "1/2", rate: .5},
		"a stated rate above the manifest":  {parser: format, expect: "a b", seen: stated(runs("a+ ."), 1), status: StatusOK, valid: true, counts: "1/2", rate: .5},
		"a rate beyond all":                 {parser: format, seen: stated(runs("."), 99), status: StatusOK, valid: true, rate: 1},
		"exit code 0":                       {parser: code, seen: runs("exit_code+ ."), status: StatusOK, valid: true, counts: "1/1", rate: 1},
		"a command that is not there":       {parser: code, seen: runs("exit_code- ."), exit: 127, status: StatusInvalid, notRun: true},
		"nor for a runner":                  {parser: runner, expect: "a", seen: runs(""), exit: 127, status: StatusInvalid, notRun: true},
		"nor one of which a parser says so": {parser: runner, seen: parser.Result{Problem: "no test result found"}, exit: 127, status: StatusInvalid, notRun: true},
		"a command that cannot be executed": {parser: runner, noStart: "no such file", status: StatusInvalid, notRun: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tk := task.Task{Judge: task.Judge{Parser: tc.parser.Name, Expect: strings.Fields(tc.expect)}}
			r := verdict(tk, observation{
				parser: tc.parser, wire: tc.wire, result: tc.seen, exit: tc.exit,
				timedOut: tc.timeout, oom: tc.oom, noStart: tc.noStart,
			})
			if tc.counts == "" {
				tc.counts = "0/0"
			}
			got := strings.Split(outline(&Report{Passed: r.Passed, TotalTests: r.TotalTests}), " ")[0]
			if r.Status != tc.status || r.Valid != tc.valid || got != tc.counts || r.PassRate != tc.rate || r.NotRun != tc.notRun {
				t.Errorf("got %s valid=%t %s rate=%v notRun=%t, want %s valid=%t %s rate=%v notRun=%t (problem: %s)",
					r.Status, r.Valid, got, r.PassRate, r.NotRun, tc.status, tc.valid, tc.counts, tc.rate, tc.notRun, r.Problem)
			}
			if r.NotRun && tc.exit == 127 && !strings.HasPrefix(r.Problem, "the judge command could not be run (exit code 127): ") {
				t.Errorf("the cause is not what is said first: %q", r.Problem)
			}
			if r.Tampered != (r.Status == StatusTampered) {
				t.Errorf("tampered is %t at status %s", r.Tampered, r.Status)
			}
			if (r.Status != StatusOK) != (r.Problem != "") && tc.expect == "" {
				t.Errorf("status %s with the problem %q", r.Status, r.Problem)
			}
			if r.Passed+r.Failed+r.Errors != r.TotalTests {
				t.Errorf("%d + %d + %d is not %d", r.Passed, r.Failed, r.Errors, r.TotalTests)
			}
		})
	}
}

func stated(r parser.Result, rate float64) parser.Result  { r.PassRate = &rate; return r }
func scored(r parser.Result, score float64) parser.Result { r.Score = &score; return r }
func denied(r parser.Result) parser.Result                { r.Valid = new(false); return r }

// That a command ran out of time is said once, and with the limit.
func TestATimeoutNamesTheLimitOnce(t *testing.T) {
	for name, want := range map[string]string{
		"structured_json": "no structured result found in the output; the judge command did not end within 5s",
		"exit_code":       "the judge command did not end within 5s",
		"pytest":          "the judge command did not end within 5s",
	} {
		p, _ := parser.Lookup(name)
		tk := task.Task{Judge: task.Judge{Parser: name, Timeout: 5 * time.Second}}
		r := verdict(tk, observation{parser: p, result: p.Parse(parser.Input{TimedOut: true}), timedOut: true})
		if r.Status != StatusTimeout || r.Problem != want {
			t.Errorf("%s: %s, %q, want %q", name, r.Status, r.Problem, want)
		}
	}
	for limit, want := range map[time.Duration]string{
		0: "10m", time.Hour: "1h", 90 * time.Minute: "1h30m", 90 * time.Second: "1m30s", 10 * time.Second: "10s", 100 * time.Hour: "100h",
	} {
		if got := limitOf(limit); got != want {
			t.Errorf("%d: %s, want %s", limit, got, want)
		}
	}
}

func TestTheListsOfATaskAreItsManifest(t *testing.T) {
	tk := task.Task{FailToPass: []string{"a"}, PassToPass: []string{"b"}, Judge: task.Judge{Parser: "pytest"}}
	r := verdict(tk, observation{parser: parser.Parser{Name: "pytest"}, result: runs("a+ x- ."), exit: 1})
	if r.TotalTests != 2 || r.Passed != 1 {
		t.Errorf("counted %d/%d, want 1/2", r.Passed, r.TotalTests)
	}
}

func TestNothingInfiniteGetsIntoAReport(t *testing.T) {
	seen := runs("a+ .")
	seen.Score, seen.PassRate = new(math.Inf(1)), new(math.NaN())
	seen.Metrics = map[string]float64{"nan": math.NaN(), "fine": 1}
	seen.Tests[0].Score = new(math.Inf(-1))
	r := verdict(task.Task{}, observation{parser: parser.Parser{Name: "structured_json"}, result: seen})
	if r.Score != nil || r.PassRate != 1 || len(r.Metrics) != 1 || r.Tests[0].Score != nil {
		t.Errorf("got %+v", r)
	}
}

// TestOnlyAValidFiniteScoreIsRescaled: 0..100 is for what counts.
func TestOnlyAValidFiniteScoreIsRescaled(t *testing.T) {
	tk := task.Task{Judge: task.Judge{Parser: "structured_json", Rescale: &task.Rescale{Kind: "linear", Anchors: map[string]float64{"lower": -10, "upper": 10}}}}
	for name, tc := range map[string]struct {
		seen    parser.Result
		timeout bool
		want    *float64
	}{
		"a score":          {seen: scored(runs("."), 5), want: new(75.)},
		"a negative one":   {seen: scored(runs("."), -5), want: new(25.)},
		"beyond the scale": {seen: scored(runs("."), 50), want: new(100.)},
		"infinite":         {seen: scored(runs("a+ ."), math.Inf(1))},
		"not a number":     {seen: scored(runs("a+ ."), math.NaN())},
		"no score":         {seen: runs("a+ .")},
		"called invalid":   {seen: denied(scored(runs("."), 5))},
		"cut by a timeout": {seen: scored(runs("a+"), 5), timeout: true},
	} {
		r := verdict(tk, observation{parser: parser.Parser{Name: "structured_json"}, result: tc.seen, timedOut: tc.timeout})
		if (r.Score100 == nil) != (tc.want == nil) || tc.want != nil && *r.Score100 != *tc.want {
			t.Errorf("%s: %v (score %v)", name, r.Score100, r.Score)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAGraderThatSaysInvalidIsHeededByEveryPolicy, and so is a direction.
func TestAGraderThatSaysInvalidIsHeededByEveryPolicy(t *testing.T) {
	format := parser.Parser{Name: "structured_json"}
	round := func(n int, seen parser.Result) Submission {
		r := verdict(task.Task{}, observation{parser: format, result: seen})
		return Submission{Number: n, Kind: KindAgent, State: StateJudged, Report: &r}
	}
	rounds := []Submission{
		round(0, denied(stated(scored(runs("."), 99), 1))), round(1, denied(stated(scored(runs("."), -99), 1))),
		round(2, stated(scored(runs("."), -3), .5)), round(3, stated(scored(runs("."), 7), .5)), round(4, stated(scored(runs("."), math.NaN()), .5)),
	}
	for _, policy := range []string{"pass_rate_first", "score_first", "valid_then_score", ""} {
		for direction, want := range map[string]int{"maximize": 3, "minimize": 2, "": 3} {
			best, ok := Best(task.Judge{Select: policy, Direction: direction}, rounds)
			if !ok || best.Number != want {
				t.Errorf("%s, %s: round %d, want %d", policy, direction, best.Number, want)
			}
		}
	}
}

func TestTheBestRound(t *testing.T) {
	round := func(rate float64, score *float64, spoil ...func(*Report)) Submission {
		r := &Report{Status: StatusOK, Valid: true, PassRate: rate, Score: score}
		for _, s := range spoil {
			s(r)
		}
		return Submission{State: StateJudged, Report: r}
	}
	invalid := func(r *Report) { r.Status, r.Valid = StatusInvalid, false }
	tampered := func(r *Report) { r.Status, r.Valid, r.Tampered = StatusTampered, false, true }
	errored := func(r *Report) { r.Status = StatusError }
	private := func(s Submission) Submission { s.Kind = KindPrivate; return s }
	tests := map[string]struct {
		judge  task.Judge
		rounds []Submission
		want   int // -1: none
	}{
		"none":                           {task.Judge{}, nil, -1},
		"not judged yet":                 {task.Judge{}, []Submission{{State: StateRunning}}, -1},
		"the higher rate":                {task.Judge{}, []Submission{round(.5, nil), round(.7, nil), round(.6, nil)}, 1},
		"all at zero":                    {task.Judge{}, []Submission{round(0, nil), round(0, nil)}, 0},
		"ties below one go by score":     {task.Judge{}, []Submission{round(.5, new(1.)), round(.5, new(2.)), round(.5, nil)}, 1},
		"by direction":                   {task.Judge{Direction: "minimize"}, []Submission{round(.5, new(1.)), round(.5, new(2.)), round(.5, nil)}, 0},
		"then the earliest":              {task.Judge{}, []Submission{round(1, new(2.)), round(1, new(2.))}, 0},
		"invalid never wins":             {task.Judge{}, []Submission{round(.1, nil), round(1, nil, invalid), round(1, nil, tampered), round(1, nil, errored)}, 0},
		"no best where nothing is valid": {task.Judge{}, []Submission{round(1, nil, invalid)}, -1},
		"score first":                    {task.Judge{Select: "score_first"}, []Submission{round(1, new(1.)), round(.1, new(9.)), round(1, nil)}, 1},
		"no score at all goes by rate":   {task.Judge{Select: "score_first"}, []Submission{round(.5, nil), round(1, nil), round(1, nil, invalid)}, 1},
		"equal scores go by rate":        {task.Judge{Select: "score_first"}, []Submission{round(.1, new(9.)), round(.2, new(9.))}, 1},
		"negative scores, to be minimal": {task.Judge{Select: "valid_then_score", Direction: "minimize"}, []Submission{round(1, new(-1.)), round(1, new(-5.))}, 1},
		"the private set is no round":    {task.Judge{}, []Submission{round(.5, nil), private(round(1, nil))}, 0},
		"lower scores, rate first":       {task.Judge{Select: "pass_rate_first", Direction: "minimize"}, []Submission{round(.5, new(4.)), round(.5, new(3.)), round(.4, new(1.))}, 1},
		"lower scores, score first":      {task.Judge{Select: "score_first", Direction: "minimize"}, []Submission{round(.5, new(4.)), round(.5, new(3.)), round(.4, new(1.))}, 2},
		"an invalid round has no score":  {task.Judge{Select: "valid_then_score"}, []Submission{round(1, new(9.), invalid), round(1, new(1.))}, 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for i := range tc.rounds {
				tc.rounds[i].Number = i
			}
			got := -1
			if best, ok := Best(tc.judge, tc.rounds); ok {
				got = best.Number
			}
			if got != tc.want {
				t.Errorf("round %d, want %d", got, tc.want)
			}
		})
	}
}

func TestReservations(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	s := Session{Trial: "t", Try: 2, Max: 2, Cooldown: time.Minute, Deadline: now.Add(time.Hour)}
	past := func(kind Kind, number int, ago time.Duration, more ...func(*Submission)) Submission {
		p := Submission{Kind: kind, Number: number, Try: 2, State: StateJudged, AcceptedAt: now.Add(-ago), Key: "k"}
		for _, m := range more {
			m(&p)
		}
		return p
	}
	spoiltOne := func(p *Submission) { p.Report = &Report{Status: StatusError} }
	lastTry := func(p *Submission) { p.Try = 1 }
	tests := map[string]struct {
		offer offer
		past  []Submission
		round string
		old   bool
		code  int
		after time.Duration
		says  string
	}{
		"the first":                     {offer{kind: KindAgent}, nil, "agent-1", false, 0, 0, ""},
		"kinds count apart":             {offer{kind: KindAuto}, []Submission{past(KindAgent, 1, 0), past(KindAuto, 4, 0)}, "auto-5", false, 0, 0, ""},
		"after the cooldown":            {offer{kind: KindAgent}, []Submission{past(KindAgent, 1, time.Minute)}, "agent-2", false, 0, 0, ""},
		"within the cooldown":           {offer{kind: KindAgent}, []Submission{past(KindAgent, 1, 18500*time.Millisecond)}, "", false, 429, 42 * time.Second, "cooldown: wait 42 seconds"},
		"over budget":                   {offer{kind: KindAgent}, []Submission{past(KindAgent, 1, time.Hour), past(KindAgent, 2, time.Hour)}, "", false, 429, 0, "budget is exhausted"},
		"the machinery's fault is free": {offer{kind: KindAgent}, []Submission{past(KindAgent, 1, time.Hour), past(KindAgent, 2, 0, spoiltOne)}, "agent-3", false, 0, 0, ""},
		"an earlier try spent nothing":  {offer{kind: KindAgent}, []Submission{past(KindAgent, 1, 0, lastTry), past(KindAgent, 2, 0, lastTry)}, "agent-3", false, 0, 0, ""},
		"after the deadline":            {offer{kind: KindAgent, now: s.Deadline}, nil, "", false, 403, 0, "time is over"},
		"so too by the clock":           {offer{kind: KindAuto, now: s.Deadline}, nil, "", false, 403, 0, "time is over"},
		"but for the last snapshot":     {offer{kind: KindFinal, now: s.Deadline}, nil, "final-1", false, 0, 0, ""},
		"a known key":                   {offer{kind: KindAgent, key: "k"}, []Submission{past(KindAgent, 1, 0)}, "", true, 0, 0, ""},
		"a known key, much later":       {offer{kind: KindAgent, key: "k", now: s.Deadline}, []Submission{past(KindAgent, 1, 0)}, "", true, 0, 0, ""},
		"a known key of another kind":   {offer{kind: KindAuto, key: "k"}, []Submission{past(KindAgent, 1, 0)}, "auto-1", false, 0, 0, ""},
		"a known key of another try":    {offer{kind: KindFinal, key: "k"}, []Submission{past(KindFinal, 1, 0, lastTry)}, "final-2", false, 0, 0, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.offer.now.IsZero() {
				tc.offer.now = now
			}
			next, old, err := decide(s, tc.offer, tc.past)
			if next.Round != tc.round || (old != nil) != tc.old {
				t.Errorf("round %q, old %v; want %q, %t (%v)", next.Round, old, tc.round, tc.old, err)
			}
			r, _ := errors.AsType[*Refusal](err)
			if (r == nil) != (tc.code == 0) || r != nil && (r.Code != tc.code || r.RetryAfter != tc.after || !strings.Contains(r.Detail, tc.says)) {
				t.Errorf("refused with %+v, want %d after %s saying %q", r, tc.code, tc.after, tc.says)
			}
		})
	}
}

func TestTheQueueTakesTurnsAndHasAnEnd(t *testing.T) {
	q := newQueue(8)
	for _, id := range []string{"a1", "a2", "a3", "b1", "c1", "b2"} {
		trial := id[:1]
		q.take(trial, true)
		q.push(trial, id)
	}
	if q.take("a", false) {
		t.Error("one trial took more than a quarter")
	}
	if !q.take("d", false) || !q.take("e", false) || q.take("f", false) {
		t.Error("there are eight places, no less and no more")
	}
	q.give("e")
	q.forget("c")
	var order []string
	q.offer(func(w *waiter, _ bool) served {
		order = append(order, w.id)
		return hasRoom
	})
	if got := strings.Join(order, " "); got != "a1 b1 a2 b2 a3" {
		t.Errorf("order %s", got)
	}
	if q.taken != 1 || len(q.byTrial) != 1 {
		t.Errorf("%d places still taken, by %v; only d holds one", q.taken, q.byTrial)
	}
}

func TestOutputIsKeptAtBothEnds(t *testing.T) {
	for _, chunk := range []int{1, 3, 7, 100} {
		c := &capture{half: 5}
		text := "0123456789abcdefghij"
		for i := 0; i < len(text); i += chunk {
			if _, err := c.Write([]byte(text[i:min(i+chunk, len(text))])); err != nil {
				t.Fatal(err)
			}
		}
		if got := string(c.bytes()); got != "01234\n[10 bytes of output left out]\nfghij" {
			t.Errorf("in pieces of %d: %q", chunk, got)
		}
	}
	c := &capture{half: 5}
	if _, err := c.Write([]byte("01234567")); err != nil || string(c.bytes()) != "01234567" {
		t.Errorf("kept %q (%v)", c.bytes(), err)
	}
}

// A manifest of other names than the runner's is a mistake of the task's author, and told.
func TestAManifestOfOtherNamesIsTold(t *testing.T) {
	tk := task.Task{Judge: task.Judge{Command: task.Command{Shell: "x"}, Parser: "tap", Expect: []string{"a", "b"}}}
	for name, want := range map[string]bool{"1 a": true, "a": false} {
		o := observation{result: parser.Result{Tests: []parser.Test{{Name: name, Status: parser.Passed}}, Complete: true}}
		if r := verdict(tk, o); strings.Contains(r.Problem, "none of the 2 expected tests was seen") != want {
			t.Errorf("%q: %s", name, r.Problem)
		}
	}
}
