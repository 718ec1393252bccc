package image

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/task"
)

// contentTime is the modification time of what has none of its own, so that equal recipes
// give equal files.
var contentTime = time.Unix(0, 0).UTC()

// context copies the tree of the part into workdir.
func (s *buildStep) context(ctx context.Context) error {
	tree := s.recipe.tree()
	if tree == "" {
		return nil
	}
	return s.put(ctx, s.recipe.Workdir, func(tw *tar.Writer) error {
		return s.b.walk(tree, func(h *tar.Header, body io.Reader) error {
			h.Uid, h.Gid, h.Uname, h.Gname = 0, 0, "", ""
			if err := tw.WriteHeader(h); err != nil {
				return err
			}
			_, err := io.Copy(tw, body)
			return err
		})
	})
}

// files writes the files that the spec holds in line.
func (s *buildStep) files(ctx context.Context) error {
	for _, target := range slices.Sorted(maps.Keys(s.recipe.Files)) {
		name, err := place(s.recipe.Workdir, target)
		if err != nil {
			return err
		}
		dir := path.Dir(name)
		if err := s.makeDirs(ctx, dir); err != nil {
			return err
		}
		content := s.recipe.Files[target]
		h := &tar.Header{Typeflag: tar.TypeReg, Name: path.Base(name), Mode: 0o644, Size: int64(len(content)), ModTime: contentTime}
		if strings.HasPrefix(content, "#!") {
			h.Mode = 0o755 // a script is there to be run
		}
		err = s.put(ctx, dir, func(tw *tar.Writer) error {
			if err := tw.WriteHeader(h); err != nil {
				return err
			}
			_, err := io.WriteString(tw, content)
			return err
		})
		if err != nil {
			return fmt.Errorf("files[%q]: %w", target, err)
		}
	}
	return nil
}

// place returns the absolute path of a target of files. A relative one must stay below
// workdir; an absolute one must name a file of the image's own file system.
func place(workdir, target string) (string, error) {
	if path.IsAbs(target) {
		name := path.Clean(target)
		top, _, _ := strings.Cut(name[1:], "/")
		if name == "/" || strings.HasSuffix(target, "/") || slices.Contains([]string{"proc", "sys", "dev", ".assayd"}, top) {
			return "", fmt.Errorf("files[%q]: not a place for a file", target)
		}
		return name, nil
	}
	name := path.Clean(target)
	if name == "." || strings.HasSuffix(target, "/") || !filepath.IsLocal(name) {
		return "", fmt.Errorf("files[%q]: the target must lie below workdir", target)
	}
	return path.Join(workdir, name), nil
}

// walk calls visit for every entry of a tree but its root. Names are clean and local, and
// there are only folders, regular files, symbolic and hard links.
func (b *Builder) walk(digest string, visit func(*tar.Header, io.Reader) error) error {
	rc, err := b.opts.Trees.Open(digest)
	if err != nil {
		return fmt.Errorf("open tree %s: %w", digest, err)
	}
	defer rc.Close()
	tr := tar.NewReader(rc)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read tree %s: %w", digest, err)
		}
		name := path.Clean(h.Name)
		if name == "." {
			continue // the mode of somebody's folder is not the mode of workdir
		}
		switch {
		case !filepath.IsLocal(name):
			return fmt.Errorf("tree %s: entry %q leaves the tree", digest, h.Name)
		case h.Typeflag == tar.TypeLink && !filepath.IsLocal(h.Linkname):
			return fmt.Errorf("tree %s: link %q leaves the tree", digest, h.Name)
		case h.Typeflag != tar.TypeDir && h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeSymlink && h.Typeflag != tar.TypeLink:
			return fmt.Errorf("tree %s: entry %q is neither file, folder nor link", digest, h.Name)
		}
		h.Name = name
		if h.Typeflag == tar.TypeDir {
			h.Name += "/"
		}
		if err := visit(h, tr); err != nil {
			return err
		}
	}
}

// Hidden returns what the judge part puts into workdir, from its context, its files and its
// patch, with what the patch takes away, and what the private set will: slash-separated paths relative to workdir, sorted, without
// folders.
func (b *Builder) Hidden(t task.Task) ([]string, error) {
	found := map[string]bool{}
	var trees []string
	if t.Judge.Dockerfile == "" { // else it says itself what of it goes where
		trees = append(trees, t.Judge.Context.Digest)
	}
	if t.Private != nil {
		trees = append(trees, t.Private.Context.Digest)
	}
	for _, d := range trees {
		if d == "" {
			continue
		}
		err := b.walk(d, func(h *tar.Header, _ io.Reader) error {
			if h.Typeflag != tar.TypeDir {
				found[h.Name] = true
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("hidden files of %s/%s: %w", t.Benchmark, t.Name, err)
		}
	}
	if len(bytes.TrimSpace(t.Judge.Patch)) > 0 {
		names, err := patch.Paths(t.Judge.Patch)
		if err != nil {
			return nil, fmt.Errorf("hidden files of %s/%s: %w", t.Benchmark, t.Name, err)
		}
		for _, name := range names {
			found[name] = true
		}
	}
	for target := range t.Judge.Files {
		name, err := place(t.Workdir, target)
		if err != nil {
			return nil, fmt.Errorf("judge of %s/%s: %w", t.Benchmark, t.Name, err)
		}
		if below, ok := strings.CutPrefix(name, strings.TrimSuffix(path.Clean(t.Workdir), "/")+"/"); ok {
			found[below] = true
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}
