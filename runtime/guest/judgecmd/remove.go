package judgecmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// maxRemovals bounds a list of paths to remove, in bytes.
const maxRemovals = 64 << 20

// Remove removes the files and links below dir that a list of relative paths names, each
// ended by a NUL, and then the folders that have lost all they held by it. No link is
// followed, and nothing outside of dir is touched. What is not there is no error; a folder
// in place of a file is one.
func Remove(dir string, list io.Reader) (err error) {
	text, err := io.ReadAll(io.LimitReader(list, maxRemovals+1))
	if err != nil {
		return fmt.Errorf("read what to remove: %w", err)
	}
	if len(text) > maxRemovals {
		return errors.New("the list of what to remove is too long")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	emptied := map[string]bool{}
	for len(text) > 0 {
		name, rest, _ := bytes.Cut(text, []byte{0})
		text = rest
		if err := removeOne(root, string(name), emptied); err != nil {
			return fmt.Errorf("remove %q: %w", name, err)
		}
	}
	return removeEmpty(root, emptied)
}

// removeOne removes a file or a link and notes the folders above it.
func removeOne(root *os.Root, name string, emptied map[string]bool) error {
	if name == "" || !fs.ValidPath(name) || name == "." {
		return errors.New("it is no clean relative path")
	}
	for _, dir := range above(name) {
		info, err := root.Lstat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !info.IsDir():
			return fmt.Errorf("%q is no folder", dir)
		}
	}
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("it is a folder")
	}
	if err := root.Remove(name); err != nil {
		return err
	}
	for _, dir := range above(name) {
		emptied[dir] = true
	}
	return nil
}

// removeEmpty removes those of the folders that hold nothing, the deepest first.
func removeEmpty(root *os.Root, folders map[string]bool) error {
	names := make([]string, 0, len(folders))
	for dir := range folders {
		names = append(names, dir)
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Count(b, "/") - strings.Count(a, "/") })
	for _, dir := range names {
		holds, err := holdsAny(root, dir)
		if err != nil {
			return fmt.Errorf("look into %q: %w", dir, err)
		}
		if holds {
			continue
		}
		if err := root.Remove(dir); err != nil {
			return fmt.Errorf("remove %q, which is empty: %w", dir, err)
		}
	}
	return nil
}

func holdsAny(root *os.Root, dir string) (bool, error) {
	f, err := root.Open(dir)
	if err != nil {
		return false, err
	}
	defer f.Close() //nolint:errcheck // only read
	_, err = f.Readdirnames(1)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return err == nil, err
}

// above lists the folders above a clean relative path, the outermost first.
func above(name string) (dirs []string) {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		dirs = append(dirs, dir)
	}
	slices.Reverse(dirs)
	return dirs
}
