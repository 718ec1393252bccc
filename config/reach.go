package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// base is the folder that a path has to stay below, over links too: the root of the file, one that
// the settings allow, or all of the machine for a file that an operator handed in. "" = the file may
// not name this path.
func (f *file) base(abs string) (string, error) {
	below := within(abs, f.root())
	if !below && f.fromGit() {
		return "", nil // whether it is there is not told either
	}
	real, err := evalExisting(abs)
	if err != nil {
		return "", err
	}
	if below {
		root, err := evalExisting(f.root())
		if err != nil {
			return "", fmt.Errorf("folder of the specs: %w", plain(err))
		}
		if within(real, root) {
			return f.root(), nil
		}
	}
	for _, dir := range f.allowed() {
		if real, err := isBelow(real, dir); err == nil && real {
			return dir, nil
		}
	}
	return "", nil
}

// allowed are the folders that paths of the file may name besides its root.
func (f *file) allowed() []string {
	switch {
	case f.fromGit() || f.o.Settings == nil:
		return nil
	case f.in.Named:
		return []string{string(filepath.Separator)}
	}
	return f.o.Settings.Repositories.AllowFile
}

// fromGit reports whether the file comes from the Git repository of the settings. A link to a file of
// the repository is such a file, too.
func (f *file) fromGit() bool {
	if f.o.Checkout == "" {
		return false
	}
	if within(f.in.Path, filepath.Clean(f.o.Checkout)) {
		return true
	}
	real, err := evalExisting(f.in.Path)
	if err != nil {
		return true // nobody can tell
	}
	below, err := isBelow(real, f.o.Checkout)
	return below || err != nil
}

// allowance says what would allow a path that is refused.
func (f *file) allowance() string {
	if f.fromGit() {
		return ", which specs from a Git repository may not"
	}
	return "; to allow it, add its folder to repositories { allow_file = [...] } in assayd.hcl"
}

// isBelow reports whether a path without links is below a folder that may be reached over some.
func isBelow(real, dir string) (bool, error) {
	dir, err := evalExisting(filepath.Clean(dir))
	return err == nil && within(real, dir), err
}

// holds reports whether the paths that lead out of the root may still do that.
func (c Compiled) holds(in Input, o *Options) bool {
	if c.Root != in.Root || c.Named != in.Named {
		return false
	}
	f := &file{in: in, o: o}
	for _, path := range c.Outside {
		if base, err := f.base(path); err != nil || base == "" {
			return false
		}
	}
	return true
}

// watchedAround is a watched folder, in which the file itself is not, and in which a path lies or which
// lies in it; "" = there is none.
func (f *file) watchedAround(path string) string {
	if path == "" {
		return ""
	}
	_, err := f.base(path)
	real, err2 := evalExisting(path)
	if err != nil || err2 != nil {
		return "" // what is wrong with the path is told where it is read
	}
	spec, err := evalExisting(f.in.Path)
	for _, dir := range f.o.Watched {
		at, err2 := evalExisting(dir)
		if err2 != nil || err == nil && within(spec, at) {
			continue // who reads the spec there knows that the folder of its tasks holds none
		}
		if within(real, at) || within(at, real) {
			return dir
		}
	}
	return ""
}

// bounds are the folders that paths of the file have to stay below.
func (f *file) bounds() []string { return append([]string{f.root()}, f.allowed()...) }

// paths are what mining reads and writes while it works.
func (m *Mining) paths() []string {
	return []string{m.Output.Dir, m.PRFile, m.Filter.ExcludeRepos.File, m.Filter.Decontaminate.File}
}

// Inside returns an error if what mining reads or writes no longer lies below the folders that the spec
// may name: somebody may have put a link there since the spec was accepted. It returns nil for a spec
// without bounds, as earlier versions stored them.
func (m *Mining) Inside() error {
	for _, path := range m.paths() {
		if path == "" || len(m.Bounds) == 0 {
			continue
		}
		real, err := evalExisting(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, plain(err))
		}
		if !slices.ContainsFunc(m.Bounds, func(dir string) bool { below, err := isBelow(real, dir); return below && err == nil }) {
			return fmt.Errorf("%s is a link that leaves %s", path, strings.Join(m.Bounds, " and "))
		}
	}
	return nil
}
