package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Pages of pull requests, read one after the other, are what is left of all of them by the filter.
func TestPagesOfPullsAreAllThatTheFilterLetsThrough(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	verdicts, stages, reasons := []string{"", "rejected", "accepted"}, []string{"filter", "triage"}, []string{"stars", "bot", "enough"}
	do(t, s, func(tx *Tx) error {
		for i := range 120 {
			p := PullRow{Spec: []string{"mining.x", "mining.y"}[i%2], Repo: "acme/app", Number: i, Verdict: verdicts[i*7%3], Stage: stages[i*5%2], Reason: reasons[i*11%3], Class: fmt.Sprint(i % 4)}
			if _, err := tx.FindPull(p.Spec, p.Repo, p.Number); err != nil {
				return err
			}
			if p.Verdict == "" {
				continue
			}
			if _, err := tx.DecidePull(p); err != nil {
				return err
			}
		}
		return nil
	})
	all := read(t, s, func(tx *Tx) ([]PullRow, error) { return tx.PullsFrom("mining.x", 0, 1000) })
	slices.Reverse(all)
	rapid.Check(t, func(t *rapid.T) {
		some := func(name string, of []string) *string {
			if i := rapid.IntRange(-1, len(of)).Draw(t, name); i >= 0 {
				return &append(slices.Clone(of), "none such")[i]
			}
			return nil
		}
		f := PullFilter{some("verdict", verdicts), some("stage", append(stages, "")), some("reason", append(reasons, ""))}
		limit := rapid.IntRange(1, 30).Draw(t, "limit")
		var want, got []PullRow
		for _, p := range all {
			if f.passes(PullCount{Verdict: p.Verdict, Stage: p.Stage, Reason: p.Reason}) {
				want = append(want, p)
			}
		}
		err := s.View(t.Context(), func(tx *Tx) error {
			for before := int64(0); ; {
				page, err := tx.PullsBefore("mining.x", f, before, limit)
				if err != nil || len(page) == 0 {
					return err
				}
				if len(page) > limit {
					t.Errorf("a page has %d of %d", len(page), limit)
				}
				got, before = append(got, page...), page[len(page)-1].N
			}
		})
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v -want +got\n%s", err, diff)
		}
	})
}

// A page is found by an index, both its filter and where it begins.
func TestPagesOfPullsReadNothingElse(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	do(t, s, func(tx *Tx) error {
		for i := range 3 {
			if _, err := tx.FindPull("mining.x", "acme/app", i); err != nil {
				return err
			}
			if _, err := tx.DecidePull(PullRow{Spec: "mining.x", Repo: "acme/app", Number: i, Verdict: "rejected", Stage: "filter", Reason: fmt.Sprint(i)}); err != nil {
				return err
			}
		}
		return nil
	})
	rejected := "rejected"
	for want, f := range map[string]PullFilter{
		"SEARCH pulls USING INDEX pulls_spec (spec=? AND rowid<?)":                                         {},
		"SEARCH pulls USING INDEX pulls_alike (spec=? AND verdict=? AND stage=? AND reason=? AND rowid<?)": {Verdict: &rejected},
	} {
		steps := read(t, s, func(tx *Tx) ([]string, error) {
			query, args, err := tx.pullsQuery("mining.x", f, 100, 10)
			if err != nil {
				return nil, err
			}
			return list(tx, func(r row) (step string, err error) {
				var id, parent, unused int
				return step, r.Scan(&id, &parent, &unused, &step)
			}, "EXPLAIN QUERY PLAN "+query, args...)
		})
		found := 0
		for _, step := range steps {
			if strings.Contains(step, "pulls") {
				found++
				if step != want {
					t.Errorf("%q, want %q", step, want)
				}
			}
		}
		if each := map[bool]int{true: 1, false: 3}[f == PullFilter{}]; found != each {
			t.Errorf("%d searches, want %d: %q", found, each, steps)
		}
	}
}

func TestPagesOfExecutionsAndSubmissions(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	do(t, s, func(tx *Tx) error {
		for n := 1; n <= 5; n++ {
			if err := tx.PutExecution(ExecutionRow{Spec: "run.x", N: n, Trigger: "accepted", Data: []byte(`{"large":true}`)}); err != nil {
				return err
			}
			for _, trial := range []string{"a", "b"} {
				kind := []string{"agent", "auto"}[n%2]
				if _, err := tx.InsertSubmission(SubmissionRow{ID: fmt.Sprint(trial, n), Trial: trial, Kind: kind, Number: n, State: "judged", Detail: []byte(`[1]`)}); err != nil {
					return err
				}
			}
		}
		return nil
	})
	for before, want := range map[int][]int{0: {5, 4}, 4: {3, 2}, 2: {1}, 1: nil} {
		rows := read(t, s, func(tx *Tx) ([]ExecutionRow, error) { return tx.ExecutionsBefore("run.x", before, 2) })
		var got []int
		for _, e := range rows {
			got = append(got, e.N)
			if e.Data != nil {
				t.Errorf("e%d comes with its data", e.N)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("before e%d: %s", before, diff)
		}
	}
	var got []string
	for after := 0; ; {
		rows := read(t, s, func(tx *Tx) ([]SubmissionRow, error) { return tx.SubmissionsAfter("b", after, 2) })
		if len(rows) == 0 {
			break
		}
		for _, x := range rows {
			got, after = append(got, x.ID), x.N
		}
	}
	if diff := cmp.Diff([]string{"b1", "b2", "b3", "b4", "b5"}, got); diff != "" {
		t.Error(diff)
	}
	if x := read(t, s, func(tx *Tx) (SubmissionRow, error) { return tx.SubmissionOf("a", "agent", 4) }); x.ID != "a4" || x.Detail != nil {
		t.Errorf("%+v", x)
	}
	if err := s.View(t.Context(), func(tx *Tx) error { _, err := tx.SubmissionOf("a", "auto", 4); return err }); !errors.Is(err, ErrNotFound) {
		t.Errorf("of another kind: %v", err)
	}
}
