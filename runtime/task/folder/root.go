package folder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/assayd/assayd/runtime/task"
)

// Bounds of a folder that is copied or kept.
const (
	maxEntries = 100_000
	maxBytes   = 4 << 30
	maxFile    = 256 << 20 // that is copied for itself
)

// Root is a folder with the tasks of somebody else.
type Root struct {
	dir string
	*os.Root
}

// Open opens a folder.
func Open(dir string) (*Root, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, plain(err)
	}
	return &Root{dir, root}, nil
}

// Sub opens a folder in it.
func (r *Root) Sub(name string) (*Root, error) {
	if !r.Folder(name) {
		return nil, fmt.Errorf("%s is no folder", name)
	}
	return Open(filepath.Join(r.dir, name))
}

// Read reads a plain file. Opening does not wait, as it else would for the writer of a pipe.
// A file that is not there is fs.ErrNotExist.
func (r *Root) Read(name string, limit int64) ([]byte, error) {
	file, err := r.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, plain(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, plain(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("is not a plain file")
	}
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, plain(err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("is larger than %d KiB", limit>>10)
	}
	return data, nil
}

// Has reports whether there is a plain file of that name.
func (r *Root) Has(name string) bool {
	info, err := r.Lstat(name)
	return err == nil && info.Mode().IsRegular()
}

// Folder reports whether there is a folder of that name, reached over no link.
func (r *Root) Folder(name string) bool {
	at := ""
	for part := range strings.SplitSeq(path.Clean(name), "/") {
		at = path.Join(at, part)
		if info, err := r.Lstat(at); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// Folders lists the folders in one, by name; what begins with a dot is somebody else's.
func (r *Root) Folders(name string) ([]string, error) {
	entries, err := fs.ReadDir(r.FS(), name)
	if err != nil {
		return nil, plain(err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Files lists the plain files in a folder and below it, by name.
func (r *Root) Files(name string) (names []string, err error) {
	if err := r.measure(name); err != nil {
		return nil, err
	}
	err = fs.WalkDir(r.FS(), name, func(at string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			names = append(names, at)
		}
		return err
	})
	return names, plain(err)
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

// measure refuses a folder that is too large to be part of a task.
func (r *Root) measure(name string) error {
	entries, bytes := 0, int64(0)
	err := fs.WalkDir(r.FS(), name, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return plain(err)
		}
		info, err := e.Info()
		if err != nil {
			return plain(err)
		}
		if info.Mode().IsRegular() {
			bytes += info.Size()
		}
		if entries++; entries > maxEntries || bytes > maxBytes {
			return fmt.Errorf("holds more than %d entries or %d GiB", maxEntries, maxBytes>>30)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("folder %s: %w", name, err)
	}
	return nil
}

// plain drops the operation and the path from an error of a file: both are told beside it.
func plain(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
