package judge

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/sanitize"
	"github.com/assayd/assayd/runtime/patch"
	"github.com/assayd/assayd/runtime/task"
)

// owned are the rules for an image that holds these files, of which some are hidden.
func owned(t *testing.T, image map[string]string, hidden []string, runners ...string) sanitize.Rules {
	t.Helper()
	r := sanitize.Rules{
		Submit: task.Submit{Paths: []string{"."}, MaxBytes: 1 << 20, MaxFiles: 500}, Hidden: hidden, Present: map[string]bool{},
		Spool: t.TempDir(), Own: &sanitize.Own{Runners: runners, Kept: steered(runners), Marks: map[string]bool{}, Settings: map[string][]byte{}},
	}
	for name, content := range image {
		if slices.Contains(hidden, name) {
			continue
		}
		for up := range sanitize.Upwards(name) {
			r.Present[up] = up != name
		}
		if sanitize.Mark(name) {
			r.Own.Marks[name], r.Own.Settings[name] = true, []byte(content)
		}
	}
	return r
}

// taken are the files that cleaning lets through, by content.
func taken(t *testing.T, rules sanitize.Rules, entries ...judgetest.Entry) map[string]string {
	t.Helper()
	var out bytes.Buffer
	if _, err := sanitize.Clean(bytes.NewReader(judgetest.Pack(t, entries...)), &out, rules); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for r := tar.NewReader(&out); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg && !patch.Removes(h) {
			content, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			found[h.Name] = string(content)
		}
	}
}

// leftOut is one sample of an attack, or of honest work that looks like one.
type leftOut struct {
	name    string
	runner  string
	image   string // names
	hidden  string // names of those that are hidden
	archive string // names
	want    string // names that are let through
}

func (c leftOut) check(t *testing.T) {
	t.Helper()
	image := map[string]string{}
	for _, name := range strings.Fields(c.image + " " + c.hidden) {
		image[name] = "{}"
	}
	var entries []judgetest.Entry
	for _, name := range strings.Fields(c.archive) {
		entries = append(entries, judgetest.File(name, "{}"))
	}
	got := taken(t, owned(t, image, strings.Fields(c.hidden), c.runner), entries...)
	if names := strings.Join(slices.Sorted(maps.Keys(got)), " "); names != c.want {
		t.Errorf("%s: let through %q, want %q", c.name, names, c.want)
	}
}

func TestWhatToolsMakeOfOtherFilesIsNotTakenIn(t *testing.T) {
	for _, c := range []leftOut{
		{"byte code of a hidden test", "pytest", "a.py", "tests/test_a.py", "a.py tests/__pycache__/test_a.cpython-312-pytest-8.3.0.pyc tests/__pycache__/test_a.cpython-312.pyc", "a.py"},
		{"byte code of a helper", "unittest", "a.py", "tests/help.py", "tests/help.pyc __pycache__/a.cpython-312.pyc x.pyo", ""},
		{"installed copies", "pytest", "pyproject.toml a.py", "", "a.egg-info/entry_points.txt a.egg-link b.dist-info/RECORD build/lib/a.py build/lib.linux-x86_64-3.12/a.so build/bdist.x/y .venv/lib/python3.12/site-packages/a.py .eggs/x a.py", "a.py"},
		{"caches of runners", "pytest", "", "", ".pytest_cache/v/cache/lastfailed .cache/x a", "a"},
		{"a build of cargo", "cargo", "Cargo.toml src/lib.rs", "tests/a.rs", "target/debug/deps/a-1 target/.rustc_info.json src/lib.rs", "src/lib.rs"},
		{"a build of a member of the workspace", "cargo", "Cargo.toml m/Cargo.toml", "", "m/target/debug/x", ""},
		{"a build beside a manifest that comes with it", "exit_code", "", "", "n/Cargo.toml n/src/lib.rs n/target/debug/x", "n/Cargo.toml n/src/lib.rs"},
		{"sources in a folder of that name", "cargo", "Cargo.toml src/target/mod.rs", "", "src/target/mod.rs src/target/x86.rs", "src/target/mod.rs src/target/x86.rs"},
		{"a build of CMake", "exit_code", "CMakeLists.txt a.c", "", "build/CMakeCache.txt build/test_a build/Makefile build/CMakeFiles/a.dir/a.c.o a.c", "a.c"},
		{"a build of CMake without its mark", "junit", "CMakeLists.txt a.c", "", "build/CMakeFiles/a.dir/a.c.o build/CTestTestfile.cmake build/cmake_install.cmake a.c.o", ""},
		{"a build of make", "tap", "Makefile a.c", "tests/test.c", "tests/test.o a.o .libs/a.so a.lo a.c", "a.c"},
		{"scripts in a folder of that name", "exit_code", "CMakeLists.txt build/cmake/a.cmake", "", "build/cmake/a.cmake build/README", "build/README build/cmake/a.cmake"},
		{"a build of ninja", "exit_code", "meson.build", "", "out/.ninja_log out/.ninja_deps out/test_a", ""},
		{"a build of Gradle", "junit", "build.gradle.kts", "", "build/classes/java/test/ATest.class build/test-results/test/a.xml .gradle/8.5/fileHashes/x src/main/java/A.java", "src/main/java/A.java"},
		{"a build of Maven", "junit", "pom.xml m/pom.xml", "", "target/test-classes/A.class m/target/x src/main/java/A.java .m2/repository/org/x.jar", "src/main/java/A.java"},
		{"caches of JavaScript", "jest", "package.json", "", "node_modules/.cache/babel-loader/x.json node_modules/.bin/jest node_modules/.package-lock.json a.tsbuildinfo .jest-cache/x .turbo/x .swc/x a.js", "a.js"},
		{"installed packages of the image", "mocha", "package.json node_modules/chai/index.js", "", "node_modules/chai/index.js node_modules/chai/node_modules/x/index.js test/node_modules/chai/index.js node_modules/new/index.js", "node_modules/new/index.js"},
		{"installed packages with a scope", "node", "package.json node_modules/@a/b/index.js", "", "node_modules/@a/b/index.js node_modules/@a/c/index.js", "node_modules/@a/c/index.js"},
		{"a vendor folder", "gotest", "go.mod a.go", "", "vendor/modules.txt vendor/github.com/x/y/y.go a.go", "a.go"},
		{"packages that the image vendors", "gotest", "go.mod vendor/modules.txt vendor/x/y.go", "", "vendor/x/y.go vendor/github.com/stretchr/testify/assert/assert.go", "vendor/x/y.go"},
	} {
		c.check(t)
	}
}

func TestWhatTheTaskAsksForIsTakenIn(t *testing.T) {
	rules := owned(t, map[string]string{"Cargo.toml": ""}, nil, "cargo")
	rules.Submit.Paths = []string{"target/wasm", "src"}
	got := taken(t, rules, judgetest.File("target/wasm/a.wasm", "1"), judgetest.File("target/debug/a", "1"), judgetest.File("src/a.rs", "1"), judgetest.File("src/x.pyc", "1"))
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, []string{"src/a.rs", "target/wasm/a.wasm"}) {
		t.Errorf("let through %q", names)
	}
	rules = owned(t, nil, nil, "gotest")
	rules.Own.Caches = []string{"cached"}
	if got := taken(t, rules, judgetest.File("cached/x", "1")); len(got) > 0 {
		t.Errorf("let through %v of a cache", got)
	}
}

func TestWhatSteersRunnersIsTheJudges(t *testing.T) {
	for _, c := range []leftOut{
		{"settings of pytest, of any version", "pytest", "", "", "pytest.toml a/.pytest.toml pytest.ini a/tox.ini setup.cfg tox.toml .coveragerc a/b.py", "a/b.py"},
		{"hooks of Python as folders", "pytest", "", "", "sitecustomize/__init__.py a/usercustomize/__init__.py conftest/__init__.py a/conftest.cpython-312-x86_64-linux-gnu.so evil.pth", ""},
		{"hooks of Python for unittest", "unittest", "", "", "sitecustomize/__init__.py sitecustomize.pyc lib/sitecustomize.so unittest/__init__.py unittest.cfg", ""},
		{"modules in place of the runner's", "pytest", "a/__init__.py", "tests/test_a.py", "pytest/__init__.py _pytest/__init__.py pluggy.py json.py src/argparse/__init__.py tests/typing.py a/json.py a/types.py", "a/json.py a/types.py"},
		{"the runner's own repository", "pytest", "src/_pytest/__init__.py src/_pytest/runner.py", "testing/test_x.py", "src/_pytest/runner.py src/_pytest/new.py", "src/_pytest/new.py src/_pytest/runner.py"},
		{"a folder in place of a hidden module", "pytest", "", "tests/helper.py", "tests/helper/__init__.py tests/helper.cpython-312-x86_64-linux-gnu.so tests/helpers.py", "tests/helpers.py"},
		{"a file in place of a hidden module", "jest", "package.json", "test/help.ts", "test/help.js test/help.json test/help test/other.js", "test/other.js"},
		{"a nested module of Go", "gotest", "go.mod calc/calc.go", "calc/calc_test.go", "calc/go.mod calc/calc.go", "calc/calc.go"},
		{"a nested module in a folder that is new", "gotest", "go.mod", "", "tools/go.mod tools/a.go", "tools/a.go tools/go.mod"},
		{"a module where there was none", "gotest", "", "calc/calc_test.go", "go.mod calc/calc.go", "calc/calc.go go.mod"},
		{"a workspace of Go", "gotest", "go.mod", "", "go.work a/go.work a/x.go", "a/x.go"},
		{"a workspace around a crate", "cargo", "m/Cargo.toml", "m/tests/a.rs", "Cargo.toml m/src/lib.rs", "m/src/lib.rs"},
		{"settings of cargo", "cargo", "Cargo.toml", "", ".cargo/config.toml a/.cargo/config rust-toolchain.toml .config/nextest.toml a.rs", "a.rs"},
		{"settings of JavaScript", "node", "package.json", "", ".npmrc a/.npmrc .node-version .mocharc.json jest.config.ts babel.config.js .babelrc .swcrc vitest.config.mts .yarnrc.yml .pnp.cjs __mocks__/fs.js a.js", "a.js"},
		{"a manifest in a folder of hidden tests", "mocha", "package.json test/a.js", "test/b.test.js", "test/package.json packages/new/package.json", "packages/new/package.json"},
		{"settings of Maven", "junit", "pom.xml", "", ".mvn/maven.config .mvn/extensions.xml pom.xml mvnw src/test/resources/junit-platform.properties src/main/resources/META-INF/services/org.junit.platform.launcher.TestExecutionListener src/A.java", "src/A.java"},
		{"settings of Gradle", "junit", "build.gradle settings.gradle app/build.gradle", "", "build.gradle app/build.gradle gradle.properties init.gradle gradle/wrapper/gradle-wrapper.properties new/build.gradle src/A.java", "new/build.gradle src/A.java"},
		{"a build of Java where there was none", "junit", "README", "", "pom.xml src/A.java", "pom.xml src/A.java"},
		{"a makefile before the image's", "exit_code", "Makefile", "", "GNUmakefile makefile Makefile CMakePresets.json a/CTestCustom.cmake", "Makefile"},
		{"a makefile where there is none", "tap", "", "", "GNUmakefile a.c", "GNUmakefile a.c"},
	} {
		c.check(t)
	}
}

// The runners of a command are known also where the parser is that of a format.
func TestRunnersOfACommand(t *testing.T) {
	for command, want := range map[string]string{
		"python3 -m pytest -q": "pytest", "cd x && ./gradlew test": "junit", "npm test": "node", "cargo test": "cargo", "tox -e py": "pytest", "go test ./...": "gotest",
	} {
		got := runners(task.Task{Judge: task.Judge{Parser: "junit", Command: task.Command{Shell: command}}})
		if !slices.Contains(got, want) || !slices.Contains(got, "junit") {
			t.Errorf("%q: %q, want %s among them", command, got, want)
		}
	}
}

func TestTheFoldersOfHiddenTestsAreTheJudges(t *testing.T) {
	diff := func(names ...string) []byte {
		var b strings.Builder
		for _, name := range names {
			b.WriteString("diff --git a/" + name + " b/" + name + "\n--- a/" + name + "\n+++ b/" + name + "\n@@ -1 +1 @@\n-x\n+y\n")
		}
		return []byte(b.String())
	}
	for _, c := range []struct {
		name, image, tests, fix, archive, want string
	}{
		{"helpers of cargo", "src/lib.rs tests/util/mod.rs", "tests/a.rs", "src/lib.rs", "tests/util/mod.rs tests/b.rs src/lib.rs", "src/lib.rs"},
		{"the package of tests", "a/b.py a/tests/__init__.py", "a/tests/test_b.py", "a/b.py", "a/tests/__init__.py a/tests/data/x.json a/b.py", "a/b.py"},
		{"data of Go", "a.go testdata/x", "a_test.go", "a.go", "testdata/x testdata/new a.go b.go", "a.go b.go"},
		{"fixtures of JavaScript", "src/a.js src/__snapshots__/a.test.js.snap", "src/a.test.js", "src/a.js", "src/__snapshots__/a.test.js.snap src/__mocks__/b.js src/a.js", "src/a.js"},
		{"resources of Java", "src/main/A.java src/test/resources/x", "src/test/java/ATest.java", "src/main/A.java", "src/test/resources/x src/test/java/Base.java src/main/A.java", "src/main/A.java"},
		{"what the solution changes there", "tests/lib/server.py tests/lib/other.py", "tests/test_a.py", "tests/lib/server.py tests/new/x.py", "tests/lib/server.py tests/lib/other.py tests/new/x.py tests/new/y.py", "tests/lib/server.py tests/new/x.py"},
		{"settings that the solution changes", "src/a.py", "tests/test_a.py", "src/a.py babel.config.js", "src/a.py babel.config.js .npmrc", "babel.config.js src/a.py"},
		{"but not its hidden tests", "a.py", "tests/test_a.py", "tests/test_a.py a.py", "tests/test_a.py a.py", "a.py"},
	} {
		image := map[string]string{}
		for _, name := range strings.Fields(c.image) {
			image[name] = ""
		}
		rules := owned(t, image, strings.Fields(c.tests), "exit_code", "node")
		rules.Own.Folders, rules.Own.Free = testFolders(task.Task{
			Judge: task.Judge{Patch: diff(strings.Fields(c.tests)...)}, Solution: &task.Solution{Patch: diff(strings.Fields(c.fix)...)},
		})
		var entries []judgetest.Entry
		for _, name := range strings.Fields(c.archive) {
			entries = append(entries, judgetest.File(name, "1"))
		}
		got := taken(t, rules, entries...)
		if names := strings.Join(slices.Sorted(maps.Keys(got)), " "); names != c.want {
			t.Errorf("%s: let through %q, want %q", c.name, names, c.want)
		}
	}
}

func TestMixedSettingsKeepTheRunnersPart(t *testing.T) {
	const base = "[project]\nname = \"a\"\n\n[tool.pytest.ini_options]\naddopts = \"-ra\"\n"
	rules := owned(t, map[string]string{"pyproject.toml": base}, nil, "pytest")
	got := taken(t, rules, judgetest.File("pyproject.toml", "[project]\nname = \"a\"\ndependencies = [\"x\"]\n[tool.pytest.ini_options]\naddopts = \"-k nothing -p evil\"\n"),
		judgetest.File("tests/pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"-k nothing\"\n"), judgetest.File("bad/pyproject.toml", "[[["), judgetest.File("x.toml", "[[["),
		judgetest.File("big/pyproject.toml", strings.Repeat("#", 300<<10)))
	if s := got["pyproject.toml"]; !strings.Contains(s, "'-ra'") || strings.Contains(s, "evil") || !strings.Contains(s, "'x'") {
		t.Errorf("at the top: %s", s)
	}
	if s, ok := got["tests/pyproject.toml"]; !ok || strings.Contains(s, "nothing") {
		t.Errorf("in a folder: %q", s)
	}
	if len(got) != 3 {
		t.Errorf("let through %v", slices.Sorted(maps.Keys(got)))
	}
	var many []judgetest.Entry
	for i := range sanitize.MaxMixed + 5 {
		many = append(many, judgetest.File(fmt.Sprintf("p%04d/pyproject.toml", i), ""))
	}
	rules.Submit.MaxFiles = 3 * sanitize.MaxMixed
	if got := taken(t, rules, many...); len(got) != sanitize.MaxMixed {
		t.Errorf("let through %d settings files", len(got))
	}
	var out bytes.Buffer
	stats, err := sanitize.Clean(bytes.NewReader(judgetest.Pack(t, judgetest.Gone("pyproject.toml"), judgetest.Gone("other.toml"), judgetest.Link("deep/pyproject.toml", "../x.toml"), judgetest.File("x.toml", ""))), &out, rules)
	if err != nil || stats.Dropped != 2 || strings.Contains(strings.Join(judgetest.Shown(t, out.Bytes()), " "), "pyproject") {
		t.Errorf("%+v %v %v", stats, err, judgetest.Shown(t, out.Bytes()))
	}
}
