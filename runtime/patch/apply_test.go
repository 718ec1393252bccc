package patch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// lines is a text of numbered lines with these ends.
func lines(from, to int, end string) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "line %d%s", i, end)
	}
	return b.String()
}

// hunk changes line 5 of lines(1, n).
const hunk = "@@ -3,5 +3,5 @@\n line 3\n line 4\n-line 5\n+line five\n line 6\n line 7\n"

func gitDiff(name string) string {
	return "diff --git a/" + name + " b/" + name + "\n--- a/" + name + "\n+++ b/" + name + "\n" + hunk
}

func TestWhatADiffMayLookLike(t *testing.T) {
	t.Parallel()
	w := New(t.TempDir())
	base := files{
		"lf": lines(1, 9, "\n"), "crlf": lines(1, 9, "\r\n"), "mixed": lines(1, 4, "\n") + lines(5, 9, "\r\n"),
		"open": strings.TrimSuffix(lines(1, 7, "\r\n"), "\r\n"), "spaced": strings.ReplaceAll(lines(1, 9, "\n"), "line", "\tline"),
		"shifted": "new\nnew\n" + lines(1, 9, "\n"),
	}
	b := baseOf(t, w, base)
	five := func(name string) string {
		return strings.Replace(base[name], "line 5", "line five", 1)
	}
	for _, c := range []struct {
		name, diff, how string
		want            files
	}{
		{"of Git", gitDiff("lf"), HowPlain, files{"lf": five("lf")}},
		{"of plain diff", "--- a/lf\t2020-01-01 00:00:00\n+++ b/lf\t2020-01-01 00:00:00\n" + hunk, HowPlain, files{"lf": five("lf")}},
		{"without its last line break", strings.TrimSuffix(gitDiff("lf"), "\n"), HowPlain, files{"lf": five("lf")}},
		{"with words around it", "Here is the fix:\n\n" + gitDiff("lf") + "\nThat is all.\n", HowPlain, files{"lf": five("lf")}},
		{"of lines that moved", gitDiff("shifted"), HowPlain, files{"shifted": five("shifted")}},
		{"with CRLF of a file with LF", strings.ReplaceAll(gitDiff("lf"), "\n", "\r\n"), HowEndings, files{"lf": five("lf")}},
		{"with LF of a file with CRLF", gitDiff("crlf"), HowEndings, files{"crlf": five("crlf")}},
		{"with CRLF of a file with CRLF", strings.ReplaceAll(gitDiff("crlf"), "\n", "\r\n"), HowPlain, files{"crlf": five("crlf")}},
		{"of a file with CRLF and no line break at the end", strings.TrimSuffix(gitDiff("open"), "\n") + "\n\\ No newline at end of file\n", HowEndings, files{"open": five("open")}},
		{"with CRLF of a new file, and of one with LF", strings.ReplaceAll("diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n"+gitDiff("lf"), "\n", "\r\n"), HowEndings, files{"n": "x\n", "lf": five("lf")}},
		{"with wrong counts", strings.Replace(gitDiff("lf"), "-3,5 +3,5", "-3,9 +3,2", 1), HowTolerant, files{"lf": five("lf")}},
		{"with other white space", strings.ReplaceAll(gitDiff("spaced"), "line", "  line"), HowTolerant, files{"spaced": strings.Replace(base["spaced"], "\tline 5", "  line five", 1)}},
		{"with context that is not there", strings.Replace(gitDiff("lf"), " line 3", " other", 1), HowTolerant, files{"lf": five("lf")}},
		{"whose context ends with the change", "--- a/lf\n+++ b/lf\n@@ -4,2 +4,2 @@\n line 4\n-line 5\n+line five\n", HowTolerant, files{"lf": five("lf")}},
		{"a rename", "diff --git a/lf b/d/moved\nsimilarity index 100%\nrename from lf\nrename to d/moved\n", HowPlain, files{"lf": "", "d/moved": base["lf"]}},
		{"a copy", "diff --git a/lf b/copied\nsimilarity index 100%\ncopy from lf\ncopy to copied\n", HowPlain, files{"copied": base["lf"]}},
		{"a link to anywhere", "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n", HowPlain, files{"l": "@/etc/passwd"}},
		{"a name in quotes", "diff --git \"a/\\303\\274 b\" \"b/\\303\\274 b\"\nnew file mode 100644\n--- /dev/null\n+++ \"b/\\303\\274 b\"\n@@ -0,0 +1 @@\n+x\n", HowPlain, files{"ü b": "x\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want := maps.Clone(base)
			maps.Copy(want, c.want)
			maps.DeleteFunc(want, func(_, text string) bool { return text == "" })
			got, changes := applied(t, b, base, c.diff)
			if d := cmp.Diff(want, got); d != "" || changes.How != c.how {
				t.Errorf("how %q, want %q: %s", changes.How, c.how, d)
			}
			if d := cmp.Diff(slices.Sorted(maps.Keys(c.want)), changes.Files); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestADiffThatIsMergedWithWhatItWasMadeAgainst(t *testing.T) {
	t.Parallel()
	old := lines(1, 9, "\n")
	fs := files{"a": strings.Replace(old, "line 4", "line four", 1), "old": old}
	b := baseOf(t, New(t.TempDir()), files{"a": old})
	diff := diffOf(t, b, files{"a": strings.Replace(old, "line 7", "7", 1)})
	b = baseOf(t, b.w, fs)
	got, c := applied(t, b, fs, diff)
	if want := strings.Replace(fs["a"], "line 7", "7", 1); got["a"] != want || c.How != HowMerged {
		t.Errorf("by %s: %q", c.How, got["a"])
	}
	b = baseOf(t, b.w, files{"a": strings.Replace(old, "line 7", "seven", 1), "old": old})
	if _, err := b.Apply(t.Context(), []byte(diff)); err == nil || !strings.Contains(err.Error(), "does not apply") {
		t.Errorf("a conflict: %v", err)
	}
}

func TestDiffsThatAreRefused(t *testing.T) {
	t.Parallel()
	fs := files{"a": lines(1, 9, "\n"), "l": "@d", "d/x": "1\n", "out": "@/etc", "b": "1\n"}
	b := baseOf(t, New(t.TempDir()), fs)
	fresh := func(name string) string {
		return "diff --git a/" + name + " b/" + name + "\nnew file mode 100644\n--- /dev/null\n+++ b/" + name + "\n@@ -0,0 +1 @@\n+x\n"
	}
	for _, c := range []struct{ name, diff, want string }{
		{"of other content", strings.ReplaceAll(gitDiff("a"), "line", "row"), "patch does not apply"},
		{"of a file that is not there", gitDiff("z"), "does not exist"},
		{"in part", gitDiff("a") + gitDiff("z"), "does not exist"},
		{"of one file that fits and one that does not", gitDiff("a") + gitDiff("b"), "b: patch does not apply"},
		{"no diff", "I could not find the bug.\n", "this is no diff"},
		{"cut short in a header", gitDiff("a")[:30], "lacks filename information"},
		{"a new file that is there", fresh("a"), "already exists"},
		{"Git's own files", fresh(".git/hooks/post-checkout"), "Git's own files"},
		{"Git's own files below", fresh("d/.GIT/config"), "Git's own files"},
		{"a name outside", fresh("../x"), "not below the tree"},
		{"a name outside, on the way", fresh("d/../../x"), "not below the tree"},
		{"an absolute name", fresh("/etc/x"), "not below the tree"},
		{"below a link", fresh("l/y"), "beyond a symbolic link"},
		{"below a link to elsewhere", fresh("out/y"), "beyond a symbolic link"},
		{"below a link of its own", strings.Replace(fresh("m"), "100644", "120000", 1) + fresh("m/y"), "beyond a symbolic link"},
		{"a submodule", "diff --git a/s b/s\nnew file mode 160000\nindex 0000000..1111111111111111111111111111111111111111\n--- /dev/null\n+++ b/s\n@@ -0,0 +1 @@\n+Subproject commit 1111111111111111111111111111111111111111\n", "submodule"},
		{"a name with a zero", "--- /dev/null\n+++ \"b/a\\000b\"\n@@ -0,0 +1 @@\n+x\n", "not below the tree"},
		{"a name too long", fresh(strings.Repeat("n/", 3000) + "x"), "path of"},
		{"a binary that unfolds without end", "diff --git a/z b/z\nnew file mode 100644\nindex 0000000000000000000000000000000000000000..1111111111111111111111111111111111111111\nGIT binary patch\nliteral 99999999999999\nJcmZQz1ONa700IC2\n\nliteral 0\nHcmV?d00001\n\n", ""},
		{"words that do not print", gitDiff("z\x1b[31m\xff"), "z?[31m?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			changes, err := b.Apply(t.Context(), []byte(c.diff))
			var refused *NotApplied
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) || changes != nil {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if len(refused.Words) > 2*maxWords || strings.ContainsFunc(refused.Words, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("the words are %q", refused.Words)
			}
		})
	}
	for _, empty := range []string{"", " \n\t\r\n"} {
		if _, err := b.Apply(t.Context(), []byte(empty)); !errors.Is(err, ErrEmpty) {
			t.Errorf("%q: got %v", empty, err)
		}
	}
	if _, err := Paths(bytes.Repeat([]byte("x"), MaxBytes+1)); err == nil || !strings.Contains(err.Error(), "is the most") {
		t.Errorf("a long one: %v", err)
	}
	var c Changes
	if got := onto(t, fs, &c); cmp.Diff(fs, got) != "" || c.Close() != nil {
		t.Error("no changes change something")
	}
}

func TestWhatIsNotTheDiffsFaultIsNoRefusal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := baseOf(t, New(dir), files{"a": lines(1, 9, "\n")})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.Apply(ctx, []byte(gitDiff("a")))
	if refused, ok := errors.AsType[*NotApplied](err); ok || !errors.Is(err, context.Canceled) {
		t.Errorf("a context that is over: %v %v", err, refused)
	}
	packs, err := filepath.Glob(filepath.Join(dir, "*.git", "objects", "pack", "*"))
	if err != nil || len(packs) == 0 {
		t.Fatal(packs, err)
	}
	for _, pack := range packs {
		if err := os.Remove(pack); err != nil {
			t.Fatal(err)
		}
	}
	_, err = b.Apply(t.Context(), []byte(gitDiff("a")))
	if refused, ok := errors.AsType[*NotApplied](err); err == nil || ok {
		t.Errorf("a base without its objects: %v %v", err, refused)
	}
}
