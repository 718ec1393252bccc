package scoring

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
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
		r := Verdict(tk, Observation{Parser: p, Result: p.Parse(parser.Input{Output: []byte(forged)}), Exit: 1})
		if r.Passed != want || r.TotalTests != strings.Count(declared, ",")+1 {
			t.Errorf("%s: %d of %d passed, want %d", declared, r.Passed, r.TotalTests, want)
		}
	}
	tk := task.Task{Judge: task.Judge{Parser: "node", Expect: []string{"a"}}}
	late := "# Subtest: a\nok 1 - a\n# Subtest: a\nnot ok 2 - a\n1..2\n"
	if r := Verdict(tk, Observation{Parser: p, Result: p.Parse(parser.Input{Output: []byte(late)}), Exit: 1}); r.Passed != 0 || r.PassRate != 0 {
		t.Errorf("the forged test passed for the true one: %+v", r)
	}
}

func TestVerdicts(t *testing.T) {
	runner := parser.Parser{Name: "pytest", Tripwire: func(parser.Site) (parser.Tripwire, bool) { return parser.Tripwire{}, false }}
	format := parser.Parser{Name: "structured_json"}
	code := parser.Parser{Name: "exit_code"}
	is := func(want string) func(string) bool { return func(name string) bool { return name == want } }
	canary := &parser.Tripwire{MustPass: is("P"), MustFail: is("F"), ExitCode: 1}

	tests := map[string]struct {
		parser  parser.Parser
		expect  string // manifest
		seen    parser.Result
		exit    int
		canary  *parser.Tripwire
		timeout bool
		oom     bool
		noStart string

		status round.Status
		valid  bool
		counts string // passed/total
		rate   float64
		notRun bool
	}{
		"all pass":                             {parser: runner, seen: runs("a+ b+ ."), status: round.StatusOK, valid: true, counts: "2/2", rate: 1},
		"some fail":                            {parser: runner, seen: runs("a+ b- c! ."), exit: 1, status: round.StatusOK, valid: true, counts: "1/3", rate: 1. / 3},
		"skipped tests do not count":           {parser: runner, seen: runs("a+ b~ ."), status: round.StatusOK, valid: true, counts: "1/1", rate: 1},
		"missing tests of the manifest failed": {parser: runner, expect: "a b c d", seen: runs("a+ ."), status: round.StatusOK, valid: true, counts: "1/4", rate: .25},
		"other tests do not help":              {parser: runner, expect: "a b", seen: runs("a+ x+ y+ z+ ."), status: round.StatusOK, valid: true, counts: "1/2", rate: .5},
		"other tests do not harm":              {parser: runner, expect: "a b", seen: runs("a+ b+ x- ."), exit: 1, status: round.StatusOK, valid: true, counts: "2/2", rate: 1},
		"a skipped test of the manifest fails": {parser: runner, expect: "a b", seen: runs("a+ b~ ."), status: round.StatusOK, valid: true, counts: "1/2", rate: .5},
		"the worst result of a name counts":    {parser: runner, expect: "a", seen: runs("a+ a- a+ ."), exit: 1, status: round.StatusOK, valid: true, counts: "0/1", rate: 0},

		"a timeout after the first test":        {parser: runner, seen: runs("a+"), timeout: true, status: round.StatusTimeout, counts: "1/2", rate: .5},
		"a timeout with a manifest":             {parser: runner, expect: "a b c d", seen: runs("a+ b+"), timeout: true, status: round.StatusTimeout, valid: true, counts: "2/4", rate: .5},
		"a timeout after the last test":         {parser: runner, expect: "a b", seen: runs("a+ b+"), timeout: true, status: round.StatusTimeout, valid: true, counts: "2/3", rate: 2. / 3},
		"a timeout with a stated rate":          {parser: format, seen: stated(runs(""), 1), timeout: true, status: round.StatusTimeout, counts: "0/1", rate: 0},
		"an early exit that looks like success": {parser: runner, seen: runs("a+"), status: round.StatusInvalid, counts: "1/2", rate: .5},
		"an early exit with a manifest":         {parser: runner, expect: "a b", seen: runs("a+"), status: round.StatusOK, valid: true, counts: "1/2", rate: .5},
		"success without the runner's summary":  {parser: runner, expect: "a", seen: runs("a+"), status: round.StatusOK, valid: true, counts: "1/2", rate: .5},
		"out of memory":                         {parser: runner, expect: "a b", seen: runs("a+"), exit: 137, oom: true, status: round.StatusInvalid, counts: "1/2", rate: .5},
		"passed, but exit code 3":               {parser: runner, seen: runs("a+ ."), exit: 3, status: round.StatusInvalid, counts: "1/2", rate: .5},
		"a format without runner may exit 3":    {parser: format, seen: runs("a+ ."), exit: 3, status: round.StatusOK, valid: true, counts: "1/1", rate: 1},

		"armed and sound":                     {parser: runner, canary: canary, seen: runs("a+ P+ F- ."), exit: 1, status: round.StatusOK, valid: true, counts: "1/1", rate: 1},
		"armed, and a test fails":             {parser: runner, canary: canary, seen: runs("a- P+ F- ."), exit: 1, status: round.StatusOK, valid: true, counts: "0/1", rate: 0},
		"the test that must fail passed":      {parser: runner, canary: canary, seen: runs("a+ P+ F+ ."), status: round.StatusTampered, counts: "1/1"},
		"the test that must fail was skipped": {parser: runner, canary: canary, seen: runs("a+ P+ F~ ."), status: round.StatusTampered, counts: "1/1"},
		"the test that must pass failed":      {parser: runner, canary: canary, seen: runs("a+ P- F- ."), exit: 1, status: round.StatusTampered, counts: "1/1"},
		"the added tests are gone":            {parser: runner, canary: canary, seen: runs("a+ ."), status: round.StatusTampered, counts: "1/1"},
		"success after a failing test":        {parser: runner, canary: canary, seen: runs("a+ P+ F- ."), exit: 0, status: round.StatusTampered, counts: "1/1"},
		"a crash is no tampering":             {parser: runner, canary: canary, expect: "a b", seen: runs("a+"), exit: 139, status: round.StatusOK, valid: true, counts: "1/2", rate: .5},

		"nothing understood":                {parser: format, seen: runs("."), status: round.StatusInvalid},
		"nothing of the manifest seen":      {parser: runner, expect: "a b", seen: runs("."), exit: 2, status: round.StatusOK, valid: true, counts: "0/2"},
		"a score alone":                     {parser: format, seen: scored(runs("."), 7), status: round.StatusOK, valid: true},
		"the grader says invalid":           {parser: format, seen: denied(runs("a+ .")), status: round.StatusOK, counts: "1/1", rate: 1},
		"a stated rate":                     {parser: format, seen: stated(runs("."), .75), status: round.StatusOK, valid: true, rate: .75},
		"a stated rate against the tests":   {parser: format, seen: stated(runs("a+ b- ."), 1), status: round.StatusOK, valid: true, counts: "1/2", rate: .5},
		"a stated rate above the manifest":  {parser: format, expect: "a b", seen: stated(runs("a+ ."), 1), status: round.StatusOK, valid: true, counts: "1/2", rate: .5},
		"a rate beyond all":                 {parser: format, seen: stated(runs("."), 99), status: round.StatusOK, valid: true, rate: 1},
		"exit code 0":                       {parser: code, seen: runs("exit_code+ ."), status: round.StatusOK, valid: true, counts: "1/1", rate: 1},
		"a command that is not there":       {parser: code, seen: runs("exit_code- ."), exit: 127, status: round.StatusInvalid, notRun: true},
		"nor for a runner":                  {parser: runner, expect: "a", seen: runs(""), exit: 127, status: round.StatusInvalid, notRun: true},
		"nor one of which a parser says so": {parser: runner, seen: parser.Result{Problem: "no test result found"}, exit: 127, status: round.StatusInvalid, notRun: true},
		"a command that cannot be executed": {parser: runner, noStart: "no such file", status: round.StatusInvalid, notRun: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tk := task.Task{Judge: task.Judge{Parser: tc.parser.Name, Expect: strings.Fields(tc.expect)}}
			r := Verdict(tk, Observation{
				Parser: tc.parser, Canary: tc.canary, Result: tc.seen, Exit: tc.exit,
				TimedOut: tc.timeout, OOM: tc.oom, NoStart: tc.noStart,
			})
			if tc.counts == "" {
				tc.counts = "0/0"
			}
			got := strings.Split(outline(&round.Report{Passed: r.Passed, TotalTests: r.TotalTests}), " ")[0]
			if r.Status != tc.status || r.Valid != tc.valid || got != tc.counts || r.PassRate != tc.rate || r.NotRun != tc.notRun {
				t.Errorf("got %s valid=%t %s rate=%v notRun=%t, want %s valid=%t %s rate=%v notRun=%t (problem: %s)",
					r.Status, r.Valid, got, r.PassRate, r.NotRun, tc.status, tc.valid, tc.counts, tc.rate, tc.notRun, r.Problem)
			}
			if r.NotRun && tc.exit == 127 && !strings.HasPrefix(r.Problem, "the judge command could not be run (exit code 127): ") {
				t.Errorf("the cause is not what is said first: %q", r.Problem)
			}
			if r.Tampered != (r.Status == round.StatusTampered) {
				t.Errorf("tampered is %t at status %s", r.Tampered, r.Status)
			}
			if (r.Status != round.StatusOK) != (r.Problem != "") && tc.expect == "" {
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
		r := Verdict(tk, Observation{Parser: p, Result: p.Parse(parser.Input{TimedOut: true}), TimedOut: true})
		if r.Status != round.StatusTimeout || r.Problem != want {
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
	r := Verdict(tk, Observation{Parser: parser.Parser{Name: "pytest"}, Result: runs("a+ x- ."), Exit: 1})
	if r.TotalTests != 2 || r.Passed != 1 {
		t.Errorf("counted %d/%d, want 1/2", r.Passed, r.TotalTests)
	}
}

func TestNothingInfiniteGetsIntoAReport(t *testing.T) {
	seen := runs("a+ .")
	seen.Score, seen.PassRate = new(math.Inf(1)), new(math.NaN())
	seen.Metrics = map[string]float64{"nan": math.NaN(), "fine": 1}
	seen.Tests[0].Score = new(math.Inf(-1))
	r := Verdict(task.Task{}, Observation{Parser: parser.Parser{Name: "structured_json"}, Result: seen})
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
		r := Verdict(tk, Observation{Parser: parser.Parser{Name: "structured_json"}, Result: tc.seen, TimedOut: tc.timeout})
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
	entry := func(n int, seen parser.Result) round.Submission {
		r := Verdict(task.Task{}, Observation{Parser: format, Result: seen})
		return round.Submission{Number: n, Kind: round.KindAgent, State: round.StateJudged, Report: &r}
	}
	rounds := []round.Submission{
		entry(0, denied(stated(scored(runs("."), 99), 1))), entry(1, denied(stated(scored(runs("."), -99), 1))),
		entry(2, stated(scored(runs("."), -3), .5)), entry(3, stated(scored(runs("."), 7), .5)), entry(4, stated(scored(runs("."), math.NaN()), .5)),
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
	entry := func(rate float64, score *float64, spoil ...func(*round.Report)) round.Submission {
		r := &round.Report{Status: round.StatusOK, Valid: true, PassRate: rate, Score: score}
		for _, s := range spoil {
			s(r)
		}
		return round.Submission{State: round.StateJudged, Report: r}
	}
	invalid := func(r *round.Report) { r.Status, r.Valid = round.StatusInvalid, false }
	tampered := func(r *round.Report) { r.Status, r.Valid, r.Tampered = round.StatusTampered, false, true }
	errored := func(r *round.Report) { r.Status = round.StatusError }
	private := func(s round.Submission) round.Submission { s.Kind = round.KindPrivate; return s }
	tests := map[string]struct {
		judge  task.Judge
		rounds []round.Submission
		want   int // -1: none
	}{
		"none":                           {task.Judge{}, nil, -1},
		"not judged yet":                 {task.Judge{}, []round.Submission{{State: round.StateRunning}}, -1},
		"the higher rate":                {task.Judge{}, []round.Submission{entry(.5, nil), entry(.7, nil), entry(.6, nil)}, 1},
		"all at zero":                    {task.Judge{}, []round.Submission{entry(0, nil), entry(0, nil)}, 0},
		"ties below one go by score":     {task.Judge{}, []round.Submission{entry(.5, new(1.)), entry(.5, new(2.)), entry(.5, nil)}, 1},
		"by direction":                   {task.Judge{Direction: "minimize"}, []round.Submission{entry(.5, new(1.)), entry(.5, new(2.)), entry(.5, nil)}, 0},
		"then the earliest":              {task.Judge{}, []round.Submission{entry(1, new(2.)), entry(1, new(2.))}, 0},
		"invalid never wins":             {task.Judge{}, []round.Submission{entry(.1, nil), entry(1, nil, invalid), entry(1, nil, tampered), entry(1, nil, errored)}, 0},
		"no best where nothing is valid": {task.Judge{}, []round.Submission{entry(1, nil, invalid)}, -1},
		"score first":                    {task.Judge{Select: "score_first"}, []round.Submission{entry(1, new(1.)), entry(.1, new(9.)), entry(1, nil)}, 1},
		"no score at all goes by rate":   {task.Judge{Select: "score_first"}, []round.Submission{entry(.5, nil), entry(1, nil), entry(1, nil, invalid)}, 1},
		"equal scores go by rate":        {task.Judge{Select: "score_first"}, []round.Submission{entry(.1, new(9.)), entry(.2, new(9.))}, 1},
		"negative scores, to be minimal": {task.Judge{Select: "valid_then_score", Direction: "minimize"}, []round.Submission{entry(1, new(-1.)), entry(1, new(-5.))}, 1},
		"the private set is no round":    {task.Judge{}, []round.Submission{entry(.5, nil), private(entry(1, nil))}, 0},
		"lower scores, rate first":       {task.Judge{Select: "pass_rate_first", Direction: "minimize"}, []round.Submission{entry(.5, new(4.)), entry(.5, new(3.)), entry(.4, new(1.))}, 1},
		"lower scores, score first":      {task.Judge{Select: "score_first", Direction: "minimize"}, []round.Submission{entry(.5, new(4.)), entry(.5, new(3.)), entry(.4, new(1.))}, 2},
		"an invalid round has no score":  {task.Judge{Select: "valid_then_score"}, []round.Submission{entry(1, new(9.), invalid), entry(1, new(1.))}, 1},
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

// A manifest of other names than the runner's is a mistake of the task's author, and told.
func TestAManifestOfOtherNamesIsTold(t *testing.T) {
	tk := task.Task{Judge: task.Judge{Command: task.Command{Shell: "x"}, Parser: "tap", Expect: []string{"a", "b"}}}
	for name, want := range map[string]bool{"1 a": true, "a": false} {
		o := Observation{Result: parser.Result{Tests: []parser.Test{{Name: name, Status: parser.Passed}}, Complete: true}}
		if r := Verdict(tk, o); strings.Contains(r.Problem, "none of the 2 expected tests was seen") != want {
			t.Errorf("%q: %s", name, r.Problem)
		}
	}
}
