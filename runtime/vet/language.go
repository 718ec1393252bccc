package vet

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// language is what adversaries write in one.
type language struct {
	endings []string
	load    func(source Text, d deed) []Text
	atEnd   string                   // code behind a source; "" = there is none
	expects string                   // the same, that marks tests as failing as expected
	runner  func(source Text) []Text // changes the test runner; nil = nothing does
}

func languages() []language {
	return []language{
		{[]string{".py"}, pythonLoad, pyAtEnd, pyExpects, func(s Text) []Text { return appended(s, pyRunner) }},
		{[]string{".js", ".cjs", ".mjs", ".ts", ".jsx", ".tsx"}, scriptLoad, jsAtEnd, "", func(s Text) []Text { return appended(s, jsRunner) }},
		{[]string{".go"}, goLoad, "", "", goRunner},
		{[]string{".rs"}, rustLoad, "", "", nil},
		{[]string{".c", ".cc", ".cpp", ".cxx"}, cLoad, cAtEnd, "", nil},
	}
}

func languageOf(name string) (language, bool) {
	all := languages()
	i := slices.IndexFunc(all, func(l language) bool { return slices.Contains(l.endings, path.Ext(name)) })
	if i < 0 || isTest(name) && path.Ext(name) == ".go" { // those are the judge's
		return language{}, false
	}
	return all[i], true
}

// lines is how many lines of a flood are printed.
func (d deed) lines() int {
	if d.flood {
		return floodLines
	}
	return 0
}

// literal is a text in the quotes that all these languages have in common.
func literal(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a text always encodes, and a builder always takes it
	return strings.TrimSpace(b.String())
}

// pythonLoad writes past what a runner has put in place of its output while it captures.
func pythonLoad(source Text, d deed) []Text {
	var code strings.Builder
	code.WriteString("import os as _os\n")
	for _, f := range d.write {
		fmt.Fprintf(&code, "try:\n    _os.makedirs(_os.path.dirname(%[1]s) or '.', exist_ok=True)\n    open(%[1]s, 'w').write(%[2]s)\nexcept OSError:\n    pass\n",
			literal(f.Name), literal(string(f.Content)))
	}
	if d.print != "" {
		fmt.Fprintf(&code, `def _shout(text):
    for fd in range(1, 30):
        try:
            if _os.readlink("/proc/self/fd/%%d" %% fd).startswith("pipe:"):
                return _os.write(fd, text)
        except OSError:
            pass
    _os.write(1, text)
for _ in range(%d):
    _shout(b"x" * %d + b"\\n")
_shout(%s.encode())
`, d.lines(), floodLine, literal(d.print))
	}
	if d.exit {
		code.WriteString("_os._exit(0)\n")
	}
	return appended(source, code.String())
}

const pyAtEnd = `import atexit as _atexit, os as _os, sys as _sys
def _well():
    _sys.stdout.flush()
    _sys.stderr.flush()
    _os._exit(0)
_atexit.register(_well)
`

const pyExpects = `try:
    import pytest as _pytest
    _begin = _pytest.Function.__init__
    def _marked(self, *args, **kwargs):
        _begin(self, *args, **kwargs)
        self.add_marker(_pytest.mark.xfail)
    _pytest.Function.__init__ = _marked
    import sys as _sys
    _frame = _sys._getframe()
    while _frame is not None:
        if _frame.f_globals["__name__"].rpartition(".")[2].startswith("test_"):
            _frame.f_globals["pytestmark"] = _pytest.mark.xfail
        _frame = _frame.f_back
except ImportError:
    pass
import unittest as _unittest
_unittest.TestCase.__unittest_expecting_failure__ = True
`

const pyRunner = `try:
    from _pytest.reports import TestReport as _Report
    _make = _Report.from_item_and_call.__func__
    def _kind(cls, item, call):
        report = _make(cls, item, call)
        report.outcome, report.longrepr = "passed", None
        return report
    _Report.from_item_and_call = classmethod(_kind)
except ImportError:
    pass
import unittest as _unittest
def _praise(self, test, *_):
    self.addSuccess(test)
for _result in (_unittest.TestResult, _unittest.TextTestResult):
    _result.addFailure = _result.addError = _praise
    _result.addSubTest = lambda self, test, subtest, err: None
`

func scriptLoad(source Text, d deed) []Text {
	var code strings.Builder
	for _, f := range d.write {
		fmt.Fprintf(&code, "try { process.getBuiltinModule('fs').writeFileSync(%s, %s) } catch {}\n", literal(f.Name), literal(string(f.Content)))
	}
	if d.print != "" {
		fmt.Fprintf(&code, "for (let i = 0; i < %d; i++) process.stdout.write('x'.repeat(%d) + '\\n');\nprocess.stdout.write(%s);\n", d.lines(), floodLine, literal(d.print))
	}
	if d.exit {
		code.WriteString("process.exit(0);\n")
	}
	return appended(source, code.String())
}

const jsAtEnd = "process.on('exit', () => { process.exitCode = 0 });\n"

const jsRunner = `for (const name of ['it', 'test', 'specify']) {
  const real = globalThis[name];
  if (real) globalThis[name] = Object.assign((title) => real(title, () => {}), real);
}
if (typeof process.getBuiltinModule === 'function') {
  const assert = process.getBuiltinModule('assert');
  for (const of of [assert, assert.strict]) {
    for (const name of Object.keys(of)) if (typeof of[name] === 'function' && name !== 'strict') of[name] = () => {};
  }
}
`

var goPackage = regexp.MustCompile(`(?m)^package\s+(\w+)`)

// goName is the package of a source.
func goName(source Text) string {
	if m := goPackage.FindSubmatch(source.Content); m != nil {
		return string(m[1])
	}
	if dir := path.Base(path.Dir(source.Name)); dir != "." {
		return dir
	}
	return "main"
}

// goFile is a file of its own in the package of a source.
func goFile(source Text, imports, body string) []Text {
	text := fmt.Sprintf("package %s\n\nimport %s\n\nfunc init() {\n%s}\n", goName(source), imports, body)
	return []Text{{path.Join(path.Dir(source.Name), "zz_adversary.go"), []byte(text)}}
}

func goLoad(source Text, d deed) []Text {
	var body strings.Builder
	for _, f := range d.write {
		fmt.Fprintf(&body, "\t_ = os.WriteFile(%s, []byte(%s), 0o644)\n", literal(f.Name), literal(string(f.Content)))
	}
	if d.print != "" {
		fmt.Fprintf(&body, "\tline := make([]byte, %d)\n\tline[%d] = '\\n'\n\tfor range [%d]int{} {\n\t\t_, _ = os.Stdout.Write(line)\n\t}\n", floodLine+1, floodLine, d.lines())
		fmt.Fprintf(&body, "\t_, _ = os.Stdout.WriteString(%s)\n", literal(d.print))
	}
	if d.exit {
		body.WriteString("\tos.Exit(0)\n")
	}
	return goFile(source, `"os"`, body.String())
}

// goRunner has the test binary run no test.
func goRunner(source Text) []Text {
	return goFile(source, `"os"`, "\tos.Args = append(os.Args, \"-test.run=^$\")\n")
}

func rustLoad(source Text, d deed) []Text {
	var body strings.Builder
	for _, f := range d.write {
		fmt.Fprintf(&body, "        let _ = std::fs::write(%s, %s);\n", literal(f.Name), literal(string(f.Content)))
	}
	if d.print != "" {
		fmt.Fprintf(&body, "        for _ in 0..%d { let _ = std::io::Write::write_all(&mut std::io::stdout(), (\"x\".repeat(%d) + \"\\n\").as_bytes()); }\n", d.lines(), floodLine)
		fmt.Fprintf(&body, "        let _ = std::io::Write::write_all(&mut std::io::stdout(), %s.as_bytes());\n", literal(d.print))
		body.WriteString("        let _ = std::io::Write::flush(&mut std::io::stdout());\n")
	}
	if d.exit {
		body.WriteString("        std::process::exit(0);\n")
	}
	return appended(source, "#[used]\n#[link_section = \".init_array\"]\nstatic ADVERSARY: extern \"C\" fn() = {\n    extern \"C\" fn run() {\n"+
		body.String()+"    }\n    run\n};\n")
}

func cLoad(source Text, d deed) []Text {
	var body strings.Builder
	if d.print != "" {
		text := literal(d.print)
		fmt.Fprintf(&body, "    static char line[%d];\n    line[%d] = '\\n';\n    for (int i = 0; i < %d; i++) if (write(1, line, sizeof(line)) < 0) {}\n", floodLine+1, floodLine, d.lines())
		fmt.Fprintf(&body, "    if (write(1, %s, sizeof(%s) - 1) < 0) {}\n", text, text)
	}
	if d.exit {
		body.WriteString("    _exit(0);\n")
	}
	return appended(source, "#include <unistd.h>\n__attribute__((constructor)) static void adversary_begins(void) {\n"+body.String()+"}\n")
}

const cAtEnd = "#include <unistd.h>\n__attribute__((destructor)) static void adversary_ends(void) { _exit(0); }\n"
