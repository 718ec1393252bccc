package statedir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The error of a lock that is held names the holder, and the lock is free again once the holder lets go.
func TestALockNamesItsHolder(t *testing.T) {
	dir := t.TempDir()
	held, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Lock(dir)
	locked, ok := errors.AsType[*LockedError](err)
	if !ok || locked.PID != os.Getpid() || locked.Dir != dir || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("a second lock: %v", err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Lock(dir)
	if err != nil {
		t.Fatalf("after the first lock is gone: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// A caller learns from the error of a file whether the disk is full or read-only.
func TestErrorsOfTheDiskHaveACause(t *testing.T) {
	other := errors.New("other")
	for _, tc := range []struct{ err, cause error }{
		{&os.PathError{Err: unix.ENOSPC}, ErrNoSpace}, {&os.PathError{Err: unix.EDQUOT}, ErrNoSpace}, {&os.PathError{Err: unix.EROFS}, ErrReadOnly}, {other, nil}, {nil, nil},
	} {
		if got := Cause(tc.err); !errors.Is(got, tc.cause) {
			t.Errorf("the cause of %v is %v, want %v", tc.err, got, tc.cause)
		}
		if got := Explain(tc.err); !errors.Is(got, tc.err) || tc.cause != nil && !errors.Is(got, tc.cause) {
			t.Errorf("%v is explained as %v", tc.err, got)
		}
	}
}

// A state directory and its database are closed to other users, also where they are there already.
func TestAStateDirectoryAndItsDatabaseAreMadePrivate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.db")
	for before, want := range map[os.FileMode]os.FileMode{0o777: 0o700, 0o710: 0o710} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Chmod(dir, before), os.Chmod(path, 0o644)); err != nil {
			t.Fatal(err)
		}
		if err := MakePrivate(dir, "x.db"); err != nil {
			t.Fatal(err)
		}
		for file, want := range map[string]os.FileMode{dir: want, path: 0o600} {
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			if got := info.Mode().Perm(); got != want {
				t.Errorf("%s has mode %o, want %o", file, got, want)
			}
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if !SameFolder(dir, link) || SameFolder(dir, t.TempDir()) || SameFolder(dir, filepath.Join(dir, "none")) {
		t.Error("two paths to one folder are taken for two folders, or two folders for one")
	}
}
