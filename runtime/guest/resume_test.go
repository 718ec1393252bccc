//go:build linux

package guest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/assayd/assayd/runtime/guest/protocol"
)

// runs are ends of an agent in a row, after each of which a decision is made.
func decisions(p protocol.ResumePolicy, resumable bool, runs ...run) (steps []step) {
	var s streaks
	for i, r := range runs {
		var what step
		s, what = policy(p).after(s, r, i+1, resumable)
		what.Detail = "" // for people
		steps = append(steps, what)
		if what.End != "" {
			break
		}
	}
	return steps
}

func TestResumeDecisions(t *testing.T) {
	const (
		s = time.Second
		m = time.Minute
	)
	policy := protocol.ResumePolicy{Max: 100, MinRuntime: s, Backoff: 2 * s, MaxBackoff: 5 * m}
	again := func(d time.Duration) step { return step{Pause: d} }
	end := func(reason string) step { return step{End: reason} }
	ok, fast, slow, long := run{0, m, true}, run{1, s / 2, true}, run{1, 10 * s, true}, run{1, 20 * m, true}
	same := run{0, m, false}
	for _, tt := range []struct {
		name   string
		policy protocol.ResumePolicy
		never  bool // no command to resume with
		runs   []run
		want   []step
	}{
		{name: "a voluntary end is resumed", policy: policy, runs: []run{ok, ok}, want: []step{again(2 * s), again(2 * s)}},
		{
			name: "five fast failures in a row are systematic", policy: policy, runs: []run{fast, fast, fast, fast, fast, ok},
			want: []step{again(2 * s), again(4 * s), again(8 * s), again(16 * s), end(protocol.EndedError)},
		},
		{
			name: "a success between them starts the count again", policy: policy,
			runs: []run{fast, fast, fast, fast, {0, s / 2, true}, fast},
			want: []step{again(2 * s), again(4 * s), again(8 * s), again(16 * s), again(32 * s), again(64 * s)},
		},
		{
			name: "failures of an outage double the pause and go on", policy: policy,
			runs: []run{slow, slow, slow, slow, slow, slow, slow, slow, slow, slow, long, slow},
			want: []step{
				again(2 * s), again(4 * s), again(8 * s), again(16 * s), again(32 * s), again(64 * s), again(128 * s),
				again(256 * s), again(5 * m), again(5 * m), again(2 * s), again(2 * s),
			},
		},
		{name: "max 0, success", policy: protocol.ResumePolicy{}, runs: []run{ok}, want: []step{end(protocol.EndedExit)}},
		{name: "max 0, failure", policy: protocol.ResumePolicy{}, runs: []run{slow}, want: []step{end(protocol.EndedError)}},
		{name: "no command, success", policy: policy, never: true, runs: []run{ok}, want: []step{end(protocol.EndedExit)}},
		{name: "no command, failure", policy: policy, never: true, runs: []run{long}, want: []step{end(protocol.EndedError)}},
		{
			name: "starts used up", policy: protocol.ResumePolicy{Max: 2, Backoff: s}, runs: []run{long, long, long},
			want: []step{again(s), again(s), end(protocol.EndedExit)},
		},
		{
			name: "idle counts ends without a change in a row", policy: protocol.ResumePolicy{Max: 9, Backoff: s, Idle: 2},
			runs: []run{same, ok, same, same}, want: []step{again(s), again(s), again(s), end(protocol.EndedIdle)},
		},
		{
			name: "who crashes did not want to stop", policy: protocol.ResumePolicy{Max: 9, Backoff: s, Idle: 2},
			runs: []run{same, {1, m, false}, {1, m, false}, same}, want: []step{again(s), again(s), again(s), end(protocol.EndedIdle)},
		},
		{name: "idle works without a resume command", policy: protocol.ResumePolicy{Idle: 1}, never: true, runs: []run{same}, want: []step{end(protocol.EndedIdle)}},
		{name: "no idle", policy: protocol.ResumePolicy{Max: 9, Backoff: s}, runs: []run{same, same, same}, want: []step{again(s), again(s), again(s)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, decisions(tt.policy, !tt.never, tt.runs...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEveryPolicyEndsWithinItsStartsAndBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.Map(rapid.Int64Range(0, int64(time.Hour)), func(n int64) time.Duration { return time.Duration(n) })
		p := protocol.ResumePolicy{
			Max: rapid.IntRange(0, 50).Draw(t, "max"), MinRuntime: d.Draw(t, "min"), Backoff: d.Draw(t, "backoff"),
			MaxBackoff: d.Draw(t, "longest"), Idle: rapid.IntRange(0, 5).Draw(t, "idle"),
		}
		var s streaks
		for starts := 1; ; starts++ {
			if starts > p.Max+1 {
				t.Fatalf("%d starts with a maximum of %d after the first", starts, p.Max)
			}
			r := run{rapid.IntRange(0, 2).Draw(t, "code"), d.Draw(t, "runtime"), rapid.Bool().Draw(t, "changed")}
			var what step
			if s, what = policy(p).after(s, r, starts, true); what.End != "" {
				return
			}
			if longest := p.MaxBackoff; what.Pause < 0 || longest > 0 && what.Pause > longest {
				t.Fatalf("pause %s", what.Pause)
			}
		}
	})
}
