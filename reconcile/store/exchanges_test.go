package store

import (
	"errors"
	"testing"
)

func TestExchangesAreSummedUp(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	row := ExchangeRow{Spec: "run.a", Execution: 1, Trial: "t", Try: 1, Provider: "p", Model: "m", Input: 10, Output: 5, Cached: 3, Estimated: 2, USD: 0.25}
	var ids []int64
	do(t, s, func(tx *Tx) error {
		for range 3 {
			id, err := tx.InsertExchange(row)
			if err != nil {
				return err
			}
			ids = append(ids, id)
		}
		return nil
	})
	if ids[0] == ids[1] || ids[1] == ids[2] {
		t.Errorf("ids are %v", ids)
	}
	later := row
	later.Input, later.Output, later.Cached, later.Estimated, later.USD = 100, 50, 30, 0, 2.5
	do(t, s, func(tx *Tx) error { return tx.UpdateExchange(ids[1], later) })
	want := Spent{Exchanges: 3, Input: 120, Output: 60, Cached: 36, Estimated: 4, USD: 3}
	same(t, read(t, s, func(tx *Tx) (Spent, error) { return tx.SpentByTry("run.a", 1, "t", 1) }), want)
	same(t, read(t, s, func(tx *Tx) (Spent, error) { return tx.SpentByExecution("run.a", 1) }), want)
	same(t, read(t, s, func(tx *Tx) (Spent, error) { return tx.SpentByTry("run.a", 1, "t", 2) }), Spent{})
	same(t, read(t, s, func(tx *Tx) (Spent, error) { return tx.SpentByExecution("run.a", 2) }), Spent{})
	err := s.Do(t.Context(), func(tx *Tx) error { return tx.UpdateExchange(99, row) })
	if !errors.Is(err, ErrNotFound) {
		t.Errorf("an exchange that is not there: %v", err)
	}
}
