package query

import (
	"errors"
	"slices"
	"testing"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/store"
)

// A page of trials costs what is on it, and a list keeps to its execution.
func TestAListOfTrialsReadsItsPage(t *testing.T) {
	h := newFixture(t)
	r := h.reader()
	h.plantCells(60)
	var all []string
	key := CellKey{}
	for {
		before := h.store.Work()
		page, err := r.CellsAfter(t.Context(), CellFilter{Run: "run.r"}, key, 7)
		check(t, err)
		after := h.store.Work()
		if rows, queries := after.Rows-before.Rows, after.Queries-before.Queries; rows > 30 || queries > 20 {
			t.Errorf("a page of %d reads %d rows by %d queries", len(page), rows, queries)
		}
		for _, c := range page {
			all = append(all, c.Trial)
		}
		if len(page) < 7 {
			break
		}
		if key, err = ParseCellKey(page[6].Key().String()); err != nil {
			t.Fatal(err)
		}
		check(t, h.store.Do(t.Context(), func(tx *store.Tx) error { // another one begins meanwhile
			return tx.PutExecution(store.ExecutionRow{Spec: "run.r", N: 2, Trigger: "rerun"})
		}))
	}
	if unique := slices.Compact(slices.Sorted(slices.Values(all))); len(all) != 60 || len(unique) != 60 {
		t.Errorf("%d trials, %d of them different", len(all), len(unique))
	}
	if page, err := r.CellsAfter(t.Context(), CellFilter{Run: "run.r"}, CellKey{}, 7); err != nil || len(page) != 0 {
		t.Errorf("of the execution that has begun: %d trials, %v", len(page), err)
	}
	if _, err := r.CellsAfter(t.Context(), CellFilter{Run: "run.none"}, CellKey{}, 7); !errors.Is(err, history.ErrUnknown) {
		t.Errorf("of no run: %v", err)
	}
	for _, text := range []string{"x", "1 2", "1 2 x t"} {
		if _, err := ParseCellKey(text); err == nil {
			t.Errorf("%q is taken for a key", text)
		}
	}
}
