package scoring

import (
	"testing"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/task"
)

func TestDeclaredNamesMeanTestsThatOthersWriteDifferently(t *testing.T) {
	pass := func(names ...string) (tests []parser.Test) {
		for _, name := range names {
			tests = append(tests, parser.Test{Name: name, Status: parser.Passed})
		}
		return tests
	}
	failed := func(name string) parser.Test { return parser.Test{Name: name, Status: parser.Failed} }
	for _, tt := range []struct {
		name     string
		declared []string
		seen     []parser.Test
		passed   int
		total    int
	}{
		{"as they are", []string{"a.py::test_a"}, pass("a.py::test_a"), 1, 1},
		{"pytest: cut at a space", []string{"a.py::test[x"}, pass("a.py::test[x - y]"), 1, 1},
		{"pytest: cut at a space, one of those fails", []string{"a.py::test[x"}, append(pass("a.py::test[x - y]"), failed("a.py::test[x - z]")), 0, 1},
		{"pytest: the whole is seen", []string{"a.py::test[x", "a.py::test[x y]"}, append(pass("a.py::test[x y]"), failed("a.py::test[x z]")), 1, 2},
		{"pytest: no parameters", []string{"a.py::test"}, pass("a.py::test_other"), 0, 1},
		{"go: without a package", []string{"TestA", "TestB/some_thing"}, pass("example.com/x::TestA", "example.com/x::TestB/some_thing"), 2, 2},
		{"go: with spaces", []string{"example.com/x::TestB/some thing"}, pass("example.com/x::TestB/some_thing"), 1, 1},
		{"go: in two packages", []string{"TestA"}, append(pass("example.com/x::TestA"), failed("example.com/y::TestA")), 0, 1},
		{"go: of another package", []string{"example.com/x::TestA"}, pass("example.com/y::TestA"), 0, 1},
		{"go: with spaces, of another package", []string{"example.com/x::TestB/some thing"}, pass("example.com/y::TestB/some_thing"), 0, 1},
		{"go: two declared", []string{"TestA", "example.com/y::TestA"}, pass("example.com/x::TestA"), 0, 2},
		{"unittest: of an old version", []string{"test_a (mod.Case)"}, pass("test_a (mod.Case.test_a)"), 1, 1},
		{"unittest: of a new version", []string{"test_a (mod.Case.test_a)"}, pass("test_a (mod.Case)"), 1, 1},
		{"unittest: as an argument", []string{"mod.Case.test_a"}, pass("test_a (mod.Case)"), 1, 1},
		{"unittest: of another class", []string{"test_a (mod.Case)"}, pass("test_a (mod.Other.test_a)"), 0, 1},
		{"junit: with a dot", []string{"com.x.FooTest.testBar", "com.x.FooTest#testBaz"}, pass("com.x.FooTest::testBar", "com.x.FooTest::testBaz()"), 2, 2},
		{"gradle", []string{"com.x.FooTest > testBar()"}, pass("com.x.FooTest::testBar()"), 1, 1},
		{"googletest", []string{"Inst/Suite.Case/0", "Suite.Other"}, pass("Inst/Suite::Case/0", "Suite::Other"), 2, 2},
		{"ctest", []string{"parses"}, pass("parses::parses"), 1, 1},
		{"jest: by its title", []string{"adds", "is empty"}, pass("sums > of two > adds", "sums > is empty"), 2, 2},
		{"jest: a title in two places", []string{"adds"}, append(pass("sums > adds"), failed("lists > adds")), 0, 1},
		{"jest: the same title elsewhere", []string{"sums > adds"}, pass("lists > adds", "adds"), 0, 1},
		{"pytest: a path", []string{"a.py::test[/b.py]"}, pass("a.py::test[/tmp/x/b.py]"), 1, 1},
		{"pytest: another path", []string{"a.py::test[/tmp/y/b.py]"}, pass("a.py::test[/tmp/x/b.py]"), 0, 1},
		{"pytest: an address", []string{"a.py::test[/b.py]"}, pass("a.py::test[//host/b.py]"), 0, 1},
		{
			"cargo: by target",
			[]string{"tests/a.rs::eq", "tests/b.rs::eq", "doc::src/lib.rs - (line 1)"},
			[]parser.Test{
				{Name: "eq", Target: "tests/a.rs", Status: parser.Failed},
				{Name: "eq #2", Repeats: "eq", Target: "tests/b.rs", Status: parser.Passed},
				{Name: "src/lib.rs - (line 1)", Target: "doc", Status: parser.Passed},
			},
			2, 3,
		},
		{"cargo: of another target", []string{"tests/a.rs::eq"}, []parser.Test{{Name: "eq", Target: "tests/b.rs", Status: parser.Passed}}, 0, 1},
		{"tap: as it stands in the stream", []string{`1 counts \# and \\`, "2 plain"}, pass(`1 counts # and \`, "2 plain"), 2, 2},
		{"tap: another number sign", []string{`1 counts \# a`}, pass("1 counts # b"), 0, 1},
		{"a repetition", []string{"TestA"}, []parser.Test{{Name: "p::TestA", Status: parser.Passed}, {Name: "p::TestA #2", Repeats: "p::TestA", Status: parser.Failed}}, 0, 1},
	} {
		r := Verdict(task.Task{FailToPass: tt.declared, Judge: task.Judge{Parser: "junit"}}, Observation{Result: parser.Result{Tests: tt.seen, Complete: true}})
		if r.Passed != tt.passed || r.TotalTests != tt.total {
			t.Errorf("%s: %d of %d passed, want %d of %d: %+v", tt.name, r.Passed, r.TotalTests, tt.passed, tt.total, r.Tests)
		}
		for i, name := range tt.declared {
			if r.Tests[i].Name != name {
				t.Errorf("%s: %q is told as %q", tt.name, name, r.Tests[i].Name)
			}
		}
	}
}
