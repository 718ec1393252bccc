package store

import (
	"errors"
	"math"
	"testing"
	"time"
)

// How far one has got is there after a restart, and no watcher is told that it was stored: it would wake itself.
func TestDeliveriesAreKeptAndTellNobody(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := s.Watch()
	want := Delivery{Name: "notifier.team", N: 7, State: `{"a":1}`, Failing: time.Unix(5, 0).UTC(), Why: "500"}
	do(t, s, func(tx *Tx) error { return tx.PutDelivery(want) })
	select {
	case <-w.Ready():
		t.Errorf("watchers are told of %+v", w.Take())
	default:
	}
	w.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, Options{})
	same(t, read(t, s, func(tx *Tx) (Delivery, error) { return tx.Delivery("notifier.team") }), want)
	do(t, s, func(tx *Tx) error { return tx.DropDelivery("notifier.team") })
	if err := s.View(t.Context(), func(tx *Tx) error { _, err := tx.Delivery("notifier.team"); return err }); !errors.Is(err, ErrNotFound) {
		t.Errorf("a forgotten delivery: %v", err)
	}
}

// Notices stand in the same sequence as lines, wake watchers, and do not grow with history.
func TestNoticesAreNumberedAndBounded(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	w := s.Watch()
	defer w.Close()
	do(t, s, func(tx *Tx) error { return tx.AddNotice(Notice{Kind: "budget", Spec: "run.a", Data: []byte("{}")}) })
	if _, err := w.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	last := read(t, s, (*Tx).Last)
	do(t, s, func(tx *Tx) error {
		for range maxNotices {
			if err := tx.AddNotice(Notice{Kind: "machine", Data: []byte("{}")}); err != nil {
				return err
			}
		}
		return nil
	})
	all := read(t, s, func(tx *Tx) ([]Notice, error) { return tx.NoticesBetween(0, math.MaxInt64, 2*maxNotices) })
	if len(all) != maxNotices || all[0].N != last+1 || all[0].Kind != "machine" {
		t.Errorf("%d notices, the first %+v", len(all), all[0])
	}
}
