package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// The cells at a task are those of all runs, the last first, and a page of them reads no other.
func TestCellsAtATask(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	var want []string
	do(t, s, func(tx *Tx) error {
		for i := range 300 {
			c := cell(fmt.Sprintf("t%03d", i), "resolved")
			c.Spec, c.Task, c.Created = fmt.Sprintf("run.r%d", i%3), fmt.Sprintf("task%d", i%10), time.Unix(int64(i/20), 0)
			if err := plant(tx, c); err != nil {
				return err
			}
			if i%10 == 4 {
				want = append(want, c.Trial)
			}
		}
		return nil
	})
	slices.Reverse(want)
	var got []string
	for after := (*CellRow)(nil); ; {
		before := s.Work()
		page := read(t, s, func(tx *Tx) ([]CellRow, error) { return tx.CellsAtTask("edge", "task4", after, 7) })
		if rows := s.Work().Rows - before.Rows; rows != int64(len(page)) {
			t.Errorf("a page of %d cells reads %d rows", len(page), rows)
		}
		if len(page) == 0 {
			break
		}
		for _, c := range page {
			got = append(got, c.Trial)
		}
		after = &page[len(page)-1]
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), strings.Join(want, " "))
	}
	plan := read(t, s, func(tx *Tx) (string, error) {
		return one(tx, func(r row) (detail string, err error) {
			var a, b, c int
			return detail, r.Scan(&a, &b, &c, &detail)
		}, "EXPLAIN QUERY PLAN SELECT trial FROM cells WHERE benchmark = 'edge' AND task = 't' AND (created, trial) < (5, 'x') ORDER BY created DESC, trial DESC LIMIT 5")
	})
	if !strings.Contains(plan, "cells_task (benchmark=? AND task=? AND (created,trial)<(?,?))") {
		t.Errorf("plan %q", plan)
	}
}

// The last record about a task is found among those that are looked at.
func TestTheLastLineAboutATask(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	ref := StreamRef{Spec: "benchmark.edge", Root: "/r", Path: "/r/e.jsonl"}
	do(t, s, func(tx *Tx) error {
		for i, task := range []string{"one", "two", "one", "two", "two"} {
			kind := "task.validated"
			if i == 4 {
				kind = "task.other"
			}
			if _, err := tx.AppendLine(ref, Envelope{Type: kind}, map[string]any{"task": task, "i": i}); err != nil {
				return err
			}
		}
		return nil
	})
	for _, tt := range []struct {
		task   string
		looked int
		seq    int // 0 = none is found
	}{{"one", 100, 3}, {"two", 100, 4}, {"one", 2, 0}, {"three", 100, 0}} {
		var l Line
		err := s.View(t.Context(), func(tx *Tx) (err error) {
			l, err = tx.LastLine("benchmark.edge", "task.validated", tt.task, tt.looked)
			return err
		})
		if errors.Is(err, ErrNotFound) != (tt.seq == 0) || err == nil && l.Seq != tt.seq {
			t.Errorf("%+v: %+v, %v", tt, l, err)
		}
	}
}
