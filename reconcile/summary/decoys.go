package summary

import "github.com/assayd/assayd/runtime/trial/mixedruns"

// DecoySummary says how far the verdicts of an execution were checked by mixed runs.
type DecoySummary struct {
	Trials    int            `json:"trials"`    // that wanted mixed runs
	Knowledge map[string]int `json:"knowledge"` // of them: blind, fed, none
	Reasons   map[string]int `json:"reasons"`   // why there were none
	Tests     int            `json:"tests"`     // of fail_to_pass, each once for each trial with decoys
	Checked   int            `json:"checked"`   // of them, those with a decoy
	Eligible  int            `json:"eligible"`  // tests that decoys were looked for of, each once for each trial with decoys
	Made      float64        `json:"made"`      // share of them that have one, 0 to 1
	Tampered  int            `json:"tampered"`  // trials that mixed runs show to be tampered with
	Unstable  int            `json:"unstable"`
	Passed    int            `json:"decoy_passed"` // trials in which one decoy passed, and no more
}

// decoySummary is nil where no trial wanted mixed runs.
func decoySummary(outcomes []*Outcome) *DecoySummary {
	s := &DecoySummary{Knowledge: map[string]int{}, Reasons: map[string]int{}}
	made := 0.0
	for _, o := range outcomes {
		d := o.Finished.Decoys
		if d == nil {
			continue
		}
		s.Trials++
		s.Knowledge[d.Knowledge]++
		if d.Knowledge == mixedruns.None {
			s.Reasons[d.Reason]++
			continue
		}
		s.Checked += d.Checked
		s.Eligible += d.Eligible
		made += d.Made * float64(d.Eligible)
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
	if s.Eligible > 0 {
		s.Made = made / float64(s.Eligible)
	}
	return s
}
