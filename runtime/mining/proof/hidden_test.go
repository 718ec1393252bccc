package proof

import (
	"testing"

	"github.com/assayd/assayd/runtime/judge/parser"
	"github.com/assayd/assayd/runtime/mining/reason"
	"github.com/assayd/assayd/runtime/mining/statement/code"
)

func TestWhichTestsAreHiddenOnes(t *testing.T) {
	for name, c := range map[string]struct {
		file, line string // that the patch adds
		test       string
		is         bool
	}{
		"pytest":                              {"tests/test_a.py", "x = 1", "tests/test_a.py::TestX::test_y[1]", true},
		"pytest, another file":                {"tests/test_a.py", "x = 1", "tests/test_b.py::TestX::test_y[1]", false},
		"pytest, from a folder":               {"web/tests/test_a.py", "x = 1", "tests/test_a.py::test_y", true},
		"django":                              {"shop/tests.py", "x = 1", "test_y (shop.tests.Case)", true},
		"django, another application":         {"shop/tests.py", "x = 1", "test_y (store.tests.Case)", false},
		"go":                                  {"pkg/a_test.go", "x := 1", "example.com/shop/pkg::TestX/one", true},
		"go, another package":                 {"pkg/a_test.go", "x := 1", "example.com/shop/pkg/sub::TestX", false},
		"go, the package of the root":         {"a_test.go", "x := 1", "example.com/acme/shop/v2::TestX", true},
		"go, below the package of the root":   {"a_test.go", "x := 1", "example.com/acme/shop/pkg::TestX", false},
		"go, one that is new there":           {"a_test.go", "func TestSomething(t *testing.T) {", "example.com/shop::TestSomething", true},
		"jest":                                {"web/a.test.js", "x()", "web/a.test.js > adds > twice", true},
		"jest, from a folder":                 {"web/a.test.js", "x()", "a.test.js > adds > twice", true},
		"junit":                               {"src/test/java/com/acme/CartTest.java", "x();", "com.acme.CartTest.adds", true},
		"mocha":                               {"test/a.js", "it('adds two numbers', () => {", "calc adds two numbers", true},
		"mocha, a name that many have":        {"test/a.js", "it('adds', () => {", "calc adds", false},
		"mocha, one that only changes within": {"test/a.js", "x()", "calc adds two numbers", false},
	} {
		t.Run(name, func(t *testing.T) {
			files := code.Files([]byte("diff --git a/" + c.file + " b/" + c.file + "\n--- a/" + c.file + "\n+++ b/" + c.file + "\n@@ -1,0 +2 @@\n+" + c.line + "\n"))
			if len(files) != 1 || isOf(c.test, files[0]) != c.is {
				t.Errorf("%+v: %t", files, !c.is)
			}
		})
	}
}

// A command that runs the tests of somebody else says nothing of these.
func TestTestsOfOthersAreNoHiddenOnes(t *testing.T) {
	w := &fixture{base: base(), tests: map[string]func(files) parser.Status{"tests/test_elsewhere.py::test_more": always(parser.Passed)}}
	_, err := scene{world: w, fixed: fixed(t)}.prove(t)
	if r := reason.Of(err); r == nil || r.Code != NoTestsRan {
		t.Errorf("%v, want %s", err, NoTestsRan)
	}
}
