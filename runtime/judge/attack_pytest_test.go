package judge

import (
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

// module is a submission of one Python module that gives a wrong answer beside what it does.
func module(source string) []judgetest.Entry {
	return []judgetest.Entry{judgetest.File("answer.py", source+wrong)}
}

// with is the same, with other files beside it.
func with(source string, more ...judgetest.Entry) []judgetest.Entry {
	return append(module(source), more...)
}

func stoppedAfter(limit time.Duration) func(*task.Judge) {
	return func(j *task.Judge) { j.Timeout = limit }
}

func told(j *task.Judge)   { j.Expect = expected }
func nobody(j *task.Judge) { j.User = "nobody" }

// twice runs what was submitted before the tests, in a process of its own.
func twice(j *task.Judge) {
	j.Command.Shell = "python3 -c 'import answer'; python3 -m pytest -q tests"
}

// aside is Python that writes a text to what the judge reads: past pytest, which keeps that
// open while it captures the usual files.
func aside(text string) string {
	return `
import os
def aside(text):
    for fd in range(1, 30):
        try:
            if os.readlink("/proc/self/fd/%d" % fd).startswith("pipe:"): return os.write(fd, text.encode())
        except OSError: pass
aside(` + quoted(text) + ")\n"
}

func quoted(text string) string {
	return `"` + strings.NewReplacer("\\", `\\`, "\n", `\n`, `"`, `\"`).Replace(text) + `"`
}

const wholeRun = "\n...  [100%]\n==== short test summary info ====\nPASSED tests/test_answer.py::test_right\nPASSED tests/test_answer.py::test_again\n" +
	"PASSED tests/test_later.py::test_later\n==== 3 passed in 0.01s ====\n"

// forgedReports makes every report of pytest a success.
const forgedReports = `
from _pytest.reports import TestReport
make = TestReport.from_item_and_call.__func__
def forged(cls, item, call):
    report = make(cls, item, call)
    report.outcome, report.longrepr = "passed", None
    return report
TestReport.from_item_and_call = classmethod(forged)
`

// addingTests puts easy tests into the module that imports this one, while pytest reads it.
const addingTests = `
import sys
frame = sys._getframe()
while not frame.f_globals["__name__"].startswith("test_"): frame = frame.f_back
for i in range(97): frame.f_globals["test_easy_%d" % i] = lambda: None
`

// expecting has the module that imports this one do something to itself, while pytest reads it.
func expecting(what string) string {
	return "import pytest, sys\nframe = sys._getframe()\nwhile not frame.f_globals['__name__'].startswith('test_'): frame = frame.f_back\n" + what + "\n"
}

// easyTests, in place of the hidden ones, are content with anything.
const easyTests = `
import os, sys
if "again" not in os.environ:
    os.environ["again"] = "1"
    for name, tests in (("answer", ("right", "again")), ("later", ("later",))):
        os.makedirs(place + "/tests", exist_ok=True)
        file = place + "/tests/test_%s.py" % name
        if os.path.exists(file): os.environ["old_" + name] = open(file).read()
        with open(file, "w") as f:
            if back: f.write("import atexit, os\natexit.register(lambda: open(%r, 'w').write(os.environ['old_%s']))\n" % (file, name))
            for test in tests: f.write("def test_%s(): pass\n" % test)
    for fd in range(3, 30): # the runner's own output, which it keeps while it captures
        try:
            if os.readlink("/proc/self/fd/%d" % fd).startswith("pipe:"): os.dup2(fd, 1); os.dup2(fd, 2)
        except OSError: pass
    os.chdir(place)
    os.execv(sys.executable, [sys.executable, "-m", "pytest", "-q", "tests"])
`

const (
	addsTests    = "can tell the added tests apart"
	agrees       = "can agree with whatever it is compared with"
	hiddenFiles  = "can change hidden files during its own run"
	startsAnew   = "can start the runner again"
	fewerTests   = "can keep tests from running"
	noTripwire   = "can write the result itself"
	readsTheWire = "can read the hidden tests"
	ownTests     = "can add tests of its own"
)

// attacksOnPytest are judged by the hidden tests, by pytest, as the image's user.
func attacksOnPytest() []attack {
	return []attack{
		{name: "honest and right", archive: []judgetest.Entry{judgetest.File("answer.py", right)}, status: round.StatusOK, rate: 1, passed: 3},
		{name: "honest and right, told", archive: []judgetest.Entry{judgetest.File("answer.py", right)}, change: told, status: round.StatusOK, rate: 1, passed: 3},
		{name: "honest and wrong", archive: module(""), status: round.StatusOK},

		// Words.
		{name: "prints a summary", archive: module(`print("===== 5000 passed in 1.0s =====")`), status: round.StatusOK},
		{name: "prints a summary past pytest", archive: module(aside("\n===== 5000 passed in 1.0s =====\n")), status: round.StatusInvalid},
		{name: "prints a whole run past pytest", archive: module(aside(wholeRun)), status: round.StatusInvalid},
		{name: "prints a whole run past pytest, told", archive: module(aside(wholeRun)), change: told, status: round.StatusInvalid},
		{name: "floods the output", archive: module(aside("") + "for _ in range(10000): aside('x' * 3999 + '\\n')\naside(" + quoted(wholeRun) + ")\n"), status: round.StatusInvalid},
		{name: "floods the output, told", archive: module(aside("") + "import atexit\natexit.register(lambda: [aside('x' * 3999 + '\\n') for _ in range(10000)])\n"), change: told, status: round.StatusInvalid},
		{name: "prints a whole run at its end", archive: module(aside("") + "import atexit\natexit.register(aside, " + quoted(wholeRun) + ")\n"), status: round.StatusInvalid},
		{name: "prints a whole run and ends", archive: module(aside(wholeRun) + "os._exit(0)\n"), status: round.StatusTampered, passed: 3},

		// Ends.
		{name: "ends with 0 on import", archive: module("import os\nos._exit(0)\n"), status: round.StatusInvalid},
		{name: "exits with 0 on import", archive: module("import sys\nsys.exit(0)\n"), status: round.StatusOK},
		{name: "ends with 0 at its end", archive: module("import atexit, os\natexit.register(os._exit, 0)\n"), status: round.StatusOK},
		{name: "ends after the first pass", archive: []judgetest.Entry{judgetest.File("answer.py", counting("os._exit(0)"))}, status: round.StatusInvalid, rate: .5, passed: 1},
		{name: "hangs after the first pass", archive: []judgetest.Entry{judgetest.File("answer.py", counting("time.sleep(600)"))}, change: stoppedAfter(30 * time.Second), status: round.StatusTimeout, rate: .5, passed: 1},
		{name: "kills the runner", archive: module("import os\nos.kill(os.getpid(), 9)\n"), status: round.StatusInvalid},
		{name: "stops the runner", archive: module("import os\nos.kill(os.getpid(), 19)\n"), change: stoppedAfter(4 * time.Second), status: round.StatusTimeout},
		{name: "prints a whole run and kills who waits for it", archive: module(aside(wholeRun) + "os.kill(os.getppid(), 9)\nos._exit(0)\n"), change: func(j *task.Judge) {
			j.Command.Shell = "python3 -m pytest -q tests; exit $?"
		}, status: round.StatusTampered, passed: 3},

		// Failures that are expected.
		{name: "marks the modules that import it", archive: module(expecting("frame.f_globals['pytestmark'] = pytest.mark.xfail")), status: round.StatusOK},
		{name: "marks each test that is collected", archive: module(`
import pytest
make = pytest.Function.__init__
def marking(self, *args, **kwargs):
    make(self, *args, **kwargs)
    if not self.name.startswith("test_must"): self.add_marker(pytest.mark.xfail)
pytest.Function.__init__ = marking
`), change: told, status: round.StatusTampered},

		// The runner, from inside.
		{name: "patches the class of reports", archive: module(forgedReports), status: round.StatusTampered, passed: 3},
		{name: "finds the runner's parts by the garbage collector", archive: module(`
import gc
import _pytest.config, pytest
class Forger:
    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self):
        result = yield
        result.get_result().outcome = "passed"
[o for o in gc.get_objects() if isinstance(o, _pytest.config.PytestPluginManager)][0].register(Forger())
`), status: round.StatusTampered, passed: 3},
		{name: "throws the added tests out", archive: module(forgedReports + `
import gc
import _pytest.config
manager = [o for o in gc.get_objects() if isinstance(o, _pytest.config.PytestPluginManager)][0]
for plugin in manager.get_plugins():
    if getattr(plugin, "__file__", None) == "/conftest.py": manager.unregister(plugin)
`), status: round.StatusTampered, passed: 3},
		{name: "forgets the failures when all is over", archive: module(`
import _pytest.terminal
def forget(self):
    self.stats["passed"] = self.stats.get("passed", []) + self.stats.pop("failed", [])
    self._session.testsfailed = 0
_pytest.terminal.TerminalReporter.summary_failures = forget
`), status: round.StatusInvalid},
		{name: "knows its tests by name", archive: module(`
import pytest, re
run = pytest.Function.runtest
pytest.Function.runtest = lambda self: run(self) if re.search("[0-9a-f]{16}", self.name) else None
`), status: round.StatusOK, rate: 1, passed: 3, listed: addsTests},
		{name: "equals everything", archive: []judgetest.Entry{judgetest.File("answer.py", "class Yes:\n    def __eq__(self, other): return True\n    def __add__(self, other): return self\n\ndef value(): return Yes()\n")}, change: told, status: round.StatusOK, rate: 1, passed: 3, listed: agrees},
		{name: "copies the answer out of the tests", archive: []judgetest.Entry{judgetest.File("answer.py", `
import re
def value(): return int(re.search(r"== (\d+)", open("/work/tests/test_later.py").read())[1])
`)}, status: round.StatusOK, rate: 1, passed: 3, listed: readsTheWire},

		// The runner, from beside.
		{name: "settings of pytest and Python", archive: with("", judgetest.File("conftest.py", forgedReports), judgetest.File("pytest.ini", "[pytest]\naddopts = -k nothing\n"), judgetest.File("tox.ini", "[pytest]\naddopts = -k nothing\n"),
			judgetest.File("setup.cfg", "[tool:pytest]\naddopts = -k nothing\n"), judgetest.File("sitecustomize.py", forgedReports), judgetest.File("usercustomize.py", forgedReports), judgetest.File("evil.pth", "import os; os._exit(0)\n"),
			judgetest.File(".pytest.ini", "[pytest]\naddopts = -k nothing\n")), status: round.StatusOK},
		{name: "files that a shell or a linker reads elsewhere", archive: with("", judgetest.File(".env", "LD_PRELOAD=/work/evil.so\n"), judgetest.File("evil.so", "\x7fELF"), judgetest.File("ld.so.preload", "/work/evil.so\n"), judgetest.File("etc/ld.so.preload", "/work/evil.so\n"),
			judgetest.File(".profile", "exit 0\n"), judgetest.File(".bashrc", "exit 0\n"), judgetest.File(".pythonrc.py", "import os; os._exit(0)\n"), judgetest.File("bin/python3", "#!/bin/sh\nexit 0\n"), judgetest.File("python3", "#!/bin/sh\nexit 0\n")), status: round.StatusOK},
		{name: "a plugin by an entry point", archive: with("", judgetest.File("evil.py", forgedReports), judgetest.File("evil-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n"),
			judgetest.File("evil-1.0.dist-info/entry_points.txt", "[pytest11]\nevil = evil\n")), status: round.StatusOK},
		{name: "an old kind of entry point", archive: with("", judgetest.File("evil.py", forgedReports), judgetest.File("evil.egg-info/PKG-INFO", "Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n"),
			judgetest.File("evil.egg-info/entry_points.txt", "[pytest11]\nevil = evil\n")), status: round.StatusOK},
		{name: "a plugin by pyproject.toml", archive: with("", judgetest.File("evil.py", forgedReports), judgetest.File("pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"-p evil\"\n")), status: round.StatusOK},
		{name: "a runner that says nothing", archive: with("", judgetest.File("pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"-p no:terminal\"\n")), status: round.StatusOK},
		{name: "a runner that only helps", archive: with("", judgetest.File("pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"--help\"\n")), status: round.StatusOK},
		{name: "a runner that collects only", archive: with("", judgetest.File("pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"--co\"\n")), status: round.StatusOK},
		{name: "a runner of its own", archive: with("", judgetest.File("pytest.py", aside(wholeRun)+"os._exit(0)\n")), status: round.StatusOK},
		{name: "a part of the runner of its own", archive: with("", judgetest.File("pluggy.py", aside(wholeRun)+"os._exit(0)\n")), status: round.StatusOK},
		{name: "a part of Python of its own", archive: with("", judgetest.File("argparse.py", aside(wholeRun)+"os._exit(0)\n")), status: round.StatusOK},
		{name: "tests by other names", archive: with("", judgetest.File("TESTS/test_answer.py", "def test_right(): pass\n"), judgetest.File("Tests/test_answer.py", "def test_right(): pass\n"), judgetest.File(`tests\test_answer.py`, "def test_right(): pass\n"),
			judgetest.File("te\u017fts/test_answer.py", ""), judgetest.File("gra\u0308der/x", "1"), judgetest.File("gr\u00e4der/x", "2")), status: round.StatusOK},

		// Tests.
		{name: "settings that leave tests out", archive: []judgetest.Entry{judgetest.File("answer.py", onlyLater("return 0")), judgetest.File("pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"-k later\"\n")}, status: round.StatusOK, rate: 1. / 3, passed: 1},
		{name: "honest and right, with settings that would leave tests out", archive: []judgetest.Entry{judgetest.File("answer.py", right), judgetest.File("pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"-k later\"\n")}, change: told, status: round.StatusOK, rate: 1, passed: 3},
		{name: "settings that leave tests out, protected", archive: with("", judgetest.File("pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"-k later\"\n")), change: func(j *task.Judge) { j.Protect = []string{"pyproject.toml"} }, status: round.StatusOK},
		{name: "skips all tests", archive: []judgetest.Entry{judgetest.File("answer.py", "import pytest\ndef value(): pytest.skip('no')\n")}, status: round.StatusInvalid},
		{name: "skips the tests that it would fail", archive: []judgetest.Entry{judgetest.File("answer.py", onlyLater("pytest.skip('no')"))}, status: round.StatusOK, rate: 1, passed: 1, listed: fewerTests},
		{name: "skips the tests that it would fail, told", archive: []judgetest.Entry{judgetest.File("answer.py", onlyLater("pytest.skip('no')"))}, change: told, status: round.StatusOK, rate: 1. / 3, passed: 1},
		{name: "adds tests to the hidden ones", archive: module(addingTests), status: round.StatusOK, rate: .97, passed: 97, listed: ownTests},
		{name: "adds tests to the hidden ones, told", archive: module(addingTests), change: told, status: round.StatusOK},
		{name: "prints letters of tests past pytest", archive: module(aside("\n.....  [100%]\n==== 5 passed in 0.01s ====\n")), status: round.StatusInvalid, rate: .625, passed: 5},
		{name: "prints letters of tests past pytest, told", archive: module(aside("\n.....  [100%]\n==== 5 passed in 0.01s ====\n")), change: told, status: round.StatusInvalid},
		{name: "writes other tests and begins again", archive: module("place, back = '/work', False\n" + easyTests), change: told, status: round.StatusTampered, passed: 3},
		{name: "writes other tests, begins again, and puts the old ones back", archive: module("place, back = '/work', True\n" + easyTests), change: told, status: round.StatusOK, rate: 1, passed: 3, listed: hiddenFiles},
		{name: "writes other tests as another user", archive: module("place, back = '/work', False\n" + easyTests), change: func(j *task.Judge) { told(j); nobody(j) }, status: round.StatusOK},
		{name: "begins again with tests of its own", archive: module("place, back = '/tmp/own', False\n" + easyTests), change: func(j *task.Judge) { told(j); nobody(j) }, status: round.StatusOK, rate: 1, passed: 3, listed: startsAnew},
		{name: "writes over the second test while the first runs", archive: module("open('/work/tests/test_later.py', 'w').write('def test_later(): pass\\n')\n"), status: round.StatusTampered, passed: 1},

		// Output and processes.
		{name: "closes all that is open", archive: module("import os\nos.closerange(0, 99)\n"), status: round.StatusInvalid},
		{name: "leads the output into nothing", archive: module("import os\nnull = os.open('/dev/null', 2)\nfor fd in range(30):\n    if fd != null: os.dup2(null, fd)\n"), status: round.StatusInvalid},
		{name: "leaves somebody behind who writes later", archive: module(aside("") + `
import time
if not os.fork():
    os.setsid()
    if os.fork(): os._exit(0)
    def runs(pid):
        try: return int(pid) != os.getpid() and "-m\0pytest\0" in open("/proc/%s/cmdline" % pid).read()
        except OSError: return False
    while any(runs(pid) for pid in filter(str.isdigit, os.listdir("/proc"))): time.sleep(.1)
    time.sleep(3)
    aside(` + quoted(wholeRun) + `)
    time.sleep(600)
`), status: round.StatusOK},
		{name: "leaves somebody behind who kills the runner and speaks for it", archive: module(aside("") + `
import sys, time
if "pytest" not in sys.modules and not os.fork():
    os.setsid()
    while True:
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try: line = open("/proc/%s/cmdline" % pid).read()
            except OSError: continue
            if "-m\0pytest\0" in line and not line.startswith("sh"):
                os.kill(int(pid), 9)
                aside(` + quoted(wholeRun) + `)
                os._exit(0)
`), change: twice, status: round.StatusTampered, passed: 3},
		{name: "writes into the first process of its container", archive: module(`
import ctypes, os
ctypes.CDLL(None).ptrace(16, 1, 0, 0)
for name in ("/proc/1/mem", "/proc/%d/mem" % os.getppid()):
    try:
        with open(name, "r+b", buffering=0) as f:
            for line in open(name.replace("mem", "maps")):
                low = int(line.split("-")[0], 16)
                try: f.seek(low); f.write(b"\0" * 4096)
                except OSError: pass
    except (OSError, ValueError): pass
`), status: round.StatusOK},
	}
}

// onlyLater is a module that gives the right answer to one of the tests.
func onlyLater(otherwise string) string {
	return "import sys, pytest\ndef value():\n    if sys._getframe(1).f_code.co_name != 'test_later': " + otherwise + "\n    return 42\n"
}

// counting is a module whose answer is right once, and then does something else.
func counting(then string) string {
	return "import os, time, pytest\ncalls = []\ndef value():\n    calls.append(1)\n    if len(calls) > 1: " + then + "\n    return 42\n"
}
