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
func byTime(outcomes []*Outcome) []TimePoint {
	const parts = 6
	points := make([]TimePoint, parts)
	now := follow(outcomes)
	for i := range points {
		p := &points[i]
		p.Fraction = float64(i+1) / parts
		for _, o := range outcomes {
			if o.Finished.Status.Counts() {
				p.ElapsedS = max(p.ElapsedS, p.Fraction*o.Timeout.Seconds())
			}
		}
		now.until(func(o *Outcome) time.Duration {
			if i+1 == parts {
				return math.MaxInt64
			}
			return time.Duration(p.Fraction * float64(o.Timeout))
		})
		p.PassRate, _ = average(now.samples(passRate))
		p.Score, p.ScoreN = average(now.samples(score))
		p.Score100, _ = average(now.samples(score100))
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
func curveOf(outcomes []*Outcome, end time.Duration) []CurvePoint {
	if end == 0 {
		return []CurvePoint{}
	}
	const n = curveParts + 1
	points := make([]CurvePoint, n)
	lists := make([][]stats.Sample, 3*n) // of pass rates, of scores, of rescaled scores
	last, now := follow(outcomes), follow(outcomes)
	last.until(func(*Outcome) time.Duration { return math.MaxInt64 })
	for i := range points {
		until := end * time.Duration(i) / curveParts
		now.until(func(*Outcome) time.Duration { return until })
		points[i].ElapsedS = until.Seconds()
		lists[i], lists[2*n+i] = now.samples(passRate), now.samples(score100)
		if now.scored() == last.scored() {
			lists[n+i] = now.samples(score)
		}
	}
	means := meansOf(lists...)
	for i := range points {
		points[i].PassRate, points[i].Score, points[i].Score100 = means[i], means[n+i], means[2*n+i]
	}
	return points
}

// follower tells of trials which round is the best one so far, as their time goes on.
type follower struct {
	outcomes []*Outcome
	by       places
	best     []*trial.Best     // of each; nil = none counts until now
	coming   [][]time.Duration // when rounds of each are accepted that are not among those yet, in order
}

// follow begins before the first round.
func follow(outcomes []*Outcome) *follower {
	f := &follower{outcomes, placesOf(outcomes, (*Outcome).key), make([]*trial.Best, len(outcomes)), make([][]time.Duration, len(outcomes))}
	for i, o := range outcomes {
		f.coming[i] = make([]time.Duration, len(o.Rounds))
		for j := range o.Rounds {
			f.coming[i][j] = o.Rounds[j].AcceptedAt.Sub(o.Started)
		}
		slices.Sort(f.coming[i])
	}
	return f
}

// until goes on to a time of each trial, which is not before the last one.
func (f *follower) until(then func(*Outcome) time.Duration) {
	for i, o := range f.outcomes {
		until, n := then(o), 0
		for n < len(f.coming[i]) && f.coming[i][n] <= until {
			n++
		}
		if n > 0 {
			f.best[i], f.coming[i] = bestUntil(o, until), f.coming[i][n:]
		}
	}
}

// samples are those of a measure by now.
func (f *follower) samples(of measure) []stats.Sample {
	return f.by.sampled(of, func(i int) (*Outcome, *trial.Best) { return f.outcomes[i], f.best[i] })
}

// scored is how many trials count and have a score by now.
func (f *follower) scored() (n int) {
	for i, o := range f.outcomes {
		if b := f.best[i]; b != nil && b.Score != nil && o.Finished.Status.Counts() {
			n++
		}
	}
	return n
}

// lastRound is when the last round of a trial that counts was accepted.
func lastRound(outcomes []*Outcome) (end time.Duration) {
	for _, o := range outcomes {
		for _, r := range o.Rounds {
			if o.Finished.Status.Counts() && !r.Kind.Internal() {
				end = max(end, r.AcceptedAt.Sub(o.Started))
			}
		}
	}
	return end
}
