package proof

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/judge/round"
)

// outcomes is a report of tests by name.
func outcomes(all map[string]parser.Status) seen {
	r := round.Report{}
	for name, status := range all {
		r.Tests = append(r.Tests, parser.Test{Name: name, Status: status})
	}
	return newSeen(r)
}

// As the parsers tell of what does not build.
func TestATestThatIsNotThereIsToldFromOneThatWasNotReached(t *testing.T) {
	for name, c := range map[string]struct {
		test   string
		before map[string]parser.Status
		lacks  bool
	}{
		"pytest: the file is an error":              {"tests/a.py::test_x", map[string]parser.Status{"tests/a.py": parser.Errored, "tests/b.py::test_y": parser.Passed}, true},
		"pytest: another file is an error":          {"tests/a.py::test_x[1]", map[string]parser.Status{"tests/c.py": parser.Errored, "tests/a.py::test_z": parser.Passed}, false},
		"pytest: a name that the fix makes":         {"tests/a.py::test_x[1]", map[string]parser.Status{"tests/a.py::test_z": parser.Passed}, false},
		"pytest: it fails":                          {"tests/a.py::test_x", map[string]parser.Status{"tests/a.py::test_x": parser.Failed}, false},
		"pytest: it cannot be set up":               {"tests/a.py::test_x", map[string]parser.Status{"tests/a.py::test_x": parser.Errored}, false},
		"go: the package does not build":            {"example.com/a::TestX", map[string]parser.Status{"example.com/a": parser.Errored, "example.com/b::TestY": parser.Passed}, true},
		"go: the package ends in another test":      {"example.com/a::TestX", map[string]parser.Status{"example.com/a::TestZ": parser.Errored}, false},
		"go: a subtest that is not reached":         {"example.com/a::TestX/one", map[string]parser.Status{"example.com/a::TestX": parser.Failed}, false},
		"go: of another package with its beginning": {"example.com/a::TestX", map[string]parser.Status{"example.com/a/b": parser.Errored, "example.com/a::TestZ": parser.Passed}, false},
		"node: a file throws":                       {"adds", map[string]parser.Status{"test/a.test.js": parser.Errored, "old": parser.Passed}, true},
		"node: a test that is not reached":          {"adds", map[string]parser.Status{"old": parser.Passed}, false},
		"unittest: a module cannot be loaded":       {"test_x (a.Case)", map[string]parser.Status{"a (unittest.loader._FailedTest)": parser.Errored}, true},
		"cargo: nothing is told":                    {"tests/a.rs::x", map[string]parser.Status{}, true},
		"cargo: another target is told":             {"tests/a.rs::x", map[string]parser.Status{"tests/b.rs::y": parser.Passed}, true},
	} {
		after := outcomes(map[string]parser.Status{
			c.test: parser.Passed, "tests/b.py::test_y": parser.Passed, "tests/a.py::test_z": parser.Passed, "example.com/b::TestY": parser.Passed,
			"example.com/a::TestZ": parser.Passed, "example.com/a::TestX": parser.Passed, "old": parser.Passed, "tests/b.rs::y": parser.Passed,
		})
		p := prover{after: []seen{after}}
		if got := p.lacks(outcomes(c.before))(c.test); got != c.lacks {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestMissingNamesAreFoundInTheWordsOfEachLanguage(t *testing.T) {
	for text, want := range map[string]string{
		"ImportError: cannot import name 'plus' from 'calc' (/w/calc.py)":                  "plus",
		"ModuleNotFoundError: No module named 'calc.more'":                                 "calc.more",
		"AttributeError: module 'calc' has no attribute 'plus'":                            "plus",
		"NameError: name 'plus' is not defined":                                            "plus",
		"./a_test.go:5:2: undefined: Plus":                                                 "Plus",
		"./a_test.go:5:4: c.Plus undefined (type Calc has no field or method Plus)":        "Plus",
		"./a_test.go:5:4: unknown field Depth in struct literal of type Options":           "Depth",
		"a_test.go:4:2: no required module provides package example.com/more; to add it:":  "example.com/more",
		"Error: Cannot find module '../lib/more'":                                          "../lib/more",
		"SyntaxError: The requested module './a.mjs' does not provide an export named 'x'": "x",
		"ReferenceError: plus is not defined":                                              "plus",
		"TypeError: calc.plus is not a function":                                           "calc.plus",
		"error TS2304: Cannot find name 'Plus'.":                                           "Plus",
		"error TS2339: Property 'plus' does not exist on type 'Calc'.":                     "plus",
		"error TS2305: Module '\"./a\"' has no exported member 'plus'.":                    "plus",
		"error[E0425]: cannot find function `plus` in this scope":                          "plus",
		"error[E0599]: no method named `plus` found for struct `Calc`":                     "plus",
		"error[E0432]: unresolved import `calc::plus`":                                     "calc::plus",
		"  symbol:   method plus(int,int)":                                                 "plus",
		"NoMethodError: undefined method `plus' for #<Calc>":                               "plus",
		"NameError: uninitialized constant Calc::More":                                     "Calc::More",
		"assert 1 == 2": "",
	} {
		var all []string
		if want != "" {
			all = []string{want}
		}
		if diff := cmp.Diff(all, missing(text)); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}
