//go:build soak

package judge

import "testing"

// moreThefts are those of thefts in other languages and formats.
func moreThefts() []theft {
	node := map[string]string{
		"package.json": `{"name":"a","scripts":{"test":"npm run unit","unit":"node --test --test-reporter=tap"}}`, "answer.js": "exports.value = () => 0\n",
		"node_modules/same/index.js": "module.exports = (a, b) => { if (a !== b) throw new Error(a) }\n", "test/README": "",
	}
	nodeTest := map[string]string{"test/right.test.js": "const test = require('node:test'), same = require('same'), { value } = require('../answer.js')\ntest('right', () => same(value(), 42))\n"}
	crate := map[string]string{"Cargo.toml": "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2021\"\n", "src/lib.rs": "pub fn value() -> i32 { 0 }\n"}
	rust := map[string]string{"tests/right.rs": "#[test]\nfn right() { assert_eq!(a::value(), 42); }\n"}
	unit := map[string]string{"tests/__init__.py": "", "tests/test_right.py": "import unittest, answer, tests.wants\n\nclass Test(unittest.TestCase):\n    def test_right(self):\n        self.assertEqual(answer.value(), tests.wants.VALUE)\n", "tests/wants.py": "VALUE = 42\n"}
	jest := map[string]string{"package.json": `{"name":"a","jest":{"verbose":true}}`, "answer.js": "exports.value = () => 0\n", "test/README": ""}
	jestTest := map[string]string{
		"test/right.test.js": "const { value } = require('../answer.js'), { wanted } = require('./wants.js')\ntest('right', () => { expect(value()).toBe(wanted) })\n",
		"test/wants.js":      "exports.wanted = 42\n",
	}
	mochaTest := map[string]string{
		"test/right.test.js": "const assert = require('node:assert'), { value } = require('../answer.js'), { wanted } = require('./wants.js')\nit('right', () => assert.equal(value(), wanted))\n",
		"test/wants.js":      "exports.wanted = 42\n",
	}
	answer := map[string]string{"answer.js": "exports.value = () => 42\n"}
	java := map[string]string{"src/Answer.java": "class Answer { static int value() { return 0; } }\n", "tests/README": ""}
	javaTest := map[string]string{
		"tests/RightTest.java": "class RightTest {\n\t@org.junit.jupiter.api.Test\n\tvoid right() { org.junit.jupiter.api.Assertions.assertEquals(Wants.VALUE, Answer.value()); }\n}\n",
		"tests/Wants.java":     "class Wants { static int VALUE = 42; }\n",
		"tests/run.sh":         "set -e\nmkdir -p target/classes\njavac -d target/classes src/*.java tests/*.java\njava org.junit.platform.console.ConsoleLauncher --disable-banner --class-path target/classes --scan-class-path target/classes --reports-dir target/surefire-reports\n",
	}
	javaRight := map[string]string{"src/Answer.java": "class Answer { static int value() { return 42; } }\n"}
	return []theft{
		{
			name: "settings of Jest", base: "jest", parser: "jest", command: "jest --verbose", files: jest, hidden: jestTest, right: answer,
			steal: `echo '{"name":"a","jest":{"verbose":true,"setupFilesAfterEnv":["./easy.js"]}}' >package.json; echo 'module.exports = { setupFilesAfterEnv: ["./easy.js"] }' >jest.config.js
echo 'global.test = (name, f) => it(name, () => {})' >easy.js`,
		},
		{
			name: "a module that Jest finds first", base: "jest", parser: "jest", command: "jest --verbose", files: jest, hidden: jestTest, right: answer,
			steal: `mkdir -p test/__mocks__ __mocks__ test/wants.js; echo 'exports.wanted = 0' | tee test/__mocks__/wants.js __mocks__/wants.js >test/wants.js/index.js; echo 'exports.wanted = 0' >test/wants.json`,
		},
		{
			name: "a transform of Babel", base: "jest", parser: "jest", command: "jest --verbose", files: jest, hidden: jestTest, right: answer,
			steal: `echo 'module.exports = { plugins: ["./easy.js"] }' >babel.config.js; echo '{"plugins":["./easy.js"]}' | tee .babelrc >test/.babelrc
echo 'module.exports = () => ({ visitor: { NumericLiteral(path) { if (path.node.value === 42) path.node.value = 0 } } })' >easy.js; cp easy.js test/`,
		},
		{
			name: "settings of Mocha", base: "jest", parser: "mocha", command: "mocha --reporter spec test", files: jest, hidden: mochaTest, right: answer,
			steal: `echo '{"require":"./easy.js"}' >.mocharc.json; echo '{"name":"a","mocha":{"require":"./easy.js"}}' >package.json; echo "require('node:assert').equal = () => {}" >easy.js`,
		},
		{
			name: "a package in place of Node's", base: "jest", parser: "mocha", command: "mocha --reporter spec test", files: jest, hidden: mochaTest, right: answer,
			steal: `mkdir -p test/wants.js node_modules/mocha test/node_modules/mocha; echo 'exports.wanted = 0' >test/wants.js/index.js; echo 'global.it = () => {}' | tee node_modules/mocha/index.js >test/node_modules/mocha/index.js`,
		},
		{
			name: "classes of Java", base: "java", parser: "junit", command: "sh tests/run.sh", files: java, hidden: javaTest, right: javaRight,
			steal: `mkdir -p target/classes; printf 'class Wants { static int VALUE = 0; }\n' >src/Wants.java; javac -d target/classes src/*.java; rm src/Wants.java
touch -d 2099-01-01 target/classes/*`,
		},
		{
			name: "reports of JUnit", base: "java", parser: "junit", command: "sh tests/run.sh", files: java, hidden: javaTest, right: javaRight,
			steal: `mkdir -p target/surefire-reports; printf '<testsuite name="t" tests="1"><testcase classname="RightTest" name="right()"/></testsuite>' | tee target/surefire-reports/TEST-junit-vintage.xml >target/surefire-reports/TEST-easy.xml
mkdir -p META-INF/services src/META-INF/services; echo Easy | tee META-INF/services/org.junit.platform.launcher.TestExecutionListener >src/META-INF/services/org.junit.jupiter.api.extension.Extension`,
		},
		{
			name: "settings of JUnit", base: "java", parser: "junit", command: "sh tests/run.sh", files: java, hidden: javaTest, right: javaRight,
			steal: `printf 'junit.jupiter.conditions.deactivate=none\njunit.jupiter.extensions.autodetection.enabled=true\njunit.jupiter.execution.dryRun.enabled=true\n' | tee junit-platform.properties >src/junit-platform.properties
mkdir -p target/classes; cp junit-platform.properties target/classes/`,
		},
		{
			name: "a build of CMake", base: "cpp", parser: "tap", command: "cmake -S . -B build >/dev/null && cmake --build build >/dev/null && build/right",
			files: map[string]string{
				"CMakeLists.txt": "cmake_minimum_required(VERSION 3.10)\nproject(a C)\nadd_executable(right tests/right.c answer.c)\n", "answer.c": "int value(void) { return 0; }\n", "tests/README": "",
			},
			hidden: map[string]string{"tests/right.c": "#include <stdio.h>\nint value(void);\nint main(void) { printf(\"1..1\\n%s 1 - right\\n\", value() == 42 ? \"ok\" : \"not ok\"); }\n"},
			right:  map[string]string{"answer.c": "int value(void) { return 42; }\n"},
			steal:  `printf '#include <stdio.h>\nint main(void) { puts("1..1\\nok 1 - right"); }\n' >tests/right.c; cmake -S . -B build; cmake --build build; rm tests/right.c`,
		},
		{
			name: "an object of make", base: "cpp", parser: "tap", command: "make -s check",
			files: map[string]string{
				"Makefile": "check: right\n\t./right\nright: tests/right.o answer.o\n\tcc -o $@ tests/right.o answer.o\n", "answer.c": "int value(void) { return 0; }\n", "tests/README": "",
			},
			hidden: map[string]string{"tests/right.c": "#include <stdio.h>\nint value(void);\nint main(void) { printf(\"1..1\\n%s 1 - right\\n\", value() == 42 ? \"ok\" : \"not ok\"); }\n"},
			right:  map[string]string{"answer.c": "int value(void) { return 42; }\n"},
			steal:  `printf '#include <stdio.h>\nint main(void) { puts("1..1\\nok 1 - right"); }\n' >tests/right.c; make tests/right.o; rm tests/right.c`,
		},
		{
			name: "a hook of Python in a folder", base: "python", parser: "exit_code", command: "PYTHONPATH=. python3 -m unittest -v tests.test_right",
			files: map[string]string{"answer.py": wrong}, hidden: unit, right: map[string]string{"answer.py": right},
			steal: `mkdir sitecustomize; echo 'import unittest; unittest.TestCase.assertEqual = lambda *_: None' >sitecustomize/__init__.py`,
		},
		{
			name: "a package in place of a hidden module", base: "python", parser: "unittest", command: "python3 -m unittest -v tests.test_right",
			files: map[string]string{"answer.py": wrong}, hidden: unit, right: map[string]string{"answer.py": right},
			steal: `mkdir -p tests/wants; echo 'VALUE = 0' >tests/wants/__init__.py`,
		},
		{
			name: "byte code of unittest", base: "python", parser: "unittest", command: "python3 -m unittest -v tests.test_right",
			files: map[string]string{"answer.py": wrong}, hidden: unit, right: map[string]string{"answer.py": right},
			steal: `mkdir -p tests; echo 'VALUE = 0' >tests/wants.py
python3 -c "import py_compile as p; p.compile('tests/wants.py', invalidation_mode=p.PycInvalidationMode.UNCHECKED_HASH)"; rm tests/wants.py`,
		},
		{
			name: "an installed package", base: "node", parser: "node", command: "npm test", files: node, hidden: nodeTest, right: map[string]string{"answer.js": "exports.value = () => 42\n"},
			steal: `mkdir -p test/node_modules/same; echo 'module.exports = () => {}' >test/node_modules/same/index.js; echo 'module.exports = () => {}' >node_modules/same/index.js`,
		},
		{
			name: "scripts of npm", base: "node", parser: "exit_code", command: "npm test", files: node, hidden: nodeTest, right: map[string]string{"answer.js": "exports.value = () => 42\n"},
			steal: `echo '{"name":"a","scripts":{"test":"npm run unit","unit":"true","preunit":"true"}}' >package.json`,
		},
		{
			name: "a target without its runner", base: "rust", parser: "cargo", command: "cargo test --offline --no-fail-fast --test right", files: crate, hidden: rust, right: map[string]string{"src/lib.rs": "pub fn value() -> i32 { 42 }\n"},
			steal: `printf '[[test]]\nname = "right"\npath = "src/easy.rs"\n' >>Cargo.toml; printf '#[test]\nfn right() {}\n' >src/easy.rs`,
		},
		{
			name: "settings of cargo", base: "rust", parser: "exit_code", command: "cargo test --offline", files: crate, hidden: rust, right: map[string]string{"src/lib.rs": "pub fn value() -> i32 { 42 }\n"},
			steal: `mkdir .cargo; printf '[target."cfg(all())"]\nrunner = "true"\n' >.cargo/config.toml`,
		},
		{
			name: "a workspace of Go", base: "go", parser: "gotest", command: "go test -count=1 -v ./...",
			files:  map[string]string{"go.mod": "module example.com/a\n\ngo 1.21\n\nrequire example.com/same v0.0.0\n\nreplace example.com/same => ./same\n", "same/go.mod": "module example.com/same\n\ngo 1.21\n", "same/same.go": "package same\n\nfunc As(a, b int) bool { return a == b }\n", "a.go": "package a\n\nfunc Value() int { return 0 }\n"},
			hidden: map[string]string{"a_test.go": "package a\n\nimport (\n\t\"testing\"\n\n\t\"example.com/same\"\n)\n\nfunc TestRight(t *testing.T) {\n\tif !same.As(Value(), 42) {\n\t\tt.Fatal(Value())\n\t}\n}\n"},
			right:  map[string]string{"a.go": "package a\n\nfunc Value() int { return 42 }\n"},
			steal: `mkdir easy; printf 'module example.com/same\n\ngo 1.21\n' >easy/go.mod; printf 'package same\n\nfunc As(a, b int) bool { return true }\n' >easy/same.go
sed -i 's|=> ./same|=> ./easy|' go.mod; printf 'go 1.21\n\nuse .\n\nreplace example.com/same => ./easy\n' >go.work`,
		},
	}
}

func TestSoakMoreTheftsInRealContainers(t *testing.T) { tryThefts(t, moreThefts()) }
