package runner

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// commands are what calls of test runners look like; one that no parser knows has none.
var commands = []struct {
	parser string
	form   *regexp.Regexp
}{
	{"pytest", regexp.MustCompile(`\b(pytest|py\.test)\b`)},
	{"django", regexp.MustCompile(`\bruntests\.py\b|\bmanage\.py\s+test\b`)},
	{"unittest", regexp.MustCompile(`-m\s+unittest\b`)},
	{"gotest", regexp.MustCompile(`\bgo\s+test\b`)},
	{"cargo", regexp.MustCompile(`\bcargo\s+(\S+\s+)?test\b`)},
	{"", regexp.MustCompile(`\bvitest\b`)},
	{"jest", regexp.MustCompile(`\bjest\b`)},
	{"mocha", regexp.MustCompile(`\bmocha\b`)},
	{"node", regexp.MustCompile(`\bnode\b.*\s--test\b`)},
}

// Shapes of names of tests, and of files of tests in JavaScript.
var (
	djangoName = regexp.MustCompile(`^\w+ \([\w.]+\)$`)
	goName     = regexp.MustCompile(`^(\S+::)?Test[^:\s]*$`)
	cargoName  = regexp.MustCompile(`^[\w:./-]+$`)
	scriptPart = regexp.MustCompile(`(^|[./_-])(test|tests|spec)[./_-]`)
	scriptEnd  = regexp.MustCompile(`\.(c|m)?(j|t)sx?$`)
)

// Guess returns the parser that understands a command line of a test runner, "" if it shows
// none that is known, or more than one.
func Guess(command string) string {
	found := ""
	for _, known := range commands {
		if !known.form.MatchString(command) {
			continue
		}
		if found != "" || known.parser == "" {
			return ""
		}
		found = known.parser
	}
	return found
}

// GuessByNames returns the parser whose names of tests look like these, in a change of tests
// that touches these files; "" if that could be several.
func GuessByNames(names, files []string) string {
	every := func(is func(string) bool) bool {
		return len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return !is(name) })
	}
	ends := func(suffix string) bool {
		return slices.ContainsFunc(files, func(name string) bool { return strings.HasSuffix(name, suffix) })
	}
	switch {
	case every(isPytest):
		return "pytest"
	case every(djangoName.MatchString):
		return "django"
	case ends("_test.go") && every(goName.MatchString):
		return "gotest"
	case ends(".rs") && every(cargoName.MatchString):
		return "cargo"
	}
	return ""
}

// isPytest reports whether a name begins with a file of Python.
func isPytest(name string) bool {
	file, _, _ := strings.Cut(name, "::")
	return strings.HasSuffix(file, ".py") && !strings.Contains(file, ":")
}

// IsTest reports whether a file holds tests that a runner of that parser can be pointed at.
func IsTest(parser, name string) bool {
	base := path.Base(name)
	switch parser {
	case "pytest":
		return strings.HasSuffix(base, ".py") && base != "conftest.py" && base != "__init__.py"
	case "django", "unittest":
		return strings.HasSuffix(base, ".py") && base != "__init__.py"
	case "gotest":
		return strings.HasSuffix(base, "_test.go")
	case "cargo":
		return strings.HasSuffix(base, ".rs")
	case "jest", "mocha", "node", "tap":
		return scriptPart.MatchString(name) && scriptEnd.MatchString(name)
	}
	return false
}
