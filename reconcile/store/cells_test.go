package store

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// plant stores a trial of run.a e1 with its cell.
func plant(tx *Tx, c CellRow) error {
	return errors.Join(
		tx.PutExecution(ExecutionRow{Spec: c.Spec, N: c.Execution, Trigger: "accepted"}),
		tx.PutTrial(TrialRow{ID: c.Trial, Spec: c.Spec, Execution: c.Execution, Cell: c.Key, Try: c.Try, Phase: c.Phase, Status: c.Status}),
		tx.PutCell(c),
	)
}

func cell(trial, state string) CellRow {
	c := CellRow{Trial: trial, Spec: "run.a", Execution: 1, Key: trial, Benchmark: "edge", Task: "t-" + trial, Agent: "nop", Attempt: 1, Try: 1, Phase: "running", State: state, Flags: []string{}}
	if state == "resolved" || state == "unresolved" {
		c.Phase, c.Status, c.Stands = "done", state, true
	}
	return c
}

// Whatever becomes of cells, the counts are those of the cells, and the pages of a list are the list.
func TestCountsAndPagesAreThoseOfTheCells(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		spec := fmt.Sprintf("run.r%d", run)
		for range rapid.IntRange(1, 20).Draw(t, "changes") {
			name := fmt.Sprintf("r%d.%s", run, rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}).Draw(t, "trial"))
			c := cell(name, rapid.SampledFrom([]string{"setup", "working", "resolved", "superseded"}).Draw(t, "state"))
			c.Spec, c.Try = spec, rapid.IntRange(1, 2).Draw(t, "try")
			if err := s.Do(t.Context(), func(tx *Tx) error { return plant(tx, c) }); err != nil {
				t.Fatal(err)
			}
		}
		limit, latest := rapid.IntRange(1, 7).Draw(t, "limit"), rapid.Bool().Draw(t, "latest")
		state := rapid.SampledFrom([]string{"", "working", "resolved"}).Draw(t, "listed")
		var all, paged []CellRow
		var counts []CountRow
		if err := s.View(t.Context(), func(tx *Tx) (err error) {
			if err := tx.EachCell(spec, 1, func(c CellRow) error { all = append(all, c); return nil }); err != nil {
				return err
			}
			if counts, err = tx.CellCounts(spec, 1); err != nil {
				return err
			}
			for q := (CellQuery{Spec: spec, Execution: 1, State: state, Latest: latest, Limit: limit}); ; {
				page, err := tx.CellsOf(q)
				if err != nil {
					return err
				}
				paged = append(paged, page...)
				if len(page) < limit {
					return nil
				}
				q.After = &page[limit-1]
			}
		}); err != nil {
			t.Fatal(err)
		}
		want, got := map[string]int{}, map[string]int{}
		for _, c := range all {
			want[c.State]++
		}
		for _, c := range counts {
			if c.Cells > 0 {
				got[c.State] = c.Cells
			}
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Fatalf("counts (-cells +counts):\n%s", diff)
		}
		all = slices.DeleteFunc(all, func(c CellRow) bool { return state != "" && c.State != state })
		slices.SortFunc(all, func(a, b CellRow) int {
			if latest {
				return cmp.Compare(b.N, a.N)
			}
			return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Trial, b.Trial))
		})
		if diff := gocmp.Diff(all, paged, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("list (-all +pages):\n%s", diff)
		}
	})
}

func TestRoundsAreCountedInTheirTry(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	half, whole := 0.5, 1.0
	round := func(try int, name string, rate *float64) func(*Tx) error {
		return func(tx *Tx) error { return tx.PutRound(RoundRow{Trial: "t", Try: try, Round: name, PassRate: rate}) }
	}
	do(t, s, func(tx *Tx) error { return plant(tx, cell("t", "working")) })
	do(t, s, round(1, "agent-1", &half))
	do(t, s, round(1, "agent-2", &whole))
	do(t, s, func(tx *Tx) error { return plant(tx, cell("t", "judging")) }) // which knows of no round
	got := read(t, s, func(tx *Tx) (CellRow, error) { return tx.Cell("t") })
	if got.Rounds != 2 || got.Round != "agent-2" || *got.PassRate != 1 || got.State != "judging" {
		t.Errorf("in its first try: %+v", got)
	}
	second := cell("t", "setup")
	second.Try = 2
	do(t, s, func(tx *Tx) error { return plant(tx, second) })
	do(t, s, round(1, "agent-3", &half)) // which is late
	got = read(t, s, func(tx *Tx) (CellRow, error) { return tx.Cell("t") })
	if got.Rounds != 0 || got.Round != "" || got.PassRate != nil {
		t.Errorf("in its second try: %+v", got)
	}
	do(t, s, round(2, "agent-1", &half))
	do(t, s, round(2, "agent-2", &half))
	over := cell("t", "resolved")
	over.Try, over.Round, over.PassRate = 2, "agent-1", &half
	do(t, s, func(tx *Tx) error { return plant(tx, over) })
	got = read(t, s, func(tx *Tx) (CellRow, error) { return tx.Cell("t") })
	if got.Rounds != 2 || got.Round != "agent-1" {
		t.Errorf("at its end: %+v", got)
	}
	do(t, s, round(2, "agent-3", &whole)) // which is late, too
	got = read(t, s, func(tx *Tx) (CellRow, error) { return tx.Cell("t") })
	if got.Rounds != 3 || got.Round != "agent-1" || *got.PassRate != half {
		t.Errorf("after its end: %+v", got)
	}
	do(t, s, round(1, "agent-1", nil))
	if err := s.Do(t.Context(), func(tx *Tx) error {
		return tx.PutRound(RoundRow{Trial: "none", Try: 1, Round: "agent-1"})
	}); err != nil {
		t.Errorf("a round of no trial: %v", err)
	}
}

func TestCellsAreFoundByWhatTheyAre(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	flagged := cell("a", "resolved")
	flagged.Flags, flagged.Model = []string{"tampered", "oom"}, "m"
	other := cell("b", "working")
	other.Agent = "mine"
	elsewhere := cell("c", "working")
	elsewhere.Execution = 2
	do(t, s, func(tx *Tx) error { return errors.Join(plant(tx, flagged), plant(tx, other), plant(tx, elsewhere)) })
	for name, q := range map[string]CellQuery{
		"a b": {}, "a": {Flag: "oom"}, "b": {Agent: "mine"}, "a.": {Model: "m"}, "a..": {Task: "edge/t-a"}, "b.": {Task: "t-b"}, "": {Flag: "oo"},
		"b..": {State: "working"},
	} {
		q.Spec, q.Execution, q.Limit = "run.a", 1, 10
		var found []byte
		for _, c := range read(t, s, func(tx *Tx) ([]CellRow, error) { return tx.CellsOf(q) }) {
			found = append(append(found, ' '), c.Trial...)
		}
		want := name
		for len(want) > 0 && want[len(want)-1] == '.' {
			want = want[:len(want)-1]
		}
		if got := string(found[min(1, len(found)):]); got != want {
			t.Errorf("%+v finds %q", q, got)
		}
	}
}

// A page costs what is on it.
func TestAPageOfCellsReadsItsRowsAlone(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	do(t, s, func(tx *Tx) error {
		for i := range 3000 {
			if err := plant(tx, cell(fmt.Sprintf("t%04d", i), []string{"resolved", "unresolved", "working"}[i%3])); err != nil {
				return err
			}
		}
		return nil
	})
	for name, q := range map[string]CellQuery{
		"in order": {}, "latest": {Latest: true}, "in a state": {State: "working"},
		"behind": {After: &CellRow{Trial: "t2000", Created: time.Unix(0, 0)}},
	} {
		q.Spec, q.Execution, q.Limit = "run.a", 1, 50
		before := s.Work()
		if page := read(t, s, func(tx *Tx) ([]CellRow, error) { return tx.CellsOf(q) }); len(page) != 50 {
			t.Errorf("%s: %d cells", name, len(page))
		}
		if after := s.Work(); after.Rows-before.Rows != 50 || after.Queries-before.Queries != 1 {
			t.Errorf("%s: %d rows by %d queries", name, after.Rows-before.Rows, after.Queries-before.Queries)
		}
		var plan string
		if err := s.View(t.Context(), func(tx *Tx) (err error) {
			plan, err = one(tx, func(r row) (detail string, err error) {
				var a, b, c int
				return detail, r.Scan(&a, &b, &c, &detail)
			}, "EXPLAIN QUERY PLAN SELECT trial FROM cells WHERE spec = 'run.a' AND execution = 1 ORDER BY n DESC, trial DESC LIMIT 50")
			return err
		}); err != nil || plan != "SEARCH cells USING COVERING INDEX cells_changed (spec=? AND execution=?)" {
			t.Errorf("plan %q, %v", plan, err)
		}
	}
}

// What an earlier version left is filled in behind what goes on, and never over it.
func TestAFilledCellReplacesNone(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	do(t, s, func(tx *Tx) error { return plant(tx, cell("t", "working")) })
	do(t, s, func(tx *Tx) error {
		return errors.Join(tx.FillCell(cell("t", "resolved")), plant(tx, cell("u", "working")), tx.FillCell(cell("old", "resolved")))
	})
	if got := read(t, s, func(tx *Tx) (CellRow, error) { return tx.Cell("t") }); got.State != "working" {
		t.Errorf("%+v", got)
	}
	if got := read(t, s, func(tx *Tx) (CellRow, error) { return tx.Cell("old") }); got.N != 0 || got.State != "resolved" {
		t.Errorf("%+v", got)
	}
}

func TestSummariesAreKept(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	if err := s.View(t.Context(), func(tx *Tx) error { _, err := tx.Summary("run.a", 1, "report"); return err }); !errors.Is(err, ErrNotFound) {
		t.Errorf("before: %v", err)
	}
	want := SummaryRow{N: 7, Cells: 3, Made: time.Unix(5, 0).UTC(), Data: []byte(`{"total":3}`)}
	do(t, s, func(tx *Tx) error {
		return errors.Join(tx.PutSummary("run.a", 1, "report", SummaryRow{Data: []byte(`{}`)}), tx.PutSummary("run.a", 1, "summary", SummaryRow{Data: []byte(`{}`)}), tx.PutSummary("run.a", 1, "report", want))
	})
	same(t, read(t, s, func(tx *Tx) (SummaryRow, error) { return tx.Summary("run.a", 1, "report") }), want)
}

// What an agent has done is read from its latest trials on, whatever else the store has, with what all tries cost.
func TestEndedCellsOfAnAgentAreRead(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	at := time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)
	do(t, s, func(tx *Tx) error {
		for i := range 600 {
			c := cell(fmt.Sprintf("t%04d", i), []string{"resolved", "working"}[i%2])
			c.Agent, c.Model = []string{"nop", "mine"}[i/2%2], "m"
			if c.Status != "" {
				c.Started, c.Ended, c.Finished = at, at.Add(time.Minute), at.Add(time.Duration(i)*time.Hour)
			}
			if err := plant(tx, c); err != nil {
				return err
			}
		}
		for try, usd := range []float64{0.25, 0.5} {
			if _, err := tx.InsertExchange(ExchangeRow{Spec: "run.a", Execution: 1, Trial: "t0598", Try: try + 1, USD: usd}); err != nil {
				return err
			}
		}
		return nil
	})
	before := s.Work()
	cells := read(t, s, func(tx *Tx) ([]EndedCell, error) { return tx.EndedCellsOf("mine", "m", 20) })
	if after := s.Work(); after.Rows-before.Rows != 20 || after.Queries-before.Queries != 1 || len(cells) != 20 {
		t.Errorf("%d cells are read as %d rows by %d queries", len(cells), after.Rows-before.Rows, after.Queries-before.Queries)
	}
	if c := cells[0]; c.Task != "t-t0598" || c.USD == nil || *c.USD != 0.75 || c.Ended.Sub(c.Started) != time.Minute || cells[1].USD != nil || !cells[19].Finished.Before(cells[18].Finished) {
		t.Errorf("the latest of them is %+v, then %+v", c, cells[1])
	}
	if cells := read(t, s, func(tx *Tx) ([]EndedCell, error) { return tx.EndedCellsOf("mine", "", 20) }); len(cells) != 0 {
		t.Errorf("with no model: %+v", cells)
	}
	plan := read(t, s, func(tx *Tx) ([]string, error) {
		return list(tx, func(r row) (detail string, err error) { var n int; return detail, r.Scan(&n, &n, &n, &detail) },
			"EXPLAIN QUERY PLAN SELECT trial FROM cells WHERE agent = ? AND model = ? AND finished > 0 ORDER BY finished DESC LIMIT ?", "mine", "m", 20)
	})
	if len(plan) != 1 || !strings.Contains(plan[0], "cells_agent") {
		t.Errorf("it is read by %q", plan)
	}
}
