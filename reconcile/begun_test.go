package reconcile

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/trial"
)

// A start reads of an open execution what is open, however many of its cells are over.
func TestAStartReadsWhatIsOpen(t *testing.T) {
	read := map[int]int64{}
	for _, done := range []int{begunAtLeast, 2 * begunAtLeast} {
		h := newHouse(t)
		text := manyAttempts(done + 8)
		h.write("r.hcl", text)
		set := loaded(t, text)
		run, err := Compile(set, *set.Run("r"))
		check(t, err)
		h.plantEnded(run, done)
		check(t, h.store.Do(t.Context(), func(tx *store.Tx) error { return tx.PutMeta(filledKey, filledAll) }))
		working := func(d *daemon) {
			d.until(t, "at work", func(r RunStatus) bool { return r.Cells[StateWorking] == 1 })
			d.stop()
		}
		working(h.start()) // the first one reads all, and notes what has begun
		before := h.store.Work().Rows
		d, ready := h.begin()
		<-ready
		read[done] = h.store.Work().Rows - before
		working(d)
		if done == begunAtLeast {
			close(h.let)
			h.start().untilState(t, "finished").expect(t, done+8)
		}
	}
	t.Logf("rows read by a start, by trials that are over: %v", read)
	if few, many := read[begunAtLeast], read[2*begunAtLeast]; many > few+few/4 {
		t.Errorf("rows read by a start, by trials that are over: %v", read)
	}
}

// expect holds that so many cells are resolved.
func (run RunStatus) expect(t *testing.T, resolved int) {
	t.Helper()
	if n := run.Cells[string(trial.Resolved)]; n != resolved || len(run.Cells) != 1 {
		t.Errorf("cells: %v, want %d resolved", run.Cells, resolved)
	}
}

// What is read of what is open gives the index that all trials give, wherever the noted cells end, and
// also where trials lie behind cells without one.
func TestTheIndexOfWhatIsOpenIsThatOfAll(t *testing.T) {
	h := newHouse(t)
	h.byHand = true
	const all = begunAtLeast + 100
	text := manyAttempts(all)
	set := loaded(t, text)
	run, err := Compile(set, *set.Run("r"))
	check(t, err)
	h.plantEnded(run, all/2)
	check(t, h.store.Do(t.Context(), func(tx *store.Tx) error {
		row, err := tx.Trial(trial.ID("r", 1, run.cells.at(3).Key))
		check(t, err)
		s, err := stateOf(row)
		check(t, err)
		for _, place := range []int{all/2 + 2, all/2 + 5} { // with holes before them
			s.Key = run.cells.at(place).Key
			s.ID, s.Cell.Attempt, s.Phase, s.Result = trial.ID("r", 1, s.Key), place+1, trial.Running, nil
			row.ID, row.Cell, row.Phase, row.Status = s.ID, s.Key, string(s.Phase), ""
			row.Data = mustJSON(t, s)
			check(t, putTrial(tx, row, s))
		}
		return tx.PutMeta(filledKey, filledAll)
	}))
	r := New(Options{Store: h.store})
	indexed := func() *cellIndex {
		x := newCellIndex(run, execution(1))
		check(t, h.store.View(t.Context(), func(tx *store.Tx) error { return r.index(tx, "run.r", x) }))
		return x
	}
	whole := indexed()
	if whole.notedOf != nil {
		t.Fatal("it is noted already")
	}
	for _, tt := range []struct {
		first int
		quick bool
	}{{0, true}, {all/2 - 7, true}, {all / 2, true}, {all + 1, false}} {
		t.Run(fmt.Sprint(tt.first), func(t *testing.T) {
			note := begun{1, whole.cellsID(), tt.first}
			check(t, h.store.Do(t.Context(), func(tx *store.Tx) error { return tx.PutMeta(begunKey("run.r"), string(mustJSON(t, note))) }))
			x := indexed()
			if quick := x.notedOf != nil; quick != tt.quick {
				t.Errorf("only what is open is read: %v", quick)
			}
			if !slices.Equal(whole.fresh, x.fresh) || whole.begun != x.begun {
				t.Errorf("%d cells without a trial, want %d", len(x.fresh), len(whole.fresh))
			}
			if diff := cmp.Diff(fmt.Sprint(whole.asking), fmt.Sprint(x.asking)); diff != "" {
				t.Errorf("trials that ask for something (-all +open): %s", diff)
			}
		})
	}
}
