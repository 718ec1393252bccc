package reconcile

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/query/trialview"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/storetest"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial"
)

// openStore opens a store with run.r in its first execution, of which a trial is open.
func openStore(t *testing.T) (s *store.Store, id string) {
	t.Helper()
	s = storetest.Open(t)
	state := trial.State{ID: "r.e1.aaaaaaaa", Spec: "run.r", Generation: "g1", Execution: 1, Key: strings.Repeat("a", 64), Try: 1, StartedAt: noon, Phase: trial.Running}
	data, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	err = s.Do(t.Context(), func(tx *store.Tx) error {
		_, err := tx.AppendLine(store.StreamRef{Spec: "run.r", Root: "/specs", Path: "/specs/a.run.r.jsonl"}, store.Envelope{Type: "run.started"}, nil)
		return errors.Join(err,
			tx.PutExecution(store.ExecutionRow{Spec: "run.r", N: 1, Trigger: "accepted", StartedAt: noon}),
			tx.PutTrial(store.TrialRow{ID: state.ID, Spec: "run.r", Execution: 1, Cell: state.Key, Try: 1, Phase: "running", Data: data}))
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, state.ID
}

// linesOf are the lines of a spec's stream of the type.
func linesOf(t *testing.T, s *store.Store, spec, typ string) (lines []map[string]any) {
	t.Helper()
	err := s.View(t.Context(), func(tx *store.Tx) error {
		stream, err := tx.Stream(spec)
		if err != nil {
			return err
		}
		all, err := tx.LinesFrom(stream.ID, 1, 10_000)
		for _, l := range all {
			var line map[string]any
			if err := json.Unmarshal(l.Data, &line); err != nil {
				return err
			}
			if line["type"] == typ {
				lines = append(lines, line)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// reserve makes a submission.
func reserve(t *testing.T, l *ledger.Submissions, s round.Submission) round.Submission {
	t.Helper()
	made, err := l.Reserve(t.Context(), s.Trial, func([]round.Submission) (round.Submission, error) { return s, nil })
	if err != nil {
		t.Fatalf("reserve %s: %v", s.ID, err)
	}
	return made
}

func TestTheStatusOfATrialHasTheTestsOfItsRounds(t *testing.T) {
	s, id := openStore(t)
	l := history.NewLedger(s)
	reserve(t, l, round.Submission{ID: "s1", Trial: id, Try: 1, Kind: round.KindAgent, State: round.StateQueued})
	_, err := l.Update(t.Context(), "s1", func(u *round.Submission) error {
		u.State = round.StateJudged
		u.Report = &round.Report{Status: round.StatusOK, Passed: 1, Tests: []parser.Test{{Name: "a", Status: parser.Passed}, {Name: "b", Status: parser.Failed}}}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	status, err := trialview.New(trialview.Options{Store: s}).Status(t.Context(), id)
	if err != nil || len(status.Rounds) != 1 || len(status.Rounds[0].Report.Tests) != 2 {
		t.Errorf("the status of the trial: %+v, %v", status.Rounds, err)
	}
}
