package history

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial"
)

// NewLedger returns the submissions of a store, whose verdicts are reported in the results of their
// runs. A store has at most one that writes.
func NewLedger(s *store.Store) *ledger.Submissions { return ledger.NewSubmissions(s, report) }

// submissionRecord is the record "submission".
type submissionRecord struct {
	Trial      string       `json:"trial"`
	Try        int          `json:"try"`
	Round      string       `json:"round"`
	Kind       round.Kind   `json:"kind"`
	Status     round.Status `json:"status"`
	PassRate   float64      `json:"pass_rate"`
	Score      *float64     `json:"score"`
	Score100   *float64     `json:"score_0_100"`
	Valid      bool         `json:"valid"`
	Passed     int          `json:"passed"`
	Failed     int          `json:"failed"`
	Errors     int          `json:"errors"`
	TotalTests int          `json:"total_tests"`
	Summary    string       `json:"summary"`
	ElapsedS   float64      `json:"elapsed_s"`
	QueuedMS   int64        `json:"queued_ms"`
	JudgeMS    int64        `json:"judge_ms"`
	DurationMS int64        `json:"duration_ms"`
	Archive    Archive      `json:"archive"`
	Cached     bool         `json:"cached"`
	Isolation  string       `json:"isolation"`
	Tampered   bool         `json:"tampered"`
	Problem    string       `json:"problem,omitempty"`
	Beyond     bool         `json:"beyond,omitempty"` // made beyond the declared deadline of an extended trial
}

// Archive is what was submitted.
type Archive struct {
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// report appends a verdict to the results of the trial's run. A submission that belongs
// to no trial has no file to be reported in; what the private set or the untouched tree says
// is told with the trial's verdict.
func report(tx *store.Tx, s round.Submission) error {
	if s.Kind.Internal() {
		return nil
	}
	row, err := tx.Trial(s.Trial)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	state, err := StateOf(row)
	if err != nil {
		return err
	}
	r, beyond := s.Report, state.Beyond(s)
	if !beyond {
		if err := putRound(tx, s); err != nil {
			return err
		}
	}
	_, err = tx.AppendLine(store.StreamRef{Spec: row.Spec}, Envelope("submission", state), submissionRecord{
		Trial: s.Trial, Try: s.Try, Round: s.Round, Kind: s.Kind, Status: r.Status, PassRate: r.PassRate, Score: r.Score,
		Score100: r.Score100, Valid: r.Valid, Passed: r.Passed, Failed: r.Failed, Errors: r.Errors, TotalTests: r.TotalTests,
		Summary: r.Summary, ElapsedS: float64(s.AcceptedAt.Sub(state.StartedAt).Milliseconds()) / 1000,
		QueuedMS: r.QueuedMS, JudgeMS: r.JudgeMS, DurationMS: r.DurationMS, Archive: Archive{s.Archive, s.Bytes},
		Cached: r.Cached, Isolation: r.Isolation, Tampered: r.Tampered, Problem: r.Problem, Beyond: beyond,
	})
	return err
}

// Envelope is the envelope of a record about a trial.
func Envelope(typ string, s trial.State) store.Envelope {
	return store.Envelope{Type: typ, Spec: s.Spec, Generation: s.Generation, Execution: s.Execution}
}

// StateOf is the state of a trial as the store has it.
func StateOf(row store.TrialRow) (trial.State, error) {
	var s trial.State
	if err := json.Unmarshal(row.Data, &s); err != nil {
		return s, fmt.Errorf("read trial %s: %w", row.ID, err)
	}
	return s, nil
}
