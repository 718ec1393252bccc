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

	"github.com/assayd/assayd/reconcile/store/statedir"
)

// What a state directory knows of itself: whose containers are its own, and where it is.
const (
	ownerKey = "owner"
	homeKey  = "home"
)

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
	if home == "" || home == s.dir || statedir.SameFolder(home, s.dir) {
		return nil
	}
	owner, err := ownerOf(ctx, home)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("state directory %q was at %q before: look whether that still uses it: %w", s.dir, home, err)
	case owner == s.owner:
		return &statedir.CopiedError{Dir: s.dir, From: home}
	}
	return nil
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
