package blob

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/assayd/assayd/reconcile/store/statedir"
	"github.com/assayd/assayd/runtime/fault"
)

// Blobs is a folder of files named by the lower-case hex SHA-256 of their content. Its
// methods may be called from several goroutines.
type Blobs struct {
	dir string
}

// At is the folder dir as it is, for reading.
func At(dir string) *Blobs { return &Blobs{dir} }

// Open opens the folder dir, making it where it is missing, and removes what writers left that were killed; nobody
// else may be using it, which the lock of the state directory sees to.
func Open(dir string, log *slog.Logger) (*Blobs, error) {
	b := &Blobs{dir: dir}
	if err := os.MkdirAll(b.temporary(), 0o700); err != nil {
		return nil, fmt.Errorf("make blob store: %w", statedir.Explain(err))
	}
	stale, err := os.ReadDir(b.temporary())
	if err != nil {
		return nil, fmt.Errorf("look for unfinished blobs: %w", statedir.Explain(err))
	}
	for _, entry := range stale {
		path := filepath.Join(b.temporary(), entry.Name())
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("remove unfinished blob: %w", statedir.Explain(err))
		}
		log.Debug("removed unfinished blob", "file", path)
	}
	return b, nil
}

func (b *Blobs) temporary() string { return filepath.Join(b.dir, "tmp") }

// Path is the file of a blob, whether it exists or not. What is no digest is an error for
// which errors.Is(err, fs.ErrNotExist).
func (b *Blobs) Path(digest string) (string, error) {
	sum, err := hex.DecodeString(digest)
	if err != nil || len(sum) != sha256.Size || hex.EncodeToString(sum) != digest {
		return "", fmt.Errorf("blob %q: not a SHA-256 digest: %w", digest, fs.ErrNotExist)
	}
	return filepath.Join(b.dir, digest[:2], digest), nil
}

// Open returns the content of a blob, or an error for which errors.Is(err, fs.ErrNotExist).
func (b *Blobs) Open(digest string) (io.ReadCloser, error) {
	path, err := b.Path(digest)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open blob: %w", err)
	}
	return f, nil
}

// Has says whether there is a blob of that digest.
func (b *Blobs) Has(digest string) (bool, error) {
	path, err := b.Path(digest)
	if err == nil {
		_, err = os.Lstat(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for blob: %w", err)
	}
	return true, nil
}

// Delete removes a blob; one that is not there is fine.
func (b *Blobs) Delete(digest string) error {
	path, err := b.Path(digest)
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove blob: %w", statedir.Explain(err))
	}
	return nil
}

// Create returns a writer of a new blob; nothing exists until Commit.
func (b *Blobs) Create() (*Writer, error) {
	f, err := os.CreateTemp(b.temporary(), "")
	if err != nil {
		return nil, fmt.Errorf("make blob: %w", statedir.Explain(err))
	}
	return &Writer{blobs: b, file: f, hash: sha256.New()}, nil
}

// Writer writes one blob. Close without Commit throws it away. It is for one goroutine.
type Writer struct {
	blobs *Blobs
	file  *os.File // nil once it is committed or thrown away
	hash  hash.Hash
	size  int64
}

// Write implements io.Writer; statedir.ErrNoSpace is the cause when the disk is full.
func (w *Writer) Write(p []byte) (int, error) {
	if w.file == nil {
		return 0, fmt.Errorf("write blob: %w", fs.ErrClosed)
	}
	if err := fault.Err(fault.WriteBlob); err != nil {
		return 0, fmt.Errorf("write blob: %w", statedir.Explain(err))
	}
	n, err := w.file.Write(p)
	w.hash.Write(p[:n])
	w.size += int64(n)
	if err != nil {
		return n, fmt.Errorf("write blob: %w", statedir.Explain(err))
	}
	return n, nil
}

// Commit makes the blob durable and returns its digest and its size in bytes. Committing
// what is there already is fine.
func (w *Writer) Commit() (digest string, size int64, err error) {
	if w.file == nil {
		return "", 0, fmt.Errorf("commit blob: %w", fs.ErrClosed)
	}
	digest = hex.EncodeToString(w.hash.Sum(nil))
	if err := w.commit(digest); err != nil {
		return "", 0, errors.Join(fmt.Errorf("commit blob %s: %w", digest, statedir.Explain(err)), w.Close())
	}
	return digest, w.size, nil
}

func (w *Writer) commit(digest string) error {
	path, err := w.blobs.Path(digest)
	if err != nil {
		return err
	}
	shard := filepath.Dir(path)
	// One of another size was damaged from outside, and this one takes its place.
	info, err := os.Lstat(path)
	if err == nil && info.Mode().IsRegular() && info.Size() == w.size {
		now := time.Now() // whoever collects orphans sees that it is wanted again
		err = errors.Join(os.Chtimes(path, now, now), w.Close())
	} else {
		err = w.place(shard, path)
	}
	if err != nil {
		return err
	}
	// Also for one that was there: whoever put it there may have been killed before this.
	return errors.Join(statedir.Sync(shard), statedir.Sync(w.blobs.dir))
}

// place gives the finished content its name.
func (w *Writer) place(shard, path string) error {
	if err := w.file.Sync(); err != nil {
		return err
	}
	fault.Reached(fault.BlobWritten)
	if err := os.Mkdir(shard, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := os.Rename(w.file.Name(), path); err != nil {
		return err
	}
	f := w.file
	w.file = nil
	return f.Close()
}

// Close throws away what was not committed; after Commit it does nothing.
func (w *Writer) Close() error {
	if w.file == nil {
		return nil
	}
	f := w.file
	w.file = nil
	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
		return fmt.Errorf("throw blob away: %w", err)
	}
	return nil
}
