package agent

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/assayd/assayd/runtime/task"
	"github.com/assayd/assayd/runtime/untar"
)

// Stage writes what is mounted at /agent into dir, which must exist and be empty: the
// snapshot of the agent's own directory, or the reference solution for the oracle as
// tree/, solution.patch or solution.sh. open returns the tar of a snapshot.
func Stage(dir string, a Agent, t task.Task, open func(digest string) (io.ReadCloser, error)) error {
	if !a.Solves() {
		return unpack(dir, a.Dir, open)
	}
	s := t.Solution
	if s == nil {
		return fmt.Errorf("task %s has no solution for the oracle", t.Name)
	}
	switch {
	case len(s.Patch) > 0:
		return os.WriteFile(filepath.Join(dir, "solution.patch"), s.Patch, 0o644)
	case s.Script != "":
		return os.WriteFile(filepath.Join(dir, "solution.sh"), []byte(s.Script), 0o644)
	}
	tree := filepath.Join(dir, "tree")
	if err := os.Mkdir(tree, 0o755); err != nil {
		return err
	}
	return unpack(tree, s.Context, open)
}

// unpack extracts a snapshot through os.Root, so that no entry can leave dir.
func unpack(dir string, t task.Tree, open func(string) (io.ReadCloser, error)) (err error) {
	if t.Digest == "" {
		return nil
	}
	src, err := open(t.Digest)
	if err != nil {
		return fmt.Errorf("open snapshot %s: %w", t.Digest, err)
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	r := tar.NewReader(src)
	err = untar.Each(r, math.MaxInt, func(h *tar.Header) error { // a snapshot was bounded when it was taken
		if err := place(root, h, r); err != nil {
			return fmt.Errorf("unpack %q: %w", h.Name, err)
		}
		return nil
	})
	if err != nil && !errors.Is(err, untar.ErrEmpty) {
		return fmt.Errorf("snapshot %s: %w", t.Digest, err)
	}
	return nil
}

func place(root *os.Root, h *tar.Header, r io.Reader) error {
	name, err := untar.Local(h.Name)
	if err != nil || name == "." {
		return err
	}
	if parent := filepath.Dir(name); parent != "." {
		if err := root.MkdirAll(parent, 0o755); err != nil {
			return err
		}
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return root.MkdirAll(name, 0o755)
	case tar.TypeSymlink:
		return root.Symlink(h.Linkname, name)
	case tar.TypeReg:
		f, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, os.FileMode(h.Mode)&0o777|0o444)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, r)
		return errors.Join(err, f.Close())
	}
	return fmt.Errorf("unexpected entry type %q", h.Typeflag)
}
