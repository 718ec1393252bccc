package patch

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// someFiles draws a tree with few names, so that files, folders and links take each
// other's places.
func someFiles() *rapid.Generator[files] {
	part := rapid.SampledFrom([]string{"a", "b", "c.o", "ü \"", "\xfe", ".gitignore"})
	text := rapid.OneOf(
		rapid.SampledFrom([]string{"", "x", "x\n", "*.o\n", "!y\n", "@a", "@../b", "\x00\xff", lines(1, 30, "\n"), lines(1, 30, "\r\n")}),
		rapid.StringMatching(`!?([a-c]?\r?\n){0,20}[a-c]?`),
	)
	return rapid.Custom(func(t *rapid.T) files {
		fs := files{}
		for range rapid.IntRange(0, 8).Draw(t, "files") {
			name := strings.Join(rapid.SliceOfN(part, 1, 3).Draw(t, "name"), "/")
			maps.DeleteFunc(fs, func(other, _ string) bool {
				return strings.HasPrefix(other, name+"/") || strings.HasPrefix(name, other+"/")
			})
			fs[name] = text.Draw(t, "text")
		}
		return fs
	})
}

func TestApplyingADiffGivesTheTreeThatItWasMadeOf(t *testing.T) {
	w := New(t.TempDir())
	rapid.Check(t, func(rt *rapid.T) {
		before, after := someFiles().Draw(rt, "before"), someFiles().Draw(rt, "after")
		b := baseOf(t, w, before)
		diff := diffOf(t, b, after)
		got := before
		if diff != "" {
			var c *Changes
			got, c = applied(t, b, before, diff)
			if c.How != HowPlain {
				rt.Fatalf("it applied by %s", c.How)
			}
			names, err := Paths([]byte(diff))
			if err != nil || !slices.Equal(names, c.Files) {
				rt.Fatalf("%q are named, %q are changed, %v", names, c.Files, err)
			}
		}
		for name := range after {
			_, was := before[name]
			if _, is := got[name]; !was && !is { // an ignored one
				delete(after, name)
			}
		}
		if d := cmp.Diff(after, got); d != "" {
			rt.Fatalf("%s of\n%s", d, diff)
		}
	})
}

func FuzzApply(f *testing.F) {
	w := New(f.TempDir())
	fs := files{"a": lines(1, 9, "\n"), "d/b": "1\r\n2\r\n", "l": "@d", "ü b": "x"}
	b := baseOf(f, w, fs)
	for _, seed := range []string{
		gitDiff("a"), strings.ReplaceAll(gitDiff("a"), "\n", "\r\n"), gitDiff("d/b"), gitDiff("l/b"), "",
		diffOf(f, b, files{"a": "!2\n", "d": "@a", "bin": "\x00\x01", "ü b": "y"}),
		"diff --git a/a b/c\nrename from a\nrename to c\n", "--- a/a\n+++ b/../x\n" + hunk, "@@ -1 +1 @@\n-x\n+y\n",
		gitDiff("a") + "--- a/d/b\n+++ b/d/b\n@@ -1,2 +1 @@\n-1\n 2\n", "diff --git \"a/\\303\\274 b\" \"b/\\303\\274 b\"\ndeleted file mode 100644\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, diff []byte) {
		names, err := Paths(diff)
		c, failed := b.Apply(t.Context(), diff)
		_, refused := errors.AsType[*NotApplied](failed)
		switch {
		case failed == nil && err != nil:
			t.Errorf("it applies, and its paths cannot be told: %v", err)
		case failed == nil:
			for _, name := range c.Files {
				if !slices.Contains(names, name) {
					t.Errorf("it changes %q and names %q", name, names)
				}
			}
			onto(t, fs, c)
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		case !refused && !errors.Is(failed, ErrEmpty):
			t.Errorf("a diff makes the machinery fail: %v", failed)
		}
	})
}

func BenchmarkFiveThousandFiles(b *testing.B) {
	before := files{}
	for i := range 5000 {
		before[strings.Join([]string{"pkg", string(rune('a' + i%26)), string(rune('a' + i/26%26)), lines(i, i, ".py")}, "/")] = lines(i, i+100, "\n")
	}
	after := maps.Clone(before)
	n := 0
	for name := range after {
		if n++; n > 20 {
			break
		}
		after[name] = strings.Replace(after[name], "line", "row", 3)
	}
	tree, then := packed(b, before), packed(b, after)
	b.Run("base", func(b *testing.B) {
		for b.Loop() {
			baseOf(b, New(b.TempDir()), before)
		}
	})
	w := New(b.TempDir())
	base, err := w.Base(b.Context(), "k", opener(tree))
	if err != nil {
		b.Fatal(err)
	}
	var diff []byte
	b.Run("diff", func(b *testing.B) {
		for b.Loop() {
			if diff, err = base.Diff(b.Context(), bytes.NewReader(then), nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("apply", func(b *testing.B) {
		for b.Loop() {
			c, err := base.Apply(b.Context(), diff)
			if err != nil || len(c.Files) != 20 {
				b.Fatal(c, err)
			}
			if err := c.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
