package judge

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/dustin/go-humanize/english"

	"github.com/assayd/assayd/runtime/task"
)

// Bounds on what is kept and told of a session.
const (
	maxObservation = 256 << 10
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
func (n *standing) take(r gameReply) (risen bool) {
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
	if len(s) <= maxObservation {
		return s
	}
	end := maxObservation
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + fmt.Sprintf("\n[%d bytes of the observation left out]", len(s)-end)
}

// Names of a game's metrics.
const (
	metricFinal = "final_score"
	metricPeak  = "peak_score"
	metricMax   = "max_score"
	metricMoves = "moves"
)

// report is what the session is worth so far: its peak. None of the agent's code runs
// where the score is made, hence "staged".
func (n *standing) report(t task.Task) Report {
	peak := n.peak
	return Report{
		Status: StatusOK, Valid: true, Score: &peak, Score100: rescale(t.Judge.Rescale, &peak), PassRate: n.rate(), Isolation: "staged",
		Metrics: map[string]float64{metricFinal: n.score, metricPeak: peak, metricMax: n.max, metricMoves: float64(n.moves)},
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

// transcript is a session move by move, one JSON object a line, written as it goes.
type transcript struct {
	blob BlobWriter
	room int
	cut  bool
	err  error
	line int
}

// transcribed is one line of a transcript; the first one is the opening, without an action.
type transcribed struct {
	Move        int     `json:"move"`
	Action      string  `json:"action"`
	Observation string  `json:"observation"`
	Score       float64 `json:"score"`
	PeakScore   float64 `json:"peak_score"`
	MaxScore    float64 `json:"max_score"`
	Done        bool    `json:"done"`
}

func newTranscript(b Blobs) (*transcript, error) {
	blob, err := b.Create()
	if err != nil {
		return nil, fmt.Errorf("store the transcript of a game: %w", err)
	}
	return &transcript{blob: blob, room: maxTranscript}, nil
}

// add writes a move. What goes wrong is told at the end: it is no reason to stop a game.
func (t *transcript) add(action string, n standing) {
	line, err := json.Marshal(transcribed{t.line, action, n.observation, n.score, n.peak, n.max, n.done})
	t.line++
	switch {
	case t.err != nil || t.cut:
		return
	case err != nil:
		t.err = err
		return
	case len(line) >= t.room:
		t.cut = true
		line = []byte(`{"cut":true}`)
	}
	t.room -= len(line) + 1
	_, t.err = t.blob.Write(append(line, '\n'))
}

// commit stores the transcript; it is over then in either case.
func (t *transcript) commit() (string, error) {
	defer t.drop()
	if t.err != nil {
		return "", t.err
	}
	digest, _, err := t.blob.Commit()
	return digest, err
}

func (t *transcript) drop() { _ = t.blob.Close() } // what is not stored by now is thrown away
