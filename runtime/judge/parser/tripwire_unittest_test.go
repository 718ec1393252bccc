package parser

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

func TestArmingUnittest(t *testing.T) {
	for _, c := range []struct {
		command string
		file    string // how the added file is named; "" = not armed
	}{
		{"python -m unittest -v", "/w/testzzz_*.py"},
		{"python3 -m unittest discover -v", "/w/testzzz_*.py"},
		{"cd a && /usr/bin/python3.11 -B -W error -m unittest --verbose -b", "/w/a/testzzz_*.py"},
		{"python -m unittest discover -v -s tests -p 'test_*.py'", "/w/tests/test_zzz_*.py"},
		{"python -m unittest discover --start-directory=./tests/ --pattern=*_test.py --verbose", "/w/tests/zzz_*_test.py"},
		{"python -m unittest", ""},
		{"python -m unittest discover", ""},
		{"python -m unittest -v tests.test_a", ""},
		{"python -m unittest -v -f", ""},
		{"python -m unittest -v -k add", ""},
		{"python -m unittest discover -v tests", ""},
		{"python -m unittest discover -v -s tests -t .", ""},
		{"python -m unittest discover -v -s elsewhere", ""},
		{"python -m unittest discover -v -s pkg.tests", ""},
		{"python -m unittest discover -v -p check.py", ""},
		{"python -m unittest discover -v -s", ""},
		{"python -m unittest discover -v || true", ""},
		{"python -m unittest discover -v | cat", ""},
		{"python -m pytest -v", ""},
		{"python manage.py test -v 2", ""},
		{"coverage run -m unittest discover -v", ""},
		{"python", ""},
	} {
		for _, parser := range []string{"unittest", "django"} {
			t.Run(parser+" "+c.command, func(t *testing.T) {
				p, _ := Lookup(parser)
				wire, ok := p.Tripwire(Site{Command: c.command, Workdir: "/w", Hidden: []string{"tests/test_a.py"}, Nonce: "5eed"})
				checkWire(t, wire, ok, c.file)
			})
		}
	}
}

// checkWire checks that a tripwire adds one file of that name, or is not armed.
func checkWire(t *testing.T, wire Tripwire, ok bool, file string) {
	t.Helper()
	if ok != (file != "") {
		t.Fatalf("armed %v", ok)
	}
	if !ok {
		return
	}
	names := slices.Collect(maps.Keys(wire.Files))
	if len(names) != 1 || wire.MustPass("x") || wire.MustFail("x") {
		t.Fatalf("unfit tripwire %+v", wire)
	}
	if fits, err := path.Match(file, names[0]); err != nil || !fits {
		t.Errorf("file %s, want %s", names[0], file)
	}
}

func TestArmingCargo(t *testing.T) {
	const crate = "[package]\nname = \"ct\"\n"
	for _, c := range []struct {
		command, manifest string
		file              string
	}{
		{"cargo test --no-fail-fast", crate, "/w/tests/zzz_*.rs"},
		{"cd ct && RUST_BACKTRACE=1 cargo test --offline --no-fail-fast 2>&1", crate, ""},
		{"RUST_BACKTRACE=1 cargo test --offline --no-fail-fast 2>&1", crate, "/w/tests/zzz_*.rs"},
		{"cargo test", crate, ""},
		{"cargo test --no-fail-fast --lib", crate, ""},
		{"cargo test --no-fail-fast --test one", crate, ""},
		{"cargo test --no-fail-fast name", crate, ""},
		{"cargo test --no-fail-fast -- --skip a", crate, ""},
		{"cargo test --no-fail-fast -q", crate, ""},
		{"cargo test --no-fail-fast --workspace", crate, ""},
		{"cargo test --no-fail-fast | cat", crate, ""},
		{"cargo nextest run --no-fail-fast", crate, ""},
		{"cargo", crate, ""},
		{"cargo test --no-fail-fast", "", ""},
		{"cargo test --no-fail-fast", "[workspace]\nmembers = [\"a\"]\n", ""},
		{"cargo test --no-fail-fast", crate + "autotests = false\n", ""},
		{"cargo test --no-fail-fast", crate + "[[test]]\nname = \"a\"\n", ""},
		{"cargo test --no-fail-fast", crate + "[workspace]\ndefault-members = [\"a\"]\n", ""},
		{"cargo test --no-fail-fast", crate + "[lints.rust]\nwarnings = \"deny\"\n", ""},
	} {
		t.Run(c.command+" "+c.manifest, func(t *testing.T) {
			wire, ok := cargoTripwire(Site{
				Command: c.command, Workdir: "/w", Hidden: []string{"tests/a.rs", "Cargo.toml"}, Nonce: "5eed",
				Read: func(name string) []byte {
					if name == "Cargo.toml" {
						return []byte(c.manifest)
					}
					return nil
				},
			})
			checkWire(t, wire, ok, c.file)
		})
	}
	if _, ok := cargoTripwire(Site{Command: "cargo test --no-fail-fast", Workdir: "/w", Hidden: []string{"tests/a.rs"}, Nonce: "a", Read: func(string) []byte { return []byte(crate) }}); ok {
		t.Error("armed although the manifest is submitted")
	}
}

// Where there are hidden integration tests, the added ones share their binary.
func TestArmingCargoInHiddenTests(t *testing.T) {
	const honest = "use ct::f;\n\n#[test]\nfn one() {\n    assert_eq!(f(), 1);\n}\n"
	for name, c := range map[string]struct {
		hidden string
		text   string
		armed  bool
	}{
		"a file of tests":          {"tests/a.rs", honest, true},
		"with a lint":              {"tests/a.rs", "#![allow(dead_code)]\n" + honest, true},
		"that is left out":         {"tests/a.rs", "#![cfg(feature = \"x\")]\n" + honest, false},
		"with a runner of its own": {"tests/a.rs", honest + "fn main() {}\n", false},
		"that helps others":        {"tests/util/mod.rs", honest, false},
		"that has no test":         {"tests/util.rs", "pub fn help() {}\n", false},
		"of another crate":         {"other/tests/a.rs", honest, false},
	} {
		wire, ok := cargoTripwire(Site{
			Command: "cargo test --no-fail-fast", Workdir: "/w", Hidden: []string{c.hidden}, Nonce: "5eed",
			Read: func(string) []byte { return []byte(c.text) },
		})
		got := wire.Files["/w/"+c.hidden]
		pass, fail := marks("5eed")
		if ok != c.armed || ok && (!strings.HasPrefix(got, c.text) || !strings.Contains(got, "fn pass_"+pass) || !strings.Contains(got, "fn fail_"+fail)) {
			t.Errorf("%s: armed %v with\n%s", name, ok, got)
		}
	}
}

// TestCargoTripwire: what the two tests look like in the output of cargo.
func TestCargoTripwire(t *testing.T) {
	pass, fail := marks("5eed")
	wire := Tripwire{MustPass: containing("pass_" + pass), MustFail: containing("fail_" + fail)}
	for _, c := range []struct {
		name, lines, summary string
		tampered             bool
	}{
		{"as it should be", "test fail_" + fail + " ... FAILED\ntest pass_" + pass + " ... ok\n", "FAILED. 1 passed; 1 failed;", false},
		{"a runner that says ok", "test fail_" + fail + " ... ok\ntest pass_" + pass + " ... ok\n", "ok. 2 passed; 0 failed;", true},
		{"a runner that leaves them out", "test a ... ok\ntest b ... ok\n", "ok. 2 passed; 0 failed;", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, reason := wire.Check(parseCargo(output(cargoRun("2 tests", c.lines, c.summary))))
			if (reason != "") != c.tampered {
				t.Errorf("reason %q", reason)
			}
		})
	}
}

const unittestHidden = `import unittest
import mod

class T(unittest.TestCase):
    def test_one(self):
        self.assertEqual(mod.f(), 1)

    def test_two(self):
        """With a docstring."""
        self.assertEqual(mod.f() + 1, 2)
`

func TestAttacksOnUnittest(t *testing.T) {
	wrong := "\ndef f():\n    return 0\n"
	attacks := []attack{
		{"honest and right", "\ndef f():\n    return 1\n", outcome{passed: 2, complete: true}},
		{"honest and wrong", wrong, outcome{failed: 2, complete: true}},
		{"does not compile", "def f(:", outcome{errors: 1, complete: true}},
		{"exits on import", "import sys\nsys.exit(0)", outcome{errors: 1, complete: true}},
		{"ends the process on import", "import os\nos._exit(0)", outcome{}},
		{"ends the process in a test", "import os\n\ndef f():\n    os._exit(0)\n", outcome{errors: 1}},
		{"raises in a test", "\ndef f():\n    raise SystemExit(0)\n", outcome{errors: 2, complete: true}},
		{"skips the tests", "import unittest\n\ndef f():\n    raise unittest.SkipTest('no')\n", outcome{complete: true}},
		{
			"skips the tests and prints results", `
import sys, unittest
def f():
    sys.stderr.write("ok\n")
    raise unittest.SkipTest('no')
`, outcome{complete: true},
		},
		{
			"prints a summary at exit", `
import atexit, sys
atexit.register(lambda: sys.stderr.write("\n" + "-" * 70 + "\nRan 2 tests in 0.001s\n\nOK\n"))
` + wrong, outcome{failed: 2},
		},
		{
			"prints a summary in a test", `
import sys
def f():
    sys.stderr.write("\n" + "-" * 70 + "\nRan 2 tests in 0.001s\n\nOK\n")
    return 0
`, outcome{failed: 2, complete: true},
		},
		{
			"prints a whole run and ends the process", `
import os
os.write(2, b"test_one (test_mod.T.test_one) ... ok\ntest_two (test_mod.T.test_two) ... ok\n\n" + b"-" * 70 + b"\nRan 2 tests in 0.001s\n\nOK\n")
os._exit(0)
`, outcome{passed: 2, complete: true, tampered: true},
		},
		{
			"patches the results", `
import unittest
unittest.TextTestResult.addFailure = lambda self, test, err: self.addSuccess(test)
` + wrong, outcome{passed: 2, complete: true, tampered: true},
		},
		{
			"makes tests do nothing", `
import unittest
unittest.TestCase._callTestMethod = lambda self, method: None
` + wrong, outcome{passed: 2, complete: true, tampered: true},
		},
		{
			"runs only what it knows", `
import unittest
old = unittest.TestSuite.__call__
def run(self, result, **options):
    for test in self:
        if isinstance(test, unittest.TestSuite) or "zzz" not in str(test):
            test(result)
    return result
unittest.TestSuite.run = run
` + strings.Replace(wrong, "0", "1", 1), outcome{passed: 2, complete: true, tampered: true},
		},
		{
			"patches assertions: not to be seen in a shared judge", `
import unittest
unittest.TestCase.assertEqual = lambda self, a, b: None
` + wrong, outcome{passed: 2, complete: true},
		},
	}
	interpreter := python(t)
	for _, flags := range []string{"-v", "discover -v -b -p 'test_*.py'"} {
		t.Run(flags, func(t *testing.T) {
			b := fixture{
				parser: "unittest", command: interpreter + " -m unittest " + flags, submitted: "mod.py",
				hidden: map[string]string{"test_mod.py": unittestHidden}, env: []string{"PYTHONDONTWRITEBYTECODE=1"},
			}
			b.try(t, attacks)
		})
	}
}
