package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/assayd/assayd/runtime/fault"
)

// Orphan is a blob that nothing speaks of.
type Orphan struct {
	Digest string
	Bytes  int64
}

// Orphans returns the blobs that were put there before old and whose digest is in no text
// of the database, in no list, and not in also. What a program has in its mind only must be
// younger than old, or in also.
func (s *Store) Orphans(ctx context.Context, old time.Time, also []byte) (orphans []Orphan, err error) {
	found, err := s.blobs.before(old)
	if err != nil {
		return nil, fmt.Errorf("look for blobs: %w", explain(err))
	}
	known := func(text []byte) { forget(found, text) }
	known(also)
	if err := s.View(ctx, func(t *Tx) error { return t.texts(known) }); err != nil {
		return nil, fmt.Errorf("look for what speaks of blobs: %w", err)
	}
	if err := s.lists.texts(known); err != nil {
		return nil, fmt.Errorf("look for what speaks of blobs: %w", err)
	}
	for digest, size := range found {
		orphans = append(orphans, Orphan{digest, size})
	}
	return orphans, nil
}

// Discard removes an orphan, unless somebody put it there again meanwhile.
func (s *Store) Discard(o Orphan, old time.Time) (gone bool, err error) {
	path, err := s.blobs.Path(o.Digest)
	if err != nil {
		return false, err
	}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.ModTime().Before(old) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("remove blob: %w", err)
	}
	err = s.blobs.Delete(o.Digest)
	fault.Reached(fault.BlobRemoved)
	return true, err
}

// before lists the blobs that were put there before a time, with their sizes.
func (b *Blobs) before(old time.Time) (map[string]int64, error) {
	found := map[string]int64{}
	err := b.each(func(path string, entry fs.DirEntry) error {
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && info.ModTime().Before(old) {
			found[filepath.Base(path)] = info.Size()
		}
		return err
	})
	return found, err
}

// each visits all blobs.
func (b *Blobs) each(visit func(path string, entry fs.DirEntry) error) error {
	return filepath.WalkDir(b.dir, func(path string, entry fs.DirEntry, err error) error {
		switch known, _ := b.Path(entryName(entry)); {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case entry.IsDir() && path == b.temporary():
			return fs.SkipDir
		case !entry.Type().IsRegular() || known != path:
			return nil
		}
		return visit(path, entry)
	})
}

func entryName(entry fs.DirEntry) string {
	if entry == nil {
		return ""
	}
	return entry.Name()
}

// texts gives all blobs to hear, in pieces in which no digest is cut.
func (b *Blobs) texts(hear func([]byte)) error {
	return b.each(func(path string, _ fs.DirEntry) error {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		defer f.Close()
		return pieces(bufio.NewReader(f), hear)
	})
}

// pieceBytes is how much of a long text is looked at in one go.
const pieceBytes = 64 << 10

func pieces(r io.Reader, hear func([]byte)) error {
	buf := make([]byte, pieceBytes)
	kept := 0
	for {
		n, err := io.ReadFull(r, buf[kept:])
		hear(buf[:kept+n])
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
		kept = copy(buf, buf[len(buf)-digestBytes:])
	}
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

// digestBytes is the length of a digest as text.
const digestBytes = 2 * 32

// forget takes the digests that are in the text out of found. A digest may stand within a
// longer row of hex digits.
func forget(found map[string]int64, text []byte) {
	run := 0
	for i, c := range text {
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'f' {
			if run++; run >= digestBytes {
				delete(found, string(text[i+1-digestBytes:i+1]))
			}
		} else {
			run = 0
		}
	}
}
