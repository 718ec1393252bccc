package summary

import "github.com/assayd/assayd/runtime/trial"

// DecoySummary says how far the verdicts of an execution were checked by mixed runs.
type DecoySummary struct {
	Trials    int            `json:"trials"`    // that wanted mixed runs
	Knowledge map[string]int `json:"knowledge"` // of them: blind, fed, none
	Reasons   map[string]int `json:"reasons"`   // why there were none
	Tests     int            `json:"tests"`     // of fail_to_pass, each once for each trial with decoys
	Checked   int            `json:"checked"`   // of them, those with a decoy
	Tampered  int            `json:"tampered"`  // trials that mixed runs show to be tampered with
	Unstable  int            `json:"unstable"`
	Passed    int            `json:"decoy_passed"` // trials in which one decoy passed, and no more
}

// decoySummary is nil where no trial wanted mixed runs.
func decoySummary(outcomes []Outcome) *DecoySummary {
	s := &DecoySummary{Knowledge: map[string]int{}, Reasons: map[string]int{}}
	for _, o := range outcomes {
		d := o.Finished.Decoys
		if d == nil {
			continue
		}
		s.Trials++
		s.Knowledge[d.Knowledge]++
		if d.Knowledge == trial.DecoysNone {
			s.Reasons[d.Reason]++
			continue
		}
		s.Checked += d.Checked
		s.Tests += len(o.Content.FailToPass)
		if len(d.Rounds) == 0 {
			continue
		}
		switch r := d.Rounds[0]; { // the first is the round that counts
		case r.Tampered != "":
			s.Tampered++
		case len(r.Unstable) > 0:
			s.Unstable++
		case r.Passed > 0:
			s.Passed++
		}
	}
	if s.Trials == 0 {
		return nil
	}
	return s
}
