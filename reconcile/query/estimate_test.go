package query

import (
	"fmt"
	"testing"
	"time"

	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query/snapshot"
	"github.com/assayd/assayd/runtime/trial"
)

// A run that has not begun says what it will take, by what other runs did. That costs as much whatever there is.
func TestARunThatHasNotBegunIsEstimated(t *testing.T) {
	queries, rows := map[int]int64{}, map[int]int64{}
	for _, done := range []int{600, 1200} {
		h := newFixture(t)
		r := h.reader()
		h.plantCells(done, func(s *trial.State) {
			s.EndedAt = time.Now().Add(-time.Minute) // the verdict comes now
			s.StartedAt = s.EndedAt.Add(-4 * time.Minute)
		})
		set := loaded(t, benchmarkSpec+"run \"next\" {\n tasks = [benchmark.edge]\n attempts = 8\n parallel = 2\n agent \"nop\" {}\n}\n")
		d, err := plan.Compile(set, *set.Run("next"))
		check(t, err)
		edit := r.Snapshots.Get().Edit()
		edit.PutRun(snapshot.RunView{Address: "run.next", Desired: d}, true)
		r.Snapshots.Publish(edit.Done(set, nil, ""))
		before := h.store.Work()
		run, err := r.RunOf(t.Context(), "run.next")
		check(t, err)
		queries[done], rows[done] = h.store.Work().Queries-before.Queries, h.store.Work().Rows-before.Rows
		if run.Estimate == nil {
			t.Fatal("it is not")
		}
		if got, want := run.Estimate.String(), "8 cells, 2 at a time: about 20m, no cost of models; estimated for 8 cells by 500 earlier trials of the same agent on the same task"; got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
		if begun, err := r.RunOf(t.Context(), "run.r"); err != nil || begun.Estimate != nil {
			t.Errorf("of a run that has begun: %v, %v", begun.Estimate, err)
		}
	}
	if queries[600] != queries[1200] || rows[600] != rows[1200] || rows[600] > 510 {
		t.Error(fmt.Sprint("queries and rows by earlier trials: ", queries, rows))
	}
}
