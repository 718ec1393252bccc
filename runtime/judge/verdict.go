package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/task"
)

// observation is all that was seen of one run of a judge command.
type observation struct {
	parser   parser.Parser
	wire     *parser.Tripwire // nil = not armed
	result   parser.Result
	exit     int
	timedOut bool
	running  string // the test that had begun and not ended when the time was over; "" = not known
	oom      bool
	overfull string       // how the command went beyond its disk limit; "" = it did not
	noStart  string       // why the command could not be started; "" = it was
	lastLine string       // of the output
	cut      bool         // a part of the output that the parser reads is missing
	starts   int          // times that the command starts the parser's runner; 0 = not known
	run      *observation // of the stage that made what was graded; nil = there is none

	// expects says of a test whether the judge's files may have it fail; nil = of any.
	expects func(name string) bool
	// elsewhere says of a test whether the judge has it in another place than the name; nil = of none.
	elsewhere func(name string) bool
}

// verdict says what an observation is worth. Whatever is missing, late or contradictory
// counts against the submission; it never lets a cut output score as a whole one.
func verdict(t task.Task, o observation) Report {
	v := &weighing{task: t, seen: o, report: Report{
		Status: StatusOK, Valid: true, ExitCode: o.exit, Isolation: isolation(t),
		Score: finite(o.result.Score), Summary: clip(o.result.Summary, 4096), Metrics: finiteMetrics(o.result.Metrics),
	}}
	if o.timedOut { // which is told with the limit
		o.result.Problem = without(o.result.Problem, "the command ran out of time")
	}
	v.problem(o.result.Problem)
	if v.neverStarted() {
		return v.report
	}
	tests, tampered := v.checkTripwire()
	if o.expects != nil {
		tests = expectable(tests, o.expects)
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
		v.report.Status, v.report.Tampered, v.report.Valid, v.report.PassRate = StatusTampered, true, false, 0
		v.report.Score = nil
		v.problem("the test run was tampered with: " + tampered)
	}
	if v.report.Valid {
		v.report.Score100 = rescale(t.Judge.Rescale, v.report.Score)
	}
	return v.report
}

// weighing is a verdict in the making.
type weighing struct {
	task   task.Task
	seen   observation
	report Report
	others int // tests outside of the manifest that did not pass
}

func (v *weighing) problem(text string) {
	if text == "" {
		return
	}
	if v.report.Problem != "" {
		v.report.Problem += "; "
	}
	v.report.Problem += clip(text, 1000)
}

// spoil makes the report an invalid one.
func (v *weighing) spoil(problem string) {
	v.report.Status, v.report.Valid = StatusInvalid, false
	v.problem(problem)
}

// neverStarted recognises a judge command that is not in the image.
func (v *weighing) neverStarted() bool {
	o := v.seen
	onlyCode := o.parser.Name == "exit_code"
	switch {
	case o.noStart != "":
		v.spoil("the judge command could not be started: " + o.noStart)
	case !o.timedOut && (o.exit == 126 || o.exit == 127) && (len(o.result.Tests) == 0 || onlyCode):
		v.report.Problem = "" // of the parser, which had nothing to read
		v.spoil(fmt.Sprintf("the judge command could not be run (exit code %d): %s; write a command that the judge image has, or install it with judge.setup", o.exit, o.lastLine))
	default:
		return false
	}
	v.report.Score, v.report.NotRun, v.report.Summary = nil, true, "no tests were run"
	return true
}

// checkTripwire takes the two added tests out and says how they betray tampering.
func (v *weighing) checkTripwire() (tests []parser.Test, tampered string) {
	o := v.seen
	if o.wire == nil {
		return o.result.Tests, ""
	}
	tests, tampered = o.wire.Check(o.result)
	failing := slices.ContainsFunc(o.result.Tests, func(t parser.Test) bool {
		return o.wire.MustFail(t.Name) && (t.Status == parser.Failed || t.Status == parser.Errored)
	})
	if tampered == "" && failing && o.wire.ExitCode != 0 && o.exit == 0 && !o.timedOut {
		tampered = "the runner reported a failing test and then success"
	}
	return tests, tampered
}

// count fills in the totals. With a manifest they are about its tests and no others, and
// one that was not seen has failed.
func (v *weighing) count(tests []parser.Test) {
	expected := manifest(v.task)
	if len(expected) == 0 {
		for _, t := range tests {
			v.tell(t.Status)
		}
		v.report.Tests = bounded(tests)
		return
	}
	v.report.Unseen = len(tests) == 0 && !v.seen.timedOut && !v.seen.oom && v.seen.overfull == ""
	tests = named(tests, expected, v.seen.elsewhere)
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
			t = parser.Test{Name: name, Status: parser.Failed, Message: unseen}
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

func (v *weighing) tell(s parser.Status) {
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
func (v *weighing) rate() {
	r := &v.report
	fraction := 0.0
	if r.TotalTests > 0 {
		fraction = float64(r.Passed) / float64(r.TotalTests)
	}
	r.PassRate = fraction
	stated := finite(v.seen.result.PassRate)
	if stated == nil {
		return
	}
	rate := min(max(*stated, 0), 1)
	switch {
	case len(manifest(v.task)) > 0:
		r.PassRate = min(rate, fraction)
	case rate == 1 && r.Passed < r.TotalTests:
	default:
		r.PassRate = rate
	}
}

// missing counts one test more that did not pass, for the tests that nobody saw.
func (v *weighing) missing() {
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

// limitOf is a time limit as a spec writes it.
func limitOf(d time.Duration) string {
	text := cmp.Or(d, defaultTimeout).String()
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
func (v *weighing) checkEnd() {
	o := v.seen
	known := len(manifest(v.task)) > 0
	switch {
	case o.timedOut:
		v.report.Status = StatusTimeout
		why := "the judge command did not end within " + limitOf(v.task.Judge.Timeout)
		if o.running != "" {
			why += "; the test " + o.running + " had begun, and not ended"
		}
		v.problem(why)
	case o.oom:
		v.spoil("the judge command was killed: it ran out of memory")
	case o.overfull != "":
		v.spoil("the judge command was killed for its disk limit: " + o.overfull)
	case o.result.Complete:
		return
	case len(o.result.Tests) > 0 && o.result.Problem == "":
		v.problem("the run did not come to its end")
	}
	v.report.Score = nil
	if !known {
		v.report.Valid = false
		if v.report.Status == StatusOK {
			v.report.Status = StatusInvalid
		}
	}
	if !known || v.report.PassRate == 1 {
		v.missing()
	}
}

// checkExit holds the exit code of a test runner against its words.
func (v *weighing) checkExit() {
	o, r := v.seen, &v.report
	if o.parser.Tripwire == nil || r.PassRate < 1 || r.Status != StatusOK {
		return
	}
	switch {
	case o.exit == 0, o.wire != nil && o.exit == o.wire.ExitCode:
	case v.others > 0 && o.exit < 126:
	default:
		v.missing()
		v.spoil(fmt.Sprintf("all tests passed, but the exit code is %d", o.exit))
	}
}

// checkRun holds against a submission that its run did not come to a good end. What it left
// was graded all the same; but it never counts as a full success, and only that of a run
// out of time counts at all.
func (v *weighing) checkRun() {
	run, r := v.seen.run, &v.report
	switch {
	case run == nil:
		return
	case run.timedOut:
		limit := v.task.Judge.Timeout
		if stage := v.task.Judge.Run; stage != nil {
			limit = stage.Timeout
		}
		v.problem("the run did not end within " + limitOf(limit))
		if r.PassRate == 1 {
			v.missing()
		}
		if r.Status == StatusOK {
			r.Status = StatusTimeout
		}
	case run.oom:
		v.spoil("the run was killed: it ran out of memory")
	case run.overfull != "":
		v.spoil("the run was killed for its disk limit: " + run.overfull)
	case run.exit != 0:
		v.spoil(fmt.Sprintf("the run ended with exit code %d: %s", run.exit, run.lastLine))
	default:
		return
	}
	r.ExitCode = run.exit
}

// checkUsable deals with runs that say nothing, and with graders that say "invalid".
func (v *weighing) checkUsable(tests []parser.Test) {
	o, r := v.seen, &v.report
	nothing := len(tests) == 0 && o.result.Score == nil && o.result.PassRate == nil && o.result.Valid == nil
	if nothing && len(manifest(v.task)) == 0 && r.Status == StatusOK {
		v.spoil("the output holds no result that the parser understands")
	}
	if o.result.Valid != nil && !*o.result.Valid {
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
func (v *weighing) failed() string {
	declared := map[string]bool{}
	for _, name := range manifest(v.task) {
		declared[name] = true
	}
	var names []string
	for _, t := range v.report.Tests {
		passed := t.Status == parser.Passed || t.Status == parser.Skipped && len(declared) == 0
		if passed || len(declared) > 0 && !declared[t.Name] {
			continue
		}
		if names = append(names, clip(t.Name, feedbackName)); len(names) == summaryNames {
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
