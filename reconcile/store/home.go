package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// What a state directory knows of itself: whose containers are its own, and where it is.
const (
	ownerKey = "owner"
	homeKey  = "home"
)

// CopiedError says that a state directory was copied together with its owner id. Two with
// one id would remove each other's containers.
type CopiedError struct {
	Dir  string // the copy
	From string // the one that it was copied from, which is still there
}

func (e *CopiedError) Error() string {
	return fmt.Sprintf("this state was copied from %s, which still uses it: remove %s to begin anew", e.From, e.Dir)
}

// adoptOwner reads the owner id, and makes one in a new state directory. It returns where
// the directory was when it was last open; "" = nobody has noted it.
func (s *Store) adoptOwner(ctx context.Context) (home string, err error) {
	err = s.Do(ctx, func(t *Tx) error {
		if s.owner, err = t.Meta(ownerKey); err != nil {
			return err
		}
		if s.owner == "" {
			id := make([]byte, 8)
			rand.Read(id) // never fails
			s.owner = hex.EncodeToString(id)
			if err := t.PutMeta(ownerKey, s.owner); err != nil {
				return err
			}
		}
		home, err = t.Meta(homeKey)
		return err
	})
	return home, err
}

// checkHome refuses a copy: what was moved has left nothing with its id at its old place.
func (s *Store) checkHome(ctx context.Context, home string) error {
	if home == "" || home == s.dir || sameFolder(home, s.dir) {
		return nil
	}
	owner, err := ownerOf(ctx, home)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("state directory %q was at %q before: look whether that still uses it: %w", s.dir, home, err)
	case owner == s.owner:
		return &CopiedError{Dir: s.dir, From: home}
	}
	return nil
}

// sameFolder reports whether two paths lead to one folder.
func sameFolder(a, b string) bool {
	first, err := os.Stat(a)
	second, serr := os.Stat(b)
	return err == nil && serr == nil && os.SameFile(first, second)
}

// ownerOf reads the owner id of another state directory.
func ownerOf(ctx context.Context, dir string) (owner string, err error) {
	path := filepath.Join(dir, databaseName)
	if _, err := os.Stat(path); err != nil {
		if errors.Is(err, unix.ENOTDIR) { // something else took its place
			err = fs.ErrNotExist
		}
		return "", err
	}
	db, err := openReader(path, 1)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	other := &Store{dir: dir, reader: db}
	err = other.View(ctx, func(t *Tx) error {
		owner, err = t.Meta(ownerKey)
		return err
	})
	return owner, err
}
