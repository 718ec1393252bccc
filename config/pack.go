package config

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// Pack writes a folder as an uncompressed tar that depends on names, contents and the
// executable bit alone. What .gitignore files and the .dockerignore of the folder exclude
// is left out, and always .git, __pycache__, .pytest_cache and *.pyc. Symbolic links are
// kept if they stay inside; those that leave and whatever is no file, folder or link are
// left out.
func Pack(dir string, w io.Writer) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("pack %s: %w", dir, err)
	}
	defer root.Close()
	p := &packer{root: root, tar: tar.NewWriter(w), made: map[string]bool{}}
	if p.docker, err = readDockerIgnore(root); err == nil {
		err = p.folder(".", nil)
	}
	if err == nil {
		err = p.tar.Close()
	}
	if err != nil {
		return fmt.Errorf("pack %s: %w", dir, err)
	}
	return nil
}

type packer struct {
	root   *os.Root
	tar    *tar.Writer
	docker dockerIgnore
	made   map[string]bool // folders that are in the archive
}

// folder writes what lies in one folder, in the order of names. The rules are those of all
// folders above.
func (p *packer) folder(name string, rules []ignoreRule) error {
	entries, err := fs.ReadDir(p.root.FS(), name)
	if err != nil {
		return err
	}
	own, err := readGitIgnore(p.root, name)
	if err != nil {
		return err
	}
	rules = slices.Concat(rules, own)
	for _, entry := range entries {
		rel := path.Join(name, entry.Name())
		if isCache(entry.Name()) || ignored(rules, rel, entry.IsDir()) {
			continue
		}
		if err := p.entry(rel, entry, rules); err != nil {
			return fmt.Errorf("%s: %w", rel, plain(err))
		}
	}
	return nil
}

func isCache(name string) bool {
	return name == ".git" || name == "__pycache__" || name == ".pytest_cache" || strings.HasSuffix(name, ".pyc")
}

func (p *packer) entry(rel string, entry fs.DirEntry, rules []ignoreRule) error {
	out, err := p.docker.excludes(rel)
	if err != nil {
		return err
	}
	switch {
	case entry.IsDir() && out:
		if p.docker.exceptions() {
			return p.folder(rel, rules) // something in it may be an exception
		}
		return nil
	case entry.IsDir():
		if err := p.parents(path.Join(rel, "x")); err != nil {
			return err
		}
		return p.folder(rel, rules)
	case out:
		return nil
	case entry.Type() == fs.ModeSymlink:
		return p.link(rel)
	case entry.Type().IsRegular():
		return p.file(rel)
	}
	return nil
}

// parents writes the folders above a name that are not in the archive yet.
func (p *packer) parents(rel string) error {
	dir := path.Dir(rel)
	if dir == "." || p.made[dir] {
		return nil
	}
	if err := p.parents(dir); err != nil {
		return err
	}
	p.made[dir] = true
	return p.tar.WriteHeader(tarHeader(dir+"/", tar.TypeDir, 0o755))
}

func tarHeader(name string, kind byte, mode int64) *tar.Header {
	return &tar.Header{Name: name, Typeflag: kind, Mode: mode, ModTime: time.Unix(0, 0)}
}

func (p *packer) link(rel string) error {
	target, err := p.root.Readlink(rel)
	if err != nil {
		return err
	}
	if path.IsAbs(target) || checkLocal(path.Join(path.Dir(rel), target)) != nil {
		return nil
	}
	if _, err := p.root.Stat(rel); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil // leaves the folder over another link, or runs in a circle
	}
	if err := p.parents(rel); err != nil {
		return err
	}
	h := tarHeader(rel, tar.TypeSymlink, 0o777)
	h.Linkname = target
	return p.tar.WriteHeader(h)
}

// file writes as many bytes as the file has when it is opened; one that shrinks meanwhile
// is an error.
func (p *packer) file(rel string) error {
	file, err := p.root.Open(rel)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errNotRegular
	}
	if err := p.parents(rel); err != nil {
		return err
	}
	mode := int64(0o644)
	if info.Mode()&0o100 != 0 {
		mode = 0o755
	}
	h := tarHeader(rel, tar.TypeReg, mode)
	h.Size = info.Size()
	if err := p.tar.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.CopyN(p.tar, file, h.Size)
	return err
}
