package sandbox

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"time"

	"github.com/assayd/assayd/runtime/task"
)

// Overlay copies a tree of the task over workdir, owned by root, and returns the paths of what
// is in it, without folders. All of it is of that time, the zero one leaving it as it is. The
// zero Tree is nothing.
func (h *Host) Overlay(ctx context.Context, id, workdir string, tree task.Tree, at time.Time) (names []string, err error) {
	if tree.Digest == "" {
		return nil, nil
	}
	blob, err := h.Blobs.Open(tree.Digest)
	if err != nil {
		return nil, &SourceError{fmt.Errorf("open tree %s: %w", tree.Digest, err)}
	}
	defer func() { _ = blob.Close() }() // only read
	err = h.Pour(ctx, id, workdir, func(w *tar.Writer) error {
		return EachEntry(tar.NewReader(blob), func(h *tar.Header, body io.Reader) error {
			if h.Typeflag != tar.TypeDir {
				names = append(names, path.Clean(h.Name))
			}
			h.Uid, h.Gid, h.Uname, h.Gname = 0, 0, "", ""
			if !at.IsZero() {
				h.ModTime = at
			}
			if err := w.WriteHeader(h); err != nil {
				return err
			}
			_, err := io.Copy(w, body)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("lay tree %s over %s: %w", tree.Digest, workdir, err)
	}
	return names, nil
}

// EachEntry visits the entries of a task's tree but its root.
func EachEntry(r *tar.Reader, visit func(*tar.Header, io.Reader) error) error {
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := path.Clean(h.Name)
		if !filepath.IsLocal(name) || h.Typeflag == tar.TypeLink && !filepath.IsLocal(h.Linkname) {
			return fmt.Errorf("the entry %q leaves the tree", h.Name)
		}
		if name == "." {
			continue // the mode of somebody's folder is not the mode of workdir
		}
		if err := visit(h, r); err != nil {
			return err
		}
	}
}

// Pour copies what write writes into a folder of a container. An error of write counts for
// more than what the engine makes of its end.
func (h *Host) Pour(ctx context.Context, id, dir string, write func(*tar.Writer) error) error {
	r, w := io.Pipe()
	written := make(chan error, 1)
	go func() {
		tw := tar.NewWriter(w)
		err := write(tw)
		if err == nil {
			err = tw.Close()
		}
		w.CloseWithError(err)
		written <- err
	}()
	err := h.Copier.CopyTo(ctx, id, dir, r)
	r.CloseWithError(ErrCopied)
	if werr := <-written; werr != nil && !errors.Is(werr, ErrCopied) {
		return &SourceError{werr}
	}
	return err
}
