package judge

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/task"
)

// lay copies a tree of the task over workdir, owned by root, and returns the paths of what
// is in it, without folders. All of it is of that time, the zero one leaving it as it is. The
// zero Tree is nothing.
func (j *Judge) lay(ctx context.Context, id, workdir string, tree task.Tree, at time.Time) (names []string, err error) {
	if tree.Digest == "" {
		return nil, nil
	}
	blob, err := j.opts.Blobs.Open(tree.Digest)
	if err != nil {
		return nil, &sourceError{fmt.Errorf("open tree %s: %w", tree.Digest, err)}
	}
	defer func() { _ = blob.Close() }() // only read
	err = j.pour(ctx, id, workdir, func(w *tar.Writer) error {
		return eachEntry(tar.NewReader(blob), func(h *tar.Header, body io.Reader) error {
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

// eachEntry visits the entries of a task's tree but its root.
func eachEntry(r *tar.Reader, visit func(*tar.Header, io.Reader) error) error {
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

// errCopied is what the writer of a copy sees when the engine has had enough of it.
var errCopied = errors.New("the copy ended")

// pour copies what write writes into a folder of a container. An error of write counts for
// more than what the engine makes of its end.
func (j *Judge) pour(ctx context.Context, id, dir string, write func(*tar.Writer) error) error {
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
	err := j.copier.CopyTo(ctx, id, dir, r)
	r.CloseWithError(errCopied)
	if werr := <-written; werr != nil && !errors.Is(werr, errCopied) {
		return &sourceError{werr}
	}
	return err
}

// sourceError is a failure to read what was to be copied into a container: nothing in that
// can be its cause.
type sourceError struct{ error }

func (e *sourceError) Unwrap() error { return e.error }

// makeFolders makes the folders outside of workdir that the parser's result files are to be
// in, where the image has none, and gives them to the judge's user.
func (g *grading) makeFolders(ctx context.Context) error {
	var missing []string
	for _, name := range g.session.parser.Files {
		dir := path.Dir(name)
		if !path.IsAbs(name) || dir == "/" || slices.Contains(missing, dir) {
			continue
		}
		there, err := g.exists(ctx, dir)
		if err != nil {
			return err
		}
		if !there {
			missing = append(missing, dir)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return g.judge.pour(ctx, g.id, "/", func(w *tar.Writer) error {
		for _, dir := range missing {
			h := &tar.Header{
				Typeflag: tar.TypeDir, Name: strings.TrimPrefix(dir, "/") + "/", Mode: 0o755,
				Uid: g.profile.UID, Gid: g.profile.GID, ModTime: g.sub.StartedAt,
			}
			if err := w.WriteHeader(h); err != nil {
				return fmt.Errorf("make folder %s: %w", dir, err)
			}
		}
		return nil
	})
}

// exists reports whether there is anything at a path of the container.
func (g *grading) exists(ctx context.Context, name string) (bool, error) {
	stream, err := g.open(ctx, name)
	if err != nil || stream == nil {
		return false, err
	}
	return true, stream.Close()
}
