package reconcile

import (
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/trial"
)

// A summary that took long is told again while the run goes on, with the time when it was made; of a
// run that is over it is of all trials.
func TestALongSummaryIsToldAgainForAWhile(t *testing.T) {
	outcomes := []Outcome{{Finished: trial.Finished{Trial: "r.e1.a", Try: 1, Status: trial.Resolved}}, {Finished: trial.Finished{Trial: "r.e1.b", Try: 1, Status: trial.Resolved}}}
	former := madeSummary{of: summed(1, outcomes[:1]), at: time.Now(), took: time.Hour, summary: Summarize(outcomes[:1])}
	for _, tt := range []struct {
		name     string
		state    string
		outcomes []Outcome
		execution,
		total int
		ago bool
	}{
		{"nothing has ended since", "running", outcomes[:1], 1, 1, false},
		{"a trial has ended since", "running", outcomes, 1, 1, true},
		{"the run is over", "finished", outcomes, 1, 2, false},
		{"another execution is over", "finished", outcomes[:1], 2, 1, false},
	} {
		k := summaries{made: map[string]madeSummary{"run.r": former}}
		got, at := k.of(&RunStatus{Address: "run.r", State: tt.state, Execution: tt.execution, outcomes: tt.outcomes})
		if got.Total != tt.total || at.IsZero() == tt.ago {
			t.Errorf("%s: a summary of %d trials, made %s", tt.name, got.Total, at)
		}
	}
	k := summaries{}
	if got, _ := k.of(&RunStatus{Address: "run.r", Execution: 1}); got != nil {
		t.Error("of no trial there is a summary")
	}
	if got, _ := k.of(&RunStatus{Address: "run.r", Execution: 1, outcomes: outcomes}); got.Total != 2 || len(k.made) != 0 && k.made["run.r"].took < summaryLong {
		t.Errorf("%+v is kept", k.made)
	}
	for i := range summariesMax {
		former.took = time.Hour
		if k.made == nil {
			k.made = map[string]madeSummary{}
		}
		k.made[string(rune('a'+i))] = former
	}
	k.made["run.r"] = former
	k.of(&RunStatus{Address: "run.r", State: "finished", Execution: 1, outcomes: outcomes})
	if len(k.made) > summariesMax {
		t.Errorf("%d summaries are kept", len(k.made))
	}
}
