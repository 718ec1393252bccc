package mixedruns

import (
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/task"
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
		"a task of one's own":        {"names", "m", nil, Blind, false, ""},
		"full feedback":              {"full", "", nil, Fed, false, "feedback is full"},
		"an older model":             {"names", "gpt-4o-2024-08-06", mined, Blind, false, "2024-08-06"},
		"a newer model":              {"names", "claude-x-20251101", mined, Fed, false, "public since 2025-06-01"},
		"a model without an age":     {"names", "gpt-5.2-codex:nitro", mined, Fed, true, "assumed"},
		"tests without an age":       {"score", "claude-x-20251101", map[string]string{"instance_id": "o__r-7"}, Fed, true, "their age is not known"},
		"no model":                   {"names", "", mined, Blind, false, ""},
		"a number that is no date":   {"names", "m-20259901", mined, Fed, true, "does not say its age"},
		"metadata of something else": {"names", "m", map[string]string{"created_at": "2025-06-01"}, Blind, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			of := task.Task{Metadata: c.metadata}
			of.Judge.Feedback = c.feedback
			r := RecordOf(&Runs{Decoys: "x", Rounds: []Round{{}}}, of, c.model)
			if r.Knowledge != c.want || r.Assumed != c.assumed || !strings.Contains(r.Reason, c.reason) || c.reason == "" && r.Reason != "" {
				t.Errorf("%s, assumed %v: %q", r.Knowledge, r.Assumed, r.Reason)
			}
		})
	}
}
