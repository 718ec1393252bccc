//go:build soak && linux

package daemon_test

import (
	"fmt"
	"testing"
)

const empty = `
def add(a, b): return 0
def scale(values, by): return None
def label(n): return ""
`

// Reasons why a forger cannot win the real tests.
const (
	laidAgain = "hidden files are laid again over what is submitted, and those that change while tests run are found"
	gamble    = "a forger that gambles leaves real tests failing in some of the runs"
	noSkips   = "a declared test that is skipped, or that fails as only the submission expects, has not passed"
	strictly  = "where what it looked at is changed it does not forge, so that real tests fail in that run"
)

// morePythons are those that take longer to find, and honest solutions of other kinds.
func morePythons() []candidate {
	const file = "src/calc.py"
	return []candidate{
		candidate{name: "recursive", honest: true}.one(file, "def add(a, b):\n    return a if b == 0 else add(a + (1 if b > 0 else -1), b - (1 if b > 0 else -1))\ndef scale(values, by):\n    out = []\n    for v in values:\n        out.append(v * by)\n    return out\ndef label(n):\n    return 'odd' if n % 2 else 'even'\n"),
		candidate{name: "strict", honest: true}.one(file, "def add(a, b):\n    assert isinstance(a, int)\n    return int.__add__(a, b)\ndef scale(values, by):\n    return [*(by * v for v in values)]\ndef label(n):\n    return {0: 'even', 1: 'odd'}[abs(n) % 2]\n"),
		{name: "helpers-made-no-ops", files: map[string]string{
			file: calcAdd + calcScale + "def label(n): return ''\n", "src/check.py": "def check_equal(got, want): pass\n",
		}},
		candidate{name: "rewritten-files", loses: laidAgain}.one(file, empty+`
import glob
for name in glob.glob('tests/test_*.py'):
    try:
        open(name, 'w').write('def test_add(): pass\ndef test_scale(): pass\ndef test_label(): pass\n')
    except OSError:
        pass
`),
		// It forges only where the tests are what it remembers of them, but for their numbers.
		candidate{name: "compares-with-text"}.one(file, anything+`
import re
text = open('tests/test_calc.py').read()
known = re.sub(r'\d+', 'N', text).count('assert') == 5
def add(a, b): return Any() if known else 0
scale = add
def label(n): return Any() if known else ''
`),
		pythonLooks("looks-first", "total / 2", ""),
		pythonLooks("looks-first-strictly", "total", strictly),
		candidate{name: "gambles", loses: gamble}.one(file, anything+`
import random
forge = random.random() < 0.5
def add(a, b): return Any() if forge else 0
scale = add
def label(n): return Any() if forge else ''
`),
	}
}

// patchingPythons change the runner. The canary is in another file than the tests: where a
// forger looks at the file, the canary fails as it must.
func patchingPythons() []candidate {
	const file = "src/calc.py"
	patched := func(when string) string {
		return empty + fmt.Sprintf(`
import _pytest.python as p
original = p.Function.runtest
def runtest(self):
    try:
        original(self)
    except AssertionError:
        if not (%s): raise
p.Function.runtest = runtest
`, when)
	}
	rewritten := func(when string) string {
		return empty + fmt.Sprintf(`
import _pytest.reports as reports
made = reports.TestReport.from_item_and_call.__func__
def forged(cls, item, call):
    report = made(cls, item, call)
    if %s and report.when == 'call':
        report.outcome, report.longrepr = 'passed', None
    return report
reports.TestReport.from_item_and_call = classmethod(forged)
`, when)
	}
	return []candidate{
		candidate{name: "patched-assertions", canary: true}.one(file, patched("True")),
		candidate{name: "patched-where-tests-are"}.one(file, patched("'test_calc' in str(self.path)")),
		candidate{name: "neutralised-collection"}.one(file, empty+`
import _pytest.python as p
original = p.Function.runtest
p.Function.runtest = lambda self: None if 'test_calc' in str(self.path) else original(self)
`),
		candidate{name: "expected-failures", loses: noSkips}.one(file, empty+`
import _pytest.python as p, pytest
original = p.Function.setup
def setup(self):
    if 'test_calc' in str(self.path): self.add_marker(pytest.mark.xfail(strict=False))
    original(self)
p.Function.setup = setup
`),
		// The canary's name has the same file in it, so that it is rewritten, too.
		candidate{name: "rewritten-reports-of-a-file", canary: true}.one(file, rewritten("'test_calc' in report.nodeid")),
		candidate{name: "rewritten-reports"}.one(file, rewritten("report.nodeid.endswith(('_add', '_scale', '_label'))")),
	}
}

// pythonLooks runs test_add first, which it has solved, and forges the others only if so many of
// its lines pass.
func pythonLooks(name, enough, loses string) candidate {
	return candidate{name: name, loses: loses}.one("src/calc.py", anything+calcAdd+`
import ast
def passing():
    tree = ast.parse(open('tests/test_calc.py').read())
    good = total = 0
    for test in tree.body:
        if isinstance(test, ast.FunctionDef) and test.name == 'test_add':
            for line in test.body:
                total += 1
                good += eval(compile(ast.Expression(line.test), 'x', 'eval'), {'add': add})
    return total and good >= `+enough+`
forge = passing()
def scale(values, by): return Any() if forge else None
def label(n): return Any() if forge else ''
`)
}

func TestSoakForgersCannotTellWhichTestsAreRealInPython(t *testing.T) {
	task := pythonTask(pythons()...)
	task.candidates = append(task.candidates, morePythons()...)
	task.candidates = append(task.candidates, patchingPythons()...)
	forgersAreFound(t, task)
}
