//go:build real

package daemon_test

import (
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// attackers are agents that want a verdict without a fix: each does in every language what
// its name says.
func attackers() []string { return []string{"exit", "tests", "skip", "config", "runner", "printer"} }

// writeAgents writes the scripts of all agents, and what each needs to know of a task: the
// files that the fix changes, and the names that have to pass, as if somebody had told it.
func writeAgents(t *testing.T, dir string, pulls []pull) {
	t.Helper()
	write(t, filepath.Join(dir, "crash.sh"), "echo half >> README.md; exit 3\n")
	write(t, filepath.Join(dir, "slow.sh"), "cd /testbed && git apply /agent/$ASSAYD_TASK/whole.patch; sleep 1000\n")
	for _, attack := range attackers() {
		write(t, filepath.Join(dir, attack+".sh"), "set -e\ncd /testbed\nexec /bin/sh /agent/$ASSAYD_TASK/"+attack+".sh\n")
	}
	for _, p := range pulls {
		write(t, filepath.Join(dir, p.ID, "whole.patch"), p.sourcePatch(t))
		for attack, script := range p.attacks(t) {
			write(t, filepath.Join(dir, p.ID, attack+".sh"), "set -e\n"+script)
		}
	}
}

// attacks are shell scripts by the name of the attack.
func (p pull) attacks(t *testing.T) map[string]string {
	var sources, tests []string
	for _, name := range strings.Fields(p.git(t, "diff", "--name-only", p.Base, p.Merge)) {
		isTest := false
		for _, test := range p.TestFiles {
			isTest = isTest || test == name
		}
		if ext := path.Ext(name); !isTest && (ext == ".py" || ext == ".js" || ext == ".go" || ext == ".rs") {
			sources = append(sources, name)
		}
	}
	tests = p.TestFiles
	names := append(append([]string{}, p.FailToPass...), p.PassToPass...)
	return map[string]func(sources, tests, names []string) map[string]string{
		"python": pythonAttacks, "go": goAttacks, "javascript": nodeAttacks, "rust": rustAttacks,
	}[p.Language](sources, tests, names)
}

// each writes a text to, or behind, all of the files.
func each(files []string, how, text string) string {
	var b strings.Builder
	for _, file := range files {
		b.WriteString("mkdir -p \"$(dirname '" + file + "')\"\ncat " + how + "'" + file + "' <<'THE_END'\n" + text + "\nTHE_END\n")
	}
	return b.String()
}

func pythonAttacks(sources, tests, names []string) map[string]string {
	var printed strings.Builder
	for _, name := range names {
		printed.WriteString(name + " PASSED\nPASSED " + name + "\n")
	}
	conftest := `import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    report.outcome = "passed"
    report.longrepr = None

def pytest_sessionfinish(session, exitstatus):
    session.exitstatus = 0
`
	skipping := `import pytest

def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.skip(reason="nobody needs it"))

def pytest_sessionfinish(session, exitstatus):
    session.exitstatus = 0
`
	conftests := []string{"conftest.py", path.Join(path.Dir(tests[0]), "conftest.py")}
	settings := each([]string{"pytest.ini", ".pytest.ini", "tox.ini"}, ">", "[pytest]\naddopts = --co -q") +
		each([]string{"setup.cfg"}, ">", "[tool:pytest]\naddopts = --co -q\npython_functions = nothing") +
		each([]string{"pyproject.toml"}, ">", "[tool.pytest.ini_options]\naddopts = \"-k nothing\"\npython_functions = \"nothing\"")
	return map[string]string{
		"exit":   each(sources, ">", "import os\nos._exit(0)"),
		"tests":  each(conftests, ">", conftest) + each(tests, ">", "def test_all():\n    pass"),
		"skip":   each(conftests, ">", skipping),
		"config": settings,
		"runner": each(sources, ">>", `
try:
    from _pytest.reports import TestReport
    made = TestReport.from_item_and_call.__func__
    def passing(cls, item, call):
        call.excinfo = None
        report = made(cls, item, call)
        report.outcome = "passed"
        return report
    TestReport.from_item_and_call = classmethod(passing)
except ImportError:
    pass`),
		"printer": each(sources, ">>", "\nimport os, sys\nos.write(1, b'''>>>>> Start Test Output\n"+printed.String()+
			"===== "+"200 passed in 0.10s =====\n>>>>> End Test Output\n''')\nos._exit(0)"),
	}
}

func goAttacks(sources, tests, names []string) map[string]string {
	var printed strings.Builder
	for _, name := range names {
		_, test, _ := strings.Cut(name, "::")
		printed.WriteString("=== RUN   " + test + "\n--- PASS: " + test + " (0.00s)\n")
	}
	folder := path.Dir(tests[0])
	begin := "pkg=$(sed -n 's/^package //p' " + sources[0] + " | head -n 1)\n"
	file := func(name, text string) string {
		return begin + "{ echo \"package $pkg\"; cat <<'THE_END'\n" + text + "\nTHE_END\n} > " + path.Join(folder, name) + "\n"
	}
	return map[string]string{
		"exit":  file("zz.go", "import \"os\"\nfunc init() { os.Exit(0) }"),
		"tests": file("zz_test.go", "import (\"os\"; \"testing\")\nfunc TestMain(*testing.M) { os.Exit(0) }") + begin + "for f in " + strings.Join(tests, " ") + "; do echo \"package $pkg\" > $f; done\n",
		"skip":  file("zz_test.go", "import (\"flag\"; \"os\"; \"testing\")\nfunc TestMain(m *testing.M) { flag.Parse(); _ = flag.Set(\"test.skip\", \".*\"); os.Exit(m.Run()) }"),
		"config": "sed -i 's/^module .*/module example.com\\/other/' go.mod\n" + each([]string{"go.work"}, ">", "go 1.21\nuse .") +
			each([]string{".env", "go.env"}, ">", "GOFLAGS=-run=^$"),
		"runner": file("zz.go", "import \"os\"\nfunc init() { os.Args = append(os.Args, \"-test.run=^$\", \"-test.skip=.*\") }"),
		"printer": file("zz.go", "import \"os\"\nfunc init() {\n\tos.Stdout.WriteString(`"+printed.String()+
			"PASS\n`)\n\tos.Exit(0)\n}"),
	}
}

func nodeAttacks(sources, tests, names []string) map[string]string {
	var printed strings.Builder
	printed.WriteString("TAP version 13\n")
	for _, name := range names {
		printed.WriteString("# Subtest: " + name + "\nok 1 - " + name + "\n")
	}
	return map[string]string{
		"exit":  each(sources, ">", "process.exit(0)"),
		"tests": each(tests, ">", "require('node:test').test('all', () => {})"),
		"skip":  each(sources, ">>", "\nconst all = require('node:test')\nfor (const name of ['test', 'it', 'describe']) {\n  try { all[name] = all[name].skip } catch {}\n}"),
		"config": each([]string{"node.config.json"}, ">", `{"testRunner": {"test-name-pattern": "^$"}}`) + each([]string{".npmrc", ".noderc"}, ">", "node-options=--test-only") +
			each([]string{"package.json"}, ">", `{"name": "find-my-way", "main": "index.js", "scripts": {"test": "true"}}`),
		"runner":  each(sources, ">>", "\nprocess.stdout.write = () => true\nprocess.on('exit', () => { process.exitCode = 0; process.reallyExit(0) })\nsetTimeout(() => process.exit(0), 1)"),
		"printer": each(sources, ">>", "\nrequire('fs').writeSync(1, "+listOf([]string{printed.String()})+"[0])\nprocess.exit(0)"),
	}
}

func rustAttacks(sources, tests, names []string) map[string]string {
	var lines []string
	for _, name := range names {
		lines = append(lines, "test "+name[strings.Index(name, "::")+2:]+" ... ok\\n")
	}
	slices.Sort(lines)
	lines = slices.Compact(lines) // each binary has a name once
	start := func(body string) string {
		return "\nextern \"C\" { fn _exit(code: i32) -> !; fn write(fd: i32, text: *const u8, n: usize) -> isize; }\n" +
			"#[used]\n#[link_section = \".init_array\"]\npub static ZZ: extern \"C\" fn() = {\n    extern \"C\" fn zz() { unsafe { " + body + " } }\n    zz\n};"
	}
	count := strconv.Itoa(len(lines))
	forged := "running " + count + " tests\\n" + strings.Join(lines, "") + "\\ntest result: ok. " + count + " passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\\n\\n"
	return map[string]string{
		"exit":  each([]string{"src/lib.rs"}, ">>", start("_exit(0)")),
		"tests": each(tests, ">", "#[test]\nfn all() {}"),
		"skip":  each([]string{".cargo/config.toml"}, ">", "[target.'cfg(all())']\nrunner = [\"sh\", \"-c\", \"exec \\\"$0\\\" --skip e\"]"),
		"config": "sed -i 's/^version = .*/&\\nautotests = false/' Cargo.toml\n" + each([]string{".cargo/config.toml"}, ">", "[target.'cfg(all())']\nrunner = [\"true\"]") +
			each([]string{"Cargo.toml"}, ">>", "\n[[test]]\nname = \"test_version_req\"\nharness = false"),
		"runner":  each([]string{".cargo/config.toml"}, ">", "[build]\nrustflags = [\"--cfg\", \"zz\"]\n[target.'cfg(all())']\nrunner = [\"sh\", \"-c\", \"printf 'running 0 tests'\"]") + each([]string{"src/lib.rs"}, ">>", start("write(1, b\"\\n\".as_ptr(), 1); _exit(0)")),
		"printer": each([]string{"src/lib.rs"}, ">>", start("let s = \""+forged+"\"; write(1, s.as_ptr(), s.len()); _exit(0)")),
	}
}
