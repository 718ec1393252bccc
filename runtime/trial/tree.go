package trial

import (
	"archive/tar"
	"context"
	"errors"
	"path"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/judge/sanitize"
	"github.com/assayd/assayd/runtime/task"
)

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
