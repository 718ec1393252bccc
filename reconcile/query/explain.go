package query

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/summary"
	"github.com/assayd/assayd/runtime/trial"
)

// Finding is a sentence about a run: how it stands, what it waits for, or what looks wrong.
type Finding struct {
	Severity string `json:"severity"` // info, warning
	Text     string `json:"text"`
	Advice   string `json:"advice,omitempty"` // what to do
}

// When a share of trials that were lost to the machine is worth a word.
const (
	manyLost   = 0.05
	fewToJudge = 5 // outcomes, of which nothing is foretold
)

// Explain says in words how the latest execution of a run stands: what is done, what it waits for, when it will end and
// what it will cost at this pace, what looks wrong, and what to do. Counts are those of its cells; the report is nil while
// nothing is over; began is when the execution did.
func Explain(run RunInfo, counts map[string]int, report *summary.Report, began, now time.Time) (all []Finding) {
	add := func(severity, advice, format string, args ...any) {
		all = append(all, Finding{severity, fmt.Sprintf(format, args...), advice})
	}
	if run.Execution == 0 {
		switch run.State {
		case "blocked":
			add("warning", "", "It cannot begin: %s.", strings.TrimSuffix(run.Note, "."))
		default:
			add("info", "", "It has not begun%s.", because(run.Note))
		}
		return all
	}
	done, working, judged, waits := tally(run, counts)
	text := fmt.Sprintf("%d of %d cells are done", done, max(run.Wanted, done))
	if working > 0 {
		text += fmt.Sprintf(", %d work", working)
	}
	if judged > 0 {
		text += fmt.Sprintf(", %d are judged", judged)
	}
	if waits > 0 {
		text += fmt.Sprintf(", %d wait%s", waits, because(run.Note))
	}
	add("info", "", "%s.", text)
	left := working + judged + waits
	if run.State == "running" && done >= fewToJudge && left > 0 && !began.IsZero() {
		each := now.Sub(began) / time.Duration(done)
		ends := now.Add(each * time.Duration(left))
		add("info", "", "At the pace so far it ends about %s; that is the mean of %d cells, and no promise.", plan.Stamp(ends.UTC()), done)
		if report != nil && report.Summary.Usage.CostUSD > 0 && report.Summary.Total > 0 {
			mean := report.Summary.Usage.CostUSD / float64(report.Summary.Total)
			add("info", "", "Models have cost $%.2f; at $%.2f a trial all of it will cost about $%.2f.", report.Summary.Usage.CostUSD, mean, mean*float64(done+left))
		}
	}
	return append(all, suspicious(counts, done)...)
}

func because(note string) string {
	if note == "" {
		return ""
	}
	return ": " + strings.TrimSuffix(note, ".")
}

// tally sums up the states of cells.
func tally(run RunInfo, counts map[string]int) (done, working, judged, waits int) {
	for state, n := range counts {
		switch state {
		case history.StateSuperseded:
		case history.StateSetup, history.StateWorking:
			working += n
		case history.StateJudging:
			judged += n
		case history.StateRetrying, "waiting":
			waits += n
		default:
			done += n
		}
	}
	if missing := run.Wanted - done - working - judged - waits; missing > 0 && run.State == "running" {
		waits += missing
	}
	return done, working, judged, waits
}

// suspicious says what of the outcomes looks wrong.
func suspicious(counts map[string]int, done int) (all []Finding) {
	for _, s := range []struct {
		status trial.Status
		text   string
		advice string
	}{
		{trial.InfraError, "were lost to the machine or the model provider", "look at the reasons below, then at assayd doctor; assayd retry gives them another try"},
		{trial.SetupError, "could not be set up", "the detail of one of them says what is missing in the image or the agent"},
		{trial.SanityFail, "have a task that does not judge its own reference as it should", "check the task: assayd task check"},
		{trial.AgentError, "ended because the agent failed", "look at the log of one of them"},
		{trial.TestError, "have a judge command that did not run to its end", "look at the output of one of their rounds"},
	} {
		n := counts[string(s.status)]
		if n == 0 || float64(n) < manyLost*float64(cmp.Or(done, 1)) {
			continue
		}
		all = append(all, Finding{"warning", fmt.Sprintf("%d of %d trials %s (%s).", n, done, s.text, s.status), s.advice})
	}
	return all
}
