package trial

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/judge"
)

// copyPaths writes every submit path as one tar whose names are relative to workdir.
// Paths that do not exist are left out, and so is what can never be submitted, as the
// client in the container does.
func copyPaths(ctx context.Context, c container.Copier, s State, w *tar.Writer) error {
	t := s.Cell.Task
	filter, err := judge.NewFilter(t.Submit)
	if err != nil {
		return err
	}
	for _, p := range t.Submit.Paths {
		p = path.Clean(p)
		src, err := c.CopyFrom(ctx, s.Container, path.Join(t.Workdir, p))
		if errors.Is(err, container.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		err = renamed(tar.NewReader(src), w, path.Base(path.Join(t.Workdir, p)), p, filter.Keep)
		if err = errors.Join(err, src.Close()); err != nil {
			return err
		}
	}
	return w.Close()
}

// renamed copies the entries that are to be kept, whose names begin with base, so that
// they begin with p.
func renamed(r *tar.Reader, w *tar.Writer, base, p string, keep func(name string) bool) error {
	place := func(name string) string {
		return path.Join(p, strings.TrimPrefix(strings.TrimPrefix(path.Clean(name), base), "/"))
	}
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		h.Name = place(h.Name)
		if h.Typeflag == tar.TypeLink {
			h.Linkname = place(h.Linkname)
		}
		if !submittable(h) || !keep(h.Name) {
			continue
		}
		if h.Typeflag == tar.TypeDir {
			h.Name += "/"
		}
		h.Format = tar.FormatPAX
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := io.Copy(w, r); err != nil {
			return err
		}
	}
}

// The longest path that a judge takes, in bytes and in elements.
const (
	maxPath  = 4096
	maxDepth = 128
)

// submittable reports whether a judge could take an entry of that kind and name at all.
// One that it could not take would have the whole tree refused.
func submittable(h *tar.Header) bool {
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeDir, tar.TypeSymlink:
		return plain(h.Name)
	case tar.TypeLink:
		return plain(h.Name) && plain(h.Linkname)
	}
	return false // a device, a pipe or the like
}

func plain(name string) bool {
	return utf8.ValidString(name) && !strings.ContainsFunc(name, unicode.IsControl) &&
		len(name) < maxPath && strings.Count(name, "/")+1 < maxDepth
}
