package trial

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/assayd/assayd/runtime/judge/sanitize"
)

// packed is a tar of "name", "name/", "name -> target" (a link) and "name = target" (a
// hard link); a file's content is its name.
func packed(t testing.TB, entries ...string) *bytes.Buffer {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, e := range entries {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: e, Mode: 0o644, Size: int64(len(e))}
		if name, target, ok := strings.Cut(e, " -> "); ok {
			h = &tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target}
		} else if name, target, ok := strings.Cut(e, " = "); ok {
			h = &tar.Header{Typeflag: tar.TypeLink, Name: name, Linkname: target}
		} else if strings.HasSuffix(e, "/") {
			h.Typeflag, h.Size = tar.TypeDir, 0
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatalf("pack %q: %v", e, err)
		}
		if h.Size > 0 {
			if _, err := io.WriteString(w, e); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &buf
}

// listed is what packed was given, out of a tar.
func listed(t testing.TB, r io.Reader) (entries []string) {
	t.Helper()
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return entries
		}
		if err != nil {
			t.Fatal(err)
		}
		switch h.Typeflag {
		case tar.TypeSymlink:
			entries = append(entries, h.Name+" -> "+h.Linkname)
		case tar.TypeLink:
			entries = append(entries, h.Name+" = "+h.Linkname)
		default:
			content, err := io.ReadAll(archive)
			if err != nil {
				t.Fatal(err)
			}
			if h.Typeflag == tar.TypeReg && len(content) == 0 {
				t.Errorf("%s has lost its content", h.Name)
			}
			entries = append(entries, h.Name)
		}
	}
}

func TestRenamed(t *testing.T) {
	for _, tt := range []struct {
		name     string
		base, to string
		in, want []string
	}{
		{"a folder under its own name", "src", "src", []string{"src/", "src/a.py", "src/b/", "src/b/c"}, []string{"src/", "src/a.py", "src/b/", "src/b/c"}},
		{"a nested path", "api", "src/go/api", []string{"api/", "api/x.go"}, []string{"src/go/api/", "src/go/api/x.go"}},
		{"all of workdir", "work", ".", []string{"work/", "work/a", "work/b/", "work/b/work"}, []string{"./", "a", "b/", "b/work"}},
		{"a single file", "main.py", "src/main.py", []string{"main.py"}, []string{"src/main.py"}},
		{"names that begin alike", "a", "a", []string{"a/", "a/ab", "a/a/", "a/a/a"}, []string{"a/", "a/ab", "a/a/", "a/a/a"}},
		{"names with a dot before", "src", "src", []string{"./src/", "./src/a"}, []string{"src/", "src/a"}},
		{"links stay, hard links follow", "src", "lib/src", []string{"src/", "src/a", "src/l -> ../../etc", "src/h = src/a"}, []string{"lib/src/", "lib/src/a", "lib/src/l -> ../../etc", "lib/src/h = lib/src/a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			w := tar.NewWriter(&out)
			if err := sanitize.Renamed(tar.NewReader(packed(t, tt.in...)), w, tt.base, tt.to, all); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, listed(t, &out)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRenamedMovesATree: what was at base/x is at p/x, for all trees and places.
func TestRenamedMovesATree(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		element := rapid.StringMatching(`[ab]{1,2}`)
		relative := rapid.Map(rapid.SliceOfN(element, 1, 3), func(s []string) string { return path.Join(s...) })
		p := rapid.OneOf(relative, rapid.Just(".")).Draw(rt, "path")
		base := path.Base(path.Join("/work", p))
		var in, want []string
		for _, rest := range rapid.SliceOfDistinct(relative, func(s string) string { return s }).Draw(rt, "files") {
			in, want = append(in, base+"/"+rest), append(want, path.Join(p, rest))
		}
		var out bytes.Buffer
		w := tar.NewWriter(&out)
		if err := errors.Join(sanitize.Renamed(tar.NewReader(packed(t, in...)), w, base, p, all), w.Close()); err != nil {
			rt.Fatal(err)
		}
		if got := listed(t, &out); fmt.Sprint(got) != fmt.Sprint(want) {
			rt.Fatalf("%q became %q, want %q", in, got, want)
		}
	})
}

func all(*tar.Header) bool { return true }
