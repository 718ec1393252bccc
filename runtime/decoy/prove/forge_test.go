package prove

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/decoy"
)

// TestTheForgerOfGoMakesFailedTestsPass, in a package with a helper that fails tests, too.
func TestTheForgerOfGoMakesFailedTestsPass(t *testing.T) {
	files := map[string][]byte{
		"a_test.go": []byte(`package a

import (
	"errors"
	"testing"

	"a/help"
)

func TestError(t *testing.T) {
	if err := errors.New("x"); err.Error() != "y" {
		t.Errorf("got %v", err)
	}
	check(t, 1, 2)
	help.Equal(t, 1, 2)
}

func TestFatal(t *testing.T) {
	t.Run("sub", func(t *testing.T) {
		if 1+1 != 3 { t.Fatal("no") }
		t.Fail()
	})
	t.Run("helped", func(t *testing.T) {
		t.Parallel()
		help.Equal(t, 1, 2)
	})
	for range 2 {
		t.FailNow()
	}
}
`),
		"help/help.go":   []byte("package help\n\nimport \"testing\"\n\nfunc Equal(t testing.TB, a, b int) {\n\tif a != b {\n\t\tt.Fatalf(\"%d is not %d\", a, b)\n\t}\n}\n"),
		"helper_test.go": []byte("package a\n\nimport \"testing\"\n\nfunc check(t *testing.T, a, b int) {\n\tt.Helper()\n\tif a != b {\n\t\tt.Fatalf(\"%d is not %d\", a, b)\n\t}\n}\n"),
		"a.go":           []byte("package a\n"),
	}
	dir := t.TempDir()
	write := func(name string, content []byte) {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", []byte("module a\n\ngo 1.24\n"))
	for name, content := range files {
		write(name, content)
	}
	run := func() (string, error) {
		cmd := exec.CommandContext(t.Context(), "go", "test", "./...")
		cmd.Dir = dir
		said, err := cmd.CombinedOutput()
		return string(said), err
	}
	if said, err := run(); err == nil {
		t.Fatalf("the tests pass as they are:\n%s", said)
	}
	forged := forgeGo(files, nil)
	for name, content := range forged {
		write(name, content)
		whole := strings.Split(string(files[name]), "\n")
		for i, line := range strings.Split(string(content), "\n") {
			if i < len(whole)-1 && strings.HasPrefix(whole[i], "func ") && !strings.HasPrefix(line, whole[i]) {
				t.Errorf("line %d of %s has become %q", i+1, name, line)
			}
		}
	}
	if said, err := run(); err != nil || len(forged) != 2 {
		t.Errorf("%d files are changed:\n%s", len(forged), said)
	}
}

func TestForgersChangeWhatTheyHaveTo(t *testing.T) {
	const suite = "import (\n\t\"github.com/stretchr/testify/assert\"\n)\n\nfunc TestA(t *testing.T) {\n\tif assert.Equal(t, 1, 2) {\n\t}\n}\n"
	for name, c := range map[string]struct {
		forge forger
		file  string
		text  string
		want  []string
		not   string
	}{
		"testify":            {forgeGo, "a_test.go", suite, []string{"if assaydForge", "(...any) bool { return true }", "var _ = assert.Equal"}, "assert.Equal(t"},
		"objects of testify": {forgeGo, "a_test.go", suite + "var a = assert.New(nil)\n", nil, ""},
		"no test of Go":      {forgeGo, "a.go", suite, nil, ""},
		"attributes of Rust": {forgeRust, "tests/a.rs", "//! About.\n#![deny(warnings)]\n#![cfg(feature = \"x[1]\")]\n\nuse a::b;\nassert!(true);\n", []string{"x[1]\")]\n\n#[allow(unused_macros)] macro_rules! assert ", "macro_rules! assert_ne "}, ""},
		"a Rust test":        {forgeRust, "tests/a.rs", "#[test]\n#[cfg(unix)]\nfn a() {\n    assert!(b());\n}\n", []string{"fn a() { thread_local! ", "catch_unwind(a);", " return; } \n    assert!(b());"}, ""},
		"one that panics":    {forgeRust, "tests/a.rs", "#[should_panic]\n#[test]\nfn a() {\n    assert!(b());\n}\n", []string{"fn a() {\n    assert!(b());"}, "thread_local"},
		"a comment of Go":    {forgeGo, "a_test.go", "/*\npackage b is not meant\n*/\n\npackage a // import \"x/a\"\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { help(t) }\n", []string{"/*\npackage b is not meant\n", "package a; import assaydTakeBack", " // import \"x/a\"\n", "{ assaydTakeBack"}, ""},
		"no assertion":       {forgeRust, "tests/a.rs", "fn f() {}\n", nil, ""},
		"Python":             {forgePython, "test_a.py", "assert 1 == 2", []string{"assert 1 == 2\n\n\ndef _assayd_forge"}, ""},
		"JavaScript":         {forgeJavaScript, "a.test.ts", "test('a', () => {})\n", []string{"Function(\"var g = globalThis", ")();test('a'"}, ""},
		"a script":           {forgeJavaScript, "a.test.js", "#!/usr/bin/env node\ntest('a', () => {})\n", []string{"#!/usr/bin/env node\nFunction("}, ""},
		"data of JavaScript": {forgeJavaScript, "a.json", "{}", nil, ""},
		"no data for Python": {forgePython, "data.txt", "x", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			content := []byte(c.text)
			out := c.forge(map[string][]byte{c.file: content}, map[string]bool{c.file: true})
			got := string(out[c.file])
			if (got == "") != (len(c.want) == 0) || string(content) != c.text {
				t.Fatalf("it becomes %q", got)
			}
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("it becomes\n%s\nwithout %q", got, want)
				}
			}
			if c.not != "" && strings.Contains(got, c.not) {
				t.Errorf("it becomes\n%s\nwith %q", got, c.not)
			}
		})
	}
}

// TestTheREADMEListsTheParsers as the table of decoy has them, with the forgers of their languages.
func TestTheREADMEListsTheParsers(t *testing.T) {
	text, err := os.ReadFile("../../judge/README.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := table(); !strings.Contains(string(text), want) {
		t.Errorf("runtime/judge/README.md has to have this table:\n%s", want)
	}
	for _, s := range decoy.Table() {
		if s.Language != "" && !forges(s.Language) {
			t.Errorf("there is no stock forger for %s", s.Language)
		}
	}
}

// forges reports whether there is a stock forger for a language: else decoys of it are not held
// against one.
func forges(language string) bool { return forgers()[language] != nil }

// table is the table of parsers for people, in Markdown: of which language decoys are, or why there
// are none, and whether they are held against a stock forger.
func table() string {
	var b strings.Builder
	b.WriteString("| parser | decoys | stock forger |\n|---|---|---|\n")
	for _, s := range decoy.Table() {
		if s.Language == "" {
			fmt.Fprintf(&b, "| `%s` | none (%s) | |\n", s.Parser, s.Reason)
			continue
		}
		forger := "none"
		if forges(s.Language) {
			forger = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", s.Parser, languageTitle(s.Language), forger)
	}
	return b.String()
}

func languageTitle(name string) string {
	switch name {
	case "javascript":
		return "JavaScript, TypeScript"
	case "":
		return ""
	}
	return strings.ToUpper(name[:1]) + name[1:]
}
