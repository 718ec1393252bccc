package trial

import (
	"strings"
	"testing"
)

// TestWhatAnAgentMayKnowOfHiddenTests depends on its feedback, and on whether its model may have
// seen the pull request.
func TestWhatAnAgentMayKnowOfHiddenTests(t *testing.T) {
	mined := map[string]string{"pull_url": "https://github.com/o/r/pull/7", "created_at": "2025-06-01T10:00:00Z"}
	for name, c := range map[string]struct {
		feedback, model string
		metadata        map[string]string
		want            string
		assumed         bool
		reason          string
	}{
		"a task of one's own":        {"names", "m", nil, DecoysBlind, false, ""},
		"full feedback":              {"full", "", nil, DecoysFed, false, "feedback is full"},
		"an older model":             {"names", "gpt-4o-2024-08-06", mined, DecoysBlind, false, "2024-08-06"},
		"a newer model":              {"names", "claude-x-20251101", mined, DecoysFed, false, "public since 2025-06-01"},
		"a model without an age":     {"names", "gpt-5.2-codex:nitro", mined, DecoysFed, true, "assumed"},
		"tests without an age":       {"score", "claude-x-20251101", map[string]string{"instance_id": "o__r-7"}, DecoysFed, true, "their age is not known"},
		"no model":                   {"names", "", mined, DecoysBlind, false, ""},
		"a number that is no date":   {"names", "m-20259901", mined, DecoysFed, true, "does not say its age"},
		"metadata of something else": {"names", "m", map[string]string{"created_at": "2025-06-01"}, DecoysBlind, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := State{Mixed: &MixedRuns{Decoys: "x", Rounds: []MixedRound{{}}}}
			s.Cell.Task.Judge.Feedback, s.Cell.Agent.Model, s.Cell.Task.Metadata = c.feedback, c.model, c.metadata
			r := decoyRecord(s)
			if r.Knowledge != c.want || r.Assumed != c.assumed || !strings.Contains(r.Reason, c.reason) || c.reason == "" && r.Reason != "" {
				t.Errorf("%s, assumed %v: %q", r.Knowledge, r.Assumed, r.Reason)
			}
		})
	}
}
