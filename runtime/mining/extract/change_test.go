package extract

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/mining/github"
	"github.com/assayd/assayd/runtime/mining/reason"
	"pgregory.net/rapid"
)

func code(err error) string {
	if r := reason.Of(err); r != nil {
		return r.Code
	}
	if err != nil {
		return "trouble: " + err.Error()
	}
	return ""
}

var start = tree{"cart.go": "package cart\n\nfunc Sum() int { return 1 }\n", "cart_test.go": "package cart\n", "README.md": "A shop.\n", "go.mod": "module shop\n"}

func TestWhatAMergeWasMadeOnto(t *testing.T) {
	t.Parallel()
	one, two, three := tree{"cart.go": "package cart\n\nfunc Sum() int { return 2 }\n"}, tree{"cart_test.go": "package cart\n\n// New.\n"}, tree{"total.go": "package cart\n"}
	others := tree{"README.md": "A large shop.\n", "other.go": "package cart\n"}
	for _, tt := range []struct {
		name  string
		merge func(o origin, fork, onto string) github.Pull
		want  string
	}{
		{"a merge of a branch that is behind", func(o origin, fork, onto string) github.Pull {
			head := o.commit(start.with(one).with(two), o.commit(start.with(one), fork))
			p := o.pull(fork, head, 2)
			p.MergeSHA = o.commit(start.with(others).with(one).with(two), onto, head)
			return p
		}, ""},
		{"a squash of several commits", func(o origin, fork, onto string) github.Pull {
			return o.pull(onto, o.commit(start.with(others).with(one).with(two), onto), 2)
		}, ""},
		{"a rebase of three commits", func(o origin, fork, onto string) github.Pull {
			first := o.commit(start.with(others).with(one), onto)
			second := o.commit(start.with(others).with(one).with(two), first)
			return o.pull(onto, o.commit(start.with(others).with(one).with(two).with(three), second), 3)
		}, ""},
		{"a rebase that left a merge out", func(o origin, fork, onto string) github.Pull {
			first := o.commit(start.with(others).with(one), onto)
			return o.pull(onto, o.commit(start.with(others).with(one).with(two), first), 4)
		}, ""},
		{"a rebase whose last commit changes nothing", func(o origin, fork, onto string) github.Pull {
			first := o.commit(start.with(others).with(one), onto)
			return o.pull(onto, o.commit(start.with(others).with(one), first), 2)
		}, ""},
		{"a merge that holds another's file", func(o origin, fork, onto string) github.Pull {
			p := o.pull(fork, o.commit(start.with(one), fork), 1)
			p.MergeSHA = o.commit(start.with(one).with(others), fork)
			return p
		}, "foreign_commits"},
		{"a merge that holds another's lines", func(o origin, fork, onto string) github.Pull {
			p := o.pull(fork, o.commit(start.with(one), fork), 1)
			p.MergeSHA = o.commit(start.with(tree{"cart.go": "package cart\n\nfunc Sum() int { return 2 }\n\n// Another's.\n"}), fork)
			return p
		}, "foreign_commits"},
		{"a merge that lacks a file", func(o origin, fork, onto string) github.Pull {
			p := o.pull(fork, o.commit(start.with(one).with(three), fork), 1)
			p.MergeSHA = o.commit(start.with(one), fork)
			return p
		}, "foreign_commits"},
		{"a file that was made is one that was there", func(o origin, fork, onto string) github.Pull {
			p := o.pull(fork, o.commit(start.with(one), fork), 1)
			p.Files[0].Status = "added"
			return p
		}, "foreign_commits"},
		{"a rebase of which the list knows nothing", func(o origin, fork, onto string) github.Pull {
			first := o.commit(start.with(others).with(one), onto)
			p := o.pull(onto, o.commit(start.with(others).with(one).with(two), first), 2)
			p.Files = p.Files[:1]
			p.Files[0].Added++
			return p
		}, "foreign_commits"},
		{"a list that is cut", func(o origin, fork, onto string) github.Pull {
			p := o.pull(onto, o.commit(start.with(others).with(one).with(two), onto), 1)
			p.Files, p.FilesCut = p.Files[1:], true
			return p
		}, ""},
		{"the first commit of all", func(o origin, fork, onto string) github.Pull {
			p := o.pull(fork, onto, 1)
			p.MergeSHA = fork
			return p
		}, "foreign_commits"},
		{"a merge that changes nothing", func(o origin, fork, onto string) github.Pull {
			p := o.pull(fork, onto, 1)
			p.MergeSHA = o.commit(start.with(others), onto)
			return p
		}, "empty"},
		{"a commit that is nowhere", func(o origin, fork, onto string) github.Pull {
			p := o.pull(fork, onto, 1)
			p.MergeSHA = strings.Repeat("12", 20)
			return p
		}, "unreachable"},
		{"no commit", func(o origin, fork, onto string) github.Pull {
			p := o.pull(fork, onto, 1)
			p.MergeSHA = ""
			return p
		}, "unreachable"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			forge := t.TempDir()
			o := newOrigin(t, forge, "acme/shop")
			fork := o.commit(start)
			onto := o.commit(start.with(others), fork)
			p := tt.merge(o, fork, onto)
			change, err := repositories(t, forge, Options{}).Change(t.Context(), p)
			if got := code(err); got != tt.want {
				t.Fatalf("the reason is %q instead of %q: %v", got, tt.want, err)
			}
			if err == nil && (change.Base != onto || change.Merge != p.MergeSHA) {
				t.Errorf("from %s to %s instead of %s to %s", change.Base, change.Merge, onto, p.MergeSHA)
			}
		})
	}
}

func TestWhatIsNoChangeToTakeByItself(t *testing.T) {
	t.Parallel()
	pointed := "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
	for _, tt := range []struct {
		name string
		more tree
		want string
	}{
		{"a submodule", tree{"160000 lib": strings.Repeat("12", 20)}, "submodule"},
		{"where submodules come from", tree{".gitmodules": "[submodule \"lib\"]\n"}, "submodule"},
		{"a binary source", tree{"logo.bin": "\x00\x01", "testdata/a.bin": "\x00"}, "binary"},
		{"a binary fixture", tree{"testdata/a.bin": "\x00\x01", "cart.go": "package cart\n"}, "binary_fixture"},
		{"a link out of the tree", tree{"120000 a/link": "../../etc/passwd"}, "symlink"},
		{"a link to a file of the machine", tree{"120000 link": "/etc/passwd"}, "symlink"},
		{"a link that is no name", tree{"120000 link": strings.Repeat("a/", 4000)}, "symlink"},
		{"a link within the tree", tree{"120000 a/link": "../cart.go"}, ""},
		{"a pointer to content elsewhere", tree{"data.json": pointed}, "lfs"},
		{"a pointer that becomes content", tree{"old.json": "1\n"}, "lfs"},
		{"a patch without an end", tree{"a.go": strings.Repeat(strings.Repeat("x", 1023)+"\n", MaxPatch>>10)}, "too_large"},
		{"windows line endings", tree{"cart.go": "package cart\r\n"}, ""},
		{"tests alone", tree{"cart_test.go": "package cart\n\n", "testdata/cart.json": "{}\n"}, "tests_only"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			forge := t.TempDir()
			o := newOrigin(t, forge, "acme/shop")
			base := o.commit(start.with(tree{"old.json": pointed}))
			p := o.pull(base, o.commit(start.with(tree{"old.json": pointed}).with(tt.more), base), 1)
			change, err := repositories(t, forge, Options{}).Change(t.Context(), p)
			if got := code(err); got != tt.want || err != nil && change.Patch != nil {
				t.Errorf("the reason is %q instead of %q: %v", got, tt.want, err)
			}
		})
	}
}

func TestNamesThatNoFileMayHave(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "a/..b": true, ".gitignore": true, "a b/ü\n": true,
		"../a": false, "/a": false, "a/../b": false, ".git/config": false, "a/.GIT/hooks/x": false, "": false, "a//b": false, strings.Repeat("a", 5000): false,
	} {
		if allowed(name) != want {
			t.Errorf("%.50q is allowed: %t", name, !want)
		}
	}
}

func TestAPatchIsByteExact(t *testing.T) {
	t.Parallel()
	before := tree{
		"crlf.go": "package a\r\n\r\nvar A = 1\r\n", "no-newline.go": "package a", "run.sh": "#!/bin/sh\n", "moved.go": strings.Repeat("line\n", 20),
		"becomes_test.go.in": strings.Repeat("other\n", 20), "gone.go": "package a\n", "link": "content\n", "latin.txt": "\xe9t\xe9\n", "copied.go": strings.Repeat("copy\n", 20),
		"empty.go": "", "tests/data.crlf": "a\r\nb\r\n",
	}
	after := tree{
		"crlf.go": "package a\r\n\r\nvar A = 2\r\n", "no-newline.go": "package b", "100755 run.sh": "#!/bin/sh\n", "sub/moved.go": strings.Repeat("line\n", 20) + "more\n",
		"tests/becomes_test.go.in": strings.Repeat("other\n", 20), "120000 link": "crlf.go", "latin.txt": "\xe9t\xe9s\n", "copied1.go": strings.Repeat("copy\n", 20), "copied2.go": strings.Repeat("copy\n", 20) + "x\n",
		"diff --git a/x b/x": "diff --git a/x b/x\n", "tests/tab\tand \"quote\"\nü.txt": "x\n", "new-empty.go": "", "tests/data.crlf": "a\r\nc\r\n",
	}
	forge := t.TempDir()
	o := newOrigin(t, forge, "acme/shop")
	base := o.commit(before)
	merge := o.commit(after, base)
	change, err := repositories(t, forge, Options{}).Change(t.Context(), o.pull(base, merge, 1))
	if err != nil {
		t.Fatal(err)
	}
	applies(t, o, change)
	if want := []string{"tests/becomes_test.go.in", "tests/data.crlf", "tests/tab\tand \"quote\"\nü.txt"}; !slices.Equal(change.TestFiles, want) {
		t.Errorf("the tests are %q", change.TestFiles)
	}
	if want := []string{"becomes_test.go.in", "copied.go", "empty.go", "gone.go", "moved.go"}; !slices.Equal(change.Removed, want) {
		t.Errorf("removed are %q", change.Removed)
	}
	if !strings.Contains(string(change.Source), " b/sub/moved.go\n") || !strings.Contains(string(change.Source), "-var A = 1\r\n+var A = 2\r\n") {
		t.Errorf("the source part is\n%s", change.Source)
	}
}

func TestARenameStaysOne(t *testing.T) {
	t.Parallel()
	forge := t.TempDir()
	o := newOrigin(t, forge, "acme/shop")
	base := o.commit(tree{"old.go": strings.Repeat("line\n", 20), "old_test.go": strings.Repeat("test\n", 20)})
	merge := o.commit(tree{"new.go": strings.Repeat("line\n", 20) + "x\n", "new_test.go": strings.Repeat("test\n", 20)}, base)
	change, err := repositories(t, forge, Options{}).Change(t.Context(), o.pull(base, merge, 1))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(change.Source), "rename from old.go\nrename to new.go\n") || !strings.Contains(string(change.Tests), "rename from old_test.go\n") {
		t.Errorf("the parts are\n%s\n%s", change.Source, change.Tests)
	}
	if !slices.Equal(change.Removed, []string{"old.go", "old_test.go"}) {
		t.Errorf("removed are %q", change.Removed)
	}
	applies(t, o, change)
}

// applies checks that each part applies to the base, and that all of them, in either order,
// give the merge.
func applies(t *testing.T, o origin, change Change) {
	t.Helper()
	want := strings.TrimSpace(o.git("rev-parse", change.Merge+"^{tree}"))
	for _, order := range [][][]byte{{change.Patch}, {change.Source, change.Tests}, {change.Tests, change.Source}} {
		o.git("read-tree", change.Base)
		for _, part := range order {
			if len(part) > 0 {
				o.feed(string(part), "apply", "--cached", "--binary", "--whitespace=nowarn", "-")
			}
		}
		if got := strings.TrimSpace(o.git("write-tree")); got != want {
			t.Fatalf("%d parts give another tree:\n%s", len(order), o.git("diff", got, want))
		}
	}
}

// Trees of random files, tests among them, binary ones, too, that move and change type and mode.
func TestBothPartsAreTheWhole(t *testing.T) {
	t.Parallel()
	forge := t.TempDir()
	o := newOrigin(t, forge, "acme/shop")
	r := repositories(t, forge, Options{})
	content := rapid.OneOf(
		rapid.SampledFrom([]string{"", "a", "a\r\nb\r\n", "\x00\x01", "diff --git a/a.go b/a.go\n", "--- a\n+++ b\n", strings.Repeat("line\n", 30), strings.Repeat("line\n", 30) + "x", "GIT binary patch\n"}),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 60), func(b []byte) string { return string(b) }),
	)
	name := rapid.SampledFrom([]string{"a.go", "a_test.go", "b c.py", "tests/b c.py", "tests/ü\n.txt", "\"q\".rs", "d/e/f.js", "d/e.test.js", "diff --git a/x b/x", "tab\t.c"})
	mode := rapid.SampledFrom([]string{"100644 ", "100755 ", "120000 "})
	files := rapid.Custom(func(t *rapid.T) tree {
		made := tree{}
		for n, c := range rapid.MapOfN(name, content, 1, 8).Draw(t, "files") {
			m := mode.Draw(t, "mode")
			if m == "120000 " && (c == "" || strings.ContainsRune(c, 0)) {
				m = "100644 "
			}
			made[m+n] = c
		}
		return made
	})
	for seed := range 20 { // each costs twenty processes
		before, after := files.Example(seed), files.Example(seed+1)
		base := o.commit(before)
		merge := o.commit(after, base)
		var change Change
		err := r.use(t.Context(), "acme/shop", func(c *clone) error {
			if _, err := c.need(t.Context(), merge, 2); err != nil {
				return err
			}
			err := c.fill(t.Context(), nil, merge, base)
			if err == nil {
				change, err = c.split(t.Context(), base, merge)
			}
			return err
		})
		if err != nil {
			t.Fatalf("split %q from %q: %v", after, before, err)
		}
		applies(t, o, change)
	}
}

func FuzzWhatGitTells(f *testing.F) {
	f.Add(":100644 100644 a b M\x00name\x00:100644 100644 a b R100\x00old\x00new\x00", "1\t2\tname\x00-\t-\t\x00old\x00new\x00", "id 3\nabc\n")
	f.Add("", "", "")
	f.Add(":::", "\t\t\x00", "id x\n")
	f.Fuzz(func(t *testing.T, raw, numstat, batched string) {
		entries, err := parseRaw(raw)
		if err == nil && len(raw) > 0 && !strings.HasSuffix(raw, "\x00") && len(entries) > strings.Count(raw, "\x00") {
			t.Errorf("%d entries of %q", len(entries), raw)
		}
		if _, err := parseNumstat(numstat); err != nil && !errors.Is(err, errRaw) {
			t.Error(err)
		}
		size := 0
		b := &batch{visit: func(_ string, content []byte) error { size += len(content); return nil }}
		for _, c := range []byte(batched) {
			if _, err := b.Write([]byte{c}); err != nil {
				break
			}
		}
		if size > len(batched) {
			t.Errorf("%d bytes of %d", size, len(batched))
		}
		if got := strings.Join(texts(cut([]byte(raw))), ""); got != raw {
			t.Errorf("the parts of %q are %q", raw, got)
		}
	})
}

func texts(parts [][]byte) []string {
	var all []string
	for _, p := range parts {
		all = append(all, string(p))
	}
	return all
}
