package image

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"

	"github.com/assayd/assayd/runtime/container"
)

// transfer is what a COPY or an ADD brings into the image.
type transfer struct {
	instructions.SourcesAndDest
	chown, chmod string
	unpack       bool // archives are laid out
}

func (s *buildStep) copyCommand(ctx context.Context, c *instructions.CopyCommand) error {
	switch {
	case c.From != "":
		return mistakef("--from is not supported")
	case c.Parents, len(c.ExcludePatterns) > 0:
		return mistakef("--parents and --exclude are not supported")
	}
	return s.bring(ctx, transfer{SourcesAndDest: c.SourcesAndDest, chown: c.Chown, chmod: c.Chmod})
}

// remoteSources are how an ADD begins that reads from elsewhere.
var remoteSources = []string{"http://", "https://", "git://", "ssh://", "git@"}

func (s *buildStep) addCommand(ctx context.Context, c *instructions.AddCommand) error {
	for _, source := range c.SourcePaths {
		if slices.ContainsFunc(remoteSources, func(p string) bool { return strings.HasPrefix(source, p) }) {
			return mistakef("%s: only files of the build context can be added", source)
		}
	}
	if len(c.ExcludePatterns) > 0 || c.Checksum != "" {
		return mistakef("--exclude and --checksum are not supported")
	}
	return s.bring(ctx, transfer{SourcesAndDest: c.SourcesAndDest, chown: c.Chown, chmod: c.Chmod, unpack: c.Unpack == nil || *c.Unpack})
}

// bring copies files of the build context, and such that the text holds, into the image.
func (s *buildStep) bring(ctx context.Context, t transfer) error {
	files, err := s.buildContext()
	if err != nil {
		return err
	}
	picked, folder, err := files.pick(t.SourcePaths)
	if err != nil {
		return err
	}
	dest := s.below(t.DestPath)
	into := folder || strings.HasSuffix(dest, "/") || path.Base(dest) == "." || len(t.SourcePaths)+len(t.SourceContents) > 1
	dest = path.Clean(dest)
	if !into {
		if into, err = s.isFolder(ctx, dest); err != nil {
			return err
		}
	}
	owner, err := s.owner(ctx, t.chown)
	if err != nil {
		return err
	}
	mode, err := fileBits(t.chmod)
	if err != nil {
		return err
	}
	load := &load{transfer: t, owner: owner, mode: mode, picked: picked, dir: dest}
	if !into {
		load.dir, load.only = path.Dir(dest), path.Base(dest)
	}
	if err := s.makeDirs(ctx, load.dir); err != nil {
		return err
	}
	return s.put(ctx, load.dir, func(tw *tar.Writer) error { return load.write(tw, s.b, s.recipe.Context) })
}

// fileBits reads --chmod.
func fileBits(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	mode, err := strconv.ParseInt(text, 8, 32)
	if err != nil || mode < 0 || mode > 0o7777 {
		return 0, mistakef("--chmod=%s: write the mode as an octal number", text)
	}
	return mode, nil
}

// owner reads --chown; root where nothing is said.
func (s *buildStep) owner(ctx context.Context, chown string) (who [2]int, err error) {
	if chown == "" {
		return who, nil
	}
	if who[0], who[1], err = s.ids(ctx, chown); err != nil {
		return who, mistakef("--chown=%s: %w", chown, err)
	}
	if !strings.Contains(chown, ":") && who[1] == 0 && who[0] != 0 { // a number without a line of its own
		if _, err := strconv.Atoi(chown); err == nil {
			who[1] = who[0]
		}
	}
	return who, nil
}

// isFolder reports whether a path of the image is a folder.
func (s *buildStep) isFolder(ctx context.Context, name string) (bool, error) {
	if name == "/" {
		return true, nil
	}
	rc, err := s.b.copier.CopyFrom(ctx, s.id, name)
	if errors.Is(err, container.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at %s: %w", name, err)
	}
	defer rc.Close()
	h, err := tar.NewReader(rc).Next()
	return err == nil && h.Typeflag == tar.TypeDir, nil
}

// contextFiles are the entries of a build context that are not ignored, by name.
type contextFiles map[string]*tar.Header

// buildContext lists the build context.
func (s *buildStep) buildContext() (contextFiles, error) {
	files := contextFiles{}
	if s.recipe.Context == "" {
		return files, nil
	}
	var patterns []string
	err := s.b.walk(s.recipe.Context, func(h *tar.Header, body io.Reader) (err error) {
		files[strings.TrimSuffix(h.Name, "/")] = h
		if h.Name == ".dockerignore" {
			patterns, err = ignorefile.ReadAll(io.LimitReader(body, maxDockerfile))
		}
		return err
	})
	if err != nil || len(patterns) == 0 {
		return files, err
	}
	ignored, err := patternmatcher.New(patterns)
	if err != nil {
		return nil, mistakef(".dockerignore: %w", err)
	}
	for name := range files {
		gone, err := ignored.MatchesOrParentMatches(name)
		if err != nil {
			return nil, mistakef(".dockerignore: %w", err)
		}
		if gone {
			delete(files, name)
		}
	}
	return files, nil
}

// target is where an entry of the context goes.
type target struct {
	name  string // relative to the destination
	alone bool   // a source names the file, and no folder in which it is
}

// pick finds what sources name: for each entry of the context where it goes, relative to
// the destination. folder says that one of them is a folder, whose content is meant.
func (f contextFiles) pick(sources []string) (picked map[string]target, folder bool, err error) {
	picked = map[string]target{}
	for _, source := range sources {
		pattern := strings.TrimPrefix(path.Clean("/"+source), "/")
		if pattern == "" {
			pattern = "."
		}
		tops, err := f.match(pattern)
		if err != nil {
			return nil, false, err
		}
		if len(tops) == 0 {
			return nil, false, mistakef("%q is not in the build context", source)
		}
		for _, top := range tops {
			if f.isFolder(top) {
				folder = true
				for name := range f {
					if rel, ok := strings.CutPrefix(name, strings.TrimPrefix(top+"/", "./")); ok {
						picked[name] = target{name: rel}
					}
				}
				continue
			}
			real, err := f.follow(top)
			if err != nil {
				return nil, false, err
			}
			picked[real] = target{path.Base(top), true}
		}
	}
	return picked, folder, nil
}

// isFolder reports whether a name is a folder, also one that has no entry of its own.
func (f contextFiles) isFolder(name string) bool {
	if h, ok := f[name]; ok {
		return h.Typeflag == tar.TypeDir
	}
	return true
}

// match returns the names that a pattern has matches among.
func (f contextFiles) match(pattern string) (tops []string, err error) {
	names := map[string]bool{".": true}
	for name := range f {
		for ; name != "."; name = path.Dir(name) {
			names[name] = true
		}
	}
	if names[pattern] {
		return []string{pattern}, nil
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		ok, err := filepath.Match(pattern, name)
		if err != nil {
			return nil, mistakef("%q: %w", pattern, err)
		}
		if ok {
			tops = append(tops, name)
		}
	}
	return tops, nil
}

// follow finds the file that a link which is named itself leads to.
func (f contextFiles) follow(name string) (string, error) {
	at := name
	for range 40 {
		h, ok := f[at]
		switch {
		case !ok:
			return "", mistakef("%q leads to nothing in the build context", name)
		case h.Typeflag != tar.TypeSymlink:
			return at, nil
		case path.IsAbs(h.Linkname):
			at = strings.TrimPrefix(path.Clean(h.Linkname), "/")
		default:
			at = path.Join(path.Dir(at), h.Linkname)
		}
	}
	return "", mistakef("%q leads to itself", name)
}

// load is a transfer whose files are known.
type load struct {
	transfer
	owner  [2]int
	mode   int64             // 0 = as it is
	picked map[string]target // by name in the context
	dir    string
	only   string // what a single file is called; "" = as in the context
}

// write writes all of it, relative to dir.
func (l *load) write(tw *tar.Writer, b *Builder, tree string) error {
	for _, c := range l.SourceContents {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: cmp.Or(l.only, path.Base(c.Path)), Mode: 0o644, Size: int64(len(c.Data)), ModTime: contentTime}
		if err := l.add(tw, h, strings.NewReader(c.Data)); err != nil {
			return err
		}
	}
	if len(l.picked) == 0 {
		return nil
	}
	return b.walk(tree, func(h *tar.Header, body io.Reader) error {
		to, ok := l.picked[strings.TrimSuffix(h.Name, "/")]
		if !ok {
			return nil
		}
		head := *h
		head.Name = cmp.Or(l.only, to.name)
		switch h.Typeflag {
		case tar.TypeDir:
			head.Name += "/"
		case tar.TypeLink:
			of, ok := l.picked[path.Clean(h.Linkname)]
			if !ok {
				return mistakef("%q is a hard link to a file that is not copied", h.Name)
			}
			head.Linkname = of.name
		case tar.TypeReg:
			if l.unpack && to.alone {
				return l.unpacked(tw, &head, body, h.Name)
			}
		}
		return l.add(tw, &head, body)
	})
}

func (l *load) add(tw *tar.Writer, h *tar.Header, body io.Reader) error {
	h.Uid, h.Gid, h.Uname, h.Gname, h.Format = l.owner[0], l.owner[1], "", "", tar.FormatPAX
	if l.mode != 0 && h.Typeflag != tar.TypeSymlink {
		h.Mode = l.mode
	}
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	_, err := io.Copy(tw, body)
	return err
}

// unpacked writes what the archive of that name holds into the destination, or the file
// itself when it is none.
func (l *load) unpacked(tw *tar.Writer, h *tar.Header, body io.Reader, archive string) error {
	in := bufio.NewReaderSize(body, 64<<10)
	start, err := in.Peek(64 << 10)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if bytes.HasPrefix(start, []byte("\xfd7zXZ\x00")) || bytes.HasPrefix(start, []byte("\x28\xb5\x2f\xfd")) {
		return mistakef("%q: archives in xz and zstd cannot be unpacked", archive)
	}
	open := decompressor(start)
	if open == nil {
		return l.add(tw, h, in)
	}
	r, err := open(in)
	if err != nil {
		return mistakef("%q: %w", archive, err)
	}
	for tr := tar.NewReader(r); ; {
		e, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return mistakef("%q: %w", archive, err)
		}
		name := path.Clean(e.Name)
		if name == "." || e.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		if !filepath.IsLocal(name) || e.Typeflag == tar.TypeLink && !filepath.IsLocal(e.Linkname) {
			return mistakef("%q: the entry %q is not below its top", archive, e.Name)
		}
		e.Name, e.Uname, e.Gname, e.Format = path.Join(l.only, name), "", "", tar.FormatPAX
		if e.Typeflag == tar.TypeLink {
			e.Linkname = path.Join(l.only, e.Linkname)
		}
		if err := tw.WriteHeader(e); err != nil {
			return err
		}
		if _, err := io.Copy(tw, tr); err != nil {
			return err
		}
	}
}

// decompressor knows a tar by how its file begins, compressed or not; nil = it is none.
func decompressor(start []byte) func(io.Reader) (io.Reader, error) {
	for _, open := range []func(io.Reader) (io.Reader, error){
		func(r io.Reader) (io.Reader, error) { return r, nil },
		func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
		func(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil },
	} {
		r, err := open(bytes.NewReader(start))
		if err != nil {
			continue
		}
		if _, err := tar.NewReader(r).Next(); err == nil {
			return open
		}
	}
	return nil
}
