package dockerfile

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
)

func TestWhatADockerfileBeginsWith(t *testing.T) {
	for text, want := range map[string]string{
		"FROM python:3":                            "python:3",
		"ARG V=3\nFROM python:$V":                  "python:3",
		"FROM --platform=$TARGETPLATFORM a/b AS x": "a/b",
		"ARG A=$TARGETARCH\nFROM img:$A":           "img:arm64",
	} {
		d, err := Read(text, "linux/arm64")
		if err != nil || d.From != want {
			t.Errorf("%q begins with %+v, %v, want %s", text, d, err, want)
		}
	}
	for text, want := range map[string]string{
		"RUN x":                      "no build stage",
		"FROM a\nFROM b":             "line 2: a second FROM",
		"FROM scratch":               "an image is needed",
		strings.Repeat("#", 1<<20+1): "is the most",
	} {
		_, err := Read(text, "")
		if _, ok := errors.AsType[Mistake](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", text, err, want)
		}
	}
}

// tree is a build context of files by name; a folder ends in a slash.
func tree(files map[string]string) walk {
	return func(visit func(*tar.Header, io.Reader) error) error {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			h := &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o600, Size: int64(len(files[name])), Uid: 7}
			if strings.HasSuffix(name, "/") {
				h.Typeflag = tar.TypeDir
			}
			if err := visit(h, strings.NewReader(files[name])); err != nil {
				return err
			}
		}
		return nil
	}
}

func TestWhatACopyWrites(t *testing.T) {
	walk := tree(map[string]string{".dockerignore": "*.log\n", "a.txt": "A", "b.log": "B", "src/": "", "src/c.txt": "C"})
	for _, tc := range []struct {
		line, only string
		want       map[string]string // nil = it is a mistake
	}{
		{"COPY a.txt /x", "y", map[string]string{"y": "A"}},
		{"COPY *.txt /x/", "", map[string]string{"a.txt": "A"}},
		{"COPY src /x", "", map[string]string{"c.txt": "C"}},
		{"COPY a.txt src /x/", "", map[string]string{"a.txt": "A", "c.txt": "C"}},
		{"COPY <<E /x\nhi\nE", "", map[string]string{"E": "hi\n"}},
		{"COPY b.log /x", "", nil}, // ignored
		{"COPY --from=q a.txt /x", "", nil},
		{"ADD https://example.org/a /x", "", nil},
	} {
		got, err := written(t, tc.line, tc.only, walk)
		if _, ok := errors.AsType[Mistake](err); ok != (tc.want == nil) {
			t.Errorf("%s: %v", tc.line, err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", tc.line, diff)
		}
	}
}

// written are the files that an instruction brings, all as user 1 and with the mode 0640.
func written(t *testing.T, line, only string, walk walk) (map[string]string, error) {
	t.Helper()
	d, err := Read("FROM x\n"+line, "")
	if err != nil {
		t.Fatal(err)
	}
	var of Transfer
	switch c := d.Commands[0].(type) {
	case *instructions.CopyCommand:
		of, err = Copied(c)
	case *instructions.AddCommand:
		of, err = Added(c)
	}
	if err != nil {
		return nil, err
	}
	files, err := ReadContext(walk)
	if err != nil {
		t.Fatal(err)
	}
	picked, _, err := files.Pick(of.SourcePaths)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	tw := tar.NewWriter(&out)
	if err := (&Load{Transfer: of, Owner: [2]int{1, 1}, Mode: 0o640, Picked: picked, Only: only}).Write(tw, walk); err != nil {
		t.Fatal(err)
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for tr := tar.NewReader(&out); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return got, nil
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(tr)
		if err != nil || h.Uid != 1 || h.Gid != 1 || h.Mode != 0o640 {
			t.Errorf("%s: %+v, %v", line, h, err)
		}
		got[h.Name] = string(text)
	}
}
