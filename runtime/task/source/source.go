package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"
)

// Bounds of a walk.
const (
	maxDepth   = 12
	maxEntries = 1_000_000
)

// Folder is open until Close.
type Folder struct {
	root *os.Root
	only string // the one file that was named instead of a folder
	room int64  // bytes that may still be read
}

// Open opens a folder, or a file as a folder that holds nothing else. room bounds what is
// read of it in all, in bytes.
func Open(name string, room int64) (*Folder, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, Plain(err)
	}
	f := &Folder{room: room}
	if !info.IsDir() {
		name, f.only = filepath.Dir(name), filepath.Base(name)
	}
	if f.root, err = os.OpenRoot(name); err != nil {
		return nil, Plain(err)
	}
	return f, nil
}

// Close gives the folder back.
func (f *Folder) Close() error { return f.root.Close() }

// Names returns the files of the folder itself, sorted, without what begins with a dot.
func (f *Folder) Names() ([]string, error) {
	if f.only != "" {
		return []string{f.only}, nil
	}
	entries, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return nil, Plain(err)
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Find returns the slash-separated names of the files that are called base, at any depth to
// a bound, sorted. It follows no link and looks into nothing that begins with a dot.
func (f *Folder) Find(base string) ([]string, error) {
	if f.only != "" {
		if f.only == base {
			return []string{base}, nil
		}
		return nil, nil
	}
	var found []string
	seen := 0
	err := fs.WalkDir(f.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if seen++; seen > maxEntries {
			return fmt.Errorf("holds more than %d files", maxEntries)
		}
		switch {
		case err != nil && name == ".":
			return err
		case err != nil:
			return nil // a folder that may not be read hides no other
		case e.IsDir() && name != "." && (strings.HasPrefix(e.Name(), ".") || strings.Count(name, "/") >= maxDepth):
			return fs.SkipDir
		case !e.IsDir() && e.Name() == base:
			found = append(found, name)
		}
		return nil
	})
	slices.Sort(found)
	return found, Plain(err)
}

// Has reports whether there is a plain file of that name.
func (f *Folder) Has(name string) bool {
	if f.only != "" && f.only != name {
		return false
	}
	info, err := f.root.Lstat(filepath.FromSlash(name))
	return err == nil && info.Mode().IsRegular()
}

// Open opens a plain file of at most limit bytes. Opening does not wait, as it else would
// for the writer of a pipe.
func (f *Folder) Open(name string, limit int64) (*os.File, int64, error) {
	if name == "" || path.IsAbs(name) {
		return nil, 0, errors.New("is no name in the folder")
	}
	if f.only != "" && f.only != name {
		return nil, 0, fs.ErrNotExist
	}
	file, err := f.root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, Plain(err)
	}
	info, err := file.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = errors.New("is not a plain file")
	case info.Size() > limit:
		err = tooLarge(limit)
	case info.Size() > f.room:
		err = errors.New("is left out: what was read before it is all that is taken of one source")
	default:
		f.room -= info.Size()
		return file, info.Size(), nil
	}
	file.Close()
	return nil, 0, Plain(err)
}

// Read reads a plain file of at most limit bytes.
func (f *Folder) Read(name string, limit int64) ([]byte, error) {
	file, _, err := f.Open(name, limit)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, Plain(err)
	}
	if int64(len(data)) > limit {
		return nil, tooLarge(limit)
	}
	return data, nil
}

func tooLarge(limit int64) error {
	if limit < 1<<20 {
		return fmt.Errorf("is larger than %d KiB", limit>>10)
	}
	return fmt.Errorf("is larger than %d MiB", limit>>20)
}

// Plain drops the operation and the path from an error of a file: both are told beside it.
func Plain(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// Shown is a text without what would command a terminal, cut where it is long.
func Shown(text string) string {
	const most = 300
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}
