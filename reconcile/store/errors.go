package store

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/assayd/assayd/reconcile/store/statedir"
)

// Causes that callers tell apart with errors.Is.
var (
	// ErrNotFound: there is no such row.
	ErrNotFound = errors.New("not in the state database")
	// ErrExists: the row would take the place of another one.
	ErrExists = errors.New("already in the state database")
)

// explain adds the cause that a caller can act on to an error of SQLite or the kernel.
func explain(err error) error {
	cause := statedir.Cause(err)
	if cause == nil {
		cause = explainSQLite(err)
	}
	if cause == nil {
		return err
	}
	return fmt.Errorf("%w: %w", cause, err)
}

func explainSQLite(err error) error {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return nil
	}
	if e.Code() == sqlite3.SQLITE_IOERR_SHMSIZE { // the wal-index could not grow
		return statedir.ErrNoSpace
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		return statedir.ErrNoSpace
	case sqlite3.SQLITE_READONLY:
		return statedir.ErrReadOnly
	case sqlite3.SQLITE_CONSTRAINT:
		if e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY {
			return ErrExists
		}
	}
	return nil
}
