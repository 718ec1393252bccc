package store

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	earlier = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	later   = earlier.Add(time.Hour)
)

func same(t *testing.T, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestFilesAreReplacedAndForgotten(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	a := FileRow{Path: "/w/a.hcl", Root: "/w", Hash: "1", Compiled: json.RawMessage(`[{"kind":"run"}]`), AcceptedAt: earlier}
	b := FileRow{Path: "/w/b.hcl", Root: "/w", Hash: "2"}
	do(t, s, func(tx *Tx) error { return errors.Join(tx.PutFile(b), tx.PutFile(a)) })
	same(t, read(t, s, (*Tx).Files), []FileRow{a, b})

	a.Hash, a.AcceptedAt = "3", later
	do(t, s, func(tx *Tx) error {
		return errors.Join(tx.PutFile(a), tx.DeleteFile(b.Path), tx.DeleteFile("/not/there"))
	})
	same(t, read(t, s, (*Tx).Files), []FileRow{a})
}

func TestExecutionsAreFoundWhileOpen(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	latest := func(tx *Tx) error { _, err := tx.LatestExecution("run.a"); return err }
	if err := s.View(t.Context(), latest); !errors.Is(err, ErrNotFound) {
		t.Errorf("latest of none: %v", err)
	}
	first := ExecutionRow{Spec: "run.a", N: 1, Trigger: "accepted", StartedAt: earlier, Data: json.RawMessage(`{"x":1}`)}
	second := ExecutionRow{Spec: "run.a", N: 2, Trigger: "rerun", StartedAt: later}
	do(t, s, func(tx *Tx) error {
		for _, e := range []ExecutionRow{first, second} {
			if err := tx.PutExecution(e); err != nil {
				return err
			}
		}
		return nil
	})
	first.SettledAt, first.FinishedAt = later, later
	do(t, s, func(tx *Tx) error { return tx.PutExecution(first) })
	same(t, read(t, s, (*Tx).AllExecutions), []ExecutionRow{first, second})
	same(t, read(t, s, func(tx *Tx) (ExecutionRow, error) { return tx.LatestExecution("run.a") }), second)
	same(t, read(t, s, (*Tx).OpenExecutions), []ExecutionRow{second})
}

func TestTrialsAndTheirTries(t *testing.T) {
	now := earlier
	s := open(t, t.TempDir(), Options{Clock: func() time.Time { return now }})
	x := TrialRow{
		ID: "a.e1.01234567", Spec: "run.a", Execution: 1, Cell: "0123456789", Try: 1, Phase: "creating",
		Wanted: true, Data: json.RawMessage(`{"container":"c"}`),
	}
	y := TrialRow{ID: "a.e1.76543210", Spec: "run.a", Execution: 1, Cell: "7654321000", Status: "resolved", FinishedAt: later}
	do(t, s, func(tx *Tx) error { // also in an order in which a trial has no execution yet
		return errors.Join(tx.PutTrial(x), tx.PutTrial(y), tx.PutExecution(ExecutionRow{Spec: "run.a", N: 1}))
	})
	now = later
	x.Try, x.Phase = 2, "running"
	do(t, s, func(tx *Tx) error {
		return tx.PutTrial(x)
	})
	x.CreatedAt, x.UpdatedAt, y.CreatedAt, y.UpdatedAt = earlier, later, earlier, earlier
	same(t, read(t, s, func(tx *Tx) (TrialRow, error) { return tx.Trial(x.ID) }), x)
	same(t, read(t, s, func(tx *Tx) ([]TrialRow, error) { return tx.Trials("run.a", 1) }), []TrialRow{x, y})
	same(t, read(t, s, (*Tx).OpenTrials), []TrialRow{x})
}

func TestTrialsThatCannotBeStored(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	x := TrialRow{ID: "a.e1.01234567", Spec: "run.a", Execution: 1, Cell: "0123456789"}
	do(t, s, func(tx *Tx) error {
		return errors.Join(tx.PutExecution(ExecutionRow{Spec: "run.a", N: 1}), tx.PutTrial(x))
	})
	x.Cell = "01234567ff"
	if err := s.Do(t.Context(), func(tx *Tx) error { return tx.PutTrial(x) }); !errors.Is(err, ErrExists) {
		t.Errorf("another cell of the same id: %v", err)
	}
	orphan := TrialRow{ID: "b.e1.0", Spec: "run.b", Execution: 1}
	if err := s.Do(t.Context(), func(tx *Tx) error { return tx.PutTrial(orphan) }); err == nil {
		t.Error("a trial without its execution was stored")
	}
	orphan.Data = json.RawMessage(`{"half`)
	if err := s.Do(t.Context(), func(tx *Tx) error { return tx.PutTrial(orphan) }); err == nil {
		t.Error("broken JSON was stored")
	}
}

func TestSubmissionsKeepTheirOrder(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	rows := []SubmissionRow{
		{ID: "c", Trial: "t1", Kind: "agent", Number: 1, Key: "k", State: "queued", Data: json.RawMessage(`{}`)},
		{ID: "b", Trial: "t2", Kind: "agent", Number: 1, Key: "k", State: "judged"},
		{ID: "a", Trial: "t1", Kind: "auto", Number: 1, State: "running"},
		{ID: "d", Trial: "t1", Kind: "auto", Number: 2, State: "queued"},
	}
	do(t, s, func(tx *Tx) (err error) {
		for i := range rows {
			if rows[i], err = tx.InsertSubmission(rows[i]); err != nil {
				return err
			}
		}
		return nil
	})
	of := func(trial string) []SubmissionRow {
		return read(t, s, func(tx *Tx) ([]SubmissionRow, error) { return tx.Submissions(trial) })
	}
	same(t, of("t1"), []SubmissionRow{rows[0], rows[2], rows[3]})
	same(t, of("t2"), []SubmissionRow{rows[1]})
	same(t, read(t, s, func(tx *Tx) ([]SubmissionRow, error) { return tx.SubmissionsInState("running", "queued") }),
		[]SubmissionRow{rows[0], rows[2], rows[3]})

	for name, taken := range map[string]SubmissionRow{
		"id":  {ID: "a", Trial: "t9"},
		"key": {ID: "e", Trial: "t1", Key: "k"},
	} {
		err := s.Do(t.Context(), func(tx *Tx) error { _, err := tx.InsertSubmission(taken); return err })
		if !errors.Is(err, ErrExists) {
			t.Errorf("taken %s: %v", name, err)
		}
	}
}

func TestSubmissionsChangeAndGo(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	var x SubmissionRow
	do(t, s, func(tx *Tx) (err error) {
		x, err = tx.InsertSubmission(SubmissionRow{ID: "a", Trial: "t", State: "queued"})
		return err
	})
	x.State, x.Data, x.Detail = "judged", json.RawMessage(`{"report":1}`), json.RawMessage(`["much"]`)
	do(t, s, func(tx *Tx) error { return tx.UpdateSubmission(x) })
	get := func(tx *Tx) (SubmissionRow, error) { return tx.Submission("a") }
	same(t, read(t, s, get), x)
	brief := x
	brief.Detail = nil // lists do not carry what is large
	same(t, read(t, s, func(tx *Tx) ([]SubmissionRow, error) { return tx.Submissions("t") }), []SubmissionRow{brief})
	same(t, read(t, s, func(tx *Tx) ([]SubmissionRow, error) { return tx.SubmissionsInState("judged") }), []SubmissionRow{brief})

	do(t, s, func(tx *Tx) error { return errors.Join(tx.DeleteSubmission("a"), tx.DeleteSubmission("a")) })
	if err := s.View(t.Context(), func(tx *Tx) error { _, err := get(tx); return err }); !errors.Is(err, ErrNotFound) {
		t.Errorf("deleted: %v", err)
	}
	if err := s.Do(t.Context(), func(tx *Tx) error { return tx.UpdateSubmission(x) }); !errors.Is(err, ErrNotFound) {
		t.Errorf("update of deleted: %v", err)
	}
	var next SubmissionRow
	do(t, s, func(tx *Tx) (err error) {
		next, err = tx.InsertSubmission(SubmissionRow{ID: "b", Trial: "t"})
		return err
	})
	if next.N <= x.N {
		t.Errorf("N %d is used again after %d", next.N, x.N)
	}
}
