//go:build linux

package client

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// unpacked lists the members of a gzip-compressed tar as "type mode name content-or-target".
func unpacked(t *testing.T, packed io.Reader) (members []string) {
	t.Helper()
	zip, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(zip)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return members
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		members = append(members, strings.TrimSpace(fmt.Sprintf("%c %o %s %s%s", h.Typeflag, h.Mode, h.Name, h.Linkname, text)))
	}
}

func TestArchiveHoldsThePathsThatExistWithoutExclusions(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{
		"src/a.py", "src/deep/tests/x", "src/deep/b.pyc", "src/.git/HEAD", "tests/t", "top.txt", "other.txt",
		"src/node_modules/m", "src/my_node_modules/n",
	} {
		write(t, at(name), name)
	}
	for _, err := range []error{
		os.Chmod(at("src/a.py"), 0o755), os.Symlink("../top.txt", at("src/link")), syscall.Mkfifo(at("src/pipe"), 0o600),
		os.Link(at("top.txt"), at("src/hard")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name, paths, flags string
		want               []string
	}{
		{
			"everything by default", "", "--exclude=src --exclude=tests",
			[]string{"0 644 other.txt other.txt", "0 644 top.txt top.txt"},
		},
		{
			"at any depth", "src missing top.*", "--exclude=tests --exclude='*.pyc' --exclude=node_modules/ ",
			[]string{
				"5 755 src/", "0 755 src/a.py src/a.py", "5 755 src/deep/", "0 644 src/hard top.txt", "2 777 src/link ../top.txt",
				"5 755 src/my_node_modules/", "0 644 src/my_node_modules/n src/my_node_modules/n", "0 644 top.txt top.txt",
			},
		},
		{"a path of several components", ".", "--exclude deep/tests --exclude src/[!d]* --exclude=*.txt --exclude=tests", []string{"5 755 src/", "5 755 src/deep/", "0 644 src/deep/b.pyc src/deep/b.pyc"}},
		{"nothing", "missing", "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, err := newArchive(dir, tt.paths, tt.flags)
			if err != nil {
				t.Fatal(err)
			}
			var packed bytes.Buffer
			if err := a.writeTo(&packed); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, unpacked(t, &packed)); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, bad := range []string{"..", "/etc", "src/../../x"} {
		if _, err := newArchive(dir, bad, ""); err == nil {
			t.Errorf("submit path %q is taken", bad)
		}
	}
}

func TestExclusionsMatchAsThoseOfTar(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"tests", "tests", true},
		{"tests", "a/b/tests", true},
		{"tests", "mytests", false},
		{"tests", "tests2", false},
		{"*.o", "a/b.o", true},
		{"a/*.o", "a/b/c.o", true},
		{"a?c", "abc", true},
		{"a?c", "a/c", true},
		{"[ab]x", "bx", true},
		{"[!ab]x", "bx", false},
		{"[!ab]x", "cx", true},
		{"[^ab]x", "cx", true},
		{"[a-c]", "b", true},
		{"[]]", "]", true},
		{"[", "[", true},
		{"[z-a]", "[z-a]", true},
		{`\*`, "*", true},
		{`\*`, "x", false},
		{"a.b", "axb", false},
		{"a+(b)|c", "a+(b)|c", true},
	} {
		re, err := regexp.Compile(excludeExpression(tt.pattern))
		if err != nil {
			t.Errorf("%q: %v", tt.pattern, err)
			continue
		}
		if got := re.MatchString(tt.name); got != tt.want {
			t.Errorf("%q matches %q: %v", tt.pattern, tt.name, got)
		}
	}
}

func FuzzExclusion(f *testing.F) {
	for _, s := range []string{"*.py", "[a-", "[!]]", `\`, "[[:alpha:]]", "[\\d]", "é?"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		if _, err := regexp.Compile(excludeExpression(pattern)); err != nil {
			t.Errorf("%q: %v", pattern, err)
		}
	})
}
