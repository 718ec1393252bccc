package decoy

import (
	"math"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/assayd/assayd/runtime/decoy/source"
)

// parserOf is a parser of each language.
func parserOf() map[string]string {
	return map[string]string{"go": "gotest", "python": "pytest", "javascript": "node", "rust": "cargo"}
}

// fileName is a file of each language.
func fileName(language string) string {
	return map[string]string{"go": "a_test.go", "python": "test_a.py", "javascript": "a.test.js", "rust": "tests/a.rs"}[language]
}

// seeds are all files of the golden files, by language.
func seeds(t testing.TB) map[string][]string {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	all := map[string][]string{}
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			for _, l := range languages() {
				if l.owns(f.Name) {
					all[l.name] = append(all[l.name], string(f.Data))
				}
			}
		}
	}
	return all
}

// FuzzPropose reads any text as a file of each language, and proposes variants for all
// tests that are found in it.
func FuzzPropose(f *testing.F) {
	for language, texts := range seeds(f) {
		for _, text := range texts {
			f.Add(text, language, "row")
		}
	}
	f.Fuzz(func(t *testing.T, src, language, row string) {
		l, ok := languages()[language]
		if !ok {
			return
		}
		propertiesOf(t, l, src, row)
	})
}

// propertiesOf checks what must hold of any text.
func propertiesOf(t *testing.T, l *language, src, row string) {
	t.Helper()
	tokens := source.Tokenize(&l.syntax, src)
	at := 0
	for _, token := range tokens {
		if token.From != at || token.To <= at {
			t.Fatalf("a token is [%d,%d) where %d is next", token.From, token.To, at)
		}
		at = token.To
	}
	if at != len(src) {
		t.Fatalf("the tokens end at %d of %d", at, len(src))
	}
	f := newFile(fileName(l.name), src, l)
	var names []string
	for _, u := range l.units(f) {
		names = append(names, u.name, u.name+"/"+row, fileName(l.name)+"::"+u.name+"["+row+"]")
		if u.all.From > u.body.From || u.body.From > u.body.To || u.body.To > u.all.To || u.all.To > len(f.Tok) {
			t.Fatalf("the test %q is %v, its body %v", u.name, u.all, u.body)
		}
	}
	if len(names) > 200 {
		names = names[:200]
	}
	files := map[string][]byte{f.Name: []byte(src)}
	p, err := Propose(parserOf()[l.name], files, names)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if len(p.Variants[name]) == 0 && p.None[name] == "" {
			t.Fatalf("%q has no variant and no reason", name)
		}
	}
	checkProposal(t, files, p)
	checkOne(t, l, src, p)
	checkOverlaps(t, p)
}

// checkOne checks that one token differs, and that it is one of the test.
func checkOne(t *testing.T, l *language, src string, p Proposal) {
	t.Helper()
	before := newFile(fileName(l.name), src, l)
	checked := 0
	for _, variants := range p.Variants {
		for _, v := range variants {
			if checked++; checked > 100 {
				return
			}
			after, err := Apply([]byte(src), []Variant{v})
			if err != nil {
				t.Fatal(err)
			}
			if !v.Side.literal() || v.Old == "[]" || v.Old == "{}" { // which are two
				continue
			}
			changed := newFile(v.File, string(after), l)
			if len(changed.Tok) != len(before.Tok) {
				t.Fatalf("%d tokens become %d with %+v", len(before.Tok), len(changed.Tok), v)
			}
			for i := range before.Tok {
				same := before.At(i) == changed.At(i) && before.Kind(i) == changed.Kind(i)
				if same == (before.Tok[i].From == v.From) {
					t.Fatalf("token %q becomes %q with %+v", before.At(i), changed.At(i), v)
				}
			}
		}
	}
}

// checkOverlaps checks that variants of tests that do not affect each other can be applied
// together.
func checkOverlaps(t *testing.T, p Proposal) {
	t.Helper()
	type owned struct {
		test string
		v    Variant
	}
	var all []owned
	for test, variants := range p.Variants {
		for _, v := range variants {
			all = append(all, owned{test, v})
		}
	}
	for i, a := range all[:min(len(all), 60)] {
		for _, b := range all[i+1 : min(len(all), 60)] {
			if a.test != b.test && a.v.Overlaps(b.v) && (!contains(a.v.Affects, b.test) || !contains(b.v.Affects, a.test)) {
				t.Fatalf("%+v and %+v change the same", a.v, b.v)
			}
		}
	}
}

// TestProperties checks the golden files, whole and cut anywhere.
func TestProperties(t *testing.T) {
	for language, texts := range seeds(t) {
		for _, text := range texts {
			for cut := 0; cut <= len(text); cut += 31 {
				propertiesOf(t, languages()[language], text[:cut], "two numbers")
			}
			propertiesOf(t, languages()[language], text, "1-2-3")
		}
	}
}

// TestLinear reads text that is made to be slow to read. What takes time in the square of the length
// takes more than a second here, and what is linear 100 ms at most on a quiet machine: on a busy one
// the least of three times counts.
func TestLinear(t *testing.T) {
	const size, tries = 1 << 15, 3
	pieces := []string{
		"(", "[", "{", "((", "([{", ")", "\"", "'", "`", "${", "`${`", "\"\"\"", "r#", "r##\"", "/", "(/", "/[", "/*", "//\n", "\\", "'\\", "%", "#[", "@\n",
		"if ", "if a == b {", "assert ", "assert a == ", "== ", "== (", "in ", "for a in ", "for x in y:\n", "eq(", "assertEqual(", "assert_eq!(", "assert(", "expect(a).", "expect(",
		"want := ", "want = ", "expected: ", "{expected: ", "{\"want\": ", "(a == b, ", "test('a', ", "describe('a', () => {", "it.each([[1, 2], [3, 4]])('a %i', ", "t.Run(\"a\", ",
		"def test_a():\n", "class A:\n def test_a(self):\n", "@pytest.mark.parametrize('a,b', [(1, 2)])\n", "fn a() {", "#[test]\nfn a() {", "mod a {", "func TestA(t *testing.T) {\n", "func\n",
		"struct{", "[]struct{a, b int}{{1, 2}, {3, 4}}", "type a struct {\n", "a.b.c.", "a()", "a.b(", "x[1]", "1,", "\"a\",", "\"abc 1\", ", "a_b_c ", "AbCd ", "raise ", "throw ", "with raises(A):\n",
		"var a = []struct{a int}{{1}}\n", "var a = b\n", "t.Run(\"a\", func() { ", "{\"a\", 1}, ", "!", "not ", "is not ", "1 ", "0x1f ", "'a' ", "\n", " \n", "a\n", "    a\n", ";", "=>", "||",
	}
	for name, l := range languages() {
		for _, before := range []string{"", opening(name)} {
			for _, piece := range pieces {
				src := before + strings.Repeat(piece, size/len(piece))
				took := spent(t, tries, func() {
					f := newFile(fileName(name), src, l)
					var tests []string
					for n, u := range l.units(f) {
						if n < 2000 {
							tests = append(tests, u.name, u.name+"/a")
						}
					}
					if _, err := Propose(parserOf()[name], map[string][]byte{f.Name: []byte(src)}, tests); err != nil {
						t.Fatal(err)
					}
				})
				if took > time.Second {
					t.Errorf("%s: %v for %q behind %q", name, took, piece, before)
				}
			}
		}
	}
}

// opening begins a test that does not end.
func opening(language string) string {
	return map[string]string{
		"go": "func TestA(t *testing.T) {\n", "python": "def test_a():\n  assert (", "javascript": "test('a', () => { assert.equal(", "rust": "#[test]\nfn a() { assert_eq!(",
	}[language]
}

// spent is the CPU time of this thread that f takes: the least of so many times, if it is over a second.
func spent(t *testing.T, tries int, f func()) time.Duration {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	least := time.Duration(math.MaxInt64)
	for ; tries > 0 && least > time.Second; tries-- {
		before := used(t)
		f()
		least = min(least, used(t)-before)
	}
	return least
}

func used(t *testing.T) time.Duration {
	t.Helper()
	const thread = 1 // RUSAGE_THREAD
	var u syscall.Rusage
	if err := syscall.Getrusage(thread, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
