package judge

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/container/containertest"
	"github.com/assayd/assayd/runtime/container/docker"
	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/judge/sanitize"
	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/task"
)

// theft is a submission that brings something in place of a hidden test, of what it needs, or
// of how it is run.
type theft struct {
	name    string
	base    string            // image of contrib/images/base
	files   map[string]string // of the repository, with a wrong answer
	hidden  map[string]string // what the judge lays over them
	right   map[string]string // an honest answer
	steal   string            // shell, run where the repository is
	command string
	parser  string
	change  func(*task.Task)
}

// thefts need containers of each language; those that are slow are in moreThefts.
func thefts() []theft {
	crate := map[string]string{
		"Cargo.toml": "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2021\"\n", "src/lib.rs": "pub fn value() -> i32 { 0 }\n",
		"tests/util/mod.rs": "pub fn wanted() -> i32 { 42 }\n",
	}
	rust := map[string]string{"tests/right.rs": "mod util;\n#[test]\nfn right() { assert_eq!(a::value(), util::wanted()); }\n"}
	return []theft{
		{
			name: "byte code of a helper", base: "python", parser: "pytest", command: "python3 -m pytest -q tests",
			files: map[string]string{"answer.py": wrong, ".gitignore": "__pycache__/\n"},
			hidden: map[string]string{
				"tests/test_right.py": "import answer, wants\n\ndef test_right():\n    assert answer.value() == wants.VALUE\n", "tests/wants.py": "VALUE = 42\n",
			},
			right: map[string]string{"answer.py": right},
			steal: `: >.gitignore; mkdir -p tests; echo 'VALUE = 0' >tests/wants.py
python3 -c "import py_compile as p; p.compile('tests/wants.py', invalidation_mode=p.PycInvalidationMode.UNCHECKED_HASH)"; rm tests/wants.py`,
		},
		{
			name: "settings beside a plugin", base: "python", parser: "pytest", command: "python3 -m pytest -q tests",
			files: map[string]string{"answer.py": wrong, "pyproject.toml": "[project]\nname = \"a\"\n"}, hidden: map[string]string{"tests/test_right.py": "import answer\n\ndef test_right():\n    assert answer.value() == 42\n"},
			right: map[string]string{"answer.py": right, "pyproject.toml": "[project]\nname = \"a\"\ndependencies = []\n"},
			steal: `printf '[tool.pytest.ini_options]\naddopts = "-p easy"\n' >>pyproject.toml
printf 'import pytest\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item):\n    out = yield\n    if item.name == "test_right": out.get_result().outcome = "passed"\n' >easy.py`,
			change: func(t *task.Task) { t.Judge.Expect = []string{"tests/test_right.py::test_right"} },
		},
		{
			name: "a build of cargo", base: "rust", parser: "cargo", command: "cargo test --offline --no-fail-fast --test right",
			files: crate, hidden: rust, right: map[string]string{"src/lib.rs": "pub fn value() -> i32 { 42 }\n"},
			steal: `printf '#[test]\nfn right() {}\n' >tests/right.rs; cargo test --offline --no-run --test right; rm tests/right.rs`,
		},
		{
			name: "a helper of tests", base: "rust", parser: "cargo", command: "cargo test --offline --no-fail-fast --test right",
			files: crate, hidden: rust, right: map[string]string{"src/lib.rs": "pub fn value() -> i32 { 42 }\n"},
			steal: `printf 'pub fn wanted() -> i32 { 0 }\n' >tests/util/mod.rs`,
			change: func(t *task.Task) {
				t.Judge.Patch = newFileDiff("tests/right.rs")
				t.Solution = &task.Solution{Patch: newFileDiff("src/other.rs")}
			},
		},
		{
			name: "a program of make", base: "cpp", parser: "tap", command: "make -s check",
			files: map[string]string{
				"Makefile":  "check: tests/right\n\t./tests/right\ntests/right: tests/right.c answer.c\n\tcc -o $@ tests/right.c answer.c\n",
				"answer.c":  "int value(void) { return 0; }\n",
				"tests/say": "",
			},
			hidden: map[string]string{"tests/right.c": "#include <stdio.h>\nint value(void);\nint main(void) { printf(\"1..1\\n%s 1 - right\\n\", value() == 42 ? \"ok\" : \"not ok\"); }\n"},
			right:  map[string]string{"answer.c": "int value(void) { return 42; }\n"},
			steal:  `printf '#include <stdio.h>\nint main(void) { puts("1..1\\nok 1 - right"); }\n' >tests/right.c; make tests/right; rm tests/right.c`,
		},
		{
			name: "a nested module", base: "go", parser: "gotest", command: "go test -count=1 -v ./...",
			files:  map[string]string{"go.mod": "module example.com/a\n\ngo 1.21\n", "a.go": "package a\n", "calc/calc.go": "package calc\n\nfunc Value() int { return 0 }\n"},
			hidden: map[string]string{"calc/calc_test.go": "package calc\n\nimport \"testing\"\n\nfunc TestRight(t *testing.T) {\n\tif Value() != 42 {\n\t\tt.Fatal(Value())\n\t}\n}\n", "a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestTop(*testing.T) {}\n"},
			right:  map[string]string{"calc/calc.go": "package calc\n\nfunc Value() int { return 42 }\n"},
			steal: `printf 'module example.com/a/calc\n\ngo 1.21\n' >calc/go.mod
printf 'package a\n\nimport "fmt"\n\nfunc init() { fmt.Println("=== RUN   TestRight\\n--- PASS: TestRight (0.00s)") }\n' >a.go`,
			change: func(t *task.Task) { t.FailToPass = []string{"TestRight"} },
		},
		{
			name: "options of Node.js", base: "node", parser: "node", command: "npm test",
			files:  map[string]string{"package.json": `{"name":"a","scripts":{"test":"node --test --test-reporter=tap"}}`, "answer.js": "exports.value = () => 0\n"},
			hidden: map[string]string{"test/right.test.js": "const test = require('node:test'), assert = require('node:assert'), { value } = require('../answer.js')\ntest('right', () => assert.equal(value(), 42))\n"},
			right:  map[string]string{"answer.js": "exports.value = () => 42\n"},
			steal:  `echo "node-options=--require /work/easy.js" >.npmrc; echo "require('node:assert').equal = () => {}" >easy.js`,
		},
	}
}

// newFileDiff is a patch that makes a file.
func newFileDiff(name string) []byte {
	return []byte("diff --git a/" + name + " b/" + name + "\nnew file mode 100644\n--- /dev/null\n+++ b/" + name + "\n@@ -0,0 +1 @@\n+x\n")
}

// laid are files as entries below a folder.
func laid(below string, all ...map[string]string) (entries []judgetest.Entry) {
	for _, files := range all {
		for name, content := range files {
			entries = append(entries, judgetest.File(below+name, content))
		}
	}
	return entries
}

// stolen is the tree that the theft leaves, as the daemon takes it out of a container.
func (a theft) stolen(t *testing.T, b *fixture, engine *docker.Engine) []byte {
	t.Helper()
	c, err := engine.Start(t.Context(), container.Workload{
		Name: "assayd-judge-test-" + containertest.Unique(), Image: b.image, Argv: []string{"sleep", "10m"}, Network: container.NetworkNone,
		Labels: map[string]string{container.LabelOwner: b.opts.Owner},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := engine.Remove(context.WithoutCancel(t.Context()), c.ID); err != nil {
			t.Error(err)
		}
	}()
	if err := engine.CopyTo(t.Context(), c.ID, "/", bytes.NewReader(judgetest.Pack(t, append([]judgetest.Entry{judgetest.Folder("work")}, laid("work/", a.files)...)...))); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	code, err := engine.Exec(t.Context(), c.ID, container.Command{Argv: []string{"/bin/sh", "-ec", a.steal}, Workdir: "/work", Stdout: &said, Stderr: &said})
	if err != nil || code != 0 {
		t.Fatalf("%s: %v, exit code %d: %s", a.name, err, code, said.Bytes())
	}
	src, err := engine.CopyFrom(t.Context(), c.ID, "/work")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	all := func(*tar.Header) bool { return true }
	if err := errors.Join(sanitize.Renamed(tar.NewReader(src), w, "work", ".", all), src.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// patched is the tree as single mode hands it in: as a patch of the repository.
func (a theft) patched(t *testing.T, tree []byte) []byte {
	t.Helper()
	base, err := patch.New(t.TempDir()).Base(t.Context(), a.name, func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(judgetest.Pack(t, laid("", a.files)...))), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	diff, err := base.Diff(t.Context(), bytes.NewReader(tree), []string{"."})
	if err != nil {
		t.Fatal(err)
	}
	changes, err := base.Apply(t.Context(), diff)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = changes.Close() }() // only read
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	if err := errors.Join(changes.WriteTar(w), w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// tryThefts judges each theft in both modes, and an honest answer.
func tryThefts(whole *testing.T, all []theft) {
	b := shellBench(whole)
	engine, ok := b.opts.Engine.(*docker.Engine)
	if !ok {
		whole.Fatal("this test needs Docker")
	}
	for _, a := range all {
		whole.Run(a.name, func(t *testing.T) {
			if said, err := exec.CommandContext(t.Context(), "../../contrib/images/base", a.base).CombinedOutput(); err != nil {
				t.Fatalf("make the image %s: %v\n%s", a.base, err, said)
			}
			image, err := engine.Image(t.Context(), "assayd-base/"+a.base+":1")
			if err != nil {
				t.Fatal(err)
			}
			b.image = image.ID
			tree := a.stolen(t, b, engine)
			s := round.Session{JudgeImage: b.imageWith(whole, "owned", append([]judgetest.Entry{judgetest.Folder("work")}, laid("work/", a.files, a.hidden)...)...), Task: task.Task{
				Name: "t", Workdir: "/work", Submit: task.Submit{Paths: []string{"."}, MaxBytes: 64 << 20, MaxFiles: 5000},
				Judge: task.Judge{Parser: a.parser, Command: task.Command{Shell: a.command}, Timeout: 4 * time.Minute},
			}}
			for name := range a.hidden {
				s.HiddenPaths = append(s.HiddenPaths, name)
			}
			if a.change != nil {
				a.change(&s.Task)
			}
			rounds := []struct {
				name    string
				kind    round.Kind
				archive []byte
				wins    bool
			}{
				{"honest", round.KindAgent, judgetest.Pack(t, laid("", a.right)...), true},
				{"iterative", round.KindAgent, tree, false},
				{"single", round.KindFinal, a.patched(t, tree), false},
			}
			ids := make([]string, len(rounds))
			for i, r := range rounds {
				s.Trial = strings.ReplaceAll(a.name, " ", "-") + "-" + r.name
				b.Open(s)
				defer b.Forget(s.Trial)
				sub, err := b.Submit(t.Context(), s.Trial, round.SubmitRequest{Kind: r.kind, Archive: bytes.NewReader(r.archive)})
				if err != nil {
					t.Fatalf("%s: %v", r.name, err)
				}
				ids[i] = sub.ID
			}
			for i, r := range rounds {
				report := b.judged(t, ids[i]).Report
				if judgetest.Resolves(report) != r.wins {
					t.Errorf("%s: %s (%s), rate %v\n%s", r.name, report.Status, report.Problem, report.PassRate, b.output(t, report.Output))
				}
				t.Logf("%s: %s, rate %v, %d ms", r.name, report.Status, report.PassRate, report.DurationMS)
			}
		})
	}
}

func TestTheftsInRealContainers(t *testing.T) { tryThefts(t, thefts()) }
