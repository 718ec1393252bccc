package steer

import (
	"maps"
	"regexp"
	"slices"
)

// Kept are globs of what steers the runners of a parser, at any depth, beside what the parser
// itself protects: the image has them or nobody. Honest work brings some of them, so that
// none says anything of an agent.
func Kept(parser string) []string {
	switch parser {
	case "pytest":
		return append(python(), "conftest", "conftest.*", "pytest.toml", ".pytest.toml", ".coveragerc", "tox.toml", "noxfile.py")
	case "unittest", "django":
		return append(python(), "unittest.cfg", "nose.cfg", "nose2.cfg", ".noserc", ".coveragerc")
	case "gotest":
		return []string{
			"go.work", "go.env", ".gotestsum*", "vendor/github.com/stretchr", "vendor/gotest.tools", "vendor/github.com/onsi",
			"vendor/gopkg.in/check.v1", "vendor/github.com/google/go-cmp", "vendor/go.uber.org/goleak",
		}
	case "cargo":
		return []string{".cargo", ".config/nextest.toml", "rust-toolchain.*"}
	case "jest", "mocha", "node", "tap":
		return javaScript()
	case "junit":
		return []string{
			".mvn", "mvnw", "mvnw.cmd", "gradlew", "gradlew.bat", "gradle/wrapper", "init.gradle", "init.gradle.kts",
			"junit-platform.properties", "testng.xml", "META-INF/services/org.junit.*", "META-INF/services/org.testng.*",
			"META-INF/services/org.spockframework.*", "org.mockito.plugins.*", "lombok.config",
		}
	}
	return nil
}

// KeptAlways is Kept for the programs that build before any runner starts.
func KeptAlways() []string {
	return []string{"CMakePresets.json", "CMakeUserPresets.json", "CTestConfig.cmake", "CTestCustom.cmake"}
}

func python() []string {
	return []string{"sitecustomize", "sitecustomize.*", "usercustomize", "usercustomize.*", "*.pth", "pyvenv.cfg", "python*._pth"}
}

func javaScript() []string {
	return []string{
		".mocharc", ".mocharc.*", "mocha.opts", "jest.config", "jest.config.*", "jest.setup.*", "jest-preset.*", "vitest.config.*", "vitest.workspace.*",
		"vite.config.*", "ava.config.*", ".taprc", ".proverc", "karma.conf.*", "node.config.json", "babel.config.*", ".babelrc", ".babelrc.*",
		".swcrc", ".npmrc", ".yarnrc", ".yarnrc.*", ".yarn", ".pnpmfile.*", ".pnp.*", "bunfig.toml", ".node-version", ".nvmrc", ".nycrc", ".nycrc.*",
		".c8rc", ".c8rc.*", "__mocks__", "jasmine.json", "cypress.config.*", "playwright.config.*",
	}
}

// Runners names the parsers whose runners a command line of a shell names, be it by way of
// what starts them.
func Runners(command string) []string {
	words := map[string]*regexp.Regexp{
		"pytest":   regexp.MustCompile(`\b(?:pytest|py\.test|tox|nox)\b`),
		"unittest": regexp.MustCompile(`-m\s*(?:unittest|nose2?)\b`),
		"django":   regexp.MustCompile(`\b(?:manage|runtests)\.py\b`),
		"gotest":   regexp.MustCompile(`\b(?:go\s+(?:test|vet|run|build)|gotestsum)\b`),
		"cargo":    regexp.MustCompile(`\bcargo\b`),
		"node":     regexp.MustCompile(`\b(?:npm|npx|yarn|pnpm|bun|bunx|jest|mocha|vitest|ava|tap|jasmine|node)\b`),
		"junit":    regexp.MustCompile(`\b(?:mvn|mvnw|gradle|gradlew|sbt|ant)\b`),
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(words)), func(name string) bool { return !words[name].MatchString(command) })
}

// Shadowed reports whether a module of that name at the top of an import path takes the place
// of a part of the runner, or of what Python's own runners are made of.
func Shadowed(module string) bool {
	return slices.Contains([]string{
		"pytest", "_pytest", "py", "pluggy", "iniconfig", "exceptiongroup", "tomli", "xdist", "pytest_cov", "coverage", "nose", "nose2", "hypothesis",
		"unittest", "doctest", "abc", "argparse", "ast", "asyncio", "atexit", "bdb", "builtins", "cmd", "codecs", "collections", "contextlib", "copy",
		"copyreg", "dataclasses", "datetime", "difflib", "dis", "encodings", "enum", "fnmatch", "functools", "gc", "genericpath", "getopt", "getpass",
		"gettext", "glob", "hashlib", "heapq", "importlib", "inspect", "io", "itertools", "json", "keyword", "linecache", "locale", "logging", "ntpath",
		"opcode", "operator", "optparse", "os", "pathlib", "pdb", "pickle", "pkgutil", "platform", "posixpath", "pprint", "random", "re", "reprlib",
		"runpy", "selectors", "shlex", "shutil", "signal", "site", "socket", "sre_compile", "sre_constants", "sre_parse", "stat", "string", "struct",
		"subprocess", "sys", "sysconfig", "tempfile", "textwrap", "threading", "time", "token", "tokenize", "tomllib", "traceback", "types", "typing",
		"urllib", "uuid", "warnings", "weakref", "xml", "zipfile", "zipimport", "zlib", "__future__", "_weakrefset", "_collections_abc",
	}, module)
}
