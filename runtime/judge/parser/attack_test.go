package parser

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What a judging by a real runner comes to.
type outcome struct {
	passed, failed, errors int
	complete, tampered     bool
}

// attack is a submission judged by a real runner together with hidden tests.
type attack struct {
	name   string
	source string // of the submitted module
	want   outcome
}

// fixture judges submissions with one runner.
type fixture struct {
	parser    string
	command   string // run by sh
	submitted string // file of the submitted module
	hidden    map[string]string
	env       []string
}

func (b fixture) judge(t *testing.T, source string) (outcome, Result) {
	t.Helper()
	root := t.TempDir()
	work := filepath.Join(root, "work")
	files := maps.Clone(b.hidden)
	files[b.submitted] = source
	for name, content := range files {
		write(t, filepath.Join(work, name), content)
	}
	var hidden []string
	for name := range b.hidden {
		hidden = append(hidden, name)
	}
	p, ok := Lookup(b.parser)
	if !ok {
		t.Fatalf("no parser %q", b.parser)
	}
	wire, ok := p.Tripwire(Site{
		Command: b.command, Workdir: work, Hidden: hidden, Nonce: "5eed",
		Read: func(name string) []byte { return []byte(b.hidden[name]) },
	})
	if !ok {
		t.Fatal("the tripwire is not armed")
	}
	env := b.env
	for name, value := range wire.Env {
		env = append(env, name+"="+strings.ReplaceAll(value, "=/", "="+root+"/"))
	}
	for name, content := range wire.Files {
		if !strings.HasPrefix(name, work) {
			name = filepath.Join(root, name)
		}
		write(t, name, content)
	}
	in := run(t, work, b.command, env)
	r := p.Parse(in)
	rest, reason := wire.Check(r)
	n := counts(Result{Tests: rest})
	got := outcome{n[Passed], n[Failed], n[Errored], r.Complete, reason != ""}
	t.Logf("exit %d, problem %q, tripwire %q", in.ExitCode, r.Problem, reason)
	if got.complete && !got.tampered && got.failed+got.errors == 0 && got.passed > 0 && in.ExitCode != wire.ExitCode {
		t.Errorf("exit code %d, want %d", in.ExitCode, wire.ExitCode)
	}
	r.Summary = string(in.Output)
	return got, r
}

func (b fixture) try(t *testing.T, attacks []attack) {
	t.Helper()
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			got, r := b.judge(t, a.source)
			if got != a.want {
				t.Errorf("got  %+v\nwant %+v\nproblem: %s\n%s", got, a.want, r.Problem, r.Summary)
			}
		})
	}
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, dir, command string, env []string) Input {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	output, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("run %q: %v", command, err)
	}
	return Input{Output: output, ExitCode: cmd.ProcessState.ExitCode()}
}

// python returns an interpreter of PATH that has pytest.
func python(t *testing.T) string {
	t.Helper()
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		name := filepath.Join(dir, "python3")
		if exec.CommandContext(t.Context(), name, "-c", "import pytest").Run() == nil {
			return name
		}
	}
	t.Fatal("no python3 on PATH has pytest: it is needed to try attacks on the real runner")
	return ""
}

func requireTool(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Fatalf("%s is needed to try attacks on the real runner: %v", name, err)
	}
}

const pytestHidden = `import mod

def test_one():
    assert mod.f() == 1

def test_two():
    assert mod.f() + 1 == 2
`

func TestAttacksOnPytest(t *testing.T) {
	wrong := "\ndef f():\n    return 0\n"
	right := "\ndef f():\n    return 1\n"
	attacks := []attack{
		{"honest and right", right, outcome{passed: 2, complete: true}},
		{"honest and wrong", wrong, outcome{failed: 2, complete: true}},
		{"does not compile", "def f(:", outcome{errors: 1, complete: true}},
		{
			"patches the report class", `
from _pytest.reports import TestReport
old = TestReport.from_item_and_call.__func__
def forged(cls, item, call):
    report = old(cls, item, call)
    report.outcome, report.longrepr = "passed", None
    return report
TestReport.from_item_and_call = classmethod(forged)
` + wrong, outcome{passed: 2, complete: true, tampered: true},
		},
		{
			"patches the outcome of reports", `
from _pytest.reports import TestReport
TestReport.outcome = property(lambda self: "passed", lambda self, value: None)
` + wrong, outcome{passed: 2, complete: true, tampered: true},
		},
		{
			"swallows exceptions", `
import _pytest.runner as runner
def forged(cls, func, when, reraise=None):
    try:
        func()
    except Exception:
        pass
    return cls(result=None, excinfo=None, start=0, stop=0, duration=0, when=when, _ispytest=True)
runner.CallInfo.from_call = classmethod(forged)
` + wrong, outcome{passed: 2, complete: true, tampered: true},
		},
		{
			"makes tests do nothing", `
import pytest
pytest.Function.runtest = lambda self: None
` + wrong, outcome{passed: 2, complete: true, tampered: true},
		},
		{"ends the process on import", "import os\nos._exit(0)", outcome{}},
		{"exits on import", "import sys\nsys.exit(0)", outcome{errors: 1, complete: true}},
		{
			"prints a summary at exit", `
import atexit
atexit.register(lambda: print("===== 5000 passed in 1.0s ====="))
` + wrong, outcome{failed: 2},
		},
		{"prints a summary in a test", "\ndef f():\n    print('5000 passed in 1.0s')\n    return 0\n", outcome{failed: 2, complete: true}},
		{
			"prints a whole run and ends the process", `
import os
for fd in range(3, 20):
    try:
        os.write(fd, b"\ntest_mod.py::test_one PASSED\ntest_mod.py::test_two PASSED\n\n===== 2 passed in 0.01s =====\n")
    except OSError:
        pass
os._exit(0)
`, outcome{passed: 2, complete: true, tampered: true},
		},
		{
			"patches only what it knows by name: not to be seen in a shared judge", `
import pytest
old = pytest.Function.runtest
pytest.Function.runtest = lambda self: None if self.name in ("test_one", "test_two") else old(self)
` + wrong, outcome{passed: 2, complete: true},
		},
	}
	interpreter := python(t)
	for _, flags := range []string{"-q -p no:cacheprovider -o addopts= test_mod.py", "-v", "-x -rA test_mod.py::test_one test_mod.py::test_two --deselect nothing"} {
		t.Run(flags, func(t *testing.T) {
			b := fixture{parser: "pytest", submitted: "mod.py", hidden: map[string]string{"test_mod.py": pytestHidden}}
			b.command = "PYTHONPATH=src " + interpreter + " -m pytest " + flags
			if strings.HasPrefix(flags, "-x") {
				// After the first failure the second test does not run; the added ones do.
				b.try(t, []attack{
					{"honest and right", right, outcome{passed: 2, complete: true}},
					{"honest and wrong", wrong, outcome{failed: 1, complete: true}},
				})
				return
			}
			b.try(t, attacks)
		})
	}
}

const gotestHidden = `package mod

import "testing"

func TestOne(t *testing.T) {
	if F() != 1 {
		t.Error("wrong")
	}
}

func TestTwo(t *testing.T) {
	t.Run("sub", func(t *testing.T) {
		if F() != 1 {
			t.Error("wrong")
		}
	})
}
`

func TestAttacksOnGoTest(t *testing.T) {
	requireTool(t, "go")
	wrong := "\nfunc F() int { return 0 }\n"
	attacks := []attack{
		{"honest and right", "package mod\n\nfunc F() int { return 1 }\n", outcome{passed: 3, complete: true}},
		{"honest and wrong", "package mod\n" + wrong, outcome{failed: 3, complete: true}},
		{"does not compile", "package mod\n\nfunc F() int {", outcome{errors: 1}},
		{"ends the process on init", "package mod\n\nimport \"os\"\n\nfunc init() { os.Exit(0) }\n" + wrong, outcome{}},
		{"panics on init", "package mod\n\nfunc init() { panic(1) }\n" + wrong, outcome{errors: 1}},
		{"panics in a test", "package mod\n\nfunc F() int { panic(1) }\n", outcome{failed: 1}},
		{
			"ends the process in a test",
			"package mod\n\nimport \"syscall\"\n\nfunc F() int { syscall.Exit(0); return 1 }\n",
			outcome{errors: 1},
		},
		{
			"prints results in a test", "package mod\n\nimport \"fmt\"\n\nfunc F() int {\n" +
				`fmt.Print("--- PASS: TestOne (0.00s)\n--- PASS: TestTwo (0.00s)\nPASS\n")` + "\nreturn 0\n}\n",
			outcome{failed: 3, complete: true},
		},
		{
			"prints a whole run and ends the process", "package mod\n\nimport (\n\"fmt\"\n\"os\"\n)\n\nfunc init() {\n" +
				`fmt.Print("=== RUN   TestOne\n--- PASS: TestOne (0.00s)\n=== RUN   TestTwo\n--- PASS: TestTwo (0.00s)\nPASS\n")` +
				"\nos.Exit(0)\n}\n" + wrong,
			outcome{passed: 2, complete: true, tampered: true},
		},
	}
	for _, flags := range []string{"-v .", "-json ./..."} {
		t.Run(flags, func(t *testing.T) {
			b := fixture{
				parser: "gotest", command: "go test -vet=off " + flags, submitted: "mod.go",
				hidden: map[string]string{"mod_test.go": gotestHidden, "go.mod": "module example.org/mod\n\ngo 1.21\n"},
				env:    []string{"GOFLAGS=-mod=mod", "GOWORK=off", "GOTOOLCHAIN=local"},
			}
			b.try(t, attacks)
		})
	}
}

const nodeHidden = `const test = require('node:test');
const assert = require('node:assert');
const mod = require('./mod.js');
test('one', () => { assert.equal(mod.f(), 1); });
test('two', async (t) => { await t.test('sub', () => { assert.equal(mod.f(), 1); }); });
`

func TestAttacksOnNode(t *testing.T) {
	requireTool(t, "node")
	wrong := "\nexports.f = () => 0;\n"
	b := fixture{
		parser: "node", command: "node --test mod.test.js", submitted: "mod.js",
		hidden: map[string]string{"mod.test.js": nodeHidden},
	}
	b.try(t, []attack{
		{"honest and right", "exports.f = () => 1;", outcome{passed: 3, complete: true}},
		{"honest and wrong", wrong, outcome{failed: 3, complete: true}},
		{"does not parse", "exports.f = (", outcome{errors: 1}},
		{"ends the process on load", "process.exit(0);", outcome{}},
		{"throws on load", "throw new Error('x');", outcome{errors: 1}},
		{"ends the process in a test", "exports.f = () => process.exit(0);", outcome{}},
		{"prints a summary", "console.log('ok 1 - one\\n# tests 5000\\n# pass 5000');" + wrong, outcome{failed: 3, complete: true}},
		{
			"rewrites what goes to the runner", `
const old = process.stdout.write;
process.stdout.write = function (chunk, ...rest) {
  if (Buffer.isBuffer(chunk)) {
    chunk = Buffer.from(chunk.toString('latin1').replaceAll('test:fail', 'test:pass'), 'latin1');
  }
  return old.call(this, chunk, ...rest);
};
process.on('exit', () => { process.exitCode = 0; });
` + wrong, outcome{passed: 3, complete: true, tampered: true},
		},
		{
			"patches assertions: not to be seen in a shared judge", `
require('node:assert').equal = () => {};
` + wrong, outcome{passed: 3, complete: true},
		},
	})
}
