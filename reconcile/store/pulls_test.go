package store

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestPullsAreDecidedOnce(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	do := func(f func(tx *Tx) error) {
		t.Helper()
		if err := s.Do(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	do(func(tx *Tx) error {
		for i, want := range []bool{true, true, false} {
			fresh, err := tx.FindPull("mining.x", "acme/app", i%2+1)
			if err != nil || fresh != want {
				t.Errorf("find %d: fresh %v, %v; want %v", i, fresh, err, want)
			}
		}
		_, err := tx.FindPull("mining.y", "acme/app", 1)
		return err
	})
	decided := PullRow{Spec: "mining.x", Repo: "acme/app", Number: 1, Verdict: "rejected", Stage: "filter", Reason: "stars"}
	do(func(tx *Tx) error {
		for i, want := range []bool{true, false} {
			first, err := tx.DecidePull(decided)
			if err != nil || first != want {
				t.Errorf("decide %d: first %v, %v; want %v", i, first, err, want)
			}
			decided.Reason = "another"
		}
		_, err := tx.DecidePull(PullRow{Spec: "mining.x", Repo: "acme/app", Number: 9, Verdict: "failed"})
		if !errors.Is(err, ErrNotFound) {
			t.Errorf("decide about what was never seen: %v", err)
		}
		return nil
	})
	do(func(tx *Tx) error {
		left, err := tx.OpenPulls("mining.x", 0, 10)
		if err != nil || len(left) != 1 || left[0].Number != 2 || left[0].SeenAt.IsZero() {
			t.Errorf("open: %+v, %v", left, err)
		}
		counts, err := tx.PullCounts("mining.x")
		want := []PullCount{{N: 1}, {Verdict: "rejected", Stage: "filter", Reason: "stars", N: 1}}
		if diff := cmp.Diff(want, counts); diff != "" {
			t.Errorf("counts: -want +got\n%s", diff)
		}
		for after, number := range []int{1, 2} {
			if rows, err2 := tx.PullsFrom("mining.x", int64(after), 1); err2 != nil || len(rows) != 1 || rows[0].Number != number {
				t.Errorf("behind %d: %+v, %v", after, rows, err2)
			}
		}
		if n, err2 := tx.ReopenPulls("mining.x", "stars"); n != 1 || err2 != nil {
			t.Errorf("reopened %d, %v", n, err2)
		}
		return err
	})
}

// The counts are those of the rows, whatever was done to them, in a state directory of before, too.
func TestPullsAreCounted(t *testing.T) {
	dir := t.TempDir()
	former, err := openPool(filepath.Join(dir, databaseName), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range append(slices.Clone(migrations[:3]), "PRAGMA user_version = 3",
		"INSERT INTO pulls (spec, repo, number, seen_at) VALUES ('mining.x', 'acme/app', 100, 1), ('mining.x', 'acme/app', 101, 1)",
		"UPDATE pulls SET verdict = 'rejected', stage = 'filter', reason = 'stars' WHERE number = 101",
	) {
		if _, err := former.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := former.Close(); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir, Options{})
	do(t, s, func(tx *Tx) error {
		for i := range 12 {
			spec, number := []string{"mining.x", "mining.y"}[i%2], i/3
			if _, err := tx.FindPull(spec, "acme/app", number); err != nil {
				return err
			}
			p := PullRow{Spec: spec, Repo: "acme/app", Number: number, Verdict: "rejected", Stage: "enrich", Reason: []string{"enough", "stars", "gone"}[i%3]}
			if _, err := tx.DecidePull(p); i%4 > 0 && err != nil {
				return err
			}
		}
		_, err := tx.ReopenPulls("mining.x", "enough")
		return err
	})
	for _, spec := range []string{"mining.x", "mining.y", "mining.z"} {
		got := read(t, s, func(tx *Tx) ([]PullCount, error) { return tx.PullCounts(spec) })
		want := read(t, s, func(tx *Tx) (all []PullCount, err error) {
			return list(tx, func(r row) (c PullCount, err error) {
				return c, r.Scan(&c.Verdict, &c.Stage, &c.Reason, &c.Class, &c.N)
			},
				"SELECT verdict, stage, reason, class, count(*) FROM pulls WHERE spec = ? GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4", spec)
		})
		if diff := cmp.Diff(want, got); diff != "" || spec != "mining.z" && len(got) < 2 {
			t.Errorf("%s: -rows +counts\n%s%v", spec, diff, got)
		}
	}
}

func TestAnswersBelongToTheirPull(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	err := s.Do(t.Context(), func(tx *Tx) error {
		put := func(pull, key, value string) {
			if err := tx.PutAnswer("mining.x", pull, key, []byte(value)); err != nil {
				t.Error(err)
			}
		}
		put("a/b#1", "triage/0", "one")
		put("a/b#2", "triage/0", "two")
		put("", "hour/1", "done")
		put("", "hour/2", "missing")
		put("", "hours", "none of them")
		if err := tx.DropAnswers("mining.x", "a/b#1"); err != nil {
			return err
		}
		if _, err := tx.Answer("mining.x", "a/b#1", "triage/0"); !errors.Is(err, ErrNotFound) {
			t.Errorf("a dropped answer: %v", err)
		}
		if got, err := tx.Answer("mining.x", "a/b#2", "triage/0"); string(got) != "two" || err != nil {
			t.Errorf("the answer of another: %q, %v", got, err)
		}
		got, err := tx.Answers("mining.x", "hour/")
		want := []Named{{"hour/1", []byte("done")}, {"hour/2", []byte("missing")}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestMinedTasksKeepTheirPlace(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	err := s.Do(t.Context(), func(tx *Tx) error {
		for _, m := range []MinedRow{{Spec: "mining.x", Task: "b", Data: []byte(`1`)}, {Spec: "mining.x", Task: "a", Data: []byte(`2`)}, {Spec: "mining.x", Task: "b", Data: []byte(`3`)}} {
			if err := tx.PutMined(m); err != nil {
				return err
			}
		}
		got, err := tx.Mined("mining.x")
		want := []MinedRow{{Spec: "mining.x", Task: "b", Data: []byte(`3`)}, {Spec: "mining.x", Task: "a", Data: []byte(`2`)}}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(MinedRow{}, "N")); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
