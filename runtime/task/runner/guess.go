package runner

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// Guess returns the parser that understands a command line of a test runner, "" if it shows
// none that is known, or more than one.
func Guess(command string) string {
	found := ""
	for _, known := range []struct{ parser, form string }{
		{"pytest", `\b(pytest|py\.test)\b`},
		{"django", `\bruntests\.py\b|\bmanage\.py\s+test\b`},
		{"unittest", `-m\s+unittest\b`},
		{"gotest", `\bgo\s+test\b`},
		{"cargo", `\bcargo\s+(\S+\s+)?test\b`},
		{"", `\bvitest\b`},
		{"jest", `\bjest\b`},
		{"mocha", `\bmocha\b`},
		{"node", `\bnode\b.*\s--test\b`},
	} {
		if !regexp.MustCompile(known.form).MatchString(command) {
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
	every := func(form string) bool {
		re := regexp.MustCompile(form)
		return len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return !re.MatchString(name) })
	}
	ends := func(suffix string) bool {
		return slices.ContainsFunc(files, func(name string) bool { return strings.HasSuffix(name, suffix) })
	}
	switch {
	case every(`^[^:]*\.py(::|$)`):
		return "pytest"
	case every(`^\w+ \([\w.]+\)$`):
		return "django"
	case ends("_test.go") && every(`^(\S+::)?Test[^:\s]*$`):
		return "gotest"
	case ends(".rs") && every(`^[\w:./-]+$`):
		return "cargo"
	}
	return ""
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
		return regexp.MustCompile(`(^|[./_-])(test|tests|spec)[./_-]`).MatchString(name) &&
			regexp.MustCompile(`\.(c|m)?(j|t)sx?$`).MatchString(name)
	}
	return false
}
