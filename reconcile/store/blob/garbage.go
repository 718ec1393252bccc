package blob

import (
	"bufio"
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

// Discard removes an orphan, unless somebody put it there again meanwhile.
func (b *Blobs) Discard(o Orphan, old time.Time) (gone bool, err error) {
	path, err := b.Path(o.Digest)
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
	err = b.Delete(o.Digest)
	fault.Reached(fault.BlobRemoved)
	return true, err
}

// Before lists the blobs that were put there before a time, by digest, with their sizes in bytes.
func (b *Blobs) Before(old time.Time) (map[string]int64, error) {
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

// Texts gives all blobs to hear, in pieces in which no digest is cut.
func (b *Blobs) Texts(hear func([]byte)) error {
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

// digestBytes is the length of a digest as text.
const digestBytes = 2 * 32

// Forget takes the digests that are in the text out of found. A digest may stand within a
// longer row of hex digits.
func Forget(found map[string]int64, text []byte) {
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
