package worktree

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"path"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/judge/sanitize"
	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/task"
)

var errStopped = errors.New("the reader stopped reading")

// Stream copies submit.paths out of a container and has take read them, as one tar whose names are
// relative to workdir. took is the error of take. copied says why the tree could not be copied; that
// take stopped reading it is no reason.
func Stream(ctx context.Context, c container.Copier, id string, t task.Task, take func(tree io.Reader) error) (took, copied error) {
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := copyPaths(ctx, c, id, t, tar.NewWriter(w))
		w.CloseWithError(err)
		done <- err
	}()
	took = take(r)
	r.CloseWithError(errStopped)
	if copied = <-done; errors.Is(copied, errStopped) {
		copied = nil
	}
	return took, copied
}

// Clean reads a hostile tree under the rules of the task's submissions.
func (r Reader) Clean(t task.Task, tree io.Reader, read func(clean io.Reader) error) error {
	out, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := sanitize.Clean(tree, w, sanitize.Rules{Submit: t.Submit, Workdir: t.Workdir, Spool: r.Spool})
		w.CloseWithError(err)
		done <- err
	}()
	err := read(out)
	out.CloseWithError(errStopped)
	if cerr := <-done; cerr != nil && !errors.Is(cerr, errStopped) {
		return cerr
	}
	return err
}

// Packed hands the changes of a patch over as an archive that can be submitted.
func Packed(changes *patch.Changes, take func(archive io.Reader) error) error {
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		tw := tar.NewWriter(w)
		w.CloseWithError(errors.Join(changes.WriteTar(tw), tw.Close()))
	}()
	err := take(r)
	r.CloseWithError(errStopped)
	<-done
	return err
}

// copyPaths writes every submit path as one tar whose names are relative to workdir.
// Paths that do not exist are left out, and so is what can never be submitted, as the
// client in the container does. An agent may have put a link where the whole work directory
// was: it is followed, as the agent's own programs do.
func copyPaths(ctx context.Context, c container.Copier, id string, t task.Task, w *tar.Writer) error {
	filter, err := sanitize.NewFilter(t.Submit)
	if err != nil {
		return err
	}
	for _, p := range t.Submit.Paths {
		p = path.Clean(p)
		from := path.Join(t.Workdir, p)
		if p == "." {
			from += "/"
		}
		src, err := c.CopyFrom(ctx, id, from)
		if errors.Is(err, container.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		err = sanitize.Renamed(tar.NewReader(src), w, path.Base(path.Join(t.Workdir, p)), p, func(h *tar.Header) bool {
			return sanitize.Submittable(h, t.Workdir) && filter.Keep(h.Name)
		})
		if err = errors.Join(err, src.Close()); err != nil {
			return err
		}
	}
	return w.Close()
}
