package patch

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// files is a tree: names to contents; "!" before one is a program, "@" a link, a name with a
// slash at its end a folder.
type files map[string]string

// packed writes a tree as a tar.
func packed(t testing.TB, fs files) []byte {
	t.Helper()
	var b bytes.Buffer
	tw := tar.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(fs)) {
		text := fs[name]
		h := &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(text)), Format: tar.FormatPAX}
		switch {
		case strings.HasSuffix(name, "/"):
			h.Typeflag, h.Mode = tar.TypeDir, 0o755
		case strings.HasPrefix(text, "!"):
			h.Mode, text = 0o755, text[1:]
			h.Size--
		case strings.HasPrefix(text, "@"):
			h.Typeflag, h.Linkname, h.Size, text = tar.TypeSymlink, text[1:], 0, ""
		}
		if err := tw.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(tw, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// onto lays changes over a tree.
func onto(t testing.TB, fs files, c *Changes) files {
	t.Helper()
	var b bytes.Buffer
	tw := tar.NewWriter(&b)
	if err := errors.Join(c.WriteTar(tw), tw.Close()); err != nil {
		t.Fatal(err)
	}
	fs = maps.Clone(fs)
	for tr := tar.NewReader(&b); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return fs
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case Removes(h):
			maps.DeleteFunc(fs, func(name, _ string) bool { return name == h.Name || strings.HasPrefix(name, h.Name+"/") })
		case h.Typeflag == tar.TypeSymlink:
			fs[h.Name] = "@" + h.Linkname
		case h.Mode&0o100 != 0:
			fs[h.Name] = "!" + string(text)
		default:
			fs[h.Name] = string(text)
		}
	}
}

func opener(tree []byte) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(tree)), nil }
}

func baseOf(t testing.TB, w *DiffService, fs files) *Base {
	t.Helper()
	tree := packed(t, fs)
	b, err := w.Base(t.Context(), string(tree), opener(tree))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func diffOf(t testing.TB, b *Base, after files, paths ...string) string {
	t.Helper()
	diff, err := b.Diff(t.Context(), bytes.NewReader(packed(t, after)), paths)
	if err != nil {
		t.Fatal(err)
	}
	return string(diff)
}

func applied(t testing.TB, b *Base, fs files, diff string) (files, *Changes) {
	t.Helper()
	c, err := b.Apply(t.Context(), []byte(diff))
	if err != nil {
		t.Fatalf("%v, of\n%s", err, diff)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return onto(t, fs, c), c
}

func TestADiffIsThatOfGit(t *testing.T) {
	t.Parallel()
	b := baseOf(t, New(t.TempDir()), files{"a.txt": "one\ntwo\n", "gone": "x\n", "run": "y\n"})
	got := diffOf(t, b, files{"a.txt": "one\n2\n", "run": "!y\n", "bin": "\x00\x01", "l": "@a.txt", "empty": ""}, ".")
	want, err := os.ReadFile("testdata/small.diff")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

// TestADiffThatIsTooLong: nothing but another tree helps, so it is told from a failure of Git.
func TestADiffThatIsTooLong(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("line\n", 1<<10)
	for _, tt := range []struct {
		name   string
		memory uint64 // of Git, in bytes
		most   int64
		after  files
		want   error
	}{
		{"all that may be said", maxMemory, 8 << 10, files{"a": long}, nil},
		{"one that is longer", maxMemory, 1 << 10, files{"a": long}, ErrTooLong},
		{"one for which there is no memory", 64 << 20, MaxBytes, files{"a": strings.Repeat("x", 80<<20)}, ErrTooLong},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := New(t.TempDir())
			b := baseOf(t, w, files{"b": "x"})
			w.most, w.git = tt.most, w.git.Confined(tt.memory)
			if _, err := b.Diff(t.Context(), bytes.NewReader(packed(t, tt.after)), nil); !errors.Is(err, tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestWhatADiffHolds(t *testing.T) {
	t.Parallel()
	w := New(t.TempDir())
	base := files{
		"a": "1\n", "src/b": "2\n", "src/c": "3\n", "docs/d": "4\n", ".gitignore": "*.o\n/build/\n!keep.o\n", "old.o": "tracked\n",
		"src/.gitignore": "tmp\n", ".git/HEAD": "ref: x", "sub/.git": "gitdir: y", "sub/e": "5\n",
	}
	with := func(change files, without ...string) files {
		fs := maps.Clone(base)
		maps.Copy(fs, change)
		for _, name := range without {
			delete(fs, name)
		}
		return fs
	}
	for _, c := range []struct {
		name  string
		after files
		paths []string
		want  []string // that Paths finds
	}{
		{"nothing", base, []string{"."}, nil},
		{"all", with(files{"a": "x", "n/new": "y"}, "docs/d"), nil, []string{"a", "docs/d", "n/new"}},
		{"below the paths alone", files{"src/b": "x", "a": "elsewhere"}, []string{"./src/"}, []string{"src/.gitignore", "src/b", "src/c"}},
		{"a path that is a file", files{"a": "x"}, []string{"a"}, []string{"a"}},
		{"a path that is gone", files{}, []string{"docs", "never"}, []string{"docs/d"}},
		{"new files that are ignored", with(files{"x.o": "", "build/y": "", "keep.o": "", "src/tmp": "", "src/deep/tmp/z": "", "tmp": ""}), nil, []string{"keep.o", "tmp"}},
		{"ignored files that were there", with(files{}, "old.o"), nil, []string{"old.o"}},
		{"rules of elsewhere", files{"src/.gitignore": "tmp\n", "src/b": "2\n", "src/c": "3\n", "src/x.o": ""}, []string{"src"}, nil},
		{"rules that are new", with(files{"docs/.gitignore": "*\n", "docs/z": ""}), nil, nil},
		{"rules that are gone", with(files{"x.o": "now"}, ".gitignore"), nil, []string{".gitignore", "x.o"}},
		{"rules that are a link", with(files{".gitignore": "@/etc/passwd", "x.o": "now"}), nil, []string{".gitignore", "x.o"}},
		{"Git's own files", with(files{".git/HEAD": "other", ".git/new": "", "sub/.git": "", "x/.GIT/config": ""}), nil, nil},
		{"no Git", with(files{}, ".git/HEAD", "sub/.git"), nil, nil},
		{
			"names of all kinds", with(files{"a b": "", "ü": "", "\xff": "", "new\nline": "", `q"\`: "", "-x": "", ":(top)y": "", "a\tb": "", `git~1`: ""}), nil,
			[]string{"-x", ":(top)y", "a\tb", "a b", "git~1", "new\nline", `q"\`, "ü", "\xff"},
		},
		{"a folder becomes a file", with(files{"src": "x"}, "src/b", "src/c", "src/.gitignore"), nil, []string{"src", "src/.gitignore", "src/b", "src/c"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := baseOf(t, w, base)
			diff := diffOf(t, b, c.after, c.paths...)
			if again := diffOf(t, b, c.after, c.paths...); again != diff {
				t.Error("a second time it is another one")
			}
			if len(c.want) == 0 {
				if diff != "" {
					t.Errorf("got %s", diff)
				}
				return
			}
			names, err := Paths([]byte(diff))
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(c.want)
			if d := cmp.Diff(c.want, names); d != "" {
				t.Errorf("%s of\n%s", d, diff)
			}
			after, changes := applied(t, b, base, diff)
			if again := diffOf(t, b, after); again != diff {
				t.Errorf("applied it gives\n%s, not\n%s", again, diff)
			}
			if d := cmp.Diff(c.want, changes.Files); d != "" || changes.How != HowPlain {
				t.Errorf("%s %s", changes.How, d)
			}
		})
	}
}

func TestWhatATarMayHold(t *testing.T) {
	t.Parallel()
	b := baseOf(t, New(t.TempDir()), files{"a": "1\n", "d/x": "2\n"})
	pack := func(entries ...tar.Header) []byte {
		var out bytes.Buffer
		tw := tar.NewWriter(&out)
		for _, h := range entries {
			h.Mode, h.Size = 0o644, int64(len(h.Uname))
			text := h.Uname // stands in for the content
			h.Uname = ""
			if err := errors.Join(tw.WriteHeader(&h), second(io.WriteString(tw, text))); err != nil {
				t.Fatal(err)
			}
		}
		if err := tw.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	reg := func(name, text string) tar.Header { return tar.Header{Typeflag: tar.TypeReg, Name: name, Uname: text} }
	for _, c := range []struct {
		name string
		tar  []byte
		want []string // of the files afterwards, or the error
	}{
		{"a hard link is a copy", pack(reg("a", "1\n"), tar.Header{Typeflag: tar.TypeLink, Name: "b", Linkname: "./a"}), []string{"a=1\n", "b=1\n"}},
		{"a hard link to nothing", pack(reg("a", "1\n"), tar.Header{Typeflag: tar.TypeLink, Name: "b", Linkname: "/etc/passwd"}), []string{"a=1\n"}},
		{"pipes and devices", pack(reg("a", "1\n"), tar.Header{Typeflag: tar.TypeFifo, Name: "p"}, tar.Header{Typeflag: tar.TypeChar, Name: "c"}), []string{"a=1\n"}},
		{"a file that was below a link", pack(tar.Header{Typeflag: tar.TypeSymlink, Name: "l", Linkname: "/etc"}, reg("l/passwd", "x")), []string{"l/passwd=x"}},
		{"a link over a folder", pack(reg("l/passwd", "x"), tar.Header{Typeflag: tar.TypeSymlink, Name: "l", Linkname: "/etc"}), []string{"l=@/etc"}},
		{"the last one wins", pack(reg("a", "1\n"), reg("./a", "2\n")), []string{"a=2\n"}},
		{"a removal", pack(reg("a", "1\n"), reg("d/x", "2"), reg("d/y", "3"), *Removal("d"), reg("d/z", "4")), []string{"a=1\n", "d/z=4"}},
		{"a folder where a file was", pack(reg("a", "1\n"), tar.Header{Typeflag: tar.TypeDir, Name: "a/"}), nil},
		{"a link of Git's modules", pack(reg("a", "1\n"), tar.Header{Typeflag: tar.TypeSymlink, Name: ".gitModules", Linkname: "a"}), []string{"a=1\n"}},
		{"a name outside", pack(reg("../a", "1\n")), []string{"not below its top"}},
		{"an absolute name", pack(reg("/a", "1\n")), []string{"not below its top"}},
		{"half a tar", pack(reg("a", strings.Repeat("x", 2000)))[:1500], []string{"unexpected EOF"}},
		{"no tar", []byte(strings.Repeat("nonsense", 100)), []string{"invalid tar header"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			diff, err := b.Diff(t.Context(), bytes.NewReader(c.tar), []string{"."})
			if err != nil {
				if len(c.want) != 1 || !strings.Contains(err.Error(), c.want[0]) {
					t.Errorf("got %v", err)
				}
				return
			}
			var got []string
			after := files{"a": "1\n", "d/x": "2\n"}
			if len(diff) > 0 {
				after, _ = applied(t, b, after, string(diff))
			}
			for _, name := range slices.Sorted(maps.Keys(after)) {
				got = append(got, name+"="+after[name])
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func second(_ int, err error) error { return err }
