package round

import (
	"fmt"
	"time"
)

// Offer is what asks for a round.
type Offer struct {
	ID   string
	Kind Kind
	Key  string
	Now  time.Time
}

// Decide says what round an offer gets, out of all submissions of the trial in order of
// reservation. It returns the earlier one when the key was seen, or a *Refusal.
func Decide(s Session, o Offer, past []Submission) (next Submission, old *Submission, err error) {
	number, spent := 1, 0
	var last time.Time
	var stale *Submission
	for _, p := range past {
		if p.Kind != o.Kind {
			continue
		}
		if p.State == StateReserved && p.Try == s.Try {
			// The slot is ours: this reservation is nobody's, its release has failed.
			if stale == nil || o.Key != "" && p.Key == o.Key {
				stale = &p
			}
			continue
		}
		number = max(number, p.Number+1)
		if p.Try != s.Try {
			continue
		}
		if o.Key != "" && p.Key == o.Key {
			return Submission{}, &p, nil
		}
		if !InfraFailed(p) {
			spent++
			last = p.ReservedAt
			if !p.AcceptedAt.IsZero() {
				last = p.AcceptedAt
			}
		}
	}
	if Limited(o.Kind) && Late(s, o.Now) {
		return Submission{}, nil, Refuse(403, "the time is over: nothing is accepted after the deadline")
	}
	if o.Kind == KindAgent {
		if err := affordable(s, o.Now, spent, last); err != nil {
			return Submission{}, nil, err
		}
	}
	id := o.ID
	if stale != nil {
		id = stale.ID // whose place is taken, with its key
	}
	return Submission{
		ID: id, Trial: s.Trial, Try: s.Try, Round: fmt.Sprintf("%s-%d", o.Kind, number), Number: number,
		Kind: o.Kind, Key: o.Key, State: StateReserved, ReservedAt: o.Now,
	}, nil, nil
}

// MaxRounds bounds an agent's rounds in a try where nothing else does: a round that is
// judged before costs next to nothing, and all of them are read for each new one.
const MaxRounds = 10_000

// affordable checks an agent's budget and cooldown, which counts from acceptance.
func affordable(s Session, now time.Time, spent int, last time.Time) error {
	if spent >= MaxRounds {
		return Refuse(429, "the submission budget is exhausted: no trial has more than %d", MaxRounds)
	}
	if s.Max > 0 && spent >= s.Max {
		return Refuse(429, "the submission budget is exhausted: %d of %d used", spent, s.Max)
	}
	if wait := last.Add(s.Cooldown).Sub(now); spent > 0 && wait > 0 {
		seconds := int64((wait + time.Second - 1) / time.Second)
		return &Refusal{
			Code: 429, RetryAfter: time.Duration(seconds) * time.Second,
			Detail: fmt.Sprintf("cooldown: wait %d seconds before the next submission", seconds),
		}
	}
	return nil
}

// Remaining returns how many rounds the agent had left when the submission was reserved,
// itself not counted, or nil when nothing limits it.
func Remaining(s Session, sub Submission, all []Submission) *int {
	if s.Max <= 0 || sub.Kind != KindAgent {
		return nil
	}
	left := s.Max
	for _, p := range all {
		if p.Kind == KindAgent && p.Try == sub.Try && p.State != StateReserved && !InfraFailed(p) && p.Number <= sub.Number {
			left--
		}
	}
	left = max(left, 0)
	return &left
}

// Limited reports whether the kind is bound by the session: its deadline, its end, and
// the room in the queue.
func Limited(k Kind) bool { return k == KindAgent || k == KindAuto || k == KindGame }

// Late reports whether the session's deadline has passed.
func Late(s Session, now time.Time) bool {
	return !s.Deadline.IsZero() && !now.Before(s.Deadline)
}

// InfraFailed reports whether the machinery failed on the submission for good. Such a round is
// refunded.
func InfraFailed(s Submission) bool { return s.Report != nil && s.Report.Status == StatusError }
