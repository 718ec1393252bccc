package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxFile bounds what file() and solution.patch read, in bytes.
const maxFile = 16 << 20

// resolve makes a path of a spec absolute. What it names need not exist.
func (f *file) resolve(rel string) (string, error) {
	abs, _, err := f.locate(rel)
	return abs, err
}

// locate makes a path of a spec absolute and says below which folder it has to stay. It is relative
// to the spec file. Only a file that may name other folders may leave the root, by the text of the
// path or over links.
func (f *file) locate(rel string) (abs, base string, err error) {
	if rel == "" || strings.ContainsRune(rel, 0) {
		return "", "", fmt.Errorf("%q is no path", rel)
	}
	if abs = filepath.Clean(rel); !filepath.IsAbs(rel) {
		abs = filepath.Join(filepath.Dir(f.in.Path), rel)
	}
	base, err = f.base(abs)
	switch below := within(abs, f.root()); {
	case err != nil:
		return "", "", fmt.Errorf("%q: %w", rel, plain(err))
	case base == f.root() && filepath.IsAbs(rel) && !f.in.Named:
		return "", "", fmt.Errorf("%q is absolute: write it relative to the spec file", rel)
	case base == "" && below:
		return "", "", fmt.Errorf("%q is a link that leaves the folder of the specs%s", rel, f.allowance())
	case base == "":
		return "", "", fmt.Errorf("%q leaves the folder of the specs%s", rel, f.allowance())
	case base != f.root() && !slices.Contains(f.outside, abs):
		f.outside = append(f.outside, abs)
	}
	return abs, base, nil
}

func (f *file) root() string {
	if f.in.Root == "" {
		return filepath.Dir(f.in.Path)
	}
	return filepath.Clean(f.in.Root)
}

// folder resolves a path that must be a folder.
func (f *file) folder(rel string) (string, error) {
	abs, err := f.resolve(rel)
	if err != nil {
		return "", err
	}
	if _, ok := f.pinned[Content{Kind: ContentFolder, Name: abs}.key()]; ok {
		return abs, nil // a copy of it is there
	}
	info, err := os.Stat(abs)
	if err != nil {
		return "", f.unread(rel, abs, err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%q is not a folder", rel)
	}
	return abs, nil
}

// data resolves a path that must be a folder or a plain file.
func (f *file) data(rel string) (string, error) {
	abs, err := f.resolve(rel)
	if err != nil {
		return "", err
	}
	if _, ok := f.pinned[Content{Kind: ContentImport, Name: abs}.key()]; ok {
		return abs, nil // what it said is known
	}
	info, err := os.Stat(abs)
	switch {
	case err != nil:
		return "", f.unread(rel, abs, err)
	case !info.IsDir() && !info.Mode().IsRegular():
		return "", fmt.Errorf("%q is neither a folder nor a plain file", rel)
	}
	return abs, nil
}

// unread says why what a path names cannot be read; of what is not there also where it was looked
// for, without the machine's path, and which name there is near.
func (f *file) unread(rel, abs string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%q: %w", rel, plain(err))
	}
	hint := "make it, or write another path"
	if near := f.near(abs); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return fmt.Errorf("%q: %w in the folder of %s; %s", rel, plain(err), f.in.Display, hint)
}

// maxLooked bounds how many names of a folder are compared with one that is not there.
const maxLooked = 1000

// near is the path from the spec file to what is there and has a name like one that is not; "" = there is none.
func (f *file) near(abs string) string {
	dir, err := os.Open(filepath.Dir(abs))
	if err != nil {
		return ""
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(maxLooked) // what could be read is enough for a hint
	slices.Sort(names)
	best := Nearest(filepath.Base(abs), names)
	if best == "" {
		return ""
	}
	near, err := filepath.Rel(filepath.Dir(f.in.Path), filepath.Join(filepath.Dir(abs), best))
	if err != nil {
		return ""
	}
	return filepath.ToSlash(near)
}

// took notes content that the file takes from outside its text.
func (f *file) took(s Content) {
	if !slices.ContainsFunc(f.sources, func(x Content) bool { return x.key() == s.key() }) {
		f.sources = append(f.sources, s)
	}
}

// fileText is file(): the text of a file.
func (f *file) fileText(rel string) (string, error) {
	data, err := f.fileBytes(rel)
	return string(data), err
}

// fileBytes reads a regular file. It is opened through the folder that it has to stay below, so that
// a link that is swapped meanwhile leads nowhere else.
func (f *file) fileBytes(rel string) ([]byte, error) {
	abs, base, err := f.locate(rel)
	if err != nil {
		return nil, err
	}
	if s, ok := f.pinned[Content{Kind: ContentFile, Name: abs}.key()]; ok {
		f.took(s)
		return s.Text, nil
	}
	trace := layOf(abs)
	data, err := readBelow(base, abs, maxFile)
	if err != nil {
		return nil, f.unread(rel, abs, err)
	}
	f.took(Content{Kind: ContentFile, Name: abs, Digest: digestOfText(data), Text: data, Trace: trace})
	return data, nil
}

// errTooLarge says that a file is larger than its reader takes.
var errTooLarge = errors.New("too large")

// errNotRegular says that something is no plain file.
var errNotRegular = errors.New("not a regular file")

// readBelow reads the regular file at path, which may be reached over links that stay
// below root, up to limit bytes.
func readBelow(root, path string, limit int64) ([]byte, error) {
	realRoot, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(realRoot, real)
	if err != nil {
		return nil, err
	}
	dir, err := os.OpenRoot(realRoot)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return readRegular(dir, rel, limit)
}

// readRegular reads one plain file. What it is gets asked before it is opened, because
// opening a pipe waits for its writer.
func readRegular(dir *os.Root, name string, limit int64) ([]byte, error) {
	info, err := dir.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	file, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readUpTo(file, limit)
}

// within reports whether path is dir or below it; both are clean.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// evalExisting follows the links of that part of a path that exists.
func evalExisting(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	if _, lerr := os.Lstat(path); lerr == nil || path == filepath.Dir(path) {
		return "", err // a link to nothing
	}
	parent, err := evalExisting(filepath.Dir(path))
	return filepath.Join(parent, filepath.Base(path)), err
}

// plain leaves the operation and the machine's path out of an error of the file system.
func plain(err error) error {
	if perr, ok := errors.AsType[*fs.PathError](err); ok {
		return perr.Err
	}
	return err
}
