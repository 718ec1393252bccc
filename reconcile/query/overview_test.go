package query

import (
	"fmt"
	"testing"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query/snapshot"
	"github.com/assayd/assayd/reconcile/store"
)

// An overview has the runs that work, then those that changed last, and asks as much with ten thousand runs as with a
// hundred.
func TestTheOverviewCostsWhatItHas(t *testing.T) {
	asked := map[int]int64{}
	for _, runs := range []int{150, 3000} {
		h := newFixture(t)
		r := New(options(h.store))
		var none *snapshot.Snapshot
		edit := none.Edit()
		check(t, h.store.Do(t.Context(), func(tx *store.Tx) error {
			for i := range runs {
				address := fmt.Sprintf("run.r%04d", i)
				edit.PutRun(snapshot.RunView{Address: address, Desired: &plan.Run{Name: address[4:]}, File: "a.hcl"}, true)
				e := store.ExecutionRow{Spec: address, N: 1, Trigger: "accepted", StartedAt: noon}
				if i >= 10 {
					e.FinishedAt = noon
				}
				if err := tx.PutExecution(e); err != nil {
					return err
				}
			}
			return nil
		}))
		r.Snapshots.Publish(edit.Done(&config.Set{Files: []config.FileState{{Status: config.OK}, {Status: config.Frozen}}}, nil, "blind"))
		before := h.store.Work().Queries
		o, err := r.Overview(t.Context())
		check(t, err)
		asked[runs] = h.store.Work().Queries - before
		if len(o.Runs) != 10+overviewLatest || o.Runs[0].Address != "run.r0000" || o.Runs[0].State != "running" || o.Runs[10].State != "finished" {
			t.Errorf("of %d runs it has %d: %v", runs, len(o.Runs), o.Runs)
		}
		if o.Files[config.OK] != 1 || o.Files[config.Frozen] != 1 || len(o.Waits) != 1 {
			t.Errorf("files %v, waits %v", o.Files, o.Waits)
		}
	}
	if asked[150] != asked[3000] {
		t.Errorf("%d queries with 150 runs, %d with 3,000", asked[150], asked[3000])
	}
}

// The cells of an execution are read without their trials, and counted.
func TestCellsInShort(t *testing.T) {
	h := newFixture(t)
	h.plantCells(30)
	before := h.store.Work()
	counts, cells, err := h.reader().Cells(t.Context(), "run.r", 1)
	check(t, err)
	after := h.store.Work()
	if len(cells) != 30 || counts["resolved"] != 30 || cells[0].Task != "edge.one" || cells[0].Agent != "nop" || cells[0].Trial == "" {
		t.Errorf("%d cells, %v, the first is %+v", len(cells), counts, cells[0])
	}
	if after.Queries-before.Queries != 2 {
		t.Errorf("by %d queries", after.Queries-before.Queries)
	}
}
