package decoy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/judge/parser"
)

func TestTheTableHasEveryParser(t *testing.T) {
	var names []string
	for _, s := range Table() {
		names = append(names, s.Parser)
		if (s.Language == "") == (s.Reason == "") {
			t.Errorf("%s has the language %q, and none because %q", s.Parser, s.Language, s.Reason)
		}
		if language, reason := Supported(s.Parser); language != s.Language || reason != s.Reason {
			t.Errorf("%s: %q, %q", s.Parser, language, reason)
		}
		if s.Language != "" && languages()[s.Language] == nil {
			t.Errorf("%s: the language %s is not there", s.Parser, s.Language)
		}
	}
	if diff := cmp.Diff(parser.Names(), names); diff != "" {
		t.Errorf("other parsers than there are (-parsers +table):\n%s", diff)
	}
}

func TestNothingIsProposedWithoutALanguage(t *testing.T) {
	for name, want := range map[string]string{"reward": "it names no test of a file", "junit": "any language", "mine": "not known"} {
		if _, err := Propose(name, nil, []string{"a"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

func TestApply(t *testing.T) {
	const src = "assert a == 1 and b == 22\n"
	one := Variant{Test: "t", File: "f", From: 12, To: 13, Old: "1", New: "2"}
	other := Variant{Test: "u", File: "f", From: 23, To: 25, Old: "22", New: "7"}
	for _, tt := range []struct {
		name     string
		variants []Variant
		want     string
		err      string
	}{
		{name: "none", want: src},
		{name: "in any order", variants: []Variant{other, one}, want: "assert a == 2 and b == 7\n"},
		{name: "removed", variants: []Variant{{From: 13, To: 25, Old: src[13:25]}}, want: "assert a == 1\n"},
		{name: "twice the same", variants: []Variant{one, one}, err: "another variant changes the same"},
		{name: "overlapping", variants: []Variant{other, {From: 22, To: 24, Old: " 2", New: " 3"}}, err: "another variant changes the same"},
		{name: "something else is there", variants: []Variant{{From: 11, To: 12, Old: "1", New: "2"}}, err: "is not there"},
		{name: "beyond the end", variants: []Variant{{From: 25, To: 27, Old: "\n1", New: "2"}}, err: "is not there"},
		{name: "before the beginning", variants: []Variant{{From: -1, To: 1, Old: "a", New: "b"}}, err: "is not there"},
		{name: "of no bytes", variants: []Variant{{From: 1, To: 1, New: "b"}}, err: "is not there"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			content := []byte(src)
			got, err := Apply(content, tt.variants)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil || string(got) != tt.want || string(content) != src {
				t.Errorf("got %q (%v), want %q; the content is %q", got, err, tt.want, content)
			}
		})
	}
}

func TestNamesThatMeanNothingHere(t *testing.T) {
	assertion := "def test_a():\n    assert a() == 1\n"
	for _, tt := range []struct {
		name, parser, test string
		files              map[string]string
		want               string
	}{
		{"in no file", "pytest", "tests/test_a.py::test_b", map[string]string{"tests/test_a.py": assertion}, "it is in none of the files"},
		{"in another file", "pytest", "tests/test_b.py::test_a", map[string]string{"tests/test_a.py": assertion}, "it is in none of the files"},
		{"in a file of another language", "pytest", "test_a.py::test_a", map[string]string{"test_a.txt": assertion}, "it is in none of the files"},
		{"in several files", "node", "a", map[string]string{"a.js": "test('a', () => {})", "b.js": "test('a', () => {})"}, "several tests have this name"},
		{
			"in a file that is too large", "pytest", "test_a.py::test_a",
			map[string]string{"test_a.py": assertion + strings.Repeat("#\n", maxFile/2)},
			"it is in none of the files, and some files are too large to be looked at",
		},
		{"with a long name", "pytest", strings.Repeat("a", maxName+1), map[string]string{"test_a.py": assertion}, "its name is too long"},
		{"of documentation", "cargo", "src/lib.rs - add (line 3)", nil, "it is an example of the documentation"},
		{"with nothing to change", "pytest", "test_a.py::test_a", map[string]string{"test_a.py": "def test_a():\n    pass\n"}, "nothing in it can be changed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string][]byte{}
			for name, text := range tt.files {
				files[name] = []byte(text)
			}
			p, err := Propose(tt.parser, files, []string{tt.test})
			if err != nil || p.None[tt.test] != tt.want || len(p.Variants) > 0 {
				t.Errorf("none because %q (%v), want %q; variants: %+v", p.None[tt.test], err, tt.want, p.Variants)
			}
		})
	}
}

// TestTheSecondOfAName finds tests that have one name, by the number that parsers add.
func TestTheSecondOfAName(t *testing.T) {
	files := map[string][]byte{"a.test.js": []byte("test('a', () => { assert.equal(f(), 1) })\ntest('a', () => { assert.equal(f(), 5) })\n")}
	p, err := Propose("node", files, []string{"a", "a #2", "a #3"})
	if err != nil {
		t.Fatal(err)
	}
	got := first(p, "a") + ", " + first(p, "a #2") + ", " + p.None["a #3"]
	if want := "1 -> 2, 5 -> 6, several tests have this name"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPathsOfOneName finds tests that have one name in the file that their path means.
func TestPathsOfOneName(t *testing.T) {
	for parser, names := range map[string][2]string{
		"gotest": {"example.com/m/a::TestA", "example.com/m/a/b::TestA"},
		"pytest": {"a/test_x.py::test_a", "a/b/test_x.py::test_a"},
		"cargo":  {"a::x::test_a", "a::b::x::test_a"},
	} {
		text := map[string]string{
			"gotest": "package x\n\nfunc TestA(t *testing.T) {\n\tif f() != %d {\n\t\tt.Fatal()\n\t}\n}\n",
			"pytest": "def test_a():\n    assert f() == %d\n",
			"cargo":  "#[test]\nfn test_a() { assert_eq!(f(), %d); }\n",
		}[parser]
		file := map[string]string{"gotest": "x_test.go", "pytest": "test_x.py", "cargo": "x.rs"}[parser]
		files := map[string][]byte{"a/" + file: fmt.Appendf(nil, text, 1), "a/b/" + file: fmt.Appendf(nil, text, 5)}
		p, err := Propose(parser, files, names[:])
		if err != nil {
			t.Fatal(err)
		}
		if got, want := first(p, names[0])+", "+first(p, names[1]), "1 -> 2, 5 -> 6"; got != want {
			t.Errorf("%s: got %q, want %q (%v)", parser, got, want, p.None)
		}
	}
}

// first is the best variant of a test.
func first(p Proposal, test string) string {
	if len(p.Variants[test]) == 0 {
		return ""
	}
	return p.Variants[test][0].Old + " -> " + p.Variants[test][0].New
}
