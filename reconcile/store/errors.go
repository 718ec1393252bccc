package store

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Causes that callers tell apart with errors.Is.
var (
	// ErrNotFound: there is no such row.
	ErrNotFound = errors.New("not in the state database")
	// ErrExists: the row would take the place of another one.
	ErrExists = errors.New("already in the state database")
	// ErrNoSpace: the disk or the quota of the state directory is full.
	ErrNoSpace = errors.New("no space left for the state directory")
	// ErrReadOnly: the state directory is on a read-only file system.
	ErrReadOnly = errors.New("the state directory cannot be written")
)

// explain adds the cause that a caller can act on to an error of SQLite or the kernel.
func explain(err error) error {
	var cause error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		cause = ErrNoSpace
	case errors.Is(err, unix.EROFS):
		cause = ErrReadOnly
	default:
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
		return ErrNoSpace
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		return ErrNoSpace
	case sqlite3.SQLITE_READONLY:
		return ErrReadOnly
	case sqlite3.SQLITE_CONSTRAINT:
		if e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY {
			return ErrExists
		}
	}
	return nil
}
