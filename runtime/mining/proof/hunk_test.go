package proof

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/mining/diff"
)

// twin has the same lines again and again: a hunk whose place is not exact applies elsewhere.
func twin(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "def f():\n    x = 1\n    y = 2\n    return x\n\n")
		if i%7 == 6 {
			fmt.Fprintf(&b, "# %d\n", i)
		}
	}
	return b.String()
}

func nth(text, old, new string, n int) string {
	at := 0
	for range n {
		at += strings.Index(text[at:], old) + len(old)
	}
	i := at + strings.Index(text[at:], old)
	return text[:i] + new + text[i+len(old):]
}

func TestEveryPartOfADiffAppliesByItselfWhereItBelongs(t *testing.T) {
	text := twin(40)
	pieces := []func(files) files{ // each changes one place; together they are the fix
		func(f files) files {
			f["same.py"] = nth(f["same.py"], "    y = 2\n", "    y = 21\n    z = 1\n    z = 2\n    z = 3\n    z = 4\n", 3)
			return f
		},
		func(f files) files { f["same.py"] = nth(f["same.py"], "    return x\n", "", 9); return f },
		func(f files) files { f["same.py"] = nth(f["same.py"], "    x = 1\n", "    x = 33\n", 17); return f },
		func(f files) files { f["same.py"] = nth(f["same.py"], "def f():\n", "def g():\n", 30); return f },
		func(f files) files { f["new file.py"] = "print(1)\n"; return f },
		func(f files) files { delete(f, "gone.py"); return f },
		func(f files) files { f["picture.bin"] = "\x00\x01\x03" + strings.Repeat("\x00\xff", 300); return f },
		func(f files) files { f["crlf.txt"] = strings.Replace(f["crlf.txt"], "two\r\n", "2\r\n", 1); return f },
		func(f files) files { f["noend.c"] += "\nint b;"; return f },
		func(f files) files { f["ünï.py"] = "x = 2\n"; return f },
		func(f files) files { f["to.py"] = f["from.py"]; delete(f, "from.py"); return f },
	}
	base := func() files {
		return files{
			"same.py": text, "gone.py": "a\nb\n", "picture.bin": "\x00\x01\x02" + strings.Repeat("\x00\xfe", 300), "crlf.txt": "one\r\ntwo\r\nthree\r\n", "noend.c": "int a;",
			"ünï.py": "x = 1\n", "from.py": strings.Repeat("a = 'a long line that is moved'\n", 9),
		}
	}
	all := base()
	for _, piece := range slices.Backward(pieces) { // from the end, so that counting places holds
		all = piece(all)
	}
	fix := difference(t, base(), all)
	sections, err := diff.Read(fix)
	if err != nil {
		t.Fatal(err)
	}
	if got := join(sections, nil); !bytes.Equal(got, fix) {
		t.Fatal(cmp.Diff(string(fix), string(got)))
	}
	of := units(sections)
	if len(of) != len(pieces) {
		t.Fatalf("%d units of %d places:\n%s", len(of), len(pieces), fix)
	}
	want := map[string]bool{}
	for i := range pieces {
		one := pieces[i](base())
		want[shown(one)] = true
	}
	for _, u := range of {
		without := map[unit]bool{}
		for _, other := range of {
			without[other] = other != u
		}
		got, err := applied(t, base(), join(sections, without))
		if err != nil {
			t.Fatalf("%s alone: %v", place(sections, u), err)
		}
		if !want[shown(got)] {
			t.Errorf("%s alone makes something else", place(sections, u))
		}
		delete(want, shown(got))
	}
	for i := range pieces {
		rest := base()
		for k, piece := range slices.Backward(pieces) {
			if k != i {
				rest = piece(rest)
			}
		}
		want[shown(rest)] = true
	}
	for _, u := range of {
		got, err := applied(t, base(), join(sections, map[unit]bool{u: true}))
		if err != nil {
			t.Fatalf("without %s: %v", place(sections, u), err)
		}
		if !want[shown(got)] {
			t.Errorf("without %s something else is made", place(sections, u))
		}
	}
}

func shown(f files) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(f)) {
		fmt.Fprintf(&b, "%q %q\n", name, f[name])
	}
	return b.String()
}

func TestPlacesAreThoseAfterTheFix(t *testing.T) {
	before := files{"a.py": twin(20), "docs/b c.txt": "x\n", "gone.py": "1\n", "old.py": strings.Repeat("the same line\n", 20)}
	after := files{
		"a.py": nth(nth(before["a.py"], "    y = 2\n", "    y = 3\n", 12), "    x = 1\n", "    a = 1\n    b = 2\n", 0), "docs/b c.txt": "y\n", "new.py": "something else\n",
		"dir/old.py": before["old.py"],
	}
	sections, err := diff.Read(difference(t, before, after))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, u := range units(sections) {
		got = append(got, place(sections, u))
	}
	slices.Sort(got)
	want := []string{"a.py:2", "a.py:65", "dir/old.py", "docs/b c.txt:1", "gone.py:1", "new.py:1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzUnits(f *testing.F) {
	f.Add([]byte("diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1 @@ def f():\n a\n-b\n\\ No newline at end of file\n"))
	f.Add([]byte("diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n"))
	f.Add([]byte("diff --git \"a/\\303\\274\" \"b/\\303\\274\"\nnew file mode 100644\n--- /dev/null\n+++ \"b/\\303\\274\"\n@@ -0,0 +1 @@\n+a\n"))
	f.Fuzz(func(t *testing.T, fix []byte) {
		sections, err := diff.Read(fix)
		if err != nil {
			return
		}
		again, err := diff.Read(join(sections, nil))
		if err != nil {
			t.Fatalf("what was joined is no diff: %v", err)
		}
		if a, b := len(units(sections)), len(units(again)); a != b {
			t.Fatalf("%d units became %d", a, b)
		}
		p := prover{files: sections}
		for _, u := range units(sections) {
			behaves(sections[u.file], u.hunk)
			place(sections, u)
		}
		for _, fix := range [][]byte{p.commented(false), p.commented(true), p.spaced()} {
			if len(fix) == 0 {
				continue
			}
			if _, err := diff.Read(fix); err != nil {
				t.Fatalf("a variant is no diff: %v\n%s", err, fix)
			}
		}
	})
}
