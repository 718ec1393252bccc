package reconcile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/judge"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/trial"
)

// openStore opens a store with run.r in its first execution, of which a trial is open.
func openStore(t *testing.T) (s *store.Store, id string) {
	t.Helper()
	s, err := store.Open(t.Context(), t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	state := trial.State{ID: "r.e1.aaaaaaaa", Spec: "run.r", Generation: "g1", Execution: 1, Key: cellOf("a").Key, Try: 1, StartedAt: noon, Phase: trial.Running}
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
func reserve(t *testing.T, l *Ledger, s judge.Submission) judge.Submission {
	t.Helper()
	made, err := l.Reserve(t.Context(), s.Trial, func([]judge.Submission) (judge.Submission, error) { return s, nil })
	if err != nil {
		t.Fatalf("reserve %s: %v", s.ID, err)
	}
	return made
}

func TestAVerdictIsReportedOnce(t *testing.T) {
	s, id := openStore(t)
	l := NewLedger(s)
	reserve(t, l, judge.Submission{ID: "s1", Trial: id, Try: 1, Kind: judge.KindAgent, Number: 1, Round: "agent-1", State: judge.StateQueued})
	for range 2 { // the second time nothing becomes judged
		_, err := l.Update(t.Context(), "s1", func(u *judge.Submission) error {
			u.State, u.AcceptedAt, u.Archive, u.Bytes = judge.StateJudged, noon.Add(1500*time.Millisecond), "abc", 7
			u.Report = &judge.Report{Status: judge.StatusOK, PassRate: 0.5, Score: new(3.0), Valid: true, Passed: 1, Failed: 1, TotalTests: 2, Isolation: "shared", JudgeMS: 9}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	lines := linesOf(t, s, "run.r", "submission")
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

// TestTestsAreReadOneSubmissionAtATime: what is asked for at every request does not grow
// with the number of tests.
func TestTestsAreReadOneSubmissionAtATime(t *testing.T) {
	s, id := openStore(t)
	l := NewLedger(s)
	tests := []parser.Test{{Name: "a", Status: parser.Passed}, {Name: "b", Status: parser.Failed, Message: "because"}}
	reserve(t, l, judge.Submission{ID: "s1", Trial: id, Try: 1, Kind: judge.KindAgent, State: judge.StateQueued})
	verdict := &judge.Report{Status: judge.StatusOK, Passed: 1, Tests: tests}
	for range 2 { // the second change finds the tests and keeps them
		u, err := l.Update(t.Context(), "s1", func(u *judge.Submission) error {
			if u.State == judge.StateQueued {
				u.Report = verdict
			}
			u.State = judge.StateJudged
			return nil
		})
		if err != nil || len(u.Report.Tests) != 2 || len(verdict.Tests) != 2 {
			t.Fatalf("update: %+v, %v", u.Report, err)
		}
	}
	one, err := l.Submission(t.Context(), "s1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tests, one.Report.Tests); diff != "" {
		t.Error(diff)
	}
	all, err := l.Submissions(t.Context(), id)
	if err != nil || len(all) != 1 || all[0].Report.Passed != 1 || all[0].Report.Tests != nil {
		t.Errorf("all: %+v, %v", all, err)
	}
	status, err := (&Reconciler{o: Options{Store: s}}).Trial(t.Context(), id)
	if err != nil || len(status.Rounds) != 1 || len(status.Rounds[0].Report.Tests) != 2 {
		t.Errorf("the status of the trial: %+v, %v", status.Rounds, err)
	}
	if _, err := l.Submission(t.Context(), "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
}

func TestAReservationIsTakenOver(t *testing.T) {
	s, id := openStore(t)
	l := NewLedger(s)
	old := reserve(t, l, judge.Submission{ID: "s1", Trial: id, Try: 1, Kind: judge.KindAgent, Number: 1, Key: "k", State: judge.StateReserved})
	for _, key := range []string{"k", "other", ""} {
		old.Key = key
		reserve(t, l, old)
		subs, err := l.Submissions(t.Context(), id)
		if err != nil || len(subs) != 1 || subs[0].Key != key {
			t.Errorf("key %q: %+v, %v", key, subs, err)
		}
	}
	reserve(t, l, judge.Submission{ID: "s2", Trial: id, Try: 1, Kind: judge.KindAgent, Number: 2, Key: "k"}) // free again
}

func TestARefusedChangeStoresNothing(t *testing.T) {
	s, id := openStore(t)
	l := NewLedger(s)
	no := errors.New("no")
	if _, err := l.Reserve(t.Context(), id, func([]judge.Submission) (judge.Submission, error) { return judge.Submission{ID: "s0"}, no }); !errors.Is(err, no) {
		t.Errorf("reserve: %v", err)
	}
	reserve(t, l, judge.Submission{ID: "s1", Trial: id, Try: 1, Kind: judge.KindAgent, State: judge.StateQueued})
	_, err := l.Update(t.Context(), "s1", func(u *judge.Submission) error {
		u.State, u.Report = judge.StateJudged, &judge.Report{}
		return no
	})
	if !errors.Is(err, no) {
		t.Errorf("update: %v", err)
	}
	subs, err := l.Submissions(t.Context(), id)
	if err != nil || len(subs) != 1 || subs[0].State != judge.StateQueued || len(linesOf(t, s, "run.r", "submission")) != 0 {
		t.Errorf("%v %+v", err, subs)
	}
	if _, err := l.Update(t.Context(), "none", func(*judge.Submission) error { return nil }); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("update of what is not there: %v", err)
	}
}

// TestReservationsSeeEachOther: number and budget are decided in one transaction.
func TestReservationsSeeEachOther(t *testing.T) {
	s, id := openStore(t)
	l := NewLedger(s)
	const budget = 5
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			_, err := l.Reserve(t.Context(), id, func(past []judge.Submission) (judge.Submission, error) {
				if len(past) == budget {
					return judge.Submission{}, errors.New("spent")
				}
				n := len(past) + 1
				return judge.Submission{ID: fmt.Sprintf("s%d", i), Trial: id, Try: 1, Kind: judge.KindAgent, Number: n, State: judge.StateReserved}, nil
			})
			_ = err // fifteen of them
		})
	}
	all.Wait()
	subs, err := l.Submissions(t.Context(), id)
	if err != nil || len(subs) != budget {
		t.Fatalf("%d rounds of %d, %v", len(subs), budget, err)
	}
	for i, sub := range subs {
		if sub.Number != i+1 {
			t.Errorf("round %d has number %d", i+1, sub.Number)
		}
	}
	if err := l.Release(t.Context(), subs[0].ID); err != nil {
		t.Fatal(err)
	}
	if subs, err = l.Submissions(t.Context(), id); err != nil || len(subs) != budget-1 {
		t.Errorf("after a release there are %d rounds, %v", len(subs), err)
	}
}

// TestKeysBelongToATryAndAKind: an agent that sends the key of the daemon's last snapshot
// does not keep it out, and each try has a last snapshot.
func TestKeysBelongToATryAndAKind(t *testing.T) {
	s, id := openStore(t)
	l := NewLedger(s)
	reserve(t, l, judge.Submission{ID: "s1", Trial: id, Try: 1, Kind: judge.KindAgent, Key: "final-1"})
	reserve(t, l, judge.Submission{ID: "s2", Trial: id, Try: 1, Kind: judge.KindFinal, Key: "final-1"})
	reserve(t, l, judge.Submission{ID: "s3", Trial: id, Try: 2, Kind: judge.KindFinal, Key: "final-1"})
	reserve(t, l, judge.Submission{ID: "s4", Trial: id, Try: 1, Kind: judge.KindAgent})
	reserve(t, l, judge.Submission{ID: "s5", Trial: id, Try: 1, Kind: judge.KindAgent})
	_, err := l.Reserve(t.Context(), id, func([]judge.Submission) (judge.Submission, error) {
		return judge.Submission{ID: "s6", Trial: id, Try: 1, Kind: judge.KindFinal, Key: "final-1"}, nil
	})
	if !errors.Is(err, store.ErrExists) {
		t.Errorf("a key was taken twice: %v", err)
	}
}

func TestUnjudged(t *testing.T) {
	s, id := openStore(t)
	l := NewLedger(s)
	for _, state := range []judge.State{judge.StateReserved, judge.StateQueued, judge.StateRunning, judge.StateJudged} {
		reserve(t, l, judge.Submission{ID: string(state), Trial: id, Try: 1, Kind: judge.KindAgent, State: state, Report: &judge.Report{}})
	}
	subs, err := l.unjudged(t.Context())
	if err != nil || len(subs) != 2 || subs[0].ID != "queued" || subs[1].ID != "running" {
		t.Errorf("to be judged: %+v, %v", subs, err)
	}
	if subs, err = l.Submissions(t.Context(), id); err != nil || len(subs) != 3 {
		t.Errorf("a reservation without its archive is still there: %+v, %v", subs, err)
	}
}

func TestARoundOfNoTrialIsReportedNowhere(t *testing.T) {
	s, _ := openStore(t)
	l := NewLedger(s)
	reserve(t, l, judge.Submission{ID: "s1", Trial: "eval", Try: 1, Kind: judge.KindManual, State: judge.StateQueued})
	_, err := l.Update(t.Context(), "s1", func(u *judge.Submission) error {
		u.State, u.Report = judge.StateJudged, &judge.Report{}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
