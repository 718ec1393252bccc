package extract

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestWordsThatStandInATree(t *testing.T) {
	t.Parallel()
	forge := t.TempDir()
	_, base, _ := shop(t, forge)
	want := map[string]bool{
		"errBroken": true, "untouched": true, "Sum": true, "package cart": true, "age cart": true, "one\r\n": true, "total_sum": true, "go.mod": true, "": true,
		"Broken": false, "untouche": false, "Total": false, "sum": false, "hidden": false, "errBroken()": false, "secret": false,
	}
	var words []string
	for w := range want {
		words = append(words, w, w)
	}
	found, err := repositories(t, forge, Options{}).Has(t.Context(), "acme/shop", base, words)
	if err != nil {
		t.Fatal(err)
	}
	for w, there := range want {
		if got, told := found[w]; got != there || !told {
			t.Errorf("%q is there: %t", w, got)
		}
	}
	for _, tt := range []struct {
		text, word string
		want       bool
	}{
		{"a_b", "a", false}, {"a.b", "a", true}, {"ab a", "a", true}, {"éa", "a", false}, {"—a—", "a", true}, {"\xffa", "a", true}, {"x+y", "+", true}, {"", "a", false}, {"values", "value", false}, {"bad values", "bad value", true},
	} {
		if got := stands([]byte(tt.text), tt.word); got != tt.want {
			t.Errorf("%q stands in %q: %t", tt.word, tt.text, got)
		}
	}
}

// What was looked for in a clone that became too large is looked for again in the next.
func TestWordsAreLookedForAgainInANewClone(t *testing.T) {
	t.Parallel()
	forge := t.TempDir()
	_, base, p := shop(t, forge)
	r := repositories(t, forge, Options{MaxBytes: 1 << 20})
	if _, err := r.Change(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder(r), "objects", "pack", "tmp_pack_x"), make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := r.Has(t.Context(), "acme/shop", base, []string{"errBroken", "total_sum", "nowhere"})
	if want := map[string]bool{"errBroken": true, "total_sum": true, "nowhere": false}; err != nil || !maps.Equal(found, want) {
		t.Errorf("%v, %v", found, err)
	}
}

func TestFilesOfACommit(t *testing.T) {
	t.Parallel()
	forge := t.TempDir()
	o, base, p := shop(t, forge)
	r := repositories(t, forge, Options{})
	names, err := filesAt(t.Context(), r, "acme/shop", base)
	if err != nil || len(names) != 13 || !slices.Contains(names, "testdata/go.mod") {
		t.Errorf("the files are %q, %v", names, err)
	}
	for name, want := range map[string]string{"README.md": "A shop.\n", "link": "A shop.\n", "crlf.txt": "one\r\n", "a.bin": "\x00 hidden"} {
		if got, err := r.File(t.Context(), "acme/shop", base, name); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"nothing", "vendor", "out", "twice", "", "../x"} {
		if got, err := r.File(t.Context(), "acme/shop", base, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	large := o.commit(tree{"large": strings.Repeat("x", MaxFile+1)}, p.MergeSHA)
	if _, err := r.File(t.Context(), "acme/shop", large, "large"); err == nil || !strings.Contains(err.Error(), "are the most") {
		t.Errorf("a file that is too long: %v", err)
	}
	empty := o.commit(tree{}, large)
	if names, err := filesAt(t.Context(), r, "acme/shop", empty); err != nil || len(names) != 0 {
		t.Errorf("an empty tree has %q, %v", names, err)
	}
	for _, repo := range []string{"", "shop", "acme/..", "../x", "acme/shop/x", "-x/y", "acme/sh op"} {
		if _, err := filesAt(t.Context(), r, repo, base); err == nil || !strings.Contains(err.Error(), "owner/name") {
			t.Errorf("%q: %v", repo, err)
		}
	}
}

func TestOneEnvironmentForEqualLocks(t *testing.T) {
	t.Parallel()
	forge := t.TempDir()
	o, base, p := shop(t, forge)
	r := repositories(t, forge, Options{})
	hash := func(commit string) string {
		t.Helper()
		h, err := r.Lock(t.Context(), "acme/shop", commit)
		if err != nil || len(h) != 64 {
			t.Fatalf("%q, %v", h, err)
		}
		return h
	}
	first := hash(base)
	if hash(p.MergeSHA) != first {
		t.Error("another source needs another environment")
	}
	seen := map[string]string{first: "the base"}
	last := p.MergeSHA
	for _, name := range []string{"go.mod", "go.sum", "package.json", "web/package-lock.json", "pyproject.toml", "requirements/dev.txt", "requirements-dev.txt", "Cargo.toml", "Cargo.lock", "pom.xml", "build.gradle.kts", "CMakeLists.txt", "setup.cfg", "setup.py"} {
		last = o.commit(start.with(tree{name: "changed\n"}), last)
		h := hash(last)
		if other, ok := seen[h]; ok {
			t.Errorf("%s changes nothing against %s", name, other)
		}
		seen[h] = name
	}
	plain := o.commit(start, last)
	for _, name := range []string{"vendor/x/go.mod", "testdata/go.mod", "README.md", "Makefile"} {
		if hash(o.commit(start.with(tree{name: "changed\n"}), plain)) != hash(plain) {
			t.Errorf("%s needs another environment", name)
		}
	}
}
