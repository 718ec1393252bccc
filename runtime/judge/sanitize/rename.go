package sanitize

import (
	"archive/tar"
	"errors"
	"io"
	"path"
	"strings"
)

// Renamed copies the entries that keep wants, whose names begin with base, so that they
// begin with to. It is for what an engine gives of a path: names that begin with the path's
// last element. keep sees the new names, and no trailing slash.
func Renamed(r *tar.Reader, w *tar.Writer, base, to string, keep func(*tar.Header) bool) error {
	place := func(name string) string {
		return path.Join(to, strings.TrimPrefix(strings.TrimPrefix(path.Clean(name), base), "/"))
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
		if !keep(h) {
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

// Submittable reports whether an archive that is laid over workdir can hold an entry of that
// kind and name at all. One that it cannot hold would have Clean refuse the whole.
func Submittable(h *tar.Header, workdir string) bool {
	fits := func(name string) bool {
		clean, err := normalise(name + "/") // as a folder is written
		return err == nil && len(path.Join(workdir, clean)) <= maxName
	}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeDir, tar.TypeSymlink:
		return fits(h.Name)
	case tar.TypeLink:
		return fits(h.Name) && fits(h.Linkname)
	}
	return false // a device, a pipe or the like
}
