package reconcile

import (
	"slices"
	"time"

	"github.com/assayd/assayd/runtime/judge"
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
	for i, o := range then {
		var rounds []judge.Submission
		for _, r := range o.Rounds {
			if taken(o, r.AcceptedAt.Sub(o.Started)) {
				rounds = append(rounds, r)
			}
		}
		then[i].Finished.Best = nil
		if best, ok := judge.Best(o.Judge, rounds); ok {
			r := best.Report
			then[i].Finished.Best = &trial.Best{Round: best.Round, PassRate: r.PassRate, Score: r.Score, Score100: r.Score100}
		}
	}
	return then
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
	points := []CurvePoint{}
	if end == 0 {
		return points
	}
	scored := len(withScore(bestRounds(outcomes, func(Outcome, time.Duration) bool { return true })))
	var before []Outcome
	for i := range curveParts + 1 {
		until := end * time.Duration(i) / curveParts
		then := bestRounds(outcomes, func(_ Outcome, elapsed time.Duration) bool { return elapsed <= until })
		point := CurvePoint{ElapsedS: until.Seconds()}
		if i > 0 && sameBest(before, then) { // intervals take time
			last := points[i-1]
			point.PassRate, point.Score, point.Score100 = last.PassRate, last.Score, last.Score100
		} else {
			point.PassRate, point.Score100 = meanOf(then, passRate), meanOf(then, score100)
			if len(withScore(then)) == scored {
				point.Score = meanOf(then, score)
			}
		}
		points, before = append(points, point), then
	}
	return points
}

// withScore are the trials that count and whose best round has a score.
func withScore(outcomes []Outcome) (with []Outcome) {
	for _, o := range outcomes {
		if b := o.Finished.Best; o.Finished.Status.Counts() && b != nil && b.Score != nil {
			with = append(with, o)
		}
	}
	return with
}

func sameBest(a, b []Outcome) bool {
	return slices.EqualFunc(a, b, func(x, y Outcome) bool {
		p, q := x.Finished.Best, y.Finished.Best
		return p == nil && q == nil || p != nil && q != nil && p.Round == q.Round
	})
}

// lastRound is when the last round of a trial that counts was accepted.
func lastRound(outcomes []Outcome) (end time.Duration) {
	for _, o := range outcomes {
		for _, r := range o.Rounds {
			if o.Finished.Status.Counts() && !r.Kind.Apart() {
				end = max(end, r.AcceptedAt.Sub(o.Started))
			}
		}
	}
	return end
}
