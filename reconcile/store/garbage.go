package store

import (
	"context"
	"fmt"
	"time"

	"github.com/assayd/assayd/reconcile/store/blob"
)

// Orphans returns the blobs that were put there before old and whose digest is in no text
// of the database, in no list, and not in also. What a program has in its mind only must be
// younger than old, or in also.
func (s *Store) Orphans(ctx context.Context, old time.Time, also []byte) (orphans []blob.Orphan, err error) {
	found, err := s.blobs.Before(old)
	if err != nil {
		return nil, fmt.Errorf("look for blobs: %w", explain(err))
	}
	known := func(text []byte) { blob.Forget(found, text) }
	known(also)
	if err := s.View(ctx, func(t *Tx) error { return t.texts(known) }); err != nil {
		return nil, fmt.Errorf("look for what speaks of blobs: %w", err)
	}
	if err := s.lists.Texts(known); err != nil {
		return nil, fmt.Errorf("look for what speaks of blobs: %w", err)
	}
	for digest, size := range found {
		orphans = append(orphans, blob.Orphan{Digest: digest, Bytes: size})
	}
	return orphans, nil
}

// texts gives every text of every table to hear.
func (t *Tx) texts(hear func([]byte)) error {
	tables, err := list(t, scanString, "SELECT name FROM sqlite_schema WHERE type = 'table'")
	if err != nil {
		return err
	}
	for _, table := range tables {
		if err := t.tableTexts(table, hear); err != nil {
			return fmt.Errorf("read table %s: %w", table, err)
		}
	}
	return nil
}

func (t *Tx) tableTexts(table string, hear func([]byte)) error {
	rows, err := t.tx.QueryContext(t.ctx, `SELECT * FROM "`+table+`"`)
	if err != nil {
		return explain(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return explain(err)
	}
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return explain(err)
		}
		for _, value := range values {
			switch text := value.(type) {
			case string:
				hear([]byte(text))
			case []byte:
				hear(text)
			}
		}
	}
	return explain(rows.Err())
}
