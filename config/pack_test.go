package config

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// packed returns the archive of a folder and its entries as text.
func packed(t *testing.T, dir string) ([]byte, []string) {
	t.Helper()
	var buf bytes.Buffer
	if err := Pack(dir, &buf); err != nil {
		t.Fatal(err)
	}
	var out []string
	for r := tar.NewReader(bytes.NewReader(buf.Bytes())); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return buf.Bytes(), out
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid+h.Gid != 0 || h.Uname+h.Gname != "" || h.ModTime.Unix() != 0 {
			t.Errorf("%s tells more than it should: %+v", h.Name, h)
		}
		line := fmt.Sprintf("%o %s", h.Mode, h.Name)
		if h.Linkname != "" {
			line += " -> " + h.Linkname
		}
		if len(data) > 0 {
			line += fmt.Sprintf(" %q", data)
		}
		out = append(out, line)
	}
}

func TestPackIsTheContentAlone(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	for i, dir := range []string{one, two} {
		write(t, dir, at("b/run.sh", "#!"), at("a.txt", "a"), at("empty/.keep", ""))
		if err := os.Chmod(filepath.Join(dir, "b/run.sh"), []os.FileMode{0o700, 0o755}[i]); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(dir, "a.txt"), time.Unix(int64(i+1), 0), time.Unix(int64(i+1), 0)); err != nil {
			t.Fatal(err)
		}
	}
	first, entries := packed(t, one)
	second, _ := packed(t, two)
	if !bytes.Equal(first, second) {
		t.Error("the archive depends on more than the content")
	}
	want := []string{`644 a.txt "a"`, `755 b/`, `755 b/run.sh "#!"`, `755 empty/`, `644 empty/.keep`}
	if diff := cmp.Diff(want, entries); diff != "" {
		t.Error(diff)
	}
}

func TestPackLeavesOutWhatIsIgnored(t *testing.T) {
	dir := t.TempDir()
	write(t, dir,
		at(".gitignore", "*.log\n!keep.log\n/only-top\nbuild/\ndeep/**/gone\n# comment\n{a,b}\ninside/**\n!inside/kept\n\\#odd\ntrail \n"),
		at("x.log", ""), at("keep.log", ""), at("only-top", ""), at("sub/only-top", ""), at("build/x", ""), at("sub/build", ""),
		at("deep/a/b/gone", ""), at("a", ""), at("inside/kept", ""), at("inside/lost", ""), at("#odd", ""), at("trail", ""),
		at("sub/.gitignore", "!x.log\nlocal\n"), at("sub/x.log", ""), at("sub/local", ""), at("local", ""),
		at(".git/config", ""), at("sub/__pycache__/x", ""), at("m.pyc", ""), at(".pytest_cache/x", ""), at("node_modules/x", ""),
	)
	_, got := packed(t, dir)
	want := []string{
		"644 .gitignore", "644 a", "755 deep/", "755 deep/a/", "755 deep/a/b/", "755 inside/", "644 inside/kept", "644 keep.log", "644 local",
		"755 node_modules/", "644 node_modules/x", "755 sub/", "644 sub/.gitignore", "644 sub/build", "644 sub/only-top", "644 sub/x.log",
	}
	for i, line := range got {
		got[i], _, _ = strings.Cut(line, ` "`)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPackHonoursDockerIgnore(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, at(".dockerignore", "*.md\ndata\n!data/keep.txt\n"), at("a.md", ""), at("sub/b.md", ""), at("data/x", ""), at("data/keep.txt", ""))
	_, got := packed(t, dir)
	want := []string{`644 .dockerignore "*.md\ndata\n!data/keep.txt\n"`, "755 data/", "644 data/keep.txt", "755 sub/", "644 sub/b.md"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPackKeepsInside(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	write(t, outside, at("secret", "s"))
	write(t, dir, at("sub/f", "f"), at("a", ""))
	for path, target := range map[string]string{
		"good": "sub/f", "sub/up": "../a", "dangling": "later", "out": outside, "climb": "../x", "sub/loop": "loop",
		"sub/root": "..", "sneaky": "sub/root/../x",
	} {
		link(t, target, filepath.Join(dir, path))
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, got := packed(t, dir)
	want := []string{"644 a", "777 dangling -> later", "777 good -> sub/f", "755 sub/", `644 sub/f "f"`, "777 sub/root -> ..", "777 sub/up -> ../a"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err := Pack(filepath.Join(dir, "nowhere"), io.Discard); err == nil {
		t.Error("a missing folder packs")
	}
}

// Braces are letters in a .gitignore: no line of it takes longer than its length says.
func TestBracesOfAnIgnoreFileAreLetters(t *testing.T) {
	root := t.TempDir()
	write(t, root, at("d/.gitignore", strings.Repeat(`\{a,a}`, 30)+"\n"+strings.Repeat(`{a,a}`, 30)+"\n{x}\n\\{y\\}\n"),
		at("d/{x}", ""), at("d/{y}", ""), at("d/x", ""), at("d/"+strings.Repeat("a", 31), ""))
	_, entries := packed(t, filepath.Join(root, "d"))
	want := []string{"644 " + strings.Repeat("a", 31), "644 x"}
	if diff := cmp.Diff(want, entries[1:]); diff != "" {
		t.Error(diff)
	}
}

func TestAGlobCannotMultiply(t *testing.T) {
	if err := checkGlob(strings.Repeat("{a,b}", maxBraces)); err != nil {
		t.Error(err)
	}
	if err := checkGlob(strings.Repeat("{a,b}", maxBraces+1)); err == nil {
		t.Error("a glob of many alternatives is taken")
	}
}
