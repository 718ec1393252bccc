package proof

import (
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/mining/diff"
)

func TestWhatChangesNothingButTextsForPeopleDoesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		file, before, after string
		does                bool
	}{
		"a Python comment":        {"a.py", "# one\nx = 1\n", "# two\nx = 1\n", false},
		"a blank line":            {"a.py", "x = 1\ny = 1\n", "x = 1\n\n\ny = 1\n", false},
		"a docstring":             {"a.py", "def f():\n    \"\"\"One.\n\n    Two.\n    \"\"\"\n    return 1\n", "def f():\n    \"\"\"1.\n\n    2.\n    \"\"\"\n    return 1\n", false},
		"a docstring of one line": {"a.py", "def f():\n    '''One.'''\n    return 1\n", "def f():\n    '''Two.'''\n    return 1\n", false},
		"code behind a docstring": {
			"a.py", "def f():\n    '''One." + strings.Repeat("\n    more", 9) + "\n    '''\n    p = g()\n    return h()\n",
			"def f():\n    '''One." + strings.Repeat("\n    more", 9) + "\n    '''\n    p = g()\n    return p\n", true,
		},
		"the end of a docstring": {
			"a.py", "def f():\n    \"\"\"One." + strings.Repeat("\n    more", 9) + "\n    two.\"\"\"\n    return h()\n",
			"def f():\n    \"\"\"One." + strings.Repeat("\n    more", 9) + "\n    2.\"\"\"\n    return h()\n", false,
		},
		"the middle of a docstring": {
			"a.py", "def f():\n    \"\"\"One." + strings.Repeat("\n    more", 9) + "\n    two\n    \"\"\"\n    return h()\n",
			"def f():\n    \"\"\"One." + strings.Repeat("\n    more", 9) + "\n    2\n    \"\"\"\n    return h()\n", false,
		},
		"a docstring that begins on its own line": {
			"a.py", "x = 1\ndef f():\n    \"\"\"\n    one\n    \"\"\"\n", "x = 1\ndef f():\n    \"\"\"\n    two\n    \"\"\"\n", false,
		},
		"code behind a text that is used": {
			"a.py", "x = f(\"\"\"\none\n\"\"\")\ny = 1\n", "x = f(\"\"\"\none\n\"\"\")\ny = 2\n", true,
		},
		"code behind a text that is formatted": {
			"a.py", "x = \"\"\"" + strings.Repeat("\nmore", 9) + "\n\"\"\".format(1)\ny = 1\n", "x = \"\"\"" + strings.Repeat("\nmore", 9) + "\n\"\"\".format(1)\ny = 2\n", true,
		},
		"Python code":                  {"a.py", "x = 1\n", "x = 2\n", true},
		"how far a line is in":         {"a.py", "if a:\n    b()\n    c()\n", "if a:\n    b()\nc()\n", true},
		"the space behind a line":      {"a.py", "x = 1 \n", "x = 1\n", false},
		"a text that is used":          {"a.py", "x = '''one\ntwo'''\n", "x = '''one\nthree'''\n", true},
		"a comment in Go":              {"a.go", "// One.\nvar x = 1\n", "// Two.\nvar x = 1\n", false},
		"a block of comments":          {"a.go", "/*\nOne.\nTwo.\n*/\nvar x = 1\n", "/*\nOne.\n2.\n*/\nvar x = 1\n", false},
		"the middle of a long comment": {"a.js", "/**" + strings.Repeat("\n * a", 9) + "\n * one" + strings.Repeat("\n * b", 2) + "\n */\n", "/**" + strings.Repeat("\n * a", 9) + "\n * two" + strings.Repeat("\n * b", 2) + "\n */\n", false},
		"code behind a comment":        {"a.c", "/* a */ x = 1;\n", "/* a */ x = 2;\n", true},
		"a directive":                  {"a.go", "//go:build linux\n\npackage a\n", "//go:build darwin\n\npackage a\n", true},
		"the form of Go":               {"a.go", "x := f(a,b)\n", "x := f(a, b)\n", false},
		"a line that is broken":        {"a.ts", "f(a, b);\n", "f(\n  a,\n  b);\n", false},
		"the space in a text":          {"a.ts", "f('a b');\n", "f('a  b');\n", true},
		"a comment made code":          {"a.go", "// x()\n", "x()\n", true},
		"a page for people":            {"README.md", "one\n", "two\n", false},
		"a page with no ending":        {"CHANGELOG", "one\n", "two\n", false},
		"a fragment of a change log":   {"changelog.d/426.bugfix.rst", "one\n", "two\n", false},
		"a workflow":                   {".github/workflows/ci.yml", "a: 1\n", "a: 2\n", false},
		"what is ignored":              {".gitignore", "a\n", "b\n", false},
		"what is required":             {"requirements.txt", "a==1\n", "a==2\n", true},
		"history as code":              {"history.py", "x = 1\n", "x = 2\n", true},
		"a file of settings":           {"setup.cfg", "a = 1\n", "a = 2\n", true},
		"a new file of comments":       {"a.rb", "", "# nothing\n", false},
		"a new file":                   {"a.rb", "", "p 1\n", true},
		"a file that is gone":          {"a.rb", "# nothing\n", "", true},
		"a kind that nobody knows":     {"a.xyz", "# one\n", "# two\n", true},
		"a picture":                    {"docs/a.png", "\x00a", "\x00b", false},
		"something binary":             {"a.bin", "\x00a", "\x00b", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after := files{"z": "z\n"}, files{"z": "z\n"}
			if c.before != "" {
				before[c.file] = c.before
			}
			if c.after != "" {
				after[c.file] = c.after
			}
			does := false
			sections := must(diff.Read(difference(t, before, after)))
			for _, u := range units(sections) {
				does = does || behaves(sections[u.file], u.hunk)
			}
			if does != c.does {
				t.Errorf("it is said to behave: %t", does)
			}
		})
	}
}

func TestVariantsOfAFixApply(t *testing.T) {
	before := files{
		"a.py": "def f(x):\n    if x:\n        return 1\n    return 2\n", "b.go": "package b\n\nfunc f() int { return 1 }\n", "c.js": "module.exports = 1", "d.md": "one\n", "e.bin": "\x00",
		"gone.py": "x = 1\n",
	}
	after := files{
		"a.py": "def f(x):\n    if not x:\n        return 'a  b' + 3 # c d\n    return 2\n", "b.go": "package b\n\nfunc f() int { return g() }\n", "c.js": "const a = 1\nmodule.exports = a",
		"d.md": "two\n", "e.bin": "\x00\x01", "new.go": "package b\n\nfunc g() int { return 2 }\n",
	}
	p := prover{files: must(diff.Read(difference(t, before, after)))}
	for name, c := range map[string]struct {
		fix  []byte
		want files
	}{
		"comments": {p.commented(false), files{
			"a.py": "def f(x):\n    # if not x:\n        # return 'a  b' + 3 # c d\n    if x:\n        return 1\n    return 2\n", "b.go": "package b\n\n// func f() int { return g() }\nfunc f() int { return 1 }\n",
			"c.js": "// const a = 1\n// module.exports = a\nmodule.exports = 1", "d.md": "two\n", "e.bin": "\x00", "gone.py": "x = 1\n", "new.go": "package b\n//\n// func g() int { return 2 }\n",
		}},
		"blocks": {p.commented(true), files{
			"a.py": "def f(x):\n    r'''\n    if not x:\n        return 'a  b' + 3 # c d\n'''\n    if x:\n        return 1\n    return 2\n",
			"b.go": "package b\n\n/*\nfunc f() int { return g() }\n*/\nfunc f() int { return 1 }\n", "c.js": "/*\nconst a = 1\nmodule.exports = a\n*/\nmodule.exports = 1", "d.md": "two\n",
			"e.bin": "\x00", "gone.py": "x = 1\n", "new.go": "package b\n/*\npackage b\n\nfunc g() int { return 2 }\n*/\n",
		}},
		"space": {p.spaced(), files{
			"a.py": "def f(x):\n    if  not  x:\n        return  'a  b'  +  3  # c d\n    return 2\n", "b.go": "package b\n\nfunc  f()  int  {  return  g()  }\n", "c.js": "const  a  =  1\nmodule.exports  =  a",
			"d.md": "two\n", "e.bin": "\x00\x01", "new.go": "package  b\n\nfunc  g()  int  {  return  2  }\n",
		}},
	} {
		got, err := applied(t, before, c.fix)
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, c.fix)
			continue
		}
		if shown(got) != shown(c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, shown(got), shown(c.want))
		}
	}
}
