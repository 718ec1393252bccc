package trialview

import (
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

// Mute leaves out content.
func (t *TrialStatus) Mute() {
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

// muteTests leaves out names and words of tests; which of them passed stays.
func muteTests(tests []TestInfo) {
	for i := range tests {
		tests[i].Test = parser.Test{Status: tests[i].Status}
	}
}
