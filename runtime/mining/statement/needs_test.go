package statement

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// patch is a diff of files, each "NAME\n" and lines that begin with "+", "-" or " ". One of
// added lines alone is a new file.
func patch(files ...string) []byte {
	var b strings.Builder
	for _, f := range files {
		name, text, _ := strings.Cut(f, "\n")
		old, made := 0, 0
		for line := range strings.Lines(text) {
			switch line[0] {
			case '+':
				made++
			case '-':
				old++
			default:
				old, made = old+1, made+1
			}
		}
		fmt.Fprintf(&b, "diff --git a/%s b/%s\n", name, name)
		if old == 0 {
			fmt.Fprintf(&b, "new file mode 100644\n--- /dev/null\n")
		} else {
			fmt.Fprintf(&b, "--- a/%s\n", name)
		}
		fmt.Fprintf(&b, "+++ b/%s\n@@ -1,%d +1,%d @@\n%s", name, old, made, text)
	}
	return []byte(b.String())
}

// base is a tree in which some words stand.
func base(words ...string) func([]string) (map[string]bool, error) {
	return func(asked []string) (map[string]bool, error) {
		there := map[string]bool{}
		for _, word := range asked {
			there[word] = slices.Contains(words, word)
		}
		return there, nil
	}
}

func TestNeeds(t *testing.T) {
	for _, tt := range []struct {
		name         string
		source, test []byte
		base         []string
		text         string
		want         []string
	}{
		{
			name:   "a function that only the solution names",
			source: patch("parse.py\n def old():\n     pass\n+def find_all(text, *, case_sensitive=True):\n+    return old(text)\n"),
			test:   patch("test_parse.py\n+from parse import find_all\n+def test_it():\n+    assert find_all('x', case_sensitive=False) == []\n"),
			want:   []string{"case_sensitive", "find_all"},
		},
		{
			name:   "what is in the base or in the statement is known",
			source: patch("parse.py\n def old():\n     pass\n+def find_all(text, *, case_sensitive=True, limit=None):\n+    return old(text)\n"),
			test:   patch("test_parse.py\n+def test_it():\n+    assert find_all('x', case_sensitive=False, limit=3) == []\n"),
			base:   []string{"case_sensitive"}, text: "Add `find_all(text)`. There are no limits.",
			want: []string{"limit"},
		},
		{
			name:   "names that the tests define themselves, and what comes with the language",
			source: patch("x.py\n a\n+import os\n+from collections import OrderedDict\n+def run(helper, value, result):\n+    total = OrderedDict(os.path.abspath(value))\n+    return isinstance(total, dict)\n"),
			test:   patch("test_x.py\n+import os\n+from collections import OrderedDict\n+class Fake:\n+    def helper(self, value):\n+        result = OrderedDict()\n+        total = os.path.abspath(value)\n+        assert isinstance(result, dict), total\n+        return self.helper(result)\n"),
		},
		{
			name:   "a member is needed though a variable is called the same",
			source: patch("x.py\n a\n+class Thing:\n+    def __init__(self):\n+        self.amount = 1\n"),
			test:   patch("test_x.py\n+def test_it(make):\n+    amount = make().amount\n+    assert amount == 1\n"),
			want:   []string{"amount"},
		},
		{
			name:   "new modules, attributes and constants in Python",
			source: patch("tools/config_models.py\n+class ServerConfig:\n+    bind_port: int = 8731\n+    version = '1.13.1'\n", "tools/__init__.py\n+\n"),
			test:   patch("tests/test_config.py\n+from tools.config_models import ServerConfig\n+def test_defaults():\n+    assert ServerConfig().bind_port == 8731\n+    assert ServerConfig.version == '1.13.1'\n+    assert len([1, 2]) == 2\n"),
			base:   []string{"tools", "version"},
			want:   []string{"1.13.1", "8731", "ServerConfig", "bind_port", "config_models"},
		},
		{
			name:   "messages, whole, in part, filled in, and as patterns",
			source: patch("x.py\n a\n+def f(n):\n+    raise ValueError('the name must not be empty')\n+    raise KeyError(f'no such entry {n} in the table')\n+    raise TypeError('cannot add (yet)')\n+    log('told to nobody else')\n"),
			test:   patch("test_x.py\n+def test_f():\n+    with pytest.raises(ValueError, match='must not be empty'):\n+        f('')\n+    assert str(e) == 'no such entry k in the table'\n+    with pytest.raises(TypeError, match=r'^cannot add \\(yet\\)$'):\n+        f(1)\n+    assert f(2) == 'unrelated data'\n"),
			want:   []string{"cannot add (yet)", "must not be empty", "no such entry"},
			base:   []string{"f"},
		},
		{
			name:   "a message that the statement has",
			source: patch("x.py\n a\n+def f(n):\n+    raise ValueError('the name must not be empty')\n"),
			test:   patch("test_x.py\n+def test_f():\n+    check('the name must not be empty')\n"),
			text:   "An empty name is refused with \"the name must\nnot be empty\".",
		},
		{
			name:   "docstrings and comments need nothing",
			source: patch("x.py\n a\n+def f(n):\n+    \"\"\"Calls wonderful things, 'like this one'.\"\"\"\n+    # wonderful comment\n+    return n\n"),
			test:   patch("test_x.py\n+def test_f():\n+    \"\"\"A wonderful test.\"\"\"\n+    assert wonderful('like this one')\n"),
		},
		{
			name:   "an exported name in Go, and options",
			source: patch("ip.go\n x\n+// NilDefault says so.\n+type Options struct {\n+\tNilDefault bool\n+}\n+func GetOptional(o Options) (net.IP, error) {\n+\tif strings.HasPrefix(o.name, \"x\") {\n+\t\treturn nil, errors.New(\"no default given\")\n+\t}\n+\treturn nil, nil\n+}\n"),
			test:   patch("ip_test.go\n+func TestNil(t *testing.T) {\n+\tgot, err := GetOptional(Options{NilDefault: true})\n+\tif err == nil || !strings.HasPrefix(err.Error(), \"no default given\") {\n+\t\tt.Fatal(got)\n+\t}\n+}\n"),
			base:   []string{"Options"},
			want:   []string{"GetOptional", "NilDefault", "no default given"},
		},
		{
			name:   "a package of Go by its path",
			source: patch("internal/widget/widget.go\n+package widget\n+func Make() {}\n"),
			test:   patch("internal/widget/widget_test.go\n+package widget_test\n+import \"example.com/internal/widget\"\n+func TestMake(t *testing.T) { widget.Make() }\n"),
			want:   []string{"Make", "widget"},
		},
		{
			name:   "JavaScript: what is taken out of a module, its path, and keys",
			source: patch("lib/pretty-print.js\n+'use strict'\n+const fs = require('node:fs')\n+function prettyTree (tree, { commonPrefix = true }) { return fs.readFileSync(tree) }\n+module.exports = { prettyTree }\n"),
			test:   patch("test/pretty.test.js\n+const fs = require('node:fs')\n+const { prettyTree } = require('../lib/pretty-print')\n+test('prints', t => {\n+  const tree = fs.readFileSync('x')\n+  t.equal(prettyTree(tree, { commonPrefix: false }), `expected`)\n+})\n"),
			want:   []string{"commonPrefix", "pretty-print", "prettyTree"},
		},
		{
			name:   "TypeScript: a default import may be called anything",
			source: patch("src/cache/index.ts\n+export default class TtlCache<K> {\n+  maxEntries: number = 12.75\n+}\n"),
			test:   patch("src/cache.spec.ts\n+import Cache from './cache'\n+it('holds', () => { expect(new Cache<string>().maxEntries).toBe(12.75) })\n"),
			want:   []string{"12.75", "cache", "maxEntries"},
		},
		{
			name:   "Rust: methods, variants and messages",
			source: patch("src/req.rs\n x\n+pub enum Bound { Exclusive, Inclusive }\n+impl Req {\n+    pub fn upper_bound(&self) -> Option<Bound> {\n+        panic!(\"unbounded requirement {}\", self)\n+    }\n+}\n"),
			test:   patch("tests/test_req.rs\n+use std::collections::HashMap;\n+#[test]\n+fn test_upper() {\n+    let r: HashMap<u8, u8> = HashMap::new();\n+    assert_eq!(req(\"<1\").upper_bound(), Some(Bound::Exclusive));\n+    assert_panic(\"unbounded requirement *\");\n+}\n"),
			base:   []string{"Req"},
			want:   []string{"Bound", "Exclusive", "unbounded requirement", "upper_bound"},
		},
		{
			name:   "Java: classes by name, accessors, and names in strings",
			source: patch("src/main/java/global/s3/S3Service.java\n+package global.s3;\n+public class S3Service {\n+  private Long industryId;\n+  public String presignedUrl(String key) { return key; }\n+}\n"),
			test:   patch("src/test/java/S3Test.java\n+import java.util.List;\n+class S3Test {\n+  @Test void reflects() throws Exception {\n+    Class<?> c = Class.forName(\"global.s3.S3Service\");\n+    assertNotNull(c.getDeclaredMethod(\"presignedUrl\", String.class));\n+    assertEquals(\"industryId\", json.key());\n+  }\n+}\n"),
			base:   []string{"key"},
			want:   []string{"S3Service", "industryId", "presignedUrl"},
		},
		{
			name:   "C++: functions, headers and macros",
			source: patch("include/ring_buffer.h\n+#pragma once\n+#define RING_LIMIT 4096\n+namespace ring { bool push_back_if(int value); }\n"),
			test:   patch("tests/ring_test.cpp\n+#include \"ring_buffer.h\"\n+TEST(Ring, Pushes) {\n+  int value = RING_LIMIT;\n+  EXPECT_TRUE(ring::push_back_if(value));\n+}\n"),
			want:   []string{"RING_LIMIT", "push_back_if", "ring", "ring_buffer"},
		},
		{
			name:   "what the tests take away is not needed",
			source: patch("x.py\n a\n+def gone(): pass\n"),
			test:   patch("test_x.py\n-    gone()\n+    pass\n"),
		},
		{
			name:   "what is written for people, or in no language that is read",
			source: patch("README.md\n a\n+Call the `wonderful` thing.\n", "data.json\n+{\"wonderful\": 1}\n"),
			test:   patch("test_x.py\n+    wonderful(1)\n"),
		},
		{name: "no patches"},
		{name: "no tests", source: patch("x.py\n a\n+def f(): pass\n")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Needs(tt.source, tt.test, base(tt.base...), tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.Transformer("", func(s []string) string { return strings.Join(s, "|") })); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNeedsAsksTheBaseOnceAndOnlyForWhatIsOpen(t *testing.T) {
	source := patch("x.py\n a\n+def first(): pass\n+def second(): pass\n+def third(): pass\n")
	test := patch("test_x.py\n+def test_x(): first(second(third()))\n")
	var asked [][]string
	_, err := Needs(source, test, func(words []string) (map[string]bool, error) {
		asked = append(asked, slices.Clone(words))
		return nil, nil
	}, "Make third.")
	if diff := cmp.Diff([][]string{{"first", "second"}}, asked); diff != "" || err != nil {
		t.Error(err, diff)
	}
	broken := errors.New("broken")
	if _, err := Needs(source, test, func([]string) (map[string]bool, error) { return nil, broken }, ""); !errors.Is(err, broken) {
		t.Errorf("it ends with %v", err)
	}
	if _, err := Needs(source, test, func([]string) (map[string]bool, error) { return nil, broken }, "first second third"); err != nil {
		t.Errorf("the base is asked for nothing: %v", err)
	}
}

func FuzzNeeds(f *testing.F) {
	f.Add("x.py", "def f(): raise ValueError('it must be so')\n", "x.test.js", "f('it must be so', 1.25)\n", "f")
	f.Add("x.go", "func F() {}\n", "x_test.go", "func TestF(t *testing.T) { F() }\n", "")
	f.Fuzz(func(t *testing.T, sourceName, source, testName, test, text string) {
		added := func(name, text string) []byte {
			name, _, _ = strings.Cut(name, "\n")
			return patch(name + "\n+" + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n+") + "\n")
		}
		for _, patches := range [][2][]byte{{added(sourceName, source), added(testName, test)}, {[]byte(source), []byte(test)}} {
			needs, err := Needs(patches[0], patches[1], base(), text)
			if err != nil || !slices.IsSorted(needs) || len(slices.Compact(slices.Clone(needs))) != len(needs) {
				t.Errorf("%q, %v", needs, err)
			}
			if err := complete(strings.Join(append(needs, text), "\n"), needs); err != nil {
				t.Errorf("a text that names all does not: %v", err)
			}
		}
	})
}
