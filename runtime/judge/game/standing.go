package game

import (
	"fmt"
	"math"
	"strconv"

	"github.com/dustin/go-humanize/english"

	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/scoring"
	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/truncate"
)

// Bounds on what is kept and told of a session.
const (
	MaxObservation = 256 << 10
	maxTranscript  = 16 << 20
)

// standing is where a game is.
type standing struct {
	observation      string
	score, peak, max float64
	done             bool
	moves            int
}

// take brings the standing up to what the server says, and reports whether the score is
// higher than it ever was.
func (n *standing) take(r reply) (risen bool) {
	if r.Score != nil {
		n.score = *r.Score
	}
	if r.MaxScore != nil {
		n.max = *r.MaxScore
	}
	if r.Moves != nil {
		n.moves = int(max(0, min(*r.Moves, math.MaxInt32)))
	}
	n.observation, n.done = cutObservation(r.Observation), r.Done
	risen = n.score > n.peak
	n.peak = max(n.peak, n.score)
	return risen
}

// cutObservation bounds an observation at the border of a character.
func cutObservation(s string) string {
	if len(s) <= MaxObservation {
		return s
	}
	kept := truncate.Text(s, MaxObservation)
	return kept + fmt.Sprintf("\n[%d bytes of the observation left out]", len(s)-len(kept))
}

// report is what the session is worth so far: its peak. None of the agent's code runs
// where the score is made, hence "staged".
func (n *standing) report(t task.Task) round.Report {
	peak := n.peak
	return round.Report{
		Status: round.StatusOK, Valid: true, Score: &peak, Score100: scoring.Rescale(t.Judge.Rescale, &peak), PassRate: n.rate(), Isolation: "staged",
		Metrics: map[string]float64{scoring.MetricFinal: n.score, scoring.MetricPeak: peak, scoring.MetricMax: n.max, scoring.MetricMoves: float64(n.moves)},
		Summary: fmt.Sprintf("peak score %s of %s, %s", plain(peak), plain(n.max), english.Plural(n.moves, "move", "")),
	}
}

func (n *standing) rate() float64 {
	if n.max <= 0 {
		return 0
	}
	return max(0, min(n.peak/n.max, 1))
}

func plain(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
