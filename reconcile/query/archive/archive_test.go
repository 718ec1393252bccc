package archive

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
)

// packed is a tar of files by name; a text that begins with -> is a link.
func packed(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, text := range files {
		head := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg}
		if to, is := strings.CutPrefix(text, "->"); is {
			head.Typeflag, head.Linkname, head.Size, text = tar.TypeSymlink, to, 0, ""
		}
		check(t, w.WriteHeader(head))
		_, err := io.WriteString(w, text)
		check(t, err)
	}
	check(t, w.Close())
	return b.Bytes()
}

func TestWhatChangedInFiles(t *testing.T) {
	large := strings.Repeat("x\n", maxDiffed)
	archives := map[string][]byte{
		"a": packed(t, map[string]string{"same": "s\n", "src/tree.py": "one\ntwo\nthree\n", "gone": "g\n", "data": "\x00\x01", "large": large, "link": "->same"}),
		"b": packed(t, map[string]string{"same": "s\n", "src/tree.py": "one\n2\nthree\n", "new": "n\n", "data": "\x00\x02", "large": large + "y\n", "link": "->new"}),
	}
	r := Reader{Open: func(digest string) (io.ReadCloser, error) {
		if archives[digest] == nil {
			return nil, fs.ErrNotExist
		}
		return io.NopCloser(bytes.NewReader(archives[digest])), nil
	}}
	files, more, err := r.Compare(t.Context(), "a", "b")
	check(t, err)
	var told []string
	for _, f := range files {
		told = append(told, fmt.Sprintf("%s %s +%d -%d %v", f.Path, f.Kind, f.Added, f.Removed, f.Diff != ""))
	}
	want := "data changed +0 -0 false, gone removed +0 -1 true, large changed +0 -0 false, link changed +0 -0 false, new added +1 -0 true, src/tree.py changed +1 -1 true"
	if got := strings.Join(told, ", "); got != want || more != 0 {
		t.Errorf("changed are %s", got)
	}
	if _, _, err := r.Compare(t.Context(), "a", "none"); err == nil {
		t.Error("an archive that there is not is compared")
	}
	if files, _, err := r.Compare(t.Context(), "a", "a"); err != nil || len(files) > 0 {
		t.Errorf("an archive differs from itself: %v, %v", files, err)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
