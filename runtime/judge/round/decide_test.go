package round

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestReservations(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	s := Session{Trial: "t", Try: 2, Max: 2, Cooldown: time.Minute, Deadline: now.Add(time.Hour)}
	past := func(kind Kind, number int, ago time.Duration, more ...func(*Submission)) Submission {
		p := Submission{Kind: kind, Number: number, Try: 2, State: StateJudged, AcceptedAt: now.Add(-ago), Key: "k"}
		for _, m := range more {
			m(&p)
		}
		return p
	}
	spoiltOne := func(p *Submission) { p.Report = &Report{Status: StatusError} }
	lastTry := func(p *Submission) { p.Try = 1 }
	tests := map[string]struct {
		offer Offer
		past  []Submission
		round string
		old   bool
		code  int
		after time.Duration
		says  string
	}{
		"the first":                     {Offer{Kind: KindAgent}, nil, "agent-1", false, 0, 0, ""},
		"kinds count apart":             {Offer{Kind: KindAuto}, []Submission{past(KindAgent, 1, 0), past(KindAuto, 4, 0)}, "auto-5", false, 0, 0, ""},
		"after the cooldown":            {Offer{Kind: KindAgent}, []Submission{past(KindAgent, 1, time.Minute)}, "agent-2", false, 0, 0, ""},
		"within the cooldown":           {Offer{Kind: KindAgent}, []Submission{past(KindAgent, 1, 18500*time.Millisecond)}, "", false, 429, 42 * time.Second, "cooldown: wait 42 seconds"},
		"over budget":                   {Offer{Kind: KindAgent}, []Submission{past(KindAgent, 1, time.Hour), past(KindAgent, 2, time.Hour)}, "", false, 429, 0, "budget is exhausted"},
		"the machinery's fault is free": {Offer{Kind: KindAgent}, []Submission{past(KindAgent, 1, time.Hour), past(KindAgent, 2, 0, spoiltOne)}, "agent-3", false, 0, 0, ""},
		"an earlier try spent nothing":  {Offer{Kind: KindAgent}, []Submission{past(KindAgent, 1, 0, lastTry), past(KindAgent, 2, 0, lastTry)}, "agent-3", false, 0, 0, ""},
		"after the deadline":            {Offer{Kind: KindAgent, Now: s.Deadline}, nil, "", false, 403, 0, "time is over"},
		"so too by the clock":           {Offer{Kind: KindAuto, Now: s.Deadline}, nil, "", false, 403, 0, "time is over"},
		"but for the last snapshot":     {Offer{Kind: KindFinal, Now: s.Deadline}, nil, "final-1", false, 0, 0, ""},
		"a known key":                   {Offer{Kind: KindAgent, Key: "k"}, []Submission{past(KindAgent, 1, 0)}, "", true, 0, 0, ""},
		"a known key, much later":       {Offer{Kind: KindAgent, Key: "k", Now: s.Deadline}, []Submission{past(KindAgent, 1, 0)}, "", true, 0, 0, ""},
		"a known key of another kind":   {Offer{Kind: KindAuto, Key: "k"}, []Submission{past(KindAgent, 1, 0)}, "auto-1", false, 0, 0, ""},
		"a known key of another try":    {Offer{Kind: KindFinal, Key: "k"}, []Submission{past(KindFinal, 1, 0, lastTry)}, "final-2", false, 0, 0, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.offer.Now.IsZero() {
				tc.offer.Now = now
			}
			next, old, err := Decide(s, tc.offer, tc.past)
			if next.Round != tc.round || (old != nil) != tc.old {
				t.Errorf("round %q, old %v; want %q, %t (%v)", next.Round, old, tc.round, tc.old, err)
			}
			r, _ := errors.AsType[*Refusal](err)
			if (r == nil) != (tc.code == 0) || r != nil && (r.Code != tc.code || r.RetryAfter != tc.after || !strings.Contains(r.Detail, tc.says)) {
				t.Errorf("refused with %+v, want %d after %s saying %q", r, tc.code, tc.after, tc.says)
			}
		})
	}
}
