package blob

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// opened opens a folder of blobs.
func opened(t *testing.T, dir string) *Blobs {
	t.Helper()
	b, err := Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func same(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func putBlob(t *testing.T, b *Blobs, content string) string {
	t.Helper()
	w, err := b.Create()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := io.WriteString(w, content); err != nil {
		t.Fatal(err)
	}
	digest, size, err := w.Commit()
	if err != nil || size != int64(len(content)) {
		t.Fatalf("%s, %d bytes, %v", digest, size, err)
	}
	return digest
}

func getBlob(t *testing.T, b *Blobs, digest string) string {
	t.Helper()
	r, err := b.Open(digest)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestBlobsAreNamedByTheirContent(t *testing.T) {
	dir := t.TempDir()
	b := opened(t, dir)
	digest := putBlob(t, b, "abc")
	same(t, digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
	path, err := b.Path(digest)
	if err != nil || path != filepath.Join(dir, "ba", digest) {
		t.Errorf("path %q, %v", path, err)
	}
	same(t, getBlob(t, b, digest), "abc")
	same(t, putBlob(t, b, "abc"), digest)
	if err := os.WriteFile(path, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	putBlob(t, b, "abc")
	same(t, getBlob(t, b, digest), "abc")
	if err := errors.Join(b.Delete(digest), b.Delete(digest)); err != nil {
		t.Error(err)
	}
	if there, err := b.Has(digest); there || err != nil {
		t.Errorf("after Delete: %v, %v", there, err)
	}
	if _, err := b.Open(digest); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open of a deleted blob: %v", err)
	}
	left, err := os.ReadDir(b.temporary())
	if len(left) != 0 || err != nil {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestWhatIsNoDigestIsNoBlob(t *testing.T) {
	b := opened(t, t.TempDir())
	for _, digest := range []string{"", "..", "../assayd.db", "tmp", strings.Repeat("A", 64), strings.Repeat("a", 63) + "/"} {
		if _, err := b.Open(digest); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("open %q: %v", digest, err)
		}
		if there, err := b.Has(digest); there || err != nil {
			t.Errorf("has %q: %v, %v", digest, there, err)
		}
		if err := b.Delete(digest); err != nil {
			t.Errorf("delete %q: %v", digest, err)
		}
	}
}

func TestUncommittedBlobsAreNothing(t *testing.T) {
	dir := t.TempDir()
	b := opened(t, dir)
	closed, err := b.Create()
	if err != nil {
		t.Fatal(err)
	}
	killed, err := b.Create()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(closed.Close(), closed.Close()); err != nil {
		t.Error(err)
	}
	if _, _, err := closed.Commit(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("commit after close: %v", err)
	}
	if _, err := os.Stat(killed.file.Name()); err != nil {
		t.Fatal(err)
	}
	opened(t, dir)
	if _, err := os.Stat(killed.file.Name()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("stale file: %v", err)
	}
	killed.file.Close()
}

func TestSameBlobFromManyAtOnce(t *testing.T) {
	b := opened(t, t.TempDir())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { putBlob(t, b, "same") })
	}
	wg.Wait()
	same(t, getBlob(t, b, putBlob(t, b, "same")), "same")
}
