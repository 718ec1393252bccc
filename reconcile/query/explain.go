package query

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/hold"
	"github.com/assayd/assayd/reconcile/plan"
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

// Standing is where the latest execution of a run stands.
type Standing struct {
	State     string // as in RunStatus
	Note      string // what it waits for
	Execution int    // 0 = none has begun
	Wanted    int    // cells
	Cells     map[string]int
	CostUSD   float64   // of models, for cells that are done
	Began     time.Time // the execution
	Holds     hold.Set  // that it is under
	Paused    bool      // its file holds it back
	Left      *Left     // of its budget; nil = it has none
	AtLimit   string    // what happens when that is used up
}

// Explain says in words how a run stands: what is done, what it waits for, when it will end and what it will cost at this
// pace, what looks wrong, and what to do.
func Explain(run Standing, now time.Time) (all []Finding) {
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
		return append(all, run.held()...)
	}
	done, working, judged, waits := run.tally()
	text := fmt.Sprintf("%d of %s done", done, some(max(run.Wanted, done), "cell is", "cells are"))
	if working > 0 {
		text += ", " + some(working, "works", "work")
	}
	if judged > 0 {
		text += ", " + some(judged, "is judged", "are judged")
	}
	if waits > 0 {
		text += ", " + some(waits, "waits", "wait") + because(run.Note)
	}
	add("info", "", "%s.", text)
	all = append(all, run.held()...)
	if run.Left != nil && run.State == "running" {
		then := "trials that have not begun are cancelled when it is used up"
		if run.AtLimit == config.AtLimitHold {
			then = "trials that have not begun wait, when it is used up, until budget.total in its file is raised"
		}
		add("info", "", "Of its budget %s are left; %s.", run.Left, then)
	}
	left := working + judged + waits
	if run.State == "running" && done >= fewToJudge && left > 0 && !run.Began.IsZero() {
		each := now.Sub(run.Began) / time.Duration(done)
		ends := now.Add(each * time.Duration(left))
		add("info", "", "At the pace so far it ends about %s; that is the mean of %d cells, and no promise.", plan.Stamp(ends.UTC()), done)
		if run.CostUSD > 0 {
			mean := run.CostUSD / float64(done)
			add("info", "", "Models have cost $%.2f; at $%.2f a trial all of it will cost about $%.2f.", run.CostUSD, mean, mean*float64(done+left))
		}
	}
	return append(all, suspicious(run.Cells, done)...)
}

// held says what holds the run back, and how that ends.
func (run Standing) held() (all []Finding) {
	if run.Paused {
		all = append(all, Finding{"info", "Nothing of it begins: " + plan.PausedInFile + ".", "remove paused from its file to have it go on"})
	}
	for _, h := range run.Holds {
		lifts := "assayd resume " + h.Target + " lifts that"
		switch h.Kind {
		case hold.Throttle:
			lifts = "assayd throttle " + h.Target + " off lifts that"
		case hold.Budget:
			lifts = "to go on before, raise budget in the settings"
		}
		all = append(all, Finding{"info", h.String() + ".", lifts})
	}
	return all
}

func because(note string) string {
	if note == "" {
		return ""
	}
	note = strings.TrimSuffix(note, ".")
	if strings.HasPrefix(note, plan.HeldBack) {
		return " because of a hold"
	}
	if what, is := strings.CutPrefix(note, "waits for "); is {
		return " for " + what
	}
	return ": " + note
}

// some is a number with what one does, or several do.
func some(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}

// Open reports whether a cell in that state has no outcome yet.
func Open(state string) bool {
	return state == stateWaiting || slices.Contains(history.OpenStates, state)
}

// stateWaiting is the state of cells that have not begun.
const stateWaiting = "waiting"

// Done is how many cells have an outcome, of counts by state.
func Done(cells map[string]int) (n int) {
	for state, cells := range cells {
		if !Open(state) && state != history.StateSuperseded {
			n += cells
		}
	}
	return n
}

// tally sums up the states of cells.
func (run Standing) tally() (done, working, judged, waits int) {
	c := run.Cells
	done, working, judged = Done(c), c[history.StateSetup]+c[history.StateWorking], c[history.StateJudging]
	waits = c[history.StateRetrying] + c[stateWaiting]
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
		{trial.SetupError, "could not be set up", "the detail of one of them says what the image or the agent lacks"},
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

// explain fills in how the run stands, in words.
func (run *RunStatus) explain(now time.Time) {
	s := Standing{State: run.State, Note: run.Note, Execution: run.Execution, Wanted: run.Wanted, Cells: run.Cells, Began: run.Began, Holds: run.Holds, Paused: run.Paused, Left: run.Left, AtLimit: run.AtLimit}
	if run.Summary != nil {
		s.CostUSD = run.Summary.Usage.CostUSD
	}
	run.Findings = Explain(s, now)
}
