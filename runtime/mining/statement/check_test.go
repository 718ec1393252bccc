package statement

import (
	"slices"
	"strings"
	"testing"
)

var solved = Material{
	Repo: "acme/parser", Number: 12, Title: "fix: ignore the inherited keys", Body: "x",
	Commits: []string{"0123abcd0123abcd0123abcd0123abcd0123abcd"},
	TestNames: []string{
		"tests/test_find.py::TestFindall::test_case_sensitivity[upper-lower]", "github.com/acme/parser::TestGetIP/nil_is_allowed_here",
		"test/pretty.test.js > pretty print > prints parametric routes", "com.acme.FooTest.shouldReturnNullWhenEmpty",
		"tests/x.rs::parse_version",
	},
	SourcePatch: patch(
		"src/find.py\n def old():\n-    return re.compile(pattern, flags)\n+def find_all(text, pattern, *,\n+             case_sensitive=False):\n+    \"\"\"Say it (loudly) in words = text.\n+\n+    >>> find_all('aXb', 'x')\n+    \"\"\"\n+    flags = 0 if case_sensitive else re.IGNORECASE\n+    # not (so) important = comment\n+    return re.compile(pattern, flags)\n+    for m in found:\n+        a = m\n+        total += a\n+        seen.add(a)\n+    raise ValueError('the pattern must not be empty')\n+DEFAULT_LIMIT = 4096\n+def parse_version(text): return tuple(map(int, text.split('.')))\n",
		"src/api.ts\n x\n+export interface Options {\n+  caseSensitive?: boolean;\n+}\n+export const findAll = (text: string, options?: Options): string[] => {\n+  return text.match(new RegExp(options.pattern, 'gi')) ?? [];\n+}\n+public static String render(Map<String, Integer> values) throws IOException {\n+  throw new RenderFailure(values);\n",
		"lib/render.rb\n x\n+  def render(values)\n+    values.map { |v| escape(v) }.join(', ')\n+\n",
		"db/views.sql\n x\n+SELECT id, sum(paid) FROM orders GROUP BY id HAVING count(*) > 1;\n",
		"guide.rst\n x\n+Use render(values) = all of them.\n",
		"README.md\n x\n+Call `find_all(text, case_sensitive=True)` for all that match.\n",
	),
	TestPatch: patch(
		"tests/test_find.py\n+class TestFindall:\n+    def test_case_sensitivity(self):\n+        helper()\n",
		"tests/data/config.json\n+{}\n",
		"pretty.test.js\n+it('draws the wonderful tree upside down', () => {})\n+test('works', () => {})\n+test('Ignore the inherited keys', () => {})\n",
	),
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       string // of the only offence; "" = there is none
	}{
		{"nothing", "", ""},
		{"plain words", "Find all matches in a text. An empty pattern is refused. There are 12 cases.", ""},
		{"declarations", "## Interface\n`find_all(text, pattern, *, case_sensitive=False)` in `src/find.py`:\n```\ndef find_all(text, pattern, *,\n             case_sensitive=False):\nDEFAULT_LIMIT = 4096\nexport interface Options {\n  caseSensitive?: boolean;\n}\nexport const findAll = (text: string, options?: Options): string[] => {\npublic static String render(Map<String, Integer> values) throws IOException {\n```", ""},
		{"messages", "It raises ValueError with 'the pattern must not be empty'.", ""},
		{"what is documented", "Call `find_all(text, case_sensitive=True)` for all that match.\n>>> find_all('aXb', 'x')\nSay it (loudly) in words = text.\nnot (so) important = comment", ""},
		{"a line that was there before", "It now calls `re.compile(pattern, flags)`.\n    return re.compile(pattern, flags)", ""},
		{"a line of the solution", "Use:\n\tflags = 0   if case_sensitive\n  else re.IGNORECASE", "a line of the solution: flags = 0 if case_sensitive else re.IGNORECASE"},
		{"a line within a sentence", "so `return text.match(new RegExp(options.pattern, 'gi')) ?? []` is it", "a line of the solution"},
		{"what is thrown", "raise ValueError('the pattern must not be empty')", "a line of the solution"},
		{"what is thrown elsewhere", "throw new RenderFailure(values)", "a line of the solution"},
		{"a body behind its declaration", "def parse_version(text): return tuple(map(int, text.split('.')))", "a line of the solution"},
		{"a line of Ruby", "values.map { |v| escape(v) }.join(', ')", "a line of the solution: values.map"},
		{"a declaration in Ruby", "def render(values)", ""},
		{"a line of SQL", "select with `SELECT id, sum(paid) FROM orders GROUP BY id HAVING count(*) > 1`", "a line of the solution: SELECT"},
		{"a guide", "Use render(values) = all of them.", ""},
		{"short lines one after the other", "for m in found:\n    a = m\n    total += a\n    seen.add(a)", "lines of the solution"},
		{"a test", "Make test_case_sensitivity pass.", "the name of a test: test_case_sensitivity"},
		{"a group of tests", "as in `TestFindall`", "the name of a test: TestFindall"},
		{"a test of Go", "See TestGetIP.", "the name of a test: TestGetIP"},
		{"a test in camels", "x.shouldReturnNullWhenEmpty()", "the name of a test: shouldReturnNullWhenEmpty"},
		{"a test that is a sentence", "It prints  Parametric\nroutes.", "the name of a test: prints parametric routes"},
		{"a sentence of the test patch", "It draws the wonderful tree upside down.", "the name of a test"},
		{"a test called as the solution's function", "Write parse_version.", ""},
		{"a test called as the pull request", "Ignore the inherited keys.", ""},
		{"a test with a short name", "It works, and prints.", ""},
		{"a file of tests", "Look into test_find.py.", "the test file test_find.py"},
		{"a path of the tests", "Look into tests/data/config.json.", "the test file tests/data/config.json"},
		{"a name that many files have", "Read config.json.", ""},
		{"a file of tests beside the sources", "See pretty.test.js.", "the test file pretty.test.js"},
		{"the number", "Fix it (#12).", "the number of the pull request"},
		{"the number with the repository", "See acme/parser#12", "the number of the pull request"},
		{"the number as GH-12", "Closes gh-12.", "the number of the pull request"},
		{"another number", "As in #123, #1 and issue 12.", ""},
		{"any pull request", "Follows PR #7", "a pull request: PR #7"},
		{"any pull request in words", "after pull request 7", "a pull request"},
		{"words like it", "Prefetch: pull 10 messages, spread 5 ways.", ""},
		{"a link to a change", "https://github.com/acme/parser/pull/13/files", "links to"},
		{"a link to an issue of the repository", "https://github.com/Acme/Parser/issues/9", "the discussion at acme/parser"},
		{"a link to a commit elsewhere", "https://gitlab.example.com/a/b/-/commit/abc", "links to a change"},
		{"a link to a manual", "https://docs.python.org/3/library/re.html#re.compile", ""},
		{"a commit", "Since ffffffffffffffffffffffffffffffffffffffff it fails.", "a commit"},
		{"a commit in short", "Since commit fffffff it fails.", "a commit"},
		{"its own commit", "Since 0123abcd01 it fails.", "a commit: 0123abc"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Check(tt.text, solved)
			if tt.want == "" && len(got) > 0 {
				t.Errorf("there is %q", got)
			}
			if tt.want != "" && !slices.ContainsFunc(got, func(o string) bool { return strings.Contains(o, tt.want) }) {
				t.Errorf("there is %q, want %q", got, tt.want)
			}
		})
	}
}

func TestCheckIsBounded(t *testing.T) {
	var text strings.Builder
	for range 1000 {
		text.WriteString("https://github.com/a/b/pull/1 and " + strings.Repeat("x", 10) + "\n")
	}
	for _, l := range strings.Split(string(solved.SourcePatch), "\n") {
		text.WriteString(strings.TrimPrefix(l, "+") + "\n")
	}
	got := Check(text.String(), solved)
	if len(got) == 0 || len(got) > maxOffences || !slices.Equal(got, Check(text.String(), solved)) {
		t.Errorf("%d offences", len(got))
	}
	seen := map[string]bool{}
	for _, o := range got {
		if seen[o] || len(o) > 2*maxShown {
			t.Errorf("%q", o)
		}
		seen[o] = true
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("flags = 0 if case_sensitive else re.IGNORECASE #12", "src/x.py\n+flags = 0 if x else y\n", "a.py::TestX::test_y[1]", 12)
	f.Add("https://github.com/acme/parser/pull/13/files\xff", "diff --git", "a > b > c d e", 0)
	f.Fuzz(func(t *testing.T, text, diff, name string, number int) {
		m := Material{Repo: "acme/parser", Number: number, SourcePatch: []byte(diff), TestPatch: []byte(diff), TestNames: []string{name}}
		got := Check(text, m)
		if len(got) > maxOffences {
			t.Errorf("%d offences", len(got))
		}
		if !slices.Equal(got, Check(text, m)) {
			t.Error("the same text has other offences")
		}
		if len(Check("", m)) > 0 {
			t.Errorf("nothing has offences: %q", Check("", m))
		}
	})
}
