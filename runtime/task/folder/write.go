package folder

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/assayd/assayd/runtime/task"
)

// Writer writes the folder of one task. Its first error is kept, and nothing is written
// after it.
type Writer struct {
	dir  string
	root *os.Root
	sums map[string]string
	err  error
}

// Create makes the folder of a task, which must be new or empty.
func Create(dir string) (*Writer, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of a task: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("look into the folder of a task: %w", err)
	}
	if len(entries) > 0 {
		return nil, fmt.Errorf("folder %s is not empty", dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the folder of a task: %w", err)
	}
	return &Writer{dir: dir, root: root, sums: map[string]string{}}, nil
}

// Sums are the checksums of the files that were written with Made.
func (w *Writer) Sums() map[string]string { return w.sums }

// Close ends the writing, and returns its first error.
func (w *Writer) Close() error { return errors.Join(w.err, w.root.Close()) }

// Made writes a file that follows from the task: who edits it must drop the note.
func (w *Writer) Made(name, content string) {
	w.File(name, content)
	w.sums[name] = Sum([]byte(content))
}

// File writes a file.
func (w *Writer) File(name, content string) {
	mode := fs.FileMode(0o644)
	if strings.HasPrefix(content, "#!") {
		mode = 0o755
	}
	w.put(name, mode, strings.NewReader(content))
}

// Stream writes a file of what a reader gives, and closes that.
func (w *Writer) Stream(name string, open func() (io.ReadCloser, error)) {
	if w.err != nil {
		return
	}
	r, err := open()
	if err != nil {
		w.fail(name, err)
		return
	}
	w.put(name, 0o644, r)
	w.fail(name, r.Close())
}

// Tree writes the content of a tree below a folder.
func (w *Writer) Tree(name string, tree task.Tree, trees task.Trees) {
	w.Part(name, tree, ".", trees)
}

// Part writes what a tree has in one of its folders below another.
func (w *Writer) Part(name string, tree task.Tree, of string, trees task.Trees) {
	if w.err != nil || tree.Digest == "" {
		return
	}
	r, err := trees.Open(tree)
	if err != nil {
		w.fail(name, err)
		return
	}
	w.unpack(name, of, tar.NewReader(r))
	w.fail(name, r.Close())
}

// Split moves a file that was written as a part of a tree to where it lies for itself.
func (w *Writer) Split(name, to string) {
	if w.err == nil {
		w.fail(name, w.root.Rename(name, to))
	}
}

func (w *Writer) fail(name string, err error) {
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("write %s: %w", name, err)
	}
}

func (w *Writer) put(name string, mode fs.FileMode, content io.Reader) {
	if w.err != nil {
		return
	}
	if err := w.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		w.fail(name, err)
		return
	}
	f, err := w.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		w.fail(name, err)
		return
	}
	_, err = io.Copy(f, content)
	w.fail(name, errors.Join(err, f.Close()))
}

func (w *Writer) unpack(at, of string, r *tar.Reader) {
	w.fail(at, w.root.MkdirAll(at, 0o755))
	for w.err == nil {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			w.fail(at, err)
			return
		}
		if !filepath.IsLocal(h.Name) {
			w.fail(at, fmt.Errorf("the entry %q leaves the tree", h.Name))
			return
		}
		below, err := filepath.Rel(of, path.Clean(h.Name))
		if err != nil || !filepath.IsLocal(below) {
			continue
		}
		name := path.Join(at, below)
		switch h.Typeflag {
		case tar.TypeDir:
			w.fail(name, w.root.MkdirAll(name, 0o755))
		case tar.TypeSymlink:
			w.fail(name, w.root.MkdirAll(path.Dir(name), 0o755))
			w.fail(name, w.root.Symlink(h.Linkname, name))
		case tar.TypeReg:
			mode := fs.FileMode(0o644)
			if h.Mode&0o111 != 0 {
				mode = 0o755
			}
			w.put(name, mode, r)
		default:
			w.fail(name, errors.New("is neither file, folder nor link"))
		}
	}
}

// Unpack writes a tar into a new folder, which nothing in it leaves.
func Unpack(dir string, content io.Reader) error {
	w, err := Create(dir)
	if err != nil {
		return err
	}
	w.unpack(".", ".", tar.NewReader(content))
	return w.Close()
}
