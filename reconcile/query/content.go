package query

import (
	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
)

// muted is a report without what tests wrote; its counts and numbers stay.
func muted(r *round.Report) *round.Report {
	if r == nil {
		return nil
	}
	m := *r
	m.Summary, m.Problem, m.Output, m.Outputs = "", "", "", ""
	m.Tests, m.Metrics, m.Expected = nil, nil, nil
	return &m
}

func muteRounds(rounds []Round) {
	for i := range rounds {
		rounds[i].Report = muted(rounds[i].Report)
	}
}

// mute leaves out content.
func (t *TrialStatus) mute() {
	t.Detail = ""
	if t.Extended != nil {
		later := *t.Extended
		later.Detail, t.Extended = "", &later
	}
	muteRounds(t.Rounds)
	muteRounds(t.Private)
	if t.Decoys != nil {
		d := *t.Decoys
		d.Rounds, d.Unchecked, d.Flaky = nil, nil, nil
		t.Decoys = &d
	}
}

// mute leaves out content of all trials, and names of files that tasks are made of.
func (s *Status) mute() {
	s.Diagnostics = mutedDiagnostics(s.Diagnostics)
	for i := range s.Runs {
		run := &s.Runs[i]
		run.Notes = nil // a note may quote something
		run.Stale, run.Differs = mutedStale(run.Stale), mutedStale(run.Differs)
		for j := range run.Trials {
			run.Trials[j].mute()
		}
	}
}

func mutedStale(s *plan.Stale) *plan.Stale {
	if s == nil {
		return nil
	}
	return &plan.Stale{Files: []string{}, Tasks: s.Tasks}
}

// mutedDiagnostics leave out what they quote of a file: hidden tests may stand in it.
func mutedDiagnostics(ds config.Diagnostics) config.Diagnostics {
	muted := make(config.Diagnostics, len(ds))
	for i, d := range ds {
		d.Snippet, d.Detail = "", ""
		muted[i] = d
	}
	return muted
}

// muteTests leaves out names and words of tests; which of them passed stays.
func muteTests(tests []TestInfo) {
	for i := range tests {
		tests[i].Test = parser.Test{Status: tests[i].Status}
	}
}
