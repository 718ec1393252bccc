package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/assayd/assayd/reconcile/store/blob"
	"github.com/assayd/assayd/reconcile/store/statedir"
)

// mount gives the test a file system of its own of so many KiB.
func mount(t *testing.T, kib int) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dk", kib)); err != nil {
		t.Fatalf("mount a small tmpfs, which this test must be able to do (run it as root): %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestFullDiskIsNamedAndPasses(t *testing.T) {
	disk := mount(t, 2048)
	s := open(t, filepath.Join(disk, "state"), Options{})
	do(t, s, func(tx *Tx) error { return tx.PutMeta("a", "before") })
	ballast := filepath.Join(disk, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	for range 40 {
		err = s.Do(t.Context(), func(tx *Tx) error {
			_, err := tx.AppendLine(nightly, Envelope{Type: "x"}, map[string]string{"a": strings.Repeat("x", 100<<10)})
			return err
		})
		if err != nil {
			break
		}
	}
	if !errors.Is(err, statedir.ErrNoSpace) {
		t.Fatalf("transaction on a full disk: %v", err)
	}
	if err := fillBlob(s.Blobs()); !errors.Is(err, statedir.ErrNoSpace) {
		t.Errorf("blob on a full disk: %v", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	do(t, s, func(tx *Tx) error {
		_, err := tx.AppendLine(nightly, Envelope{Type: "x"}, nil)
		return err
	})
	if err := s.View(t.Context(), checkStreams); err != nil {
		t.Error(err)
	}
	same(t, read(t, s, meta("a")), "before")
}

func fillBlob(b *blob.Blobs) error {
	w, err := b.Create()
	if err != nil {
		return err
	}
	defer w.Close()
	for range 64 {
		if _, err := w.Write(make([]byte, 64<<10)); err != nil {
			return err
		}
	}
	_, _, err = w.Commit()
	return err
}

func TestOpenOnAFullDisk(t *testing.T) {
	disk := mount(t, 512)
	if err := os.WriteFile(filepath.Join(disk, "ballast"), make([]byte, 512<<10-20<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), filepath.Join(disk, "state"), Options{})
	if err == nil {
		s.Close()
	}
	if !errors.Is(err, statedir.ErrNoSpace) {
		t.Errorf("got %v", err)
	}
}

func TestReadOnlyDiskIsNamed(t *testing.T) {
	disk := mount(t, 2048)
	dir := filepath.Join(disk, "state")
	s, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", disk, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{dir, filepath.Join(disk, "new")} {
		if _, err := Open(t.Context(), dir, Options{}); !errors.Is(err, statedir.ErrReadOnly) {
			t.Errorf("got %v", err)
		}
	}
}
