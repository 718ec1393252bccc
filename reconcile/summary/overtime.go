package summary

import (
	"math"
	"slices"
	"time"

	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/scoring"
	"github.com/assayd/assayd/runtime/stats"
	"github.com/assayd/assayd/runtime/trial"
)

// TimePoint is the mean of the best rounds accepted until a part of the time was over.
type TimePoint struct {
	Fraction float64  `json:"fraction"`
	ElapsedS float64  `json:"elapsed_s"`             // of the longest timeout
	PassRate *float64 `json:"pass_rate"`             // null where no task has a fixed number of tests
	Score    *float64 `json:"score"`                 // of tasks that have one by then
	ScoreN   int      `json:"score_n,omitempty"`     // how many these are
	Score100 *float64 `json:"score_0_100,omitempty"` // of all tasks that rescale
}

// byTime is the table of scores at 1/6 … 6/6 of the time of each trial. All rounds count at its end.
func byTime(outcomes []Outcome) []TimePoint {
	const parts = 6
	points := make([]TimePoint, parts)
	then, by := slices.Clone(outcomes), placesOf(outcomes, (*Outcome).key)
	for i := range points {
		p := &points[i]
		p.Fraction = float64(i+1) / parts
		for j := range outcomes {
			if o := &outcomes[j]; o.Finished.Status.Counts() {
				p.ElapsedS = max(p.ElapsedS, p.Fraction*o.Timeout.Seconds())
			}
		}
		at := func(o *Outcome, part int) time.Duration {
			if part == parts {
				return math.MaxInt64
			}
			return time.Duration(float64(part) / parts * float64(o.Timeout))
		}
		advance(then, outcomes, i == 0, func(o *Outcome) (from, until time.Duration) { return at(o, i), at(o, i+1) })
		p.PassRate, _ = average(by.samples(then, passRate))
		p.Score, p.ScoreN = average(by.samples(then, score))
		p.Score100, _ = average(by.samples(then, score100))
	}
	return points
}

func average(samples []stats.Sample) (*float64, int) {
	v, n := stats.Average(samples)
	if n == 0 {
		return nil, 0
	}
	return &v, n
}

// bestUntil is the best of the rounds that were accepted by then; nil = none counts.
func bestUntil(o *Outcome, until time.Duration) *trial.Best {
	late := func(r round.Submission) bool { return r.AcceptedAt.Sub(o.Started) > until }
	rounds := o.Rounds
	if slices.ContainsFunc(rounds, late) {
		rounds = slices.DeleteFunc(slices.Clone(rounds), late)
	}
	best, ok := scoring.Best(o.Judge, rounds)
	if !ok {
		return nil
	}
	r := best.Report
	return &trial.Best{Round: best.Round, PassRate: r.PassRate, Score: r.Score, Score100: r.Score100}
}

// curveParts is how finely a curve is drawn.
const curveParts = 60

// CurvePoint is the mean of the best rounds accepted until then, with its interval.
type CurvePoint struct {
	ElapsedS float64   `json:"elapsed_s"`
	PassRate *Interval `json:"pass_rate"`
	Score    *Interval `json:"score,omitempty"` // from when on every task has one that will
	Score100 *Interval `json:"score_0_100,omitempty"`
}

// curveOf follows the best so far from the beginning to the end; it has no points where the
// end is the beginning.
func curveOf(outcomes []Outcome, end time.Duration) []CurvePoint {
	if end == 0 {
		return []CurvePoint{}
	}
	const n = curveParts + 1
	points := make([]CurvePoint, n)
	lists := make([][]stats.Sample, 3*n) // of pass rates, of scores, of rescaled scores
	then, by := slices.Clone(outcomes), placesOf(outcomes, (*Outcome).key)
	advance(then, outcomes, true, func(*Outcome) (from, until time.Duration) { return 0, math.MaxInt64 })
	scored := scoredOf(then)
	for i := range points {
		until := end * time.Duration(i) / curveParts
		advance(then, outcomes, i == 0, func(*Outcome) (time.Duration, time.Duration) { return end * time.Duration(i-1) / curveParts, until })
		points[i].ElapsedS = until.Seconds()
		lists[i], lists[2*n+i] = by.samples(then, passRate), by.samples(then, score100)
		if scoredOf(then) == scored {
			lists[n+i] = by.samples(then, score)
		}
	}
	means := meansOf(lists...)
	for i := range points {
		points[i].PassRate, points[i].Score, points[i].Score100 = means[i], means[n+i], means[2*n+i]
	}
	return points
}

// advance gives outcomes the best of the rounds that were accepted until a time of each. They have the
// best until an earlier one, unless this is the first.
func advance(then, outcomes []Outcome, first bool, window func(*Outcome) (from, until time.Duration)) {
	for i := range outcomes {
		o := &outcomes[i]
		from, until := window(o)
		changed := first
		for j := 0; j < len(o.Rounds) && !changed; j++ {
			elapsed := o.Rounds[j].AcceptedAt.Sub(o.Started)
			changed = from < elapsed && elapsed <= until
		}
		if changed {
			then[i].Finished.Best = bestUntil(o, until)
		}
	}
}

// withScore are the trials that count and whose best round has a score.
func withScore(outcomes []Outcome) (with []Outcome) {
	for i := range outcomes {
		if outcomes[i].hasScore() {
			with = append(with, outcomes[i])
		}
	}
	return with
}

// scoredOf is how many withScore has.
func scoredOf(outcomes []Outcome) (n int) {
	for i := range outcomes {
		if outcomes[i].hasScore() {
			n++
		}
	}
	return n
}

func (o *Outcome) hasScore() bool {
	b := o.Finished.Best
	return o.Finished.Status.Counts() && b != nil && b.Score != nil
}

// lastRound is when the last round of a trial that counts was accepted.
func lastRound(outcomes []Outcome) (end time.Duration) {
	for i := range outcomes {
		o := &outcomes[i]
		for _, r := range o.Rounds {
			if o.Finished.Status.Counts() && !r.Kind.Internal() {
				end = max(end, r.AcceptedAt.Sub(o.Started))
			}
		}
	}
	return end
}
