package tasktest

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/task"
)

// Trees keeps folders in memory, as tars that depend on names, contents, links and the
// executable bit alone. A clone is a file that says of what.
type Trees struct {
	mu   sync.Mutex
	tars map[string][]byte
}

// Keep implements task.Trees.
func (t *Trees) Keep(dir string) (task.Tree, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := pack(w, os.DirFS(dir)); err != nil {
		return task.Tree{}, err
	}
	if err := w.Close(); err != nil {
		return task.Tree{}, err
	}
	return t.put(b.Bytes()), nil
}

func pack(w *tar.Writer, from fs.FS) error {
	return fs.WalkDir(from, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		h := &tar.Header{Name: name, Mode: 0o644, ModTime: time.Unix(0, 0), Typeflag: tar.TypeReg}
		var content []byte
		switch {
		case e.IsDir():
			h.Name, h.Mode, h.Typeflag = name+"/", 0o755, tar.TypeDir
		case e.Type() == fs.ModeSymlink:
			h.Typeflag, h.Mode = tar.TypeSymlink, 0o777
			if h.Linkname, err = fs.ReadLink(from, name); err != nil {
				return err
			}
		default:
			if info.Mode()&0o111 != 0 {
				h.Mode = 0o755
			}
			if content, err = fs.ReadFile(from, name); err != nil {
				return err
			}
			h.Size = int64(len(content))
		}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		_, err = w.Write(content)
		return err
	})
}

func (t *Trees) put(content []byte) task.Tree {
	sum := sha256.Sum256(content)
	tree := task.Tree{Digest: hex.EncodeToString(sum[:])}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tars == nil {
		t.tars = map[string][]byte{}
	}
	t.tars[tree.Digest] = content
	return tree
}

// Open implements task.Trees.
func (t *Trees) Open(tree task.Tree) (io.ReadCloser, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	content, ok := t.tars[tree.Digest]
	if !ok {
		return nil, fmt.Errorf("tree %s is not there", tree.Digest)
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

// Clone implements task.Trees.
func (t *Trees) Clone(r task.Repo) (io.ReadCloser, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	text := r.URL + " " + r.Commit + "\n"
	if err := w.WriteHeader(&tar.Header{Name: "CLONE", Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg}); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(w, text); err != nil {
		return nil, err
	}
	return io.NopCloser(&b), w.Close()
}

// Of keeps files by name; a script is executable, and a content that begins with -> is a
// link.
func (t *Trees) Of(tb testing.TB, files map[string]string) task.Tree {
	tb.Helper()
	tree, err := t.Keep(Folder(tb, files))
	if err != nil {
		tb.Fatal(err)
	}
	return tree
}

// Names lists what is in a tree.
func (t *Trees) Names(tb testing.TB, tree task.Tree) (names []string) {
	tb.Helper()
	r, err := t.Open(tree)
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Close()
	for all := tar.NewReader(r); ; {
		h, err := all.Next()
		if err != nil {
			return names
		}
		names = append(names, h.Name)
	}
}
