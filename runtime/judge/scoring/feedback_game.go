package scoring

import (
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

// GameEntry is a session in an agent's history, without its moves.
type GameEntry struct {
	Type       string  `json:"type"`
	Status     string  `json:"status"` // running, completed, error
	Round      string  `json:"round"`
	ID         string  `json:"session_id"`
	TaskID     string  `json:"task_id"`
	MaxScore   float64 `json:"max_score"`
	PeakScore  float64 `json:"peak_score"`
	FinalScore float64 `json:"final_score"`
	Score      float64 `json:"score"` // what counts: the peak
	Moves      int     `json:"moves"`
	PassRate   float64 `json:"pass_rate"`
	Summary    string  `json:"summary"`
}

func gameEntryOf(t task.Task, s round.Submission) GameEntry {
	m := s.Report.Metrics
	e := GameEntry{
		Type: "game", Status: "running", Round: s.Round, ID: s.ID, TaskID: t.Name,
		MaxScore: m[MetricMax], PeakScore: m[MetricPeak], FinalScore: m[MetricFinal], Score: m[MetricPeak],
		Moves: int(m[MetricMoves]), PassRate: s.Report.PassRate, Summary: s.Report.Summary,
	}
	switch {
	case round.InfraFailed(s):
		e.Status = "error"
	case s.State == round.StateJudged:
		e.Status = "completed"
	}
	return e
}

// Names of a game's metrics.
const (
	MetricFinal = "final_score"
	MetricPeak  = "peak_score"
	MetricMax   = "max_score"
	MetricMoves = "moves"
)
