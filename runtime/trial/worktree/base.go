package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/image"
	"github.com/assayd/assayd/runtime/judge/sanitize"
	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/task"
)

// Reader reads trees out of containers and images.
type Reader struct {
	Engine  container.Engine
	Images  *image.Builder
	Patches *patch.DiffService
	Spool   string // folder for what is copied; no file in it outlives a call, or the file that this returns
}

// Base is the tree that agents of the task begin with, as its work image, by name and id, has it:
// what patches are differences to. labels say whose the container is that it is read from.
func (r Reader) Base(ctx context.Context, t task.Task, ref, id string, labels map[string]string) (*patch.Base, error) {
	base, err := r.Patches.Base(ctx, BaseKey(t, id), func() (io.ReadCloser, error) { return r.pristine(ctx, t, id, labels) })
	if err != nil {
		return nil, fmt.Errorf("read the tree of image %s: %w", ref, err)
	}
	return base, nil
}

// BaseKey identifies the tree that an agent begins with, in the work image with an id.
func BaseKey(t task.Task, id string) string {
	b, err := json.Marshal([]any{id, t.Workdir, t.Submit})
	if err != nil {
		panic(fmt.Sprintf("encode the base of a patch: %v", err)) // plain data always encodes
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// pristine copies submit.paths out of the work image.
func (r Reader) pristine(ctx context.Context, t task.Task, id string, labels map[string]string) (tree io.ReadCloser, err error) {
	err = r.Images.Look(ctx, id, labels, func(ctx context.Context, id string) error {
		spool, err := r.spooled(ctx, t, id)
		if err == nil {
			tree = spool
		}
		return err
	})
	return tree, err
}

// spooled copies submit.paths out of a container into a file without a name: the container
// must not wait for whoever reads it. It is nil when there is an error.
func (r Reader) spooled(ctx context.Context, t task.Task, id string) (_ *os.File, err error) {
	copier, ok := r.Engine.(container.Copier)
	if !ok {
		return nil, fmt.Errorf("look at an image with this engine: %w", container.ErrUnsupported)
	}
	spool, err := os.CreateTemp(r.Spool, sanitize.TreePrefix)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(spool.Name()); err != nil { // before it is filled: a killed daemon leaves nothing
		return nil, errors.Join(err, spool.Close())
	}
	err, copied := Stream(ctx, copier, id, t, func(tree io.Reader) error {
		return r.Clean(t, tree, func(clean io.Reader) error {
			_, err := io.Copy(spool, clean)
			return err
		})
	})
	if copied != nil {
		err = copied
	}
	if err == nil {
		_, err = spool.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, spool.Close())
	}
	return spool, nil
}
