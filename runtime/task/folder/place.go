package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"

	"github.com/assayd/assayd/runtime/task"
)

// Place is where a tree of a task lies in the folder of a format. Writing and reading go by
// the same places.
type Place struct {
	Tree  *task.Tree
	At    []Piece // together they are the tree; one that goes to "." is all of it
	Exact string  // where the tree lies once more when the pieces have more in them
}

// Piece is a file or folder of a folder, and where it stands in a tree.
type Piece struct{ From, To string }

// NotHeld says of a task that its trees cannot be read again from a folder.
const NotHeld = "has files that an ignore file, or a link, keeps from being read again"

// Verify writes a tree once more where what is at its place would be read as another, and
// reports whether all can be read again.
func (w *Writer) Verify(places []Place, trees task.Trees) bool {
	for _, p := range places {
		if p.Tree.Digest == "" || w.keeps(p.At, *p.Tree, trees) {
			continue
		}
		w.Tree(p.Exact, *p.Tree, trees)
		if !w.keeps([]Piece{{p.Exact, "."}}, *p.Tree, trees) {
			return false
		}
	}
	return true
}

// keeps reports whether what was written is read back as a tree.
func (w *Writer) keeps(at []Piece, tree task.Tree, trees task.Trees) bool {
	if w.err != nil {
		return true // told by Close
	}
	kept, err := (&Root{dir: w.dir, root: w.root, room: new(int64(math.MaxInt64))}).Gather(at, trees)
	w.fail("the written files", err)
	return kept == tree
}

// Restore puts the trees of a note in anew, from where they lie.
func (r *Root) Restore(places []Place, trees task.Trees) error {
	for _, p := range places {
		if p.Tree.Digest == "" {
			continue
		}
		at := p.At
		if r.Folder(p.Exact) {
			at = []Piece{{p.Exact, "."}}
		}
		tree, err := r.Gather(at, trees)
		if err != nil {
			return err
		}
		*p.Tree = tree
	}
	return nil
}

// Gather stores files and folders together as a tree; those that are not there are left out.
func (r *Root) Gather(pieces []Piece, trees task.Trees) (_ task.Tree, err error) {
	if len(pieces) == 1 && pieces[0].To == "." {
		return r.Keep(pieces[0].From, trees)
	}
	if trees == nil {
		return task.Tree{}, errors.New("there is nowhere to keep its folders")
	}
	dir, err := os.MkdirTemp("", "assayd-import-")
	if err != nil {
		return task.Tree{}, fmt.Errorf("copy a part of a task: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	found := false
	for _, p := range pieces {
		there, err := r.copy(p.From, filepath.Join(dir, p.To))
		if err != nil {
			return task.Tree{}, fmt.Errorf("copy %s: %w", p.From, plain(err))
		}
		found = found || there
	}
	if !found {
		return task.Tree{}, nil
	}
	return trees.Keep(dir)
}

// copy copies a file, or a folder with links as links.
func (r *Root) copy(name, to string) (there bool, err error) {
	if r.Folder(name) {
		if err := r.measure(name); err != nil {
			return false, err
		}
		from, err := fs.Sub(r.root.FS(), path.Clean(name))
		if err != nil {
			return false, err
		}
		return true, os.CopyFS(to, from)
	}
	if !r.Has(name) {
		return false, nil
	}
	info, err := r.lstat(name)
	if err != nil {
		return false, err
	}
	content, err := r.Read(name, maxFile)
	if err != nil {
		return false, err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return false, err
	}
	return true, os.WriteFile(to, content, info.Mode().Perm()|0o600)
}
