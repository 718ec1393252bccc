package worktree

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/decoy/mixed"
	"github.com/assayd/assayd/runtime/task"
)

// Bounds on what is read of a work tree to find out whether an agent sees a hidden test.
const (
	maxSeenFile = 1 << 20
	maxSeenAll  = 512 << 20
)

// SeenOf notes what agents of a task can read, out of its work image: all files below
// workdir with the ending of a hidden one, and the instruction. complete is false where the
// tree is too big to be read whole.
func (r Reader) SeenOf(ctx context.Context, t task.Task, image string, hidden map[string][]byte, labels map[string]string) (seen *mixed.Text, complete bool, err error) {
	copier, ok := r.Engine.(container.Copier)
	if !ok {
		return nil, false, fmt.Errorf("look at an image with this engine: %w", container.ErrUnsupported)
	}
	ends := map[string]bool{}
	for name := range hidden {
		ends[path.Ext(name)] = true
	}
	seen = mixed.NewText(hidden)
	seen.Add("/instruction", []byte(t.Instruction))
	err = r.Images.Look(ctx, image, labels, func(ctx context.Context, id string) (err error) {
		tree, err := copier.CopyFrom(ctx, id, t.Workdir)
		if errors.Is(err, container.ErrNotFound) {
			complete = true // there is nothing to see
			return nil
		}
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, tree.Close()) }()
		complete, err = addSeen(seen, tar.NewReader(tree), ends)
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("read what agents of %s see: %w", t.Name, err)
	}
	return seen, complete, nil
}

// addSeen reads a tree whose names begin with the last element of workdir.
func addSeen(seen *mixed.Text, tree *tar.Reader, ends map[string]bool) (complete bool, err error) {
	var size int64
	for {
		h, err := tree.Next()
		switch {
		case errors.Is(err, io.EOF):
			return true, nil
		case err != nil:
			return false, err
		case h.Typeflag != tar.TypeReg || !ends[path.Ext(h.Name)]:
			continue
		case h.Size > maxSeenFile || size+h.Size > maxSeenAll:
			return false, nil
		}
		size += h.Size
		content, err := io.ReadAll(tree)
		if err != nil {
			return false, err
		}
		_, name, _ := strings.Cut(strings.TrimPrefix(path.Clean("/"+h.Name), "/"), "/")
		seen.Add(name, content)
	}
}
