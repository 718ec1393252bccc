package trial

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/judge/sanitize"
	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/task"
)

// Base is the tree that agents of the task begin with, as its work image has it: what
// patches are differences to. labels say whose the container is that it is read from.
func (h Host) Base(ctx context.Context, t task.Task, work ImageRef, labels map[string]string) (*patch.Base, error) {
	base, err := h.Patches.Base(ctx, baseKey(t, work), func() (io.ReadCloser, error) { return h.pristine(ctx, t, work, labels) })
	if err != nil {
		return nil, fmt.Errorf("read the tree of image %s: %w", work.Ref, err)
	}
	return base, nil
}

// baseKey identifies the tree that an agent begins with.
func baseKey(t task.Task, work ImageRef) string {
	b, err := json.Marshal([]any{work.ID, t.Workdir, t.Submit})
	if err != nil {
		panic(fmt.Sprintf("encode the base of a patch: %v", err)) // plain data always encodes
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// pristine copies submit.paths out of the work image.
func (h Host) pristine(ctx context.Context, t task.Task, work ImageRef, labels map[string]string) (tree io.ReadCloser, err error) {
	err = h.Images.Look(ctx, work.ID, labels, func(ctx context.Context, id string) error {
		spool, err := h.spooled(ctx, t, id)
		if err == nil {
			tree = spool
		}
		return err
	})
	return tree, err
}

// spooled copies submit.paths out of a container into a file without a name: the container
// must not wait for whoever reads it. It is nil when there is an error.
func (h Host) spooled(ctx context.Context, t task.Task, id string) (_ *os.File, err error) {
	copier, ok := h.Engine.(container.Copier)
	if !ok {
		return nil, fmt.Errorf("look at an image with this engine: %w", container.ErrUnsupported)
	}
	spool, err := os.CreateTemp(h.spool(), sanitize.TreePrefix)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(spool.Name()); err != nil { // before it is filled: a killed daemon leaves nothing
		return nil, errors.Join(err, spool.Close())
	}
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		cerr := copyPaths(ctx, copier, id, t, tar.NewWriter(w))
		w.CloseWithError(cerr)
		done <- cerr
	}()
	err = h.cleaned(t, r, func(clean io.Reader) error {
		_, err := io.Copy(spool, clean)
		return err
	})
	r.CloseWithError(errStopped)
	if cerr := <-done; cerr != nil && !errors.Is(cerr, errStopped) {
		err = cerr
	}
	if err == nil {
		_, err = spool.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, spool.Close())
	}
	return spool, nil
}

// cleaned reads a hostile tree under the rules of the task's submissions.
func (h Host) cleaned(t task.Task, tree io.Reader, read func(clean io.Reader) error) error {
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := sanitize.Clean(tree, w, sanitize.Rules{Submit: t.Submit, Workdir: t.Workdir, Spool: h.spool()})
		w.CloseWithError(err)
		done <- err
	}()
	err := read(r)
	r.CloseWithError(errStopped)
	if cerr := <-done; cerr != nil && !errors.Is(cerr, errStopped) {
		return cerr
	}
	return err
}

func (h Host) spool() string { return filepath.Join(h.StateDir, "spool") }
