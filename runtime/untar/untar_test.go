package untar

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

func archive(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range headers {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(w, strings.NewReader(strings.Repeat("x", int(h.Size))), h.Size); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestEachEntryIsVisited(t *testing.T) {
	file := func(name string, size int64) tar.Header {
		return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: size}
	}
	global := tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "x"}}
	whole := archive(t, global, file("a", 3), file("b", 1000))
	for _, c := range []struct {
		name    string
		tar     []byte
		most    int
		visited []string
		err     string
	}{
		{"all", whole, 3, []string{"a xxx", "b " + strings.Repeat("x", 1000)}, ""},
		{"too many", whole, 2, []string{"a xxx"}, "it has more than 2 entries"},
		{"none", archive(t), 3, nil, ErrEmpty.Error()},
		{"no bytes", nil, 3, nil, ErrEmpty.Error()},
		{"only a header for all", archive(t, global), 3, nil, ErrEmpty.Error()},
		{"no archive", bytes.Repeat([]byte("x"), 2048), 3, nil, "it is no archive, or a broken one"},
		{"cut off", whole[:len(whole)-2500], 3, []string{"a xxx"}, "it is no archive, or a broken one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var visited []string
			r := tar.NewReader(bytes.NewReader(c.tar))
			err := Each(r, c.most, func(h *tar.Header) error {
				content, err := io.ReadAll(r)
				visited = append(visited, h.Name+" "+string(content))
				return err
			})
			if !slices.Equal(visited, c.visited) {
				t.Errorf("visited are %q", visited)
			}
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v, want %q", err, c.err)
			}
		})
	}
	own := errors.New("own")
	if err := Each(tar.NewReader(bytes.NewReader(whole)), 3, func(*tar.Header) error { return own }); !errors.Is(err, own) {
		t.Errorf("the visitor's error: %v", err)
	}
}

func TestNamesStayInTheArchive(t *testing.T) {
	for name, want := range map[string]string{
		"a": "a", "./a": "a", "a/": "a", "a//b": "a/b", "a/../b": "b", ".": ".", "./": ".", "": ".", "..a/b": "..a/b",
	} {
		if got, err := Local(name); got != want || err != nil {
			t.Errorf("%q is %q, %v, want %q", name, got, err, want)
		}
	}
	for _, name := range []string{"/", "/a", "..", "../a", "a/../..", "a/../../b", "a\x00b", "//a"} {
		if got, err := Local(name); !errors.Is(err, ErrOutside) {
			t.Errorf("%q is %q, %v", name, got, err)
		}
	}
}
