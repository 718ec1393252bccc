package archive

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
)

// FileChange is a file that is not the same in two rounds.
type FileChange struct {
	Path           string
	Kind           string // added, removed, changed
	Added, Removed int    // lines, where there is a diff
	Diff           string // unified; "" = the file is no text, or too large
}

// Bounds of a comparison.
const (
	maxChanged  = 300       // files
	maxDiffed   = 128 << 10 // bytes of a file of which there is a diff
	maxDiffs    = 4 << 20   // bytes of files of which there are diffs, together
	maxCompared = 200_000   // entries of an archive
)

// Reader reads archives that are kept as blobs. Any goroutine may use it.
type Reader struct {
	// Open gives the content of a blob; an error that is fs.ErrNotExist where it is not kept any more.
	Open func(digest string) (io.ReadCloser, error)
}

// Gone is the error of an archive that is not kept.
type Gone struct{ error }

// Unwrap gives the cause.
func (g *Gone) Unwrap() error { return g.error }

// Compare returns the files that differ in two archives, at most 300, by path, and how many more there are. It reads
// the archives twice: for what differs, and for its text. One that is not kept is a *Gone.
func (r Reader) Compare(ctx context.Context, a, b string) (files []FileChange, more int, err error) {
	if a == b || a == "" || b == "" {
		return nil, 0, nil
	}
	before, err := r.sums(ctx, a)
	if err != nil {
		return nil, 0, err
	}
	after, err := r.sums(ctx, b)
	if err != nil {
		return nil, 0, err
	}
	for path, sum := range after {
		if was, known := before[path]; !known {
			files = append(files, FileChange{Path: path, Kind: "added"})
		} else if was.sum != sum.sum {
			files = append(files, FileChange{Path: path, Kind: "changed"})
		}
	}
	for path := range before {
		if _, still := after[path]; !still {
			files = append(files, FileChange{Path: path, Kind: "removed"})
		}
	}
	slices.SortFunc(files, func(x, y FileChange) int { return cmp.Compare(x.Path, y.Path) })
	more = max(0, len(files)-maxChanged)
	files = files[:min(maxChanged, len(files))]
	return files, more, r.diff(ctx, a, b, files, before, after)
}

// entry is a file of an archive.
type entry struct {
	sum  [sha256.Size]byte // of what kind it is, where it leads, and its content
	size int64
}

// sums are the files of an archive by path.
func (r Reader) sums(ctx context.Context, archive string) (map[string]entry, error) {
	all := map[string]entry{}
	h := sha256.New()
	err := r.Each(ctx, archive, func(head *tar.Header, body io.Reader) error {
		h.Reset()
		if err := hashEntry(h, head, body); err != nil {
			return err
		}
		all[head.Name] = entry{[sha256.Size]byte(h.Sum(nil)), head.Size}
		if len(all) > maxCompared {
			return fmt.Errorf("it has more than %d files", maxCompared)
		}
		return nil
	})
	return all, err
}

func hashEntry(h hash.Hash, head *tar.Header, body io.Reader) error {
	fmt.Fprintf(h, "%c %o %q\n", head.Typeflag, head.Mode&0o111, head.Linkname)
	_, err := io.Copy(h, body)
	return err
}

// Each calls f with the entries of an archive that are no folders, until f fails. An archive that is not kept is a *Gone.
func (r Reader) Each(ctx context.Context, archive string, f func(*tar.Header, io.Reader) error) (err error) {
	blob, err := r.Open(archive)
	if err != nil {
		return &Gone{err}
	}
	defer func() { err = errors.Join(err, blob.Close()) }()
	for all := tar.NewReader(readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil { // a large file takes longer than anybody waits
			return 0, err
		}
		return blob.Read(p)
	})); ; {
		head, err := all.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if head.Typeflag == tar.TypeDir {
			continue
		}
		if err := f(head, all); err != nil {
			return err
		}
	}
}

// readerFunc is an io.Reader.
type readerFunc func([]byte) (int, error)

// Read implements io.Reader.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// diff fills in the diffs of files that are texts.
func (r Reader) diff(ctx context.Context, a, b string, files []FileChange, before, after map[string]entry) error {
	wanted, left := map[string]bool{}, int64(maxDiffs)
	for _, f := range files {
		size := max(before[f.Path].size, after[f.Path].size)
		if size <= maxDiffed && size <= left {
			wanted[f.Path] = true
			left -= size
		}
	}
	olds, err := r.texts(ctx, a, wanted)
	if err != nil {
		return err
	}
	news, err := r.texts(ctx, b, wanted)
	if err != nil {
		return err
	}
	for i := range files {
		f := &files[i]
		older, oldIs := olds[f.Path]
		newer, newIs := news[f.Path]
		if !wanted[f.Path] || !oldIs && f.Kind != "added" || !newIs && f.Kind != "removed" {
			continue
		}
		f.Diff = udiff.Unified("a/"+f.Path, "b/"+f.Path, older, newer)
		for line := range strings.Lines(f.Diff) {
			switch {
			case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
			case line[0] == '+':
				f.Added++
			case line[0] == '-':
				f.Removed++
			}
		}
	}
	return nil
}

// texts are the files of an archive that are wanted and are texts.
func (r Reader) texts(ctx context.Context, archive string, wanted map[string]bool) (map[string]string, error) {
	all := map[string]string{}
	err := r.Each(ctx, archive, func(head *tar.Header, body io.Reader) error {
		if !wanted[head.Name] || head.Typeflag != tar.TypeReg {
			return nil
		}
		text, err := io.ReadAll(io.LimitReader(body, maxDiffed))
		if err == nil && utf8.Valid(text) && bytes.IndexByte(text, 0) < 0 {
			all[head.Name] = string(text)
		}
		return err
	})
	return all, err
}
