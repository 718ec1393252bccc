package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"

	"github.com/assayd/assayd/config"
	"github.com/assayd/assayd/runtime/image"
	"github.com/assayd/assayd/runtime/task"
)

// trees are what imported tasks refer to, in the blob store and the mirrors of a daemon.
type trees struct {
	ctx     context.Context // of the daemon: an import has none of its own
	keep    func(dir string) (digest string, err error)
	open    func(digest string) (io.ReadCloser, error)
	builder *image.Builder
}

// Keep implements task.Trees.
func (t trees) Keep(dir string) (task.Tree, error) {
	digest, err := t.keep(dir)
	return task.Tree{Digest: digest}, err
}

// Open implements task.Trees.
func (t trees) Open(tree task.Tree) (io.ReadCloser, error) { return t.open(tree.Digest) }

// Clone implements task.Trees.
func (t trees) Clone(repo task.Repo) (io.ReadCloser, error) {
	return t.builder.Mirrors().Clone(t.ctx, repo)
}

// named are trees of which nothing but their names is kept: enough to check a spec.
type named struct{}

var errNotKept = errors.New("nothing is kept where specs are only checked")

// Keep implements task.Trees.
func (named) Keep(dir string) (task.Tree, error) {
	sum := sha256.New()
	if err := config.Pack(dir, sum); err != nil {
		return task.Tree{}, err
	}
	return task.Tree{Digest: hex.EncodeToString(sum.Sum(nil))}, nil
}

// Open implements task.Trees.
func (named) Open(task.Tree) (io.ReadCloser, error) { return nil, errNotKept }

// Clone implements task.Trees.
func (named) Clone(task.Repo) (io.ReadCloser, error) { return nil, errNotKept }
