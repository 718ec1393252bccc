package store

import (
	"errors"
	"fmt"
	"testing"
)

// A query is parsed once for many transactions, also where one of them ends in the middle of its rows, and
// what is kept has a bound.
func TestAQueryIsParsedOnce(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	ctx := t.Context()
	put := func(n int) error {
		return s.Do(ctx, func(tx *Tx) error { return tx.PutMeta(fmt.Sprintf("k%d", n), "v") })
	}
	const query = "SELECT key FROM meta ORDER BY key"
	enough := errors.New("enough")
	for n := range 4 {
		if err := put(n); err != nil {
			t.Fatal(err)
		}
		err := s.View(ctx, func(tx *Tx) error {
			return each(tx, scanString, func(string) error { return enough }, query)
		})
		if !errors.Is(err, enough) {
			t.Fatalf("the %dth time: %v", n, err)
		}
	}
	if s.reader.statement(query) == nil || len(s.writer.kept) == 0 || len(s.writer.kept) > 20 {
		t.Errorf("kept are %d queries of the reader and %d of the writer", len(s.reader.kept), len(s.writer.kept))
	}
	var busy, frames, moved int
	if err := s.writer.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &moved); err != nil || busy != 0 {
		t.Errorf("a reader that broke off holds the log: busy %d, %v", busy, err)
	}
	for n := range 2 * mostKept {
		if err := s.View(ctx, func(tx *Tx) error {
			_, err := one(tx, scanInt, fmt.Sprintf("SELECT %d", n))
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.reader.kept) + len(s.reader.asked); n > mostKept {
		t.Errorf("%d queries are kept", n)
	}
}
