package dockerfile

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"io"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
)

// Transfer is what a COPY or an ADD brings into the image.
type Transfer struct {
	instructions.SourcesAndDest
	Chown, Chmod string // as they are written; "" = nothing is said
	unpack       bool   // archives are laid out
}

// remoteSources are how an ADD begins that reads from elsewhere.
var remoteSources = []string{"http://", "https://", "git://", "ssh://", "git@"}

// FileBits reads --chmod; 0 where nothing is said.
func FileBits(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	mode, err := strconv.ParseInt(text, 8, 32)
	if err != nil || mode < 0 || mode > 0o7777 {
		return 0, Mistakef("--chmod=%s: write the mode as an octal number", text)
	}
	return mode, nil
}

// Context are the entries of a build context that are not ignored, by name.
type Context map[string]*tar.Header

// walk calls visit for each entry of a build context; names are clean and local.
type walk func(visit func(*tar.Header, io.Reader) error) error

// ReadContext lists a build context.
func ReadContext(walk walk) (Context, error) {
	files := Context{}
	var patterns []string
	err := walk(func(h *tar.Header, body io.Reader) (err error) {
		files[strings.TrimSuffix(h.Name, "/")] = h
		if h.Name == ".dockerignore" {
			patterns, err = ignorefile.ReadAll(io.LimitReader(body, MaxSize))
		}
		return err
	})
	if err != nil || len(patterns) == 0 {
		return files, err
	}
	ignored, err := patternmatcher.New(patterns)
	if err != nil {
		return nil, Mistakef(".dockerignore: %w", err)
	}
	for name := range files {
		gone, err := ignored.MatchesOrParentMatches(name)
		if err != nil {
			return nil, Mistakef(".dockerignore: %w", err)
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

// Pick finds what sources name: for each entry of the context where it goes, relative to
// the destination. folder says that one of them is a folder, whose content is meant.
func (f Context) Pick(sources []string) (picked map[string]target, folder bool, err error) {
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
			return nil, false, Mistakef("%q is not in the build context", source)
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
func (f Context) isFolder(name string) bool {
	if h, ok := f[name]; ok {
		return h.Typeflag == tar.TypeDir
	}
	return true
}

// match returns the names that a pattern has matches among.
func (f Context) match(pattern string) (tops []string, err error) {
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
			return nil, Mistakef("%q: %w", pattern, err)
		}
		if ok {
			tops = append(tops, name)
		}
	}
	return tops, nil
}

// follow finds the file that a link which is named itself leads to.
func (f Context) follow(name string) (string, error) {
	at := name
	for range 40 {
		h, ok := f[at]
		switch {
		case !ok:
			return "", Mistakef("%q leads to nothing in the build context", name)
		case h.Typeflag != tar.TypeSymlink:
			return at, nil
		case path.IsAbs(h.Linkname):
			at = strings.TrimPrefix(path.Clean(h.Linkname), "/")
		default:
			at = path.Join(path.Dir(at), h.Linkname)
		}
	}
	return "", Mistakef("%q leads to itself", name)
}

// Load is a transfer whose files are known.
type Load struct {
	Transfer
	Owner  [2]int            // uid and gid
	Mode   int64             // 0 = as it is
	Picked map[string]target // by name in the context
	Only   string            // what a single file is called; "" = as in the context
}

// Write writes all of it, relative to the destination; walk is over the context that was picked from.
func (l *Load) Write(tw *tar.Writer, walk walk) error {
	for _, c := range l.SourceContents {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: cmp.Or(l.Only, path.Base(c.Path)), Mode: 0o644, Size: int64(len(c.Data)), ModTime: time.Unix(0, 0).UTC()}
		if err := l.add(tw, h, strings.NewReader(c.Data)); err != nil {
			return err
		}
	}
	if len(l.Picked) == 0 {
		return nil
	}
	return walk(func(h *tar.Header, body io.Reader) error {
		to, ok := l.Picked[strings.TrimSuffix(h.Name, "/")]
		if !ok {
			return nil
		}
		head := *h
		head.Name = cmp.Or(l.Only, to.name)
		switch h.Typeflag {
		case tar.TypeDir:
			head.Name += "/"
		case tar.TypeLink:
			of, ok := l.Picked[path.Clean(h.Linkname)]
			if !ok {
				return Mistakef("%q is a hard link to a file that is not copied", h.Name)
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

func (l *Load) add(tw *tar.Writer, h *tar.Header, body io.Reader) error {
	h.Uid, h.Gid, h.Uname, h.Gname, h.Format = l.Owner[0], l.Owner[1], "", "", tar.FormatPAX
	if l.Mode != 0 && h.Typeflag != tar.TypeSymlink {
		h.Mode = l.Mode
	}
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	_, err := io.Copy(tw, body)
	return err
}

// unpacked writes what the archive of that name holds into the destination, or the file
// itself when it is none.
func (l *Load) unpacked(tw *tar.Writer, h *tar.Header, body io.Reader, archive string) error {
	in := bufio.NewReaderSize(body, 64<<10)
	start, err := in.Peek(64 << 10)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if bytes.HasPrefix(start, []byte("\xfd7zXZ\x00")) || bytes.HasPrefix(start, []byte("\x28\xb5\x2f\xfd")) {
		return Mistakef("%q: archives in xz and zstd cannot be unpacked", archive)
	}
	open := decompressor(start)
	if open == nil {
		return l.add(tw, h, in)
	}
	r, err := open(in)
	if err != nil {
		return Mistakef("%q: %w", archive, err)
	}
	for tr := tar.NewReader(r); ; {
		e, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return Mistakef("%q: %w", archive, err)
		}
		name := path.Clean(e.Name)
		if name == "." || e.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		if !filepath.IsLocal(name) || e.Typeflag == tar.TypeLink && !filepath.IsLocal(e.Linkname) {
			return Mistakef("%q: the entry %q is not below its top", archive, e.Name)
		}
		e.Name, e.Uname, e.Gname, e.Format = path.Join(l.Only, name), "", "", tar.FormatPAX
		if e.Typeflag == tar.TypeLink {
			e.Linkname = path.Join(l.Only, e.Linkname)
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

// Copied is what a COPY brings.
func Copied(c *instructions.CopyCommand) (t Transfer, err error) {
	switch {
	case c.From != "":
		return t, Mistakef("--from is not supported")
	case c.Parents, len(c.ExcludePatterns) > 0:
		return t, Mistakef("--parents and --exclude are not supported")
	}
	return Transfer{SourcesAndDest: c.SourcesAndDest, Chown: c.Chown, Chmod: c.Chmod}, nil
}

// Added is what an ADD brings.
func Added(c *instructions.AddCommand) (t Transfer, err error) {
	for _, source := range c.SourcePaths {
		if slices.ContainsFunc(remoteSources, func(p string) bool { return strings.HasPrefix(source, p) }) {
			return t, Mistakef("%s: only files of the build context can be added", source)
		}
	}
	if len(c.ExcludePatterns) > 0 || c.Checksum != "" {
		return t, Mistakef("--exclude and --checksum are not supported")
	}
	return Transfer{SourcesAndDest: c.SourcesAndDest, Chown: c.Chown, Chmod: c.Chmod, unpack: c.Unpack == nil || *c.Unpack}, nil
}
