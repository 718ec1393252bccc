package layer

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// laid has an archive be unpacked, and tells what lies in the folder then.
func laid(t *testing.T, unpack func(dir string) error) ([]string, error) {
	t.Helper()
	parent := t.TempDir()
	dir := filepath.Join(parent, "layer")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	err := unpack(dir)
	if all, rerr := os.ReadDir(parent); rerr != nil || len(all) != 1 {
		t.Errorf("beside the folder: %v, %v", all, rerr)
	}
	return files(t, dir)[1:], err
}

func TestAHostilePackageIsRefused(t *testing.T) {
	t.Parallel()
	ok := entry{name: "package/ok", text: "ok"}
	for name, tt := range map[string]struct {
		data  []byte
		wrong string
	}{
		"a parent":               {archive(t, entry{name: "../x"}), "leads out"},
		"a parent further down":  {archive(t, entry{name: "package/../../x"}), "leads out"},
		"an absolute name":       {archive(t, entry{name: "/etc/x"}), "leads out"},
		"a folder above":         {archive(t, entry{name: "package/../..", kind: tar.TypeDir}), "leads out"},
		"beside the folder":      {archive(t, entry{name: "x"}), "beside"},
		"a long name":            {archive(t, entry{name: "package/" + strings.Repeat("x", maxName)}), "longer than any"},
		"a deep name":            {archive(t, entry{name: strings.Repeat("x/", maxDepth+1) + "x"}), "longer than any"},
		"a link":                 {archive(t, ok, entry{name: "package/l", text: "ok", kind: tar.TypeSymlink}), "neither a file nor a folder"},
		"a hard link":            {archive(t, ok, entry{name: "package/l", text: "package/ok", kind: tar.TypeLink}), "neither a file nor a folder"},
		"a device":               {archive(t, entry{name: "package/d", kind: tar.TypeChar}), "neither a file nor a folder"},
		"a pipe":                 {archive(t, entry{name: "package/p", kind: tar.TypeFifo}), "neither a file nor a folder"},
		"a name twice":           {archive(t, ok, ok), "file exists"},
		"a file for a folder":    {archive(t, ok, entry{name: "package/ok/x"}), "something else"},
		"a folder for a file":    {archive(t, entry{name: "package/a/b"}, entry{name: "package/a"}), "file exists"},
		"a file for the package": {archive(t, entry{name: "package"}), "beside"},
		"nothing":                {archive(t), "holds nothing"},
		"no archive":             {[]byte(strings.Repeat("hello", 300)), "no archive"},
		"half an archive":        {archive(t, ok, entry{name: "package/l", text: strings.Repeat("x", 2000)})[:2000], "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "x.tgz")
			if err := os.WriteFile(file, zipped(t, tt.data), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := laid(t, func(dir string) error { return unpackPackage(t.Context(), file, dir, "@s/name") })
			if err == nil || !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("%v, want %q", err, tt.wrong)
			}
		})
	}
}

// Files count with their holes, which take no room in an archive, entries with the folders
// that they take for granted, and what holds neither counts as what is read.
func TestWhatIsUnpackedIsBounded(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		entries []entry
		wrong   string
	}{
		"as much as may be":   {[]entry{{name: "p/a", text: strings.Repeat("x", 500)}, {name: "p/b", text: strings.Repeat("x", 500)}, {name: "p/c"}}, ""},
		"one byte more":       {[]entry{{name: "p/a", text: strings.Repeat("x", 500)}, {name: "p/b", text: strings.Repeat("x", 501)}}, "more than a layer"},
		"many empty files":    {[]entry{{name: "p/a"}, {name: "p/b"}, {name: "p/c"}, {name: "p/d"}, {name: "p/e"}}, "more entries"},
		"many times the same": {slices.Repeat([]entry{{name: "p/", kind: tar.TypeDir}}, 7), "more entries"},
		"a few deep ones":     {[]entry{{name: "p/a/b/c/d/e/f"}}, "more entries"},
	} {
		u := &unpacker{ctx: t.Context(), under: "u", bytes: 1000, entries: 5}
		data := archive(t, tt.entries...)
		_, err := laid(t, func(dir string) error { return u.unpack(bytes.NewReader(data), dir) })
		if (tt.wrong == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s: %v, want %q", name, err, tt.wrong)
		}
	}
	u := &unpacker{image: true, bytes: 1000}
	if err := u.file("f", &tar.Header{Typeflag: tar.TypeReg, Size: 1001}, strings.NewReader("")); !errors.Is(err, errTooLarge) {
		t.Errorf("a hole: %v", err)
	}
	stream := &bounded{strings.NewReader(strings.Repeat("x", 100)), 99}
	if n, err := io.Copy(io.Discard, stream); !errors.Is(err, errTooLarge) || n > 99 {
		t.Errorf("%d, %v", n, err)
	}
	for size, want := range map[int64]int64{0: smallPackage, 170 << 20: packageBytes, 1 << 20: packageRatio << 20, 1 << 40: packageBytes} {
		if got := mostBytes(size); got != want {
			t.Errorf("an archive of %d bytes may hold %d, want %d", size, got, want)
		}
	}
}

func TestAnImagesFilesBecomeALayer(t *testing.T) {
	t.Parallel()
	link := func(name, to string) entry { return entry{name: name, text: to, kind: tar.TypeSymlink} }
	data := archive(
		t,
		entry{name: "dev/", kind: tar.TypeDir}, entry{name: "dev/console"}, entry{name: "proc/1/mem", text: "x"}, entry{name: "/sys/kernel/f", text: "x"},
		entry{name: "run/pipe", kind: tar.TypeFifo}, entry{name: "run/null", kind: tar.TypeChar, mode: 0o666},
		link("bin", "usr/bin"), link("usr/bin/sh", "/usr/bin/dash"), link("usr/lib/up", "../../../../etc/x"), link("usr/lib/beside", "../bin/dash"), link("root", "/"),
		entry{name: "./usr/bin/dash", text: "elf", mode: 0o4755},
		entry{name: "usr/bin/other", text: "/usr/bin/dash", kind: tar.TypeLink}, entry{name: "usr/null", text: "run/null", kind: tar.TypeLink},
		entry{name: "etc/", kind: tar.TypeDir, mode: 0o1777}, entry{name: "etc/shadow", text: "x", mode: 0o600},
	)
	shop := newShop(t)
	s, opened := shop.open(t.TempDir()), 0
	open := func(context.Context) (io.ReadCloser, error) {
		opened++
		return io.NopCloser(bytes.NewReader(data)), nil
	}
	l, err := s.Tree(t.Context(), "sha256:abc", open)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"755 ./", "bin -> usr/bin", "755 dev/", "755 etc/", "644 etc/shadow=x", "root -> .", "755 run/", "755 usr/", "755 usr/bin/", "755 usr/bin/dash=elf",
		"755 usr/bin/other=elf", "usr/bin/sh -> dash", "755 usr/lib/", "usr/lib/beside -> ../bin/dash", "usr/lib/up -> ../../etc/x",
	}
	if diff := cmp.Diff(want, files(t, l.Dir)); diff != "" {
		t.Error(diff)
	}
	// An engine that names everything from the root on.
	named := archive(t, entry{name: "/", kind: tar.TypeDir}, entry{name: "/bin/", kind: tar.TypeDir}, entry{name: "/bin/sh", text: "elf", mode: 0o755}, link("/sh", "/bin/sh"))
	rooted, err := laid(t, func(dir string) error { return unpackImage(t.Context(), bytes.NewReader(named), dir) })
	if diff := cmp.Diff([]string{"755 bin/", "755 bin/sh=elf", "sh -> bin/sh"}, rooted); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if again, err := s.Tree(t.Context(), "sha256:abc", open); err != nil || again != l || opened != 1 {
		t.Errorf("%+v, %v, exported %d times", again, err, opened)
	}
	if other, err := s.Tree(t.Context(), "sha256:abd", open); err != nil || other.Digest == l.Digest {
		t.Errorf("another image: %+v, %v", other, err)
	}
	empty(t, s.workshop())
}

func TestWhatIsNoImagesFilesIsRefused(t *testing.T) {
	t.Parallel()
	shop := newShop(t)
	s := shop.open(t.TempDir())
	link := func(name, to string) entry { return entry{name: name, text: to, kind: tar.TypeSymlink} }
	for name, tt := range map[string]struct {
		entries []entry
		wrong   string
	}{
		"a parent":              {[]entry{{name: "../x"}}, "leads out"},
		"a parent of the root":  {[]entry{{name: "/../x"}}, "leads out"},
		"through a link":        {[]entry{link("l", ".."), {name: "l/x"}}, "something else"},
		"through a link to all": {[]entry{link("l", "/"), {name: "l/x"}}, "something else"},
		"over a link":           {[]entry{link("l", "../x"), {name: "l"}}, "file exists"},
		"a link above":          {[]entry{link("../l", "x")}, "leads out"},
		"a hard link above":     {[]entry{{name: "h", text: "../../etc/passwd", kind: tar.TypeLink}}, "leads out"},
		"a link to nothing":     {[]entry{link("l", "")}, "link to nothing"},
		"a long link":           {[]entry{link("l", strings.Repeat("x", maxName+1))}, "link to nothing"},
		"an unknown type":       {[]entry{{name: "x", kind: 'V'}}, "unknown type"},
	} {
		data := archive(t, tt.entries...)
		_, err := s.Tree(t.Context(), name, func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil })
		if err == nil || !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s: %v, want %q", name, err, tt.wrong)
		}
	}
	broken := errors.New("no such image")
	if _, err := s.Tree(t.Context(), "x", func(context.Context) (io.ReadCloser, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	empty(t, s.layers())
	empty(t, s.workshop())
}

// Whatever an archive holds, nothing leaves the folder, is of another kind or mode than
// allowed, or takes more than its bounds.
func FuzzUnpack(f *testing.F) {
	f.Add([]byte("no archive"), true)
	f.Add(archive(f, entry{name: "package/a/b", text: "text", mode: 0o4755}, entry{name: "package/../../x"}), false)
	f.Add(archive(f, entry{name: "l", text: "/", kind: tar.TypeSymlink}, entry{name: "h", text: "a", kind: tar.TypeLink}, entry{name: "l/x", text: "y"}), true)
	f.Add(archive(f, entry{name: "a", text: "a"}, entry{name: "d/h", text: "/a", kind: tar.TypeLink}, entry{name: "d/l", text: "../../x", kind: tar.TypeSymlink}), true)
	f.Fuzz(func(t *testing.T, data []byte, image bool) {
		parent := t.TempDir()
		dir := filepath.Join(parent, "layer")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		const mostBytes, mostEntries = 1 << 20, 100
		u := &unpacker{ctx: t.Context(), image: image, under: "@s/name", bytes: mostBytes, entries: mostEntries}
		_ = u.unpack(bytes.NewReader(data), dir)
		if all, err := os.ReadDir(parent); err != nil || len(all) != 1 {
			t.Errorf("beside the folder: %v, %v", all, err)
		}
		var size, entries int64
		err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
			if err != nil || name == dir {
				return err
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			entries++
			switch m := mode(info); {
			case e.IsDir() && m == 0o755:
			case e.Type().IsRegular() && (m == 0o755 || m == 0o644):
				size += info.Size()
			case e.Type() == fs.ModeSymlink && image:
				to, err := os.Readlink(name)
				inside, rerr := filepath.Rel(dir, filepath.Join(filepath.Dir(name), to))
				if err := errors.Join(err, rerr); err != nil {
					return err
				}
				if filepath.IsAbs(to) || !filepath.IsLocal(inside) {
					t.Errorf("%s leads to %q", name, to)
				}
			default:
				t.Errorf("%s: mode %s", name, info.Mode())
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if size > mostBytes*mostEntries || entries > mostEntries+1 {
			t.Errorf("%d bytes in %d entries", size, entries)
		}
	})
}
