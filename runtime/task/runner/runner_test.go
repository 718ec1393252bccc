package runner_test

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/task/runner"
)

func TestTheFilesOfAPatch(t *testing.T) {
	for text, want := range map[string]string{
		"--- a/b\n+++ b/b\n@@ -1 +1 @@\n-x\n+y\n": "b", " \n": "", "": "",
	} {
		if files, err := runner.Files([]byte(text)); err != nil || strings.Join(files, " ") != want {
			t.Errorf("%q touches %q, %v, want %q", text, files, err, want)
		}
	}
	if files, err := runner.Files([]byte("--- a/b\n+++ b/../../c\n@@ -1 +1 @@\n-x\n+y\n")); err == nil {
		t.Errorf("a way out is named as %q", files)
	}
}

func TestTheFoldersOfTests(t *testing.T) {
	for name, want := range map[string]string{
		"tests/a.rs": "tests", "a/tests/b/test_c.py": "a/tests", "src/test/java/x/ATest.java": "src/test", "pkg/a_test.go": "pkg/__fixtures__ pkg/__mocks__ pkg/__snapshots__ pkg/testdata",
		"a_test.go": "__fixtures__ __mocks__ __snapshots__ testdata", "testing/test_x.py": "testing", "numpy/testing/tests/test_utils.py": "numpy/testing/tests", "spec/x_test.go": "spec/__fixtures__ spec/__mocks__ spec/__snapshots__ spec/testdata",
		"src/a/__tests__/b.test.ts": "src/a/__tests__",
	} {
		if got := strings.Join(runner.TestFolders([]string{name}), " "); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	fix := "--- a/tests/lib/a.py\n+++ b/tests/lib/a.py\n@@ -1 +1 @@\n-x\n+y\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n"
	if got := runner.Asked([]string{"tests/test_a.py"}, []byte(fix)); !slices.Equal(got, []string{"tests/lib/a.py"}) {
		t.Errorf("asked for in folders of tests: %q", got)
	}
	if got := runner.Asked([]string{"tests/test_a.py"}, []byte("nothing")); got != nil {
		t.Errorf("asked for by no patch: %q", got)
	}
}

func TestWhoseCommandItIs(t *testing.T) {
	for command, want := range map[string]string{
		"pytest --no-header -rA": "pytest", "PYTHONPATH=src python3 -m pytest x": "pytest", "cd x && go test -v ./...": "gotest", "cargo +nightly test": "cargo",
		"npx vitest run": "", "yarn jest --ci": "jest", "npx mocha": "mocha", "node --import x --test": "node", "./tests/runtests.py --verbosity 2": "django",
		"python -m unittest -v": "unittest", "make check": "", "go test ./... && pytest": "", "": "",
	} {
		if got := runner.Guess(command); got != want {
			t.Errorf("%q is of %q, want %q", command, got, want)
		}
	}
}

func TestWhoseNamesTheyAre(t *testing.T) {
	for _, c := range []struct {
		names, files []string
		want         string
	}{
		{[]string{"a/b.py::C::d[x y]", "a/b.py::e"}, nil, "pytest"},
		{[]string{"test_a (m.tests.C)"}, nil, "django"},
		{[]string{"TestA", "example.com/x::TestB/c"}, []string{"x_test.go"}, "gotest"},
		{[]string{"TestA"}, []string{"a.py"}, ""},
		{[]string{"m::tests::a"}, []string{"src/lib.rs"}, "cargo"},
		{[]string{"it works > well"}, []string{"a.test.js"}, ""},
		{nil, []string{"a.py"}, ""},
	} {
		if got := runner.GuessByNames(c.names, c.files); got != c.want {
			t.Errorf("%q are of %q, want %q", c.names, got, c.want)
		}
	}
}

func TestCommandsThatNameEachTest(t *testing.T) {
	for _, c := range []struct {
		parser       string
		names, files []string
		want         string
	}{
		{"pytest", []string{"b/test_b.py::x", "a b.py::y[1]"}, []string{"test_a.py", "conftest.py", "data.json"}, "python3 -m pytest -rA 'a b.py' b/test_b.py test_a.py"},
		{"gotest", []string{"example.com/x::TestA", "example.com/y::TestB"}, nil, "go test -count=1 -v example.com/x example.com/y"},
		{"gotest", []string{"TestA"}, []string{"x/a_test.go"}, "go test -count=1 -v ./..."},
		{"cargo", []string{"a::b"}, nil, "cargo test --no-fail-fast"},
		{"node", []string{"a > b"}, []string{"test/x.test.js", "test/helper.json"}, "node --test --test-reporter=tap test/x.test.js"},
		{"jest", nil, []string{"src/__tests__/x.ts", "src/x.spec.tsx", "src/y.ts"}, "npx jest --verbose src/__tests__/x.ts src/x.spec.tsx"},
		{"mocha", nil, nil, "npx mocha"},
		{"unittest", nil, []string{"tests/test_a.py"}, "python3 -m unittest -v tests.test_a"},
		{"django", nil, []string{"tests/admin/tests.py"}, "python3 tests/runtests.py --verbosity 2 admin.tests"},
	} {
		if got, ok := runner.Command(c.parser, c.names, c.files); !ok || got != c.want {
			t.Errorf("%s: %q, want %q", c.parser, got, c.want)
		}
	}
	for _, parser := range []string{"reward", "junit", "django", ""} {
		if got, ok := runner.Command(parser, []string{"a"}, nil); ok {
			t.Errorf("%s: %q", parser, got)
		}
	}
}

func TestCommandsOfSingleTests(t *testing.T) {
	for _, c := range []struct {
		parser       string
		names, files []string
		want         []string
	}{
		{"pytest", []string{"a.py::x[it's]", "b.py::y"}, nil, []string{`python3 -m pytest -q 'a.py::x[it'\''s]' b.py::y`}},
		{"cargo", []string{"m::a", "m::b"}, nil, []string{"cargo test -- --exact m::a m::b"}},
		{"unittest", []string{"test_a (m.C)", "test_b (m.C.test_b)", "m.C.test_c"}, nil, []string{"python3 -m unittest m.C.test_a m.C.test_b m.C.test_c"}},
		{"jest", []string{"a > b (1)", "c"}, []string{"x.test.js"}, []string{`npx jest -t '^(a b \(1\)|c)$' x.test.js`}},
		{"mocha", []string{"it's > ok"}, nil, []string{`npx mocha -g '^(it'\''s ok)$'`}},
		{"node", []string{"a > b", "c"}, []string{"x.test.js"}, []string{`node --test '--test-name-pattern=^b$' '--test-name-pattern=^c$' x.test.js`}},
	} {
		got, ok := runner.Exact(c.parser, c.names, c.files)
		if diff := cmp.Diff(c.want, got); !ok || diff != "" {
			t.Errorf("%s: %s", c.parser, diff)
		}
	}
	if _, ok := runner.Exact("junit", []string{"a"}, nil); ok {
		t.Error("a command for single tests of junit")
	}
}

// The numbers that we give to names that come again are in no command; those of a title are.
func TestOurNumbersAreInNoCommand(t *testing.T) {
	for _, c := range []struct {
		parser        string
		names, others []string
		want          string
	}{
		{"node", []string{"a", "a #2"}, nil, "node --test '--test-name-pattern=^a$'"},
		{"node", []string{"x > a #2"}, []string{"x > a"}, "node --test '--test-name-pattern=^a$'"},
		{"node", []string{"mends #2"}, []string{"a"}, "node --test '--test-name-pattern=^mends #2$'"},
		{"jest", []string{"x > a", "x > a #2", "x > a #3"}, nil, "npx jest -t '^(x a)$'"},
		{"mocha", []string{"a #2"}, []string{"a"}, "npx mocha -g '^(a)$'"},
		{"cargo", []string{"eq #2", "eq"}, nil, "cargo test -- --exact eq"},
		{"pytest", []string{"a.py::t[x]", "a.py::t[x] #2"}, nil, "python3 -m pytest -q 'a.py::t[x]' 'a.py::t[x] #2'"},
	} {
		if got, ok := runner.Exact(c.parser, runner.Named(c.parser, c.names, c.others), nil); !ok || len(got) != 1 || got[0] != c.want {
			t.Errorf("%s %q: %q, want %q", c.parser, c.names, got, c.want)
		}
	}
}

// An argument of a program cannot be longer than 128 KiB: many names make many lines, and every
// name is in one of them.
func TestLongListsMakeSeveralCommands(t *testing.T) {
	var names []string
	for i := range 5000 {
		names = append(names, fmt.Sprintf("tests/test_a.py::test_with_a_long_name_%04d", i))
	}
	lines, ok := runner.Exact("pytest", names, nil)
	if !ok || len(lines) < 3 {
		t.Fatalf("%d lines", len(lines))
	}
	var seen []string
	for _, line := range lines {
		if len(line) > 100_000 {
			t.Errorf("a line of %d bytes", len(line))
		}
		seen = append(seen, strings.Fields(strings.TrimPrefix(line, "python3 -m pytest -q "))...)
	}
	if !slices.Equal(seen, names) {
		t.Errorf("%d names of %d", len(seen), len(names))
	}
	if line, ok := runner.Command("pytest", nil, func() (files []string) {
		for i := range 5000 {
			files = append(files, fmt.Sprintf("tests/with_a_long_name/test_%04d.py", i))
		}
		return files
	}()); !ok || line != "python3 -m pytest -rA" {
		t.Errorf("%.80q", line)
	}
}

func TestQuotedWordsAreThemselvesToAShell(t *testing.T) {
	for _, word := range []string{"", "a", "it's", `"$HOME" \ *`, "-n", "a\nb", "~", "é"} {
		out, err := exec.Command("/bin/sh", "-c", "printf %s "+runner.Line([]string{word})).Output()
		if err != nil || string(out) != word {
			t.Errorf("%q is %q: %v", word, out, err)
		}
	}
}
