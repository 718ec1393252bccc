package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Repositories says which folders of this machine repositories may be cloned from, besides the
// folders of the specs.
type Repositories struct {
	AllowFile []string // absolute folders
}

// checkRepository accepts the address of a repository of another machine, or of one in a folder
// of this machine that specs may read.
func (f *file) checkRepository(s string) error {
	if err := checkURL(s); err != nil {
		return err
	}
	switch path, ok := localRepository(s); {
	case ok:
		return f.checkLocalRepository(s, path)
	case !remoteRepository.MatchString(s):
		return fmt.Errorf("%q is no address of a repository: write https://, ssh://, USER@HOST:PATH or file:///PATH", s)
	}
	return nil
}

// checkDataset is checkRepository for what may also be an archive, with options after #.
func (f *file) checkDataset(s string) error {
	if err := notEmpty(s); err != nil {
		return err
	}
	at, _, _ := strings.Cut(s, "#")
	if path, ok := localRepository(at); ok {
		return f.checkLocalRepository(at, path)
	}
	return nil
}

// remoteRepository is an address with a scheme, or one as scp has them.
var remoteRepository = regexp.MustCompile(`^([a-zA-Z][a-zA-Z0-9+.-]*://|([^/:]+@)?[^/:]+:)`)

// localRepository is the folder of this machine that Git would clone from. Git takes what stands
// in place of a host for a folder, and decodes %2e.
func localRepository(s string) (path string, ok bool) {
	const scheme = "file://"
	if len(s) >= len(scheme) && strings.EqualFold(s[:len(scheme)], scheme) {
		path = s[len(scheme):]
		if decoded, err := url.PathUnescape(path); err == nil {
			path = decoded
		}
		return filepath.Clean("/" + path), true
	}
	return filepath.Clean(s), filepath.IsAbs(s)
}

func (f *file) checkLocalRepository(s, path string) error {
	var allowed []string
	folders := []string{f.root()}
	if f.o.Settings != nil {
		folders = append(folders, f.o.Settings.Repositories.AllowFile...)
	}
	for _, dir := range folders {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil {
			allowed = append(allowed, real)
		}
	}
	if err := (&heldWithin{allowed: allowed}).repository(path); err != nil {
		return fmt.Errorf("%q: %w", s, err)
	}
	return nil
}

// heldWithin looks whether all that Git reads of a repository lies in folders that specs may read:
// a repository can name others, and its files can be links.
type heldWithin struct {
	allowed []string // without links
	files   int
	seen    []string
}

const (
	maxRepositoryFiles = 200_000 // one that was packed has few
	maxRepositoryNote  = 64 << 10
)

// repository checks a folder that holds one, bare or with a work tree. One that is not there yet
// is checked by its name.
func (h *heldWithin) repository(path string) error {
	real, err := h.folder(path)
	if err != nil || slices.Contains(h.seen, real) {
		return err
	}
	if h.seen = append(h.seen, real); len(h.seen) > 20 {
		return errors.New("this repository leads to more than 20 others")
	}
	inside := filepath.Join(real, ".git")
	info, err := os.Lstat(inside)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return h.database(real)
	case err != nil:
		return plain(err)
	case info.IsDir():
		return h.database(inside)
	case info.Mode().IsRegular():
		return h.noted(inside, real, "gitdir: ", h.repository)
	}
	return h.repository(inside) // a link
}

// folder is where a path leads, which has to be in what is allowed.
func (h *heldWithin) folder(path string) (real string, err error) {
	if real, err = evalExisting(path); err != nil {
		return "", plain(err)
	}
	if !slices.ContainsFunc(h.allowed, func(dir string) bool { return within(real, dir) }) {
		return "", fmt.Errorf("%s is not below the folder of the specs; to allow it, add its folder to repositories { allow_file = [...] } in assayd.hcl", real)
	}
	return real, nil
}

// database checks the folder in which Git keeps a repository, or its objects alone.
func (h *heldWithin) database(dir string) error {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		if h.files++; h.files > maxRepositoryFiles {
			return fmt.Errorf("it has more than %d files: pack it, with git gc", maxRepositoryFiles)
		}
		if d.Type()&fs.ModeSymlink == 0 {
			return nil
		}
		_, err = h.folder(path)
		return err
	})
	if err != nil {
		return plain(err)
	}
	for _, note := range []struct{ file, relative string }{
		{"commondir", dir}, {"objects/info/alternates", filepath.Join(dir, "objects")}, {"info/alternates", dir},
	} {
		if err := h.noted(filepath.Join(dir, note.file), note.relative, "", h.repository); err != nil {
			return err
		}
	}
	return nil
}

// noted checks the folders that a file names, one a line.
func (h *heldWithin) noted(file, relative, prefix string, check func(string) error) error {
	text, err := readAt(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", filepath.Base(file), plain(err))
	}
	for line := range strings.Lines(string(text)) {
		name, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), prefix)
		if !ok || name == "" || strings.HasPrefix(name, "#") {
			continue
		}
		if strings.HasPrefix(name, `"`) {
			return fmt.Errorf("%s names a folder in quotes, which is not read here", filepath.Base(file))
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(relative, name)
		}
		if err := check(name); err != nil {
			return err
		}
	}
	return nil
}

// readAt reads a small file of a repository.
func readAt(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errNotRegular
	case info.Size() > maxRepositoryNote:
		return nil, errTooLarge
	}
	return os.ReadFile(path)
}
