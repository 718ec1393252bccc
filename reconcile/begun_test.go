package reconcile

import (
	"testing"

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/trial"
)

// A start reads of an open execution what is open, however many of its cells are over.
func TestAStartReadsWhatIsOpen(t *testing.T) {
	read := map[int]int64{}
	for _, done := range []int{plan.NotedAtLeast, 2 * plan.NotedAtLeast} {
		h := newFixture(t)
		text := manyAttempts(done + 8)
		h.write("r.hcl", text)
		set := loaded(t, text)
		run, err := plan.Compile(set, *set.Run("r"))
		check(t, err)
		h.plantEnded(run, done)
		check(t, h.store.Do(t.Context(), func(tx *store.Tx) error { return tx.PutMeta(history.FilledKey, history.FilledAll) }))
		working := func(d *daemon) {
			d.until(t, "at work", func(r query.RunStatus) bool { return r.Cells[history.StateWorking] == 1 })
			d.stop()
		}
		working(h.start()) // the first one reads all, and notes what has begun
		before := h.store.Work().Rows
		d, ready := h.begin()
		<-ready
		read[done] = h.store.Work().Rows - before
		working(d)
		if done == plan.NotedAtLeast {
			close(h.let)
			expectResolved(t, h.start().untilState(t, "finished"), done+8)
		}
	}
	t.Logf("rows read by a start, by trials that are over: %v", read)
	if few, many := read[plan.NotedAtLeast], read[2*plan.NotedAtLeast]; many > few+few/4 {
		t.Errorf("rows read by a start, by trials that are over: %v", read)
	}
}

// expectResolved holds that so many cells are resolved, and that there are no others.
func expectResolved(t *testing.T, run query.RunStatus, resolved int) {
	t.Helper()
	if n := run.Cells[string(trial.Resolved)]; n != resolved || len(run.Cells) != 1 {
		t.Errorf("cells: %v, want %d resolved", run.Cells, resolved)
	}
}
