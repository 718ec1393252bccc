package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/storetest"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
)

// aTrial has submissions in these tests.
const aTrial = "r.e1.aaaaaaaa"

// quietly returns the submissions of an empty store, whose verdicts are told to nobody.
func quietly(t *testing.T) *Submissions {
	t.Helper()
	return unheard(storetest.Open(t))
}

func unheard(s *store.Store) *Submissions {
	return NewSubmissions(s, func(*store.Tx, round.Submission) error { return nil })
}

// reserved makes a submission.
func reserved(t *testing.T, l *Submissions, s round.Submission) round.Submission {
	t.Helper()
	made, err := l.Reserve(t.Context(), s.Trial, func([]round.Submission) (round.Submission, error) { return s, nil })
	if err != nil {
		t.Fatalf("reserve %s: %v", s.ID, err)
	}
	return made
}

// A verdict is told once, in the transaction that stores it: if it cannot be told it is not stored.
func TestAVerdictIsToldInItsTransaction(t *testing.T) {
	full, told := errors.New("full"), 0
	l := NewSubmissions(storetest.Open(t), func(_ *store.Tx, s round.Submission) error {
		if told++; told == 1 {
			return full
		}
		return nil
	})
	reserved(t, l, round.Submission{ID: "s1", Trial: aTrial, Try: 1, Kind: round.KindAgent, State: round.StateQueued})
	judged := func(u *round.Submission) error {
		u.State, u.Report = round.StateJudged, &round.Report{}
		return nil
	}
	if _, err := l.Update(t.Context(), "s1", judged); !errors.Is(err, full) {
		t.Errorf("a verdict that could not be told: %v", err)
	}
	if s, err := l.Submission(t.Context(), "s1"); err != nil || s.State != round.StateQueued {
		t.Errorf("after that it is %s (%v)", s.State, err)
	}
	for range 2 { // the second time nothing becomes judged
		if _, err := l.Update(t.Context(), "s1", judged); err != nil {
			t.Error(err)
		}
	}
	if told != 2 {
		t.Errorf("told %d times", told)
	}
}

// TestTestsAreReadOneSubmissionAtATime: what is asked for at every request does not grow
// with the number of tests.
func TestTestsAreReadOneSubmissionAtATime(t *testing.T) {
	l := quietly(t)
	tests := []parser.Test{{Name: "a", Status: parser.Passed}, {Name: "b", Status: parser.Failed, Message: "because"}}
	reserved(t, l, round.Submission{ID: "s1", Trial: aTrial, Try: 1, Kind: round.KindAgent, State: round.StateQueued})
	verdict := &round.Report{Status: round.StatusOK, Passed: 1, Tests: tests}
	for range 2 { // the second change finds the tests and keeps them
		u, err := l.Update(t.Context(), "s1", func(u *round.Submission) error {
			if u.State == round.StateQueued {
				u.Report = verdict
			}
			u.State = round.StateJudged
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
	all, err := l.Submissions(t.Context(), aTrial)
	if err != nil || len(all) != 1 || all[0].Report.Passed != 1 || all[0].Report.Tests != nil {
		t.Errorf("all: %+v, %v", all, err)
	}
	if _, err := l.Submission(t.Context(), "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
}

func TestAReservationIsTakenOver(t *testing.T) {
	l := quietly(t)
	old := reserved(t, l, round.Submission{ID: "s1", Trial: aTrial, Try: 1, Kind: round.KindAgent, Number: 1, Key: "k", State: round.StateReserved})
	for _, key := range []string{"k", "other", ""} {
		old.Key = key
		reserved(t, l, old)
		subs, err := l.Submissions(t.Context(), aTrial)
		if err != nil || len(subs) != 1 || subs[0].Key != key {
			t.Errorf("key %q: %+v, %v", key, subs, err)
		}
	}
	reserved(t, l, round.Submission{ID: "s2", Trial: aTrial, Try: 1, Kind: round.KindAgent, Number: 2, Key: "k"}) // free again
}

func TestARefusedChangeStoresNothing(t *testing.T) {
	told := 0
	l := NewSubmissions(storetest.Open(t), func(*store.Tx, round.Submission) error { told++; return nil })
	no := errors.New("no")
	if _, err := l.Reserve(t.Context(), aTrial, func([]round.Submission) (round.Submission, error) { return round.Submission{ID: "s0"}, no }); !errors.Is(err, no) {
		t.Errorf("reserve: %v", err)
	}
	reserved(t, l, round.Submission{ID: "s1", Trial: aTrial, Try: 1, Kind: round.KindAgent, State: round.StateQueued})
	_, err := l.Update(t.Context(), "s1", func(u *round.Submission) error {
		u.State, u.Report = round.StateJudged, &round.Report{}
		return no
	})
	if !errors.Is(err, no) {
		t.Errorf("update: %v", err)
	}
	subs, err := l.Submissions(t.Context(), aTrial)
	if err != nil || len(subs) != 1 || subs[0].State != round.StateQueued || told != 0 {
		t.Errorf("%v %+v", err, subs)
	}
	if _, err := l.Update(t.Context(), "none", func(*round.Submission) error { return nil }); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("update of what is not there: %v", err)
	}
}

// TestReservationsSeeEachOther: number and budget are decided in one transaction.
func TestReservationsSeeEachOther(t *testing.T) {
	l := quietly(t)
	const budget = 5
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			_, err := l.Reserve(t.Context(), aTrial, func(past []round.Submission) (round.Submission, error) {
				if len(past) == budget {
					return round.Submission{}, errors.New("spent")
				}
				n := len(past) + 1
				return round.Submission{ID: fmt.Sprintf("s%d", i), Trial: aTrial, Try: 1, Kind: round.KindAgent, Number: n, State: round.StateReserved}, nil
			})
			_ = err // fifteen of them
		})
	}
	all.Wait()
	subs, err := l.Submissions(t.Context(), aTrial)
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
	if subs, err = l.Submissions(t.Context(), aTrial); err != nil || len(subs) != budget-1 {
		t.Errorf("after a release there are %d rounds, %v", len(subs), err)
	}
}

// TestKeysBelongToATryAndAKind: an agent that sends the key of the daemon's last snapshot
// does not keep it out, and each try has a last snapshot.
func TestKeysBelongToATryAndAKind(t *testing.T) {
	l := quietly(t)
	reserved(t, l, round.Submission{ID: "s1", Trial: aTrial, Try: 1, Kind: round.KindAgent, Key: "final-1"})
	reserved(t, l, round.Submission{ID: "s2", Trial: aTrial, Try: 1, Kind: round.KindFinal, Key: "final-1"})
	reserved(t, l, round.Submission{ID: "s3", Trial: aTrial, Try: 2, Kind: round.KindFinal, Key: "final-1"})
	reserved(t, l, round.Submission{ID: "s4", Trial: aTrial, Try: 1, Kind: round.KindAgent})
	reserved(t, l, round.Submission{ID: "s5", Trial: aTrial, Try: 1, Kind: round.KindAgent})
	_, err := l.Reserve(t.Context(), aTrial, func([]round.Submission) (round.Submission, error) {
		return round.Submission{ID: "s6", Trial: aTrial, Try: 1, Kind: round.KindFinal, Key: "final-1"}, nil
	})
	if !errors.Is(err, store.ErrExists) {
		t.Errorf("a key was taken twice: %v", err)
	}
}

func TestUnjudged(t *testing.T) {
	l := quietly(t)
	for _, state := range []round.State{round.StateReserved, round.StateQueued, round.StateRunning, round.StateJudged} {
		reserved(t, l, round.Submission{ID: string(state), Trial: aTrial, Try: 1, Kind: round.KindAgent, State: state, Report: &round.Report{}})
	}
	subs, err := l.Unjudged(t.Context())
	if err != nil || len(subs) != 2 || subs[0].ID != "queued" || subs[1].ID != "running" {
		t.Errorf("to be judged: %+v, %v", subs, err)
	}
	if subs, err = l.Submissions(t.Context(), aTrial); err != nil || len(subs) != 3 {
		t.Errorf("a reservation without its archive is still there: %+v, %v", subs, err)
	}
}
