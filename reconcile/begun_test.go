package reconcile

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

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

// What is read of what is open gives the index that all trials give, wherever the noted cells end, and
// also where trials lie behind cells without one.
func TestTheIndexOfWhatIsOpenIsThatOfAll(t *testing.T) {
	h := newFixture(t)
	h.byHand = true
	const all = plan.NotedAtLeast + 100
	text := manyAttempts(all)
	set := loaded(t, text)
	run, err := plan.Compile(set, *set.Run("r"))
	check(t, err)
	h.plantEnded(run, all/2)
	check(t, h.store.Do(t.Context(), func(tx *store.Tx) error {
		row, err := tx.Trial(trial.ID("r", 1, run.Wanted().At(3).Key))
		check(t, err)
		s, err := history.StateOf(row)
		check(t, err)
		for _, place := range []int{all/2 + 2, all/2 + 5} { // with holes before them
			s.Key = run.Wanted().At(place).Key
			s.ID, s.Cell.Attempt, s.Phase, s.Result = trial.ID("r", 1, s.Key), place+1, trial.Running, nil
			row.ID, row.Cell, row.Phase, row.Status = s.ID, s.Key, string(s.Phase), ""
			row.Data = mustJSON(t, s)
			check(t, history.PutTrial(tx, row, s))
		}
		return tx.PutMeta(history.FilledKey, history.FilledAll)
	}))
	r := New(Options{Store: h.store})
	e := &plan.Execution{N: 1, StartedAt: noon.Add(-time.Hour)}
	indexed := func() (x *plan.CellIndex, quick bool) {
		x = plan.NewCellIndex(run, e)
		check(t, h.store.View(t.Context(), func(tx *store.Tx) (err error) {
			if quick, err = r.indexOpen(tx, "run.r", x); err != nil || quick {
				return err
			}
			return r.index(tx, "run.r", x)
		}))
		return x, quick
	}
	widely := *run
	widely.Parallel = all + 2
	planned := func(x *plan.CellIndex) string { // all that is open, and all that has not begun
		return x.Worklist(plan.Observed{Execution: e}).Diff("run.r", &widely, noon).String()
	}
	whole, quick := indexed()
	if quick {
		t.Fatal("it is noted already")
	}
	for _, tt := range []struct {
		first int
		quick bool
	}{{0, true}, {all/2 - 7, true}, {all / 2, true}, {all + 1, false}} {
		t.Run(fmt.Sprint(tt.first), func(t *testing.T) {
			note, _ := whole.Note()
			note.First = tt.first
			check(t, h.store.Do(t.Context(), func(tx *store.Tx) error { return tx.PutMeta(begunKey("run.r"), string(mustJSON(t, note))) }))
			x, quick := indexed()
			if quick != tt.quick {
				t.Errorf("only what is open is read: %v", quick)
			}
			if diff := cmp.Diff(planned(whole), planned(x)); diff != "" {
				t.Errorf("the plan (-all +open): %s", diff)
			}
			if diff := cmp.Diff(whole.Worklist(plan.Observed{}).Trials, x.Worklist(plan.Observed{}).Trials, cmpopts.IgnoreUnexported(plan.Trial{})); diff != "" {
				t.Errorf("trials that ask for something (-all +open): %s", diff)
			}
		})
	}
}
