package folder

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Bounds of a folder that is copied or kept.
const (
	maxEntries = 100_000
	maxBytes   = 4 << 30
	maxFile    = 256 << 20 // that is copied for itself
)

// Bounds of a search.
const (
	maxDepth = 12
	maxSeen  = 1_000_000
)

// Entries lists all that a folder holds, by name.
func (r *Root) Entries(name string) ([]fs.DirEntry, error) {
	if r.only == "" {
		entries, err := fs.ReadDir(r.root.FS(), name)
		return entries, plain(err)
	}
	info, err := r.root.Lstat(r.only)
	if err != nil {
		return nil, plain(err)
	}
	return []fs.DirEntry{fs.FileInfoToDirEntry(info)}, nil
}

// Folders lists the folders in one, by name; what begins with a dot is somebody else's.
func (r *Root) Folders(name string) ([]string, error) {
	return r.list(name, fs.DirEntry.IsDir)
}

// Names lists what is no folder in the folder itself, by name, without what begins with a dot.
func (r *Root) Names() ([]string, error) {
	return r.list(".", func(e fs.DirEntry) bool { return !e.IsDir() })
}

func (r *Root) list(name string, wanted func(fs.DirEntry) bool) ([]string, error) {
	entries, err := r.Entries(name)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if wanted(e) && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Find lists the files that are called base, at any depth to a bound. It follows no link and
// looks into nothing that begins with a dot.
func (r *Root) Find(base string) ([]string, error) {
	var found []string
	seen := 0
	err := r.walk(".", func(name string, e fs.DirEntry, err error) error {
		if seen++; seen > maxSeen {
			return fmt.Errorf("holds more than %d files", maxSeen)
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
	return found, plain(err)
}

// Files lists the plain files in a folder and below it, by name.
func (r *Root) Files(name string) (names []string, err error) {
	if err := r.measure(name); err != nil {
		return nil, err
	}
	err = r.walk(name, func(at string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			names = append(names, at)
		}
		return err
	})
	return names, plain(err)
}

// walk visits a folder and all below it; of a file that was opened as one, only that.
func (r *Root) walk(name string, visit fs.WalkDirFunc) error {
	if r.only == "" {
		return fs.WalkDir(r.root.FS(), name, visit)
	}
	entries, err := r.Entries(name)
	if err != nil {
		return err
	}
	return visit(r.only, entries[0], nil)
}

// measure refuses a folder that is too large to be part of a task.
func (r *Root) measure(name string) error {
	entries, bytes := 0, int64(0)
	err := r.walk(name, func(_ string, e fs.DirEntry, err error) error {
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
