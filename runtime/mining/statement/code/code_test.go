package code

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestFiles(t *testing.T) {
	diff := `diff --git a/old name.py b/new name.py
similarity index 90%
rename from old name.py
rename to new name.py
index 1111111..2222222 100644
--- a/old name.py	
+++ b/new name.py	
@@ -1,3 +1,3 @@ def f():
 kept
--- a/sly.py
+++ b/sly.py

@@ -10 +10,2 @@
-x
+y
+z
\ No newline at end of file
diff --git "a/\303\274.go" "b/\303\274.go"
new file mode 100644
index 0000000..3333333
--- /dev/null
+++ "b/\303\274.go"
@@ -0,0 +1 @@
+package x` + "\r" + `
diff --git a/gone.go b/gone.go
deleted file mode 100644
--- a/gone.go
+++ /dev/null
@@ -1 +0,0 @@
-package x
diff --git a/bin b/bin
index 1..2 100644
GIT binary patch
literal 5
+++ nonsense
diff --git a/mode.sh b/mode.sh
old mode 100644
new mode 100755
`
	want := []File{
		{"new name.py", true, []Hunk{
			{{"kept", ' '}, {"-- a/sly.py", '-'}, {"++ b/sly.py", '+'}, {"", ' '}},
			{{"x", '-'}, {"y", '+'}, {"z", '+'}},
		}},
		{"ü.go", true, []Hunk{{{"package x", '+'}}}},
		{"gone.go", false, []Hunk{{{"package x", '-'}}}},
		{"bin", false, nil},
		{"mode.sh", false, nil},
	}
	if diff := cmp.Diff(want, Files([]byte(diff))); diff != "" {
		t.Error(diff)
	}
	for _, none := range []string{"", "no diff at all\n", "@@ -1 +1 @@\n-x\n+y\n"} {
		if got := Files([]byte(none)); len(got) != 0 {
			t.Errorf("%q has files %v", none, got)
		}
	}
}

// written is a file with lines that all are added.
func written(name, text string) File {
	f := File{Name: name, Hunks: []Hunk{nil}}
	for line := range strings.Lines(text) {
		f.Hunks[0] = append(f.Hunks[0], Line{strings.TrimSuffix(line, "\n"), '+'})
	}
	return f
}

// spelled are tokens as a text: strings in quotes, each line a line.
func spelled(tokens []Token) string {
	var b strings.Builder
	for i, t := range tokens {
		if i > 0 {
			b.WriteString(map[bool]string{true: "\n", false: " "}[t.First])
		}
		if t.Kind == Text {
			fmt.Fprintf(&b, "%q", t.Value)
		} else {
			b.WriteString(t.Value)
		}
	}
	return b.String()
}

func TestTokens(t *testing.T) {
	for _, tt := range []struct{ file, text, want string }{
		{"x.py", "a = 'it''s' # not 'this\n", `a = "it" "s"`},
		{"x.py", "def f():\n    \"\"\"Say 'x'\n    \"and\" y.\n    \"\"\"\n    return f'{a}: \\'b\\n' + r'\\d\\'' + b\"x\"\n", "def f ( ) :\n" + `return "{a}: 'b\n" + "\\d\\'" + "x"`},
		{"x.py", "a = \"\"\"one\ntwo\"\"\"\nf(\n'''three'''\n)\n", "a = \"one\\ntwo\"\nf (\n\"three\"\n)"},
		{"x.py", "x = 'torn\ny = 1\n", "x = \"torn\"\ny = 1"},
		{"x.py", "a := b == c -> d\n", "a := b == c -> d"},
		{"x.go", "s := `raw \\n \"x\n y` + \"a\\\"b\" // c\nr := '\\''\n/* gone\n gone */ t = 0x1F + 1_000.5e3\n", "s := \"raw \\\\n \\\"x\\n y\" + \"a\\\"b\"\nr := \"'\"\nt = 0x1F + 1_000.5e3"},
		{"x.js", "const re = /[\"'/]+\\//g, d = a / b / c\nx = `one ${two} 'three'\nfour`\n$a?.b('c')\n", "const re = \"[\\\"'/]+\\\\/\" , d = a / b / c\nx = \"one ${two} 'three'\\nfour\"\n$a ?. b ( \"c\" )"},
		{"x.js", "/[ / x/ 'y'\n", "/ [ \" x\" \"y\""},
		{"x.rs", "fn f<'a>(x: &'a str) -> char { '\\'' }\nlet s = r#\"a \"b\" c\"#; let c = 'x'; let b = b\"y\";\n", "fn f < ' a > ( x : & ' a str ) -> char { \"'\" }\nlet s = \"a \\\"b\\\" c\" ; let c = \"x\" ; let b = \"y\" ;"},
		{"x.java", "/**\n * it's \"documented\"\n */\nString s = \"\"\"\n  text \"block\"\n  \"\"\"; char c = '\"';\n", "String s = \"\\n  text \\\"block\\\"\\n  \" ; char c = \"\\\"\" ;"},
		{"x.cpp", "auto s = R\"x(a \"b\" )y)x\"; auto t = u8\"z\"; // 'no\n#include \"foo.h\"\n", "auto s = \"a \\\"b\\\" )y\" ; auto t = \"z\" ;\n# include \"foo.h\""},
		{"x.c", " * within a comment that's \"cut\n */\nint x;\n", "int x ;"},
		{"x.py", "größe = übung\n", "größe = übung"},
	} {
		tokens := written(tt.file, tt.text).Tokens()
		if len(tokens) != 1 {
			t.Fatalf("%d hunks", len(tokens))
		}
		if got := spelled(tokens[0]); got != tt.want {
			t.Errorf("%s: %s\ngot  %q\nwant %q", tt.file, tt.text, got, tt.want)
		}
	}
}

func TestTokensKnowTheirLines(t *testing.T) {
	f := File{Name: "x.py", Hunks: []Hunk{{{"a", ' '}, {"b", '-'}, {"c", '+'}, {strings.Repeat("x", maxLine+1), '+'}, {"d", '+'}}}}
	want := [][]Token{{
		{Value: "a", Line: 0, First: true},
		{Value: "c", Line: 2, First: true, Space: true, Added: true},
		{Value: "d", Line: 4, First: true, Space: true, Added: true},
	}}
	if diff := cmp.Diff(want, f.Tokens()); diff != "" {
		t.Error(diff)
	}
	if got := written("README.md", "It's a text.\n").Tokens(); got != nil {
		t.Errorf("prose has tokens: %v", got)
	}
}

// A pattern that is never closed is looked for once in a line, with slashes that begin others.
func TestPatternsThatAreNeverClosed(t *testing.T) {
	draw := rapid.SliceOf(rapid.SampledFrom([]string{"/", "[", "]", "\\", "x", " ", "(", "\n"}))
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(draw.Draw(t, "text"), "") + "\n"
		one, each := lexer{language: JavaScript, text: text, starts: []start{{}}}, lexer{language: JavaScript, text: text, starts: []start{{}}, fresh: true}
		for each.at < len(text) {
			each.unclosed = 0
			each.next()
		}
		if diff := cmp.Diff(each.all, one.tokens()); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	})
	x := lexer{language: JavaScript, text: strings.Repeat("/[", 1<<20), starts: []start{{}}}
	if n := len(x.tokens()); n != 2<<20 {
		t.Errorf("%d tokens", n)
	}
}

// keys are what a set holds, as a text.
func keys(set map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(set)), " ") }

func TestDefinitions(t *testing.T) {
	for _, tt := range []struct{ file, text, variables, members string }{
		{
			"x.py", "import os as system\nfrom mod import thing as other, plain\nclass Case(Base):\n    limit: int = 3\n    def test_it(self, given, *args, flag=True, **more):\n        self.seen = []\n        a, b = pair()\n        called(keyword=1, second = 2)\n        with open(p) as handle:\n            for i, row in enumerate(handle):\n                obj.attribute = lambda q: q\n",
			"a args b flag given handle i limit more other q row system", "Case seen test_it",
		},
		{
			"x.go", "type fake struct {\n\tname string\n\tlow, high int\n}\nvar (\n\tglobal = 1\n)\nfunc (f *fake) Close(ctx context.Context, ids ...string) error {\n\tgot, err := Parse(input)\n\tfor _, tt := range cases {\n\t\tUse(Options{Strict: true})\n\t\tt.Run(tt.name, func(inner *testing.T) {})\n\t}\n}\nfunc generic[K any](key K) {}\nconst limit = 3\n",
			"_ ctx err f global got ids inner key limit tt", "Close fake generic high low name",
		},
		{
			"x.js", "import main, { Needed } from '../lib'\nimport * as all from 'x'\nconst { taken } = require('..')\nlet count = 0\nfunction helper (first, { inside }, last = 1) {}\nclass Fake {\n  method (arg) {\n    list.map((item, i) => item.id)\n    if (count) { use({ option: true }) }\n  }\n}\ntry {} catch (problem) {}\n",
			"all arg count first i item last main problem", "Fake helper method",
		},
		{
			"x.rs", "use crate::{Needed, other as renamed};\nmacro_rules! check { () => {} }\nstruct Fake<T> {\n    name: T,\n}\nfn helper<T>(left: &T, mut right: u8) {\n    let mut total = 0;\n    let (a, b) = pair();\n    for row in rows.iter().map(|x| x.field) {}\n    call(Options { strict: true });\n}\n",
			"a b left renamed right row total x", "Fake check helper name",
		},
		{
			"x.java", "class FooTest extends Base {\n  private static final int LIMIT = 3;\n  @Test void doesIt(List<String> names, int[] ids) throws Exception {\n    Foo foo = new Foo(bar);\n    for (String s : names) { use(foo.baz(), MAX > 3); }\n    names.forEach(n -> n.trim());\n  }\n}\n",
			"LIMIT foo ids n names s", "FooTest doesIt",
		},
		{
			"x.cpp", "#define HELPER 1\nstruct Fake { int held; };\nstatic int run(const char *text, Foo& foo) {\n  Bar bar(foo, text);\n  auto x = a * b;\n  return other(x);\n}\n",
			"bar foo held text x", "Fake HELPER run",
		},
		{"x.kt", "fun helper(one: Int) { val two = three }\n", "one two", "helper"},
	} {
		n := written(tt.file, tt.text).Names(false)
		if got := keys(n.Variables); got != tt.variables {
			t.Errorf("%s variables\ngot  %s\nwant %s", tt.file, got, tt.variables)
		}
		if got := keys(n.Members); got != tt.members {
			t.Errorf("%s members\ngot  %s\nwant %s", tt.file, got, tt.members)
		}
	}
}

func TestDefinitionsOfAddedLinesAlone(t *testing.T) {
	f := File{Name: "x.py", Hunks: []Hunk{{{"def old():", ' '}, {"    fresh = 1", '+'}, {"def gone():", '-'}}}}
	if n := f.Names(true); keys(n.Variables)+keys(n.Members) != "fresh" {
		t.Errorf("%+v", n)
	}
	if n := f.Names(false); keys(n.Variables) != "fresh" || keys(n.Members) != "old" {
		t.Errorf("%+v", n)
	}
}

func TestUses(t *testing.T) {
	for _, tt := range []struct{ file, text, attached, bare, rooted string }{
		{"x.py", "from collections import OrderedDict\nfrom tools.models import (\n    Config,\n)\nOrderedDict(Config(strict=mode).value, os.path.join(x))\n", "Config OrderedDict collections models path strict tools value", "mode os x", "OrderedDict os path collections"},
		{"x.go", "got := Parse(strings.HasPrefix(a), opts.Strict, Options{Loose: b})\n", "HasPrefix Loose Strict", "Options Parse a b got opts strings", "HasPrefix strings"},
		{"x.js", "const { readFile } = require('node:fs')\nreadFile(make({ sorted: on }).result, JSON.parse(x))\n", "parse result sorted", "JSON fs make on readFile x", "JSON parse readFile"},
		{"x.rs", "use std::collections::{BTreeMap, HashMap};\nuse crate::Parser;\nBTreeMap::new(Parser::strict(x.deep))\n", "Parser collections deep strict", "std x", "std BTreeMap HashMap collections"},
		{"x.java", "import java.util.function.Supplier;\nimport com.foo.Bar;\nSupplier s = Bar.make();\n", "Bar Supplier foo make util", "com java s", "Supplier util java"},
	} {
		n := written(tt.file, tt.text).Names(false)
		attached, rooted := map[string]bool{}, map[string]bool{}
		for word, use := range n.Used {
			if use.Attached {
				attached[word] = true
			}
			if use.Rooted {
				rooted[word] = true
			}
		}
		for _, word := range strings.Fields(tt.attached) {
			if !attached[word] {
				t.Errorf("%s: %s is not attached", tt.file, word)
			}
		}
		for _, word := range strings.Fields(tt.bare) {
			if attached[word] {
				t.Errorf("%s: %s is attached", tt.file, word)
			}
		}
		want := strings.Fields(tt.rooted)
		for word := range n.Used {
			if slices.Contains(want, word) != rooted[word] {
				t.Errorf("%s: %s is rooted: %v", tt.file, word, rooted[word])
			}
		}
	}
}

func TestPathsAreNoTexts(t *testing.T) {
	for _, tt := range []struct{ file, text, paths, texts string }{
		{"x.go", "import \"one\"\nimport (\n\t\"two\"\n\talias \"three\"\n\t_ \"four\"\n)\nfunc f() string {\n\tuse(\n\t\t\"a\",\n\t\tx +\n\t\t\"b\")\n\treturn \"c\"\n}\n", "one two three four", "a b c"},
		{"x.js", "import a from 'one'\nimport 'two'\nconst x = require('three')\nf('a')\n", "one two three", "a"},
		{"x.c", "#include \"one\"\nf(\"a\");\n", "one", "a"},
		{"x.py", "import one\nf('a')\n", "", "a"},
	} {
		n := written(tt.file, tt.text).Names(true)
		var texts []string
		for _, one := range n.Texts {
			texts = append(texts, one.Value)
		}
		if got := strings.Join(n.Paths, " "); got != tt.paths {
			t.Errorf("%s: paths %s, want %s", tt.file, got, tt.paths)
		}
		if got := strings.Join(texts, " "); got != tt.texts {
			t.Errorf("%s: texts %s, want %s", tt.file, got, tt.texts)
		}
	}
}

func TestTestNames(t *testing.T) {
	for _, tt := range []struct{ file, text, want string }{
		{"test_x.py", "class TestFoo:\n    def test_bar(self):\n        pass\n", "TestFoo test_bar"},
		{"x_test.go", "func TestBar(t *testing.T) {\n\tt.Run(\"empty input\", nil)\n\tuse(\"other\")\n}\n", "TestBar empty input"},
		{"x.test.js", "describe('group', () => {\n  it.only('does it', () => { expect('no') })\n})\n", "does it group"},
		{"x.cpp", "TEST_F(Fixture, DoesIt) {\n}\n", "DoesIt Fixture"},
	} {
		if got := strings.Join(written(tt.file, tt.text).TestNames(), " "); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.file, got, tt.want)
		}
	}
}

func TestExcerpt(t *testing.T) {
	diff := "diff --git a/x b/x\n@@ -1 +1,2 @@\n-a\n+bb\n+ccc\n"
	if got := Excerpt([]byte(diff), len(diff)); got != diff {
		t.Errorf("what is within its bound is changed: %q", got)
	}
	want := "diff --git a/x b/x\n@@ -1 +1,2 @@\n-a\n+bb\n\n[cut here: these are 40 of 45 bytes. It changes 1 files:]\nx +2 -1\n"
	if got := Excerpt([]byte(diff), 42); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzTokens(f *testing.F) {
	for _, name := range []string{"x.py", "x.go", "x.js", "x.rs", "x.java", "x.c"} {
		f.Add(name, "a = 'b' # c\nfunc (x T) f(y int) { z := `q` }\n/* \"\"\" r#\"\n")
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		file := written(name, text)
		for _, tokens := range file.Tokens() {
			for _, token := range tokens {
				if token.Line < 0 || token.Line >= len(file.Hunks[0]) || !token.Added {
					t.Errorf("%+v is of no line", token)
				}
				if token.Kind != Text && (token.Value == "" || !strings.Contains(text, token.Value)) {
					t.Errorf("%+v is not in the text", token)
				}
			}
		}
		file.Names(true)
		file.TestNames()
	})
}

func FuzzFiles(f *testing.F) {
	f.Add("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n+b\n+c\n")
	f.Add("diff --git \"a/\\\" b\nrename to \"\n@@ -1,99999999999999999999 +1 @@\n")
	f.Fuzz(func(t *testing.T, diff string) {
		for _, file := range Files([]byte(diff)) {
			for _, h := range file.Hunks {
				for _, l := range h {
					if !strings.Contains(diff, l.Text) || strings.IndexByte("+- ", l.Kind) < 0 {
						t.Errorf("%+v is no line of the diff", l)
					}
				}
			}
		}
		Excerpt([]byte(diff), len(diff)/2)
	})
}
