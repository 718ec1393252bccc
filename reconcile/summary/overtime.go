package summary

import (
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

// byTime is the table of scores at 1/6 … 6/6 of the time.
func byTime(outcomes []Outcome) []TimePoint {
	const parts = 6
	points := make([]TimePoint, parts)
	for i := range points {
		p := &points[i]
		p.Fraction = float64(i+1) / parts
		for _, o := range outcomes {
			if o.Finished.Status.Counts() {
				p.ElapsedS = max(p.ElapsedS, p.Fraction*o.Timeout.Seconds())
			}
		}
		then := bestRounds(outcomes, func(o Outcome, elapsed time.Duration) bool {
			return i == parts-1 || elapsed <= time.Duration(p.Fraction*float64(o.Timeout))
		})
		p.PassRate, _ = averageOf(then, passRate)
		p.Score, p.ScoreN = averageOf(then, score)
		p.Score100, _ = averageOf(then, score100)
	}
	return points
}

func averageOf(outcomes []Outcome, of measure) (*float64, int) {
	v, n := stats.Average(samples(outcomes, of))
	if n == 0 {
		return nil, 0
	}
	return &v, n
}

// bestRounds are the outcomes with the best of those rounds alone that are taken.
func bestRounds(outcomes []Outcome, taken func(o Outcome, elapsed time.Duration) bool) []Outcome {
	then := slices.Clone(outcomes)
	for i := range then {
		then[i].Finished.Best = bestBy(&outcomes[i], func(elapsed time.Duration) bool { return taken(outcomes[i], elapsed) })
	}
	return then
}

// bestBy is the best of those rounds alone that are taken; nil = none counts.
func bestBy(o *Outcome, taken func(elapsed time.Duration) bool) *trial.Best {
	rounds := make([]round.Submission, 0, len(o.Rounds))
	for _, r := range o.Rounds {
		if taken(r.AcceptedAt.Sub(o.Started)) {
			rounds = append(rounds, r)
		}
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
	scored := scoredOf(bestRounds(outcomes, func(Outcome, time.Duration) bool { return true }))
	then, by := slices.Clone(outcomes), placesOf(outcomes, Outcome.key)
	for i := range points {
		until := end * time.Duration(i) / curveParts
		advance(then, outcomes, end*time.Duration(i-1)/curveParts, until)
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

// advance brings outcomes with their best rounds of one time to a later one. Before 0 nothing was
// accepted.
func advance(then, outcomes []Outcome, from, until time.Duration) {
	for i := range outcomes {
		o := &outcomes[i]
		changed := from < 0
		for j := range o.Rounds {
			elapsed := o.Rounds[j].AcceptedAt.Sub(o.Started)
			changed = changed || from < elapsed && elapsed <= until
		}
		if changed {
			then[i].Finished.Best = bestBy(o, func(elapsed time.Duration) bool { return elapsed <= until })
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
	for _, o := range outcomes {
		for _, r := range o.Rounds {
			if o.Finished.Status.Counts() && !r.Kind.Internal() {
				end = max(end, r.AcceptedAt.Sub(o.Started))
			}
		}
	}
	return end
}
