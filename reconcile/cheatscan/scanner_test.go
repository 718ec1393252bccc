package cheatscan

import (
	"errors"
	"testing"
	"time"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/storetest"
	"github.com/assayd/assayd/runtime/trial"
)

// TestOnlyWhatCountsIsLookedAt: the last try of a trial whose agent worked.
func TestOnlyWhatCountsIsLookedAt(t *testing.T) {
	done := trial.State{ID: "t", Spec: "run.r", Try: 2, Phase: trial.Done, StartedAt: time.Unix(1, 0), Result: &trial.Finished{Final: true}}
	for name, tt := range map[string]struct {
		change func(*trial.State)
		want   bool
	}{
		"an ended one":                     {func(*trial.State) {}, true},
		"one whose container is there":     {func(s *trial.State) { s.Phase = trial.Cleanup }, false},
		"a try that is to be made again":   {func(s *trial.State) { s.Result = &trial.Finished{} }, false},
		"one that a user had tried again":  {func(s *trial.State) { s.Again = true }, false},
		"one whose agent never began":      {func(s *trial.State) { s.StartedAt = time.Time{} }, false},
		"one that hands in the solution":   {func(s *trial.State) { s.Cell.Agent.Name = "oracle" }, false},
		"one that is replaced by an edit":  {func(s *trial.State) { s.Replaced = &trial.Superseded{} }, true},
		"one that was cancelled at work":   {func(s *trial.State) { s.Result = &trial.Finished{Final: true, Status: trial.Cancelled} }, true},
		"one that does nothing, as agreed": {func(s *trial.State) { s.Cell.Agent.Name = "nop" }, true},
	} {
		s := done
		tt.change(&s)
		if _, due := Of(s); due != tt.want {
			t.Errorf("%s is looked at: %v", name, due)
		}
	}
}

// TestAnotherTryIsLookedAtInPlaceOfTheOneBefore: what was found in that one is told of no other.
func TestAnotherTryIsLookedAtInPlaceOfTheOneBefore(t *testing.T) {
	s := storetest.Open(t)
	first, second := Scan{"run.r", "t", 1}, Scan{"run.r", "t", 2}
	if err := s.Do(t.Context(), func(tx *store.Tx) error {
		return errors.Join(tx.PutMeta(first.Mark()), tx.PutMeta(second.Mark()), first.put(tx, []string{"cheat:x"}, nil))
	}); err != nil {
		t.Fatal(err)
	}
	key, value := second.Mark()
	if err := s.View(t.Context(), func(tx *store.Tx) error {
		mark, err := tx.Meta(key)
		if mark != value {
			t.Errorf("the second try has lost its mark: %q", mark)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}
