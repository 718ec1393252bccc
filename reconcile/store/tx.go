package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/assayd/assayd/reconcile/store/change"
)

// Tx is a transaction; it is valid only within the function that Do or View calls, and for
// one goroutine.
type Tx struct {
	ctx        context.Context // of Do or View: a transaction lives no longer than its call
	tx         *sql.Tx
	store      *Store
	pool       *pool
	appended   bool
	n          int64                  // number of the last change; 0 = there is none
	touched    map[string]change.What // by topic
	statements map[string]*sql.Stmt   // by query
}

// Meta returns the value of key, "" when it was never put.
func (t *Tx) Meta(key string) (string, error) {
	value, err := one(t, scanString, "SELECT value FROM meta WHERE key = ?", key)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return "", fmt.Errorf("read %q: %w", key, err)
	}
	return value, nil
}

// PutMeta stores a small value under key.
func (t *Tx) PutMeta(key, value string) error {
	_, err := t.exec(`INSERT INTO meta (key, value) VALUES (?, ?)
		ON CONFLICT (key) DO UPDATE SET value = excluded.value`, key, string(t.store.encoder.Text([]byte(value))))
	if err != nil {
		return fmt.Errorf("store %q: %w", key, err)
	}
	return nil
}

// MetaBelow returns what is stored under the keys that begin with a prefix, by key. The prefix ends
// with a slash.
func (t *Tx) MetaBelow(prefix string) (map[string]string, error) {
	type pair struct{ key, value string }
	rows, err := list(t, func(r row) (p pair, err error) {
		return p, r.Scan(&p.key, &p.value)
	}, "SELECT key, value FROM meta WHERE key > ? AND key < ?", prefix, prefix[:len(prefix)-1]+"0") // the sign after the slash
	if err != nil {
		return nil, fmt.Errorf("read the value of %q: %w", prefix, err)
	}
	all := make(map[string]string, len(rows))
	for _, p := range rows {
		all[p.key] = p.value
	}
	return all, nil
}

// DropMeta forgets a key; one that is not there is fine.
func (t *Tx) DropMeta(key string) error {
	if _, err := t.exec("DELETE FROM meta WHERE key = ?", key); err != nil {
		return fmt.Errorf("forget %q: %w", key, err)
	}
	return nil
}

// Once says whether this is the first time that key is given, and remembers it.
func (t *Tx) Once(key string) (bool, error) {
	n, err := t.exec("INSERT INTO meta (key, value) VALUES (?, '') ON CONFLICT DO NOTHING", "once:"+key)
	if err != nil {
		return false, fmt.Errorf("store %q: %w", key, err)
	}
	return n == 1, nil
}

// statement is a parsed query: one that is kept, or one that ends with the transaction. The rows of a query
// must be closed before the query is used again.
func (t *Tx) statement(query string) (*sql.Stmt, error) {
	if s := t.statements[query]; s != nil {
		return s, nil
	}
	if kept := t.pool.statement(query); kept != nil {
		s := t.tx.StmtContext(t.ctx, kept)
		t.statements[query] = s
		return s, nil
	}
	s, err := t.tx.PrepareContext(t.ctx, query)
	if err == nil {
		t.statements[query] = s
	}
	return s, err
}

// exec runs a statement and returns how many rows it changed.
func (t *Tx) exec(query string, args ...any) (int64, error) {
	s, err := t.statement(query)
	if err != nil {
		return 0, explain(err)
	}
	t.store.queries.Add(1)
	result, err := s.ExecContext(t.ctx, args...)
	if err != nil {
		return 0, explain(err)
	}
	n, err := result.RowsAffected()
	return n, explain(err)
}

// row is what both a single row and the present one of many can do.
type row interface{ Scan(dest ...any) error }

// one returns the only row of a query, or ErrNotFound.
func one[T any](t *Tx, scan func(row) (T, error), query string, args ...any) (T, error) {
	s, err := t.statement(query)
	if err != nil {
		var none T
		return none, explain(err)
	}
	t.store.queries.Add(1)
	value, err := scan(s.QueryRowContext(t.ctx, args...))
	if err == nil {
		t.store.rows.Add(1)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return value, ErrNotFound
	}
	return value, explain(err)
}

// list returns all rows of a query.
func list[T any](t *Tx, scan func(row) (T, error), query string, args ...any) (values []T, err error) {
	err = each(t, scan, func(value T) error {
		values = append(values, value)
		return nil
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return values, nil
}

// each calls do with the rows of a query, one after the other.
func each[T any](t *Tx, scan func(row) (T, error), do func(T) error, query string, args ...any) error {
	s, err := t.statement(query)
	if err != nil {
		return explain(err)
	}
	t.store.queries.Add(1)
	rows, err := s.QueryContext(t.ctx, args...)
	if err != nil {
		return explain(err)
	}
	defer rows.Close()
	for rows.Next() {
		value, err := scan(rows)
		if err != nil {
			return explain(err)
		}
		t.store.rows.Add(1)
		if err := do(value); err != nil {
			return err
		}
	}
	return explain(rows.Err())
}

func scanString(r row) (s string, err error) { return s, r.Scan(&s) }

func scanInt(r row) (n int, err error) { return n, r.Scan(&n) }

// document scans a column of JSON; an empty one is nil.
type document struct{ to *json.RawMessage }

// Scan implements sql.Scanner.
func (d document) Scan(src any) error {
	switch src := src.(type) {
	case nil:
		*d.to = nil
	case string:
		*d.to = json.RawMessage(src)
	default:
		return fmt.Errorf("column of JSON holds %T", src)
	}
	return nil
}

// moment scans a column of Unix nanoseconds; 0 is the zero time.
type moment struct{ to *time.Time }

// Scan implements sql.Scanner.
func (m moment) Scan(src any) error {
	n, ok := src.(int64)
	if !ok {
		return fmt.Errorf("column of time holds %T", src)
	}
	*m.to = time.Time{}
	if n != 0 {
		*m.to = time.Unix(0, n).UTC()
	}
	return nil
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}
