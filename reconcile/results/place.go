package results

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// flush makes the file of s equal to its lines, beside the spec or under the fallback, and
// returns s with its new place. With retry, a folder that could not be written is tried
// again.
func (w *Writer) flush(ctx context.Context, s Stream, retry bool) (Stream, error) {
	if s.Why != "" && !retry {
		return w.aside(ctx, s, s.Why)
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(s.Path))
	if err != nil {
		return w.asideIf(ctx, s, err)
	}
	if s.Folder != "" && s.Folder != folder {
		return w.aside(ctx, s, fmt.Sprintf("%s led to %s when it was first written to and leads to %s now",
			filepath.Dir(s.Path), s.Folder, folder))
	}
	beside := s
	beside.Folder, beside.Why = folder, ""
	beside, err = w.write(ctx, beside, filepath.Join(folder, filepath.Base(s.Path)))
	if err != nil {
		return w.asideIf(ctx, s, err)
	}
	if s.Why != "" {
		w.log.Info("result file is beside its spec again", "spec", s.Spec, "file", beside.File)
	}
	return beside, nil
}

// asideIf writes to the fallback if err says that the folder cannot be written; what may
// pass, as a full disk, is worth waiting for.
func (w *Writer) asideIf(ctx context.Context, s Stream, err error) (Stream, error) {
	for _, cause := range []error{unix.EACCES, unix.EPERM, unix.EROFS, unix.ENOENT, unix.ENOTDIR, unix.ELOOP} {
		if errors.Is(err, cause) {
			return w.aside(ctx, s, err.Error())
		}
	}
	return s, err
}

// aside writes to the fallback under the state directory.
func (w *Writer) aside(ctx context.Context, s Stream, why string) (Stream, error) {
	path, err := w.fallback(s)
	if err != nil {
		return s, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return s, fmt.Errorf("make folder of result files: %w", err)
	}
	if s.Why == "" {
		w.log.Warn("result file is kept under the state directory", "spec", s.Spec, "file", path, "why", why)
	}
	s.Why = why
	return w.write(ctx, s, path)
}

// fallback is <dir>/<root>/<relative path>.
func (w *Writer) fallback(s Stream) (string, error) {
	relative, err := filepath.Rel(s.Root, s.Path)
	if err != nil || !filepath.IsLocal(relative) {
		return "", errors.Join(fmt.Errorf("result file %q is not under its root %q", s.Path, s.Root), err)
	}
	return filepath.Join(w.dir, s.Root, relative), nil
}

// numbers bounds how many names are tried before it is given up for now.
const numbers = 1000

// write makes path, or the first numbered name after it that holds nothing else, equal to
// the lines of s.
func (w *Writer) write(ctx context.Context, s Stream, path string) (Stream, error) {
	for range numbers {
		s.File = numbered(path, path, s.Number)
		err := w.project(ctx, s)
		if err == nil {
			s.Written = s.Last
			return s, nil
		}
		differs, ok := errors.AsType[*differsError](err)
		if !ok {
			return s, fmt.Errorf("write result file %q: %w", s.File, err)
		}
		taken, err := w.taken(ctx, s)
		if err != nil {
			return s, err
		}
		for s.Number++; slices.Contains(taken, s.Number); {
			s.Number++
		}
		s.Written = 0
		w.log.Warn("a result file has records of another state directory or of somebody else; it stays, and the records go on in the next file; "+
			"to begin from nothing, remove the result files, too; where a daemon works on the same files, stop one of the two",
			"spec", s.Spec, "file", s.File, "what", differs.Error(), "next", numbered(path, path, s.Number))
	}
	return s, fmt.Errorf("write result file %q: that name and the %d after it hold something else", path, numbers)
}

// taken are the numbers that other streams have at the path of s: one that begins with the
// same lines would pass for ours.
func (w *Writer) taken(ctx context.Context, s Stream) ([]int, error) {
	streams, err := w.src.Streams(ctx, false)
	if err != nil {
		return nil, err
	}
	var taken []int
	for _, other := range streams {
		if other.ID != s.ID && other.Path == s.Path {
			taken = append(taken, other.Number)
		}
	}
	return taken, nil
}

// numbered is the n-th name of path, in the folder of file.
func numbered(file, path string, n int) string {
	base := filepath.Base(path)
	if n > 1 {
		base = fmt.Sprintf("%s.%d.jsonl", strings.TrimSuffix(base, ".jsonl"), n)
	}
	return filepath.Join(filepath.Dir(file), base)
}
