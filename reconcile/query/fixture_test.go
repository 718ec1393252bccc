package query

import (
	"context"
	"testing"
	"time"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/history/historytest"
	"github.com/assayd/assayd/reconcile/plan"
	"github.com/assayd/assayd/reconcile/query/snapshot"
	"github.com/assayd/assayd/reconcile/query/summaries"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/reconcile/store/storetest"
	"github.com/assayd/assayd/runtime/trial"
)

var noon = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

const benchmarkSpec = historytest.Benchmark

// fixture is a store that a Reader answers from, without a reconciler.
type fixture struct {
	t     *testing.T
	store *store.Store
}

// newFixture is one whose lists and counts have to show of trials what these are, once the test is over.
func newFixture(t *testing.T) *fixture {
	h := &fixture{t, storetest.Open(t)}
	t.Cleanup(func() { check(t, history.CheckCells(context.WithoutCancel(t.Context()), h.store)) })
	return h
}

// reader answers with a first snapshot in which nothing is declared.
func (h *fixture) reader() *Reader {
	r := New(options(h.store))
	var none *snapshot.Snapshot
	r.Snapshots.Publish(none.Edit().Done(nil, nil, ""))
	return r
}

// options are those of a reader of a store, without a snapshot.
func options(s *store.Store) Options {
	snapshots := snapshot.NewLatest(nil)
	return Options{Store: s, Snapshots: snapshots, Summaries: summaries.New(summaries.Options{Store: s, Snapshots: snapshots}), OpenBlob: s.Blobs().Open}
}

// plantCells stores so many trials of run.r e1 that are over. change is applied to each before.
func (h *fixture) plantCells(n int, change ...func(*trial.State)) *plan.Run {
	h.t.Helper()
	return historytest.Plant(h.t, h.store, n, change...)
}

func loaded(t *testing.T, text string) *config.Set {
	t.Helper()
	set := config.Load([]config.Input{{Path: "/w/a.hcl", Display: "a.hcl", Root: "/w", Text: []byte(text)}}, nil, config.Options{})
	if set.Diagnostics.HasErrors() {
		t.Fatal(set.Diagnostics)
	}
	return set
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
