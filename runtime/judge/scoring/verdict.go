package scoring

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

// Verdict says what an observation is worth. Whatever is missing, late or contradictory
// counts against the submission; it never lets a cut output score as a whole one.
func Verdict(t task.Task, o Observation) round.Report {
	v := &verdictBuilder{task: t, seen: o, report: round.Report{
		Status: round.StatusOK, Valid: true, ExitCode: o.Exit, Isolation: Isolation(t),
		Score: finite(o.Result.Score), Summary: round.Clip(o.Result.Summary, 4096), Metrics: finiteMetrics(o.Result.Metrics),
	}}
	if o.TimedOut { // which is told with the limit
		o.Result.Problem = without(o.Result.Problem, "the command ran out of time")
	}
	v.problem(o.Result.Problem)
	if v.neverStarted() {
		return v.report
	}
	tests, tampered := v.checkTripwire()
	if o.Expects != nil {
		tests = expectable(tests, o.Expects)
	}
	v.report.Expected = expectedOf(tests)
	v.count(tests)
	v.rate()
	v.checkEnd()
	v.checkExit()
	v.checkUsable(tests)
	v.checkOutput()
	v.checkRun()
	if tampered != "" {
		v.report.Status, v.report.Tampered, v.report.Valid, v.report.PassRate = round.StatusTampered, true, false, 0
		v.report.Score = nil
		v.problem("the test run was tampered with: " + tampered)
	}
	if v.report.Valid {
		v.report.Score100 = Rescale(t.Judge.Rescale, v.report.Score)
	}
	return v.report
}

// verdictBuilder is a verdict in the making.
type verdictBuilder struct {
	task   task.Task
	seen   Observation
	report round.Report
	others int // tests outside of the manifest that did not pass
}

func (v *verdictBuilder) problem(text string) {
	if text == "" {
		return
	}
	if v.report.Problem != "" {
		v.report.Problem += "; "
	}
	v.report.Problem += round.Clip(text, 1000)
}

// spoil makes the report an invalid one.
func (v *verdictBuilder) spoil(problem string) {
	v.report.Status, v.report.Valid = round.StatusInvalid, false
	v.problem(problem)
}

// neverStarted recognises a judge command that is not in the image.
func (v *verdictBuilder) neverStarted() bool {
	o := v.seen
	onlyCode := o.Parser.Name == "exit_code"
	switch {
	case o.NoStart != "":
		v.spoil("the judge command could not be started: " + o.NoStart)
	case !o.TimedOut && (o.Exit == 126 || o.Exit == 127) && (len(o.Result.Tests) == 0 || onlyCode):
		v.report.Problem = "" // of the parser, which had nothing to read
		v.spoil(fmt.Sprintf("the judge command could not be run (exit code %d): %s; write a command that the judge image has, or install it with judge.setup", o.Exit, o.LastLine))
	default:
		return false
	}
	v.report.Score, v.report.NotRun, v.report.Summary = nil, true, "no tests were run"
	return true
}

// checkTripwire takes the two added tests out and says how they betray tampering.
func (v *verdictBuilder) checkTripwire() (tests []parser.Test, tampered string) {
	o := v.seen
	if o.Canary == nil {
		return o.Result.Tests, ""
	}
	tests, tampered = o.Canary.Check(o.Result)
	failing := slices.ContainsFunc(o.Result.Tests, func(t parser.Test) bool {
		return o.Canary.MustFail(t.Name) && (t.Status == parser.Failed || t.Status == parser.Errored)
	})
	if tampered == "" && failing && o.Canary.ExitCode != 0 && o.Exit == 0 && !o.TimedOut {
		tampered = "the runner reported a failing test and then success"
	}
	return tests, tampered
}

// count fills in the totals. With a manifest they are about its tests and no others, and
// one that was not seen has failed.
func (v *verdictBuilder) count(tests []parser.Test) {
	expected := DeclaredTests(v.task)
	if len(expected) == 0 {
		for _, t := range tests {
			v.tell(t.Status)
		}
		v.report.Tests = bounded(tests)
		return
	}
	v.report.Unseen = len(tests) == 0 && !v.seen.TimedOut && !v.seen.OOM && v.seen.Overfull == ""
	tests = named(tests, expected, v.seen.Elsewhere)
	worst := worstOf(tests, expected)
	if len(tests) > 0 && !slices.ContainsFunc(expected, func(name string) bool { _, seen := worst[name]; return seen }) {
		v.problem(fmt.Sprintf("none of the %d expected tests was seen; the output names others", len(expected)))
	}
	listed := make([]parser.Test, 0, len(expected))
	for _, name := range expected {
		t, ok := worst[name]
		if ok && severity(t.Status) < 0 {
			continue // named twice
		}
		if !ok {
			t = parser.Test{Name: name, Status: parser.Failed, Message: Unseen}
		}
		worst[name] = parser.Test{Status: counted}
		if t.Status == parser.Skipped {
			v.tell(parser.Failed) // a declared test has to pass
		} else {
			v.tell(t.Status)
		}
		listed = append(listed, t)
	}
	for _, t := range tests {
		if worst[t.Name].Status == counted {
			continue
		}
		if t.Status == parser.Failed || t.Status == parser.Errored {
			v.others++
		}
		listed = append(listed, t)
	}
	v.report.Tests = bounded(listed)
}

// worstOf finds the worst result of each name. A repetition that is not expected counts for
// the name it repeats.
func worstOf(tests []parser.Test, expected []string) map[string]parser.Test {
	declared := map[string]bool{}
	for _, name := range expected {
		declared[name] = true
	}
	worst := map[string]parser.Test{}
	for _, t := range tests {
		if t.Repeats != "" && !declared[t.Name] {
			t.Name = t.Repeats
		}
		if have, ok := worst[t.Name]; !ok || severity(t.Status) > severity(have.Status) {
			worst[t.Name] = t
		}
	}
	return worst
}

// counted marks names of the manifest that are dealt with.
const counted parser.Status = "counted"

func severity(s parser.Status) int {
	return slices.Index([]parser.Status{parser.Passed, parser.Skipped, parser.Errored, parser.Failed}, s)
}

func (v *verdictBuilder) tell(s parser.Status) {
	switch s {
	case parser.Passed:
		v.report.Passed++
	case parser.Failed:
		v.report.Failed++
	case parser.Skipped:
		return
	default:
		v.report.Errors++
	}
	v.report.TotalTests++
}

// rate sets the pass rate. A rate that the format states by itself holds where it does
// not contradict the tests.
func (v *verdictBuilder) rate() {
	r := &v.report
	fraction := 0.0
	if r.TotalTests > 0 {
		fraction = float64(r.Passed) / float64(r.TotalTests)
	}
	r.PassRate = fraction
	stated := finite(v.seen.Result.PassRate)
	if stated == nil {
		return
	}
	rate := min(max(*stated, 0), 1)
	switch {
	case len(DeclaredTests(v.task)) > 0:
		r.PassRate = min(rate, fraction)
	case rate == 1 && r.Passed < r.TotalTests:
	default:
		r.PassRate = rate
	}
}

// missing counts one test more that did not pass, for the tests that nobody saw.
func (v *verdictBuilder) missing() {
	r := &v.report
	r.Errors++
	r.TotalTests++
	r.PassRate = min(r.PassRate, float64(r.Passed)/float64(r.TotalTests))
}

// without leaves out one of the complaints of a text.
func without(text, complaint string) string {
	all := strings.Split(text, "; ")
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == complaint }), "; ")
}

// DefaultTimeout is a judge command's time where the task names none.
const DefaultTimeout = 10 * time.Minute

// limitOf is a time limit as a spec writes it.
func limitOf(d time.Duration) string {
	text := cmp.Or(d, DefaultTimeout).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// checkEnd deals with runs that did not come to their own end. Without a manifest nobody
// knows how many tests are missing, so that such a result cannot be compared.
func (v *verdictBuilder) checkEnd() {
	o := v.seen
	known := len(DeclaredTests(v.task)) > 0
	switch {
	case o.TimedOut:
		v.report.Status = round.StatusTimeout
		why := "the judge command did not end within " + limitOf(v.task.Judge.Timeout)
		if o.Running != "" {
			why += "; the test " + o.Running + " had begun, and not ended"
		}
		v.problem(why)
	case o.OOM:
		v.spoil("the judge command was killed: it ran out of memory")
	case o.Overfull != "":
		v.spoil("the judge command was killed for its disk limit: " + o.Overfull)
	case o.Result.Complete:
		return
	case len(o.Result.Tests) > 0 && o.Result.Problem == "":
		v.problem("the run did not come to its end")
	}
	v.report.Score = nil
	if !known {
		v.report.Valid = false
		if v.report.Status == round.StatusOK {
			v.report.Status = round.StatusInvalid
		}
	}
	if !known || v.report.PassRate == 1 {
		v.missing()
	}
}

// checkExit holds the exit code of a test runner against its words.
func (v *verdictBuilder) checkExit() {
	o, r := v.seen, &v.report
	if o.Parser.Tripwire == nil || r.PassRate < 1 || r.Status != round.StatusOK {
		return
	}
	switch {
	case o.Exit == 0, o.Canary != nil && o.Exit == o.Canary.ExitCode:
	case v.others > 0 && o.Exit < 126:
	default:
		v.missing()
		v.spoil(fmt.Sprintf("all tests passed, but the exit code is %d", o.Exit))
	}
}

// checkRun holds against a submission that its run did not come to a good end. What it left
// was graded all the same; but it never counts as a full success, and only that of a run
// out of time counts at all.
func (v *verdictBuilder) checkRun() {
	run, r := v.seen.Run, &v.report
	switch {
	case run == nil:
		return
	case run.TimedOut:
		limit := v.task.Judge.Timeout
		if stage := v.task.Judge.Run; stage != nil {
			limit = stage.Timeout
		}
		v.problem("the run did not end within " + limitOf(limit))
		if r.PassRate == 1 {
			v.missing()
		}
		if r.Status == round.StatusOK {
			r.Status = round.StatusTimeout
		}
	case run.OOM:
		v.spoil("the run was killed: it ran out of memory")
	case run.Overfull != "":
		v.spoil("the run was killed for its disk limit: " + run.Overfull)
	case run.Exit != 0:
		v.spoil(fmt.Sprintf("the run ended with exit code %d: %s", run.Exit, run.LastLine))
	default:
		return
	}
	r.ExitCode = run.Exit
}

// checkUsable deals with runs that say nothing, and with graders that say "invalid".
func (v *verdictBuilder) checkUsable(tests []parser.Test) {
	o, r := v.seen, &v.report
	nothing := len(tests) == 0 && o.Result.Score == nil && o.Result.PassRate == nil && o.Result.Valid == nil
	if nothing && len(DeclaredTests(v.task)) == 0 && r.Status == round.StatusOK {
		v.spoil("the output holds no result that the parser understands")
	}
	if o.Result.Valid != nil && !*o.Result.Valid {
		r.Valid = false
	}
	if r.Summary == "" {
		r.Summary = fmt.Sprintf("%d/%d tests passed", r.Passed, r.TotalTests)
		if statusesOnly(v.task) {
			r.Summary += v.failed()
		}
	}
}

// summaryNames is how many failing tests a summary names.
const summaryNames = 10

// failed names tests that did not pass, as the summaries of SForge do; with a manifest no others.
func (v *verdictBuilder) failed() string {
	declared := map[string]bool{}
	for _, name := range DeclaredTests(v.task) {
		declared[name] = true
	}
	var names []string
	for _, t := range v.report.Tests {
		passed := t.Status == parser.Passed || t.Status == parser.Skipped && len(declared) == 0
		if passed || len(declared) > 0 && !declared[t.Name] {
			continue
		}
		if names = append(names, round.Clip(t.Name, feedbackName)); len(names) == summaryNames {
			break
		}
	}
	if len(names) == 0 {
		return ""
	}
	text := ". Failed: " + strings.Join(names, ", ")
	if more := v.report.Failed + v.report.Errors - len(names); more > 0 {
		text += fmt.Sprintf(" (+%d more)", more)
	}
	return text
}

// Isolation says what kept submitted code and answers apart.
func Isolation(t task.Task) string {
	if t.Judge.Staged() {
		return "staged"
	}
	return "shared"
}
