package folder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/assayd/assayd/runtime/task"
)

// Root is a folder with the tasks of somebody else, open until Close. It is read without
// waiting for pipes, and never by a link that leads out of it.
type Root struct {
	dir  string
	root *os.Root
	only string // the one file that was named instead of a folder
	room *int64 // bytes that may still be read of it and of what is below
}

// Open opens a folder.
func Open(dir string) (*Root, error) { return open(dir, math.MaxInt64) }

// OpenSource opens a folder, or a file as a folder that holds nothing else. room bounds what
// is read of it in all, in bytes.
func OpenSource(name string, room int64) (*Root, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, plain(err)
	}
	if info.IsDir() {
		return open(name, room)
	}
	r, err := open(filepath.Dir(name), room)
	if err != nil {
		return nil, err
	}
	r.only = filepath.Base(name)
	return r, nil
}

func open(dir string, room int64) (*Root, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, plain(err)
	}
	return &Root{dir: dir, root: root, room: &room}, nil
}

// Sub opens a folder in it.
func (r *Root) Sub(name string) (*Root, error) {
	if !r.Folder(name) {
		return nil, fmt.Errorf("%s is no folder", name)
	}
	sub, err := Open(filepath.Join(r.dir, name))
	if err != nil {
		return nil, err
	}
	sub.room = r.room
	return sub, nil
}

// Close gives the folder back.
func (r *Root) Close() error { return r.root.Close() }

// Open opens a plain file of at most limit bytes, and says how large it is. Opening does not
// wait, as it else would for the writer of a pipe. A file that is not there is fs.ErrNotExist.
func (r *Root) Open(name string, limit int64) (*os.File, int64, error) {
	if r.hides(name) {
		return nil, 0, fs.ErrNotExist
	}
	file, err := r.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, plain(err)
	}
	info, err := file.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = errors.New("is not a plain file")
	case info.Size() > limit:
		err = tooLarge(limit)
	case info.Size() > *r.room:
		err = errors.New("is left out: no more is taken of one source")
	default:
		*r.room -= info.Size()
		return file, info.Size(), nil
	}
	return nil, 0, errors.Join(plain(err), file.Close())
}

// Read reads a plain file as Open opens it.
func (r *Root) Read(name string, limit int64) ([]byte, error) {
	file, _, err := r.Open(name, limit)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, plain(err)
	}
	if int64(len(data)) > limit {
		return nil, tooLarge(limit)
	}
	return data, nil
}

// hides reports whether a name is of a file beside the only one.
func (r *Root) hides(name string) bool { return r.only != "" && r.only != name }

func tooLarge(limit int64) error {
	if limit < 1<<20 {
		return fmt.Errorf("is larger than %d KiB", limit>>10)
	}
	return fmt.Errorf("is larger than %d MiB", limit>>20)
}

func (r *Root) lstat(name string) (fs.FileInfo, error) {
	if r.hides(name) {
		return nil, fs.ErrNotExist
	}
	return r.root.Lstat(name)
}

// Has reports whether there is a plain file of that name.
func (r *Root) Has(name string) bool {
	info, err := r.lstat(name)
	return err == nil && info.Mode().IsRegular()
}

// Folder reports whether there is a folder of that name, reached over no link.
func (r *Root) Folder(name string) bool {
	at := ""
	for part := range strings.SplitSeq(path.Clean(name), "/") {
		at = path.Join(at, part)
		if info, err := r.lstat(at); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// Keep stores a folder as a tree; one that is not there is the zero Tree.
func (r *Root) Keep(name string, trees task.Trees) (task.Tree, error) {
	if !r.Folder(name) {
		return task.Tree{}, nil
	}
	if err := r.measure(name); err != nil {
		return task.Tree{}, err
	}
	if trees == nil {
		return task.Tree{}, errors.New("there is nowhere to keep its folders")
	}
	return trees.Keep(filepath.Join(r.dir, name))
}

// plain drops the operation and the path from an error of a file: both are told beside it.
func plain(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
