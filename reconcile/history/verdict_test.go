package history

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/storetest"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/trial"
)

// began is when all in these tests began.
var began = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

// openedStore opens a store with run.r in its first execution, of which a trial is open.
func openedStore(t *testing.T) (s *store.Store, id string) {
	t.Helper()
	s = storetest.Open(t)
	state := trial.State{ID: "r.e1.aaaaaaaa", Spec: "run.r", Generation: "g1", Execution: 1, Key: strings.Repeat("a", 64), Try: 1, StartedAt: began, Phase: trial.Running}
	data, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	err = s.Do(t.Context(), func(tx *store.Tx) error {
		_, err := tx.AppendLine(store.StreamRef{Spec: "run.r", Root: "/specs", Path: "/specs/a.run.r.jsonl"}, store.Envelope{Type: "run.started"}, nil)
		return errors.Join(err,
			tx.PutExecution(store.ExecutionRow{Spec: "run.r", N: 1, Trigger: "accepted", StartedAt: began}),
			tx.PutTrial(store.TrialRow{ID: state.ID, Spec: "run.r", Execution: 1, Cell: state.Key, Try: 1, Phase: "running", Data: data}))
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, state.ID
}

// storedLines are the lines of a spec's stream of the type.
func storedLines(t *testing.T, s *store.Store, spec, typ string) (lines []map[string]any) {
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
func reserveIn(t *testing.T, l *ledger.Submissions, s round.Submission) round.Submission {
	t.Helper()
	made, err := l.Reserve(t.Context(), s.Trial, func([]round.Submission) (round.Submission, error) { return s, nil })
	if err != nil {
		t.Fatalf("reserve %s: %v", s.ID, err)
	}
	return made
}

func TestAVerdictIsReportedOnce(t *testing.T) {
	s, id := openedStore(t)
	l := NewLedger(s)
	reserveIn(t, l, round.Submission{ID: "s1", Trial: id, Try: 1, Kind: round.KindAgent, Number: 1, Round: "agent-1", State: round.StateQueued})
	for range 2 { // the second time nothing becomes judged
		_, err := l.Update(t.Context(), "s1", func(u *round.Submission) error {
			u.State, u.AcceptedAt, u.Archive, u.Bytes = round.StateJudged, began.Add(1500*time.Millisecond), "abc", 7
			u.Report = &round.Report{Status: round.StatusOK, PassRate: 0.5, Score: new(3.0), Valid: true, Passed: 1, Failed: 1, TotalTests: 2, Isolation: "shared", JudgeMS: 9}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	lines := storedLines(t, s, "run.r", "submission")
	if len(lines) != 1 {
		t.Fatalf("%d lines report one verdict", len(lines))
	}
	delete(lines[0], "time")
	want := map[string]any{
		"v": 1.0, "seq": 2.0, "type": "submission", "spec": "run.r", "generation": "g1", "execution": "e1",
		"trial": id, "try": 1.0, "round": "agent-1", "kind": "agent", "status": "ok", "pass_rate": 0.5, "score": 3.0, "score_0_100": nil,
		"valid": true, "passed": 1.0, "failed": 1.0, "errors": 0.0, "total_tests": 2.0, "summary": "", "elapsed_s": 1.5,
		"queued_ms": 0.0, "judge_ms": 9.0, "duration_ms": 0.0, "archive": map[string]any{"sha256": "abc", "bytes": 7.0},
		"cached": false, "isolation": "shared", "tampered": false,
	}
	if diff := cmp.Diff(want, lines[0]); diff != "" {
		t.Error(diff)
	}
}

func TestARoundOfNoTrialIsReportedNowhere(t *testing.T) {
	s, _ := openedStore(t)
	l := NewLedger(s)
	reserveIn(t, l, round.Submission{ID: "s1", Trial: "eval", Try: 1, Kind: round.KindManual, State: round.StateQueued})
	_, err := l.Update(t.Context(), "s1", func(u *round.Submission) error {
		u.State, u.Report = round.StateJudged, &round.Report{}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
