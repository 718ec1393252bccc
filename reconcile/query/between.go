package query

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

	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/ledger"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store"
	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
)

// Between is what changed from one round of a trial to another.
type Between struct {
	A, B   RoundInfo
	Fixed  []string // tests that pass in B and did not in A, the first ones
	Broken []string // the other way
	// How many there are of each.
	FixedAll, BrokenAll int
	// Files that differ, by path; nil where an archive is not kept any more.
	Files   []FileChange
	More    int    // files that differ and are not told
	NoFiles string // why the files are not known
}

// FileChange is a file that is not the same in two rounds.
type FileChange struct {
	Path           string
	Kind           string // added, removed, changed
	Added, Removed int    // lines, where there is a diff
	Diff           string // unified; "" = the file is no text, or too large
}

// Bounds of what is told of files.
const (
	maxChanged  = 300       // files
	maxDiffed   = 128 << 10 // bytes of a file of which there is a diff
	maxDiffs    = 4 << 20   // bytes of files of which there are diffs, together
	maxNamed    = 500       // tests
	maxCompared = 200_000   // entries of an archive
)

// BetweenRounds compares two rounds of a trial. A trial or round that is not known is an ErrUnknown.
func (r *Reader) BetweenRounds(ctx context.Context, id, a, b string) (d Between, err error) {
	if err := request.NeedsContent(ctx, "differences of files"); err != nil {
		return d, err
	}
	var before, after round.Submission
	if err := r.o.Store.View(ctx, func(tx *store.Tx) error {
		s, err := history.KnownTrial(tx, id)
		if err != nil {
			return err
		}
		read := func(name string) (info RoundInfo, sub round.Submission, err error) {
			row, known, err := history.KnownRound(tx, id, name)
			if err != nil {
				return info, sub, err
			}
			sub, err = ledger.Whole(tx, known.ID)
			return RoundInfo{row.N, roundOf(s, known), known.Kind}, sub, err
		}
		if d.A, before, err = read(a); err == nil {
			d.B, after, err = read(b)
		}
		return err
	}); err != nil {
		return d, err
	}
	d.Fixed, d.Broken = flips(before.Report, after.Report)
	d.FixedAll, d.BrokenAll = len(d.Fixed), len(d.Broken)
	d.Fixed, d.Broken = d.Fixed[:min(maxNamed, d.FixedAll)], d.Broken[:min(maxNamed, d.BrokenAll)]
	d.Files, d.More, err = r.changes(ctx, before.Archive, after.Archive)
	if err != nil && ctx.Err() == nil {
		d.NoFiles = "the archives cannot be read: " + err.Error()
		if _, open := errors.AsType[*archiveGone](err); open {
			d.NoFiles = "an archive is not kept any more: gc has removed it"
		}
		err = nil
	}
	return d, err
}

// flips are the tests that pass in one report only.
func flips(a, b *round.Report) (fixed, broken []string) {
	if a == nil || b == nil {
		return nil, nil
	}
	before := map[string]bool{}
	for _, t := range a.Tests {
		before[t.Name] = t.Status == parser.Passed
	}
	for _, t := range b.Tests {
		was, known := before[t.Name]
		switch now := t.Status == parser.Passed; {
		case now && !was:
			fixed = append(fixed, t.Name)
		case !now && was && known:
			broken = append(broken, t.Name)
		}
	}
	return fixed, broken
}

// archiveGone says that an archive is not kept.
type archiveGone struct{ error }

// changes are the files that differ in two archives. They are read twice: for what differs, and for its text.
func (r *Reader) changes(ctx context.Context, a, b string) (files []FileChange, more int, err error) {
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
func (r *Reader) sums(ctx context.Context, archive string) (map[string]entry, error) {
	all := map[string]entry{}
	h := sha256.New()
	err := r.eachEntry(ctx, archive, func(head *tar.Header, body io.Reader) error {
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

// eachEntry calls f with the entries of an archive that are no folders.
func (r *Reader) eachEntry(ctx context.Context, archive string, f func(*tar.Header, io.Reader) error) (err error) {
	blob, err := r.o.OpenBlob(archive)
	if err != nil {
		return &archiveGone{err}
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
func (r *Reader) diff(ctx context.Context, a, b string, files []FileChange, before, after map[string]entry) error {
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
func (r *Reader) texts(ctx context.Context, archive string, wanted map[string]bool) (map[string]string, error) {
	all := map[string]string{}
	err := r.eachEntry(ctx, archive, func(head *tar.Header, body io.Reader) error {
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
