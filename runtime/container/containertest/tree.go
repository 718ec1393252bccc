package containertest

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/container"
)

// tree is a file system: entries by clean absolute path. Parents need no entry.
type tree map[string]entry

type entry struct {
	head tar.Header // name is not used
	data []byte
}

// clean makes an absolute path without "..", "." and double slashes.
func clean(name string) string { return path.Clean("/" + name) }

func (t tree) read(name string) ([]byte, bool) {
	e, ok := t[clean(name)]
	if !ok || e.head.Typeflag != tar.TypeReg {
		return nil, false
	}
	return bytes.Clone(e.data), true
}

func (t tree) write(name string, data []byte) {
	t[clean(name)] = entry{
		head: tar.Header{Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(data))},
		data: bytes.Clone(data),
	}
}

func (t tree) remove(name string) {
	for _, p := range t.under(name) {
		delete(t, p)
	}
}

// under lists the entry itself and all below it, sorted.
func (t tree) under(name string) []string {
	name = clean(name)
	prefix := strings.TrimSuffix(name, "/") + "/"
	var all []string
	for _, p := range slices.Sorted(maps.Keys(t)) {
		if p == name || strings.HasPrefix(p, prefix) {
			all = append(all, p)
		}
	}
	return all
}

// isDir says whether there is a folder of that name, with or without an entry.
func (t tree) isDir(name string) bool {
	name = clean(name)
	if e, ok := t[name]; ok {
		return e.head.Typeflag == tar.TypeDir
	}
	return name == "/" || len(t.under(name)) > 0
}

// written is the size of all that differs from the base.
func (t tree) written(base tree) int64 {
	var n int64
	for p, e := range t {
		if !bytes.Equal(e.data, base[p].data) {
			n += int64(len(e.data))
		}
	}
	return n
}

// extract adds what is in the tar stream below dir.
func (t tree) extract(dir string, stream io.Reader) error {
	for tr := tar.NewReader(stream); ; {
		head, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		data, err := io.ReadAll(tr)
		if err != nil {
			return err
		}
		e := entry{head: *head, data: data}
		if head.Typeflag == tar.TypeLink {
			linked, ok := t[clean(path.Join(dir, head.Linkname))]
			if !ok {
				return fmt.Errorf("hard link %q to %q: %w", head.Name, head.Linkname, container.ErrNotFound)
			}
			e = linked
		}
		t[clean(path.Join(dir, clean(head.Name)))] = e
	}
}

// followed is where the links at name lead, if it ends in a slash.
func (t tree) followed(name string) string {
	at := clean(name)
	for range 40 {
		e, ok := t[at]
		if !strings.HasSuffix(name, "/") || !ok || e.head.Typeflag != tar.TypeSymlink {
			return at
		}
		if !path.IsAbs(e.head.Linkname) {
			at = path.Join(path.Dir(at), e.head.Linkname)
			continue
		}
		at = clean(e.head.Linkname)
	}
	return at
}

// archive returns name and all below it as a tar stream.
func (t tree) archive(name string) ([]byte, error) {
	base := path.Base(clean(name))
	name = t.followed(name)
	names := t.under(name)
	if len(names) == 0 {
		return nil, fmt.Errorf("path %q: %w", name, container.ErrNotFound)
	}
	var buf bytes.Buffer
	tw := tar.NewWriter(&buf)
	if _, ok := t[name]; !ok {
		head := tar.Header{Typeflag: tar.TypeDir, Name: base + "/", Mode: 0o755}
		if err := tw.WriteHeader(&head); err != nil {
			return nil, err
		}
	}
	for _, p := range names {
		e := t[p]
		head := e.head
		head.Name = path.Join(base, strings.TrimPrefix(p, strings.TrimSuffix(name, "/")))
		if head.Typeflag == tar.TypeDir {
			head.Name += "/"
		}
		if err := tw.WriteHeader(&head); err != nil {
			return nil, err
		}
		if _, err := tw.Write(e.data); err != nil {
			return nil, err
		}
	}
	if err := tw.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}
