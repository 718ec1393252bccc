package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/guest/safefile"
)

// Bounds of one look at the tree. Contents beyond the bytes are represented by size and
// time of change; a tree of more entries is never called unchanged.
const (
	treeEntries = 200_000
	treeBytes   = 512 << 20
)

// Hash hashes names, modes, sizes and contents of the paths below dir, without .git.
// whole is false when there was more than could be looked at; such a tree is to be taken
// for changed.
func Hash(ctx context.Context, dir string, patterns []string) (sum string, whole bool) {
	w := treeWalk{ctx: ctx, dir: dir, hash: sha256.New(), entries: treeEntries, bytes: treeBytes}
	for _, path := range Paths(dir, patterns) {
		if err := filepath.WalkDir(filepath.Join(dir, path), w.visit); err != nil {
			return "", false
		}
	}
	return hex.EncodeToString(w.hash.Sum(nil)), true
}

type treeWalk struct {
	ctx     context.Context // of this one walk
	dir     string
	hash    hash.Hash
	entries int
	bytes   int64
}

var errTooLarge = errors.New("too many entries")

func (w *treeWalk) visit(path string, d fs.DirEntry, err error) error {
	if err != nil {
		return nil //nolint:nilerr // it went away meanwhile, so it is not part of the tree
	}
	if d.Name() == ".git" {
		return skip(d)
	}
	info, err := d.Info()
	if err != nil {
		return nil //nolint:nilerr // the same
	}
	if w.entries--; w.entries < 0 {
		return errTooLarge
	}
	name, err := filepath.Rel(w.dir, path)
	if err != nil {
		return err
	}
	size := info.Size()
	if d.IsDir() {
		size = 0 // it depends on the file system
	}
	fmt.Fprintf(w.hash, "%q %o %d\n", name, info.Mode(), size)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, _ := os.Readlink(path)
		fmt.Fprintf(w.hash, "%q\n", target)
	case info.Mode().IsRegular():
		w.content(path, info)
	}
	return w.ctx.Err()
}

func (w *treeWalk) content(path string, info fs.FileInfo) {
	if info.Size() > w.bytes {
		fmt.Fprintf(w.hash, "%d\n", info.ModTime().UnixNano())
		return
	}
	f, err := safefile.Open(path)
	if err != nil {
		return
	}
	defer f.Close() //nolint:errcheck // only read
	sum := sha256.New()
	n, _ := io.Copy(sum, io.LimitReader(f, w.bytes))
	w.bytes -= n
	w.hash.Write(sum.Sum(nil))
}

func skip(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// Paths expands the patterns, which are relative to dir, to the paths that exist:
// clean, sorted, none below another. What is absolute or leaves dir does not count.
func Paths(dir string, patterns []string) []string {
	var found []string
	for _, pattern := range patterns {
		pattern = filepath.Clean(pattern)
		if !filepath.IsLocal(pattern) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(dir, pattern)); err == nil {
			found = append(found, pattern)
			continue
		}
		matches, _ := fs.Glob(os.DirFS(dir), pattern) // a bad pattern matches nothing
		found = append(found, matches...)
	}
	slices.Sort(found)
	var roots []string
	for _, path := range found {
		if !slices.ContainsFunc(roots, func(root string) bool {
			return root == "." || root == path || strings.HasPrefix(path, root+"/")
		}) {
			roots = append(roots, path)
		}
	}
	return roots
}
