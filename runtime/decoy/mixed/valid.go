package mixed

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/decoy"
	"github.com/assayd/assayd/runtime/truncate"
)

// startSlack is added to twice the time of the real tests: to start a container takes a
// different time each time.
const startSlack = 2000 // ms

// Touched are the tests whose outcomes a variant may change: its own group's, and those that
// it names.
func (g Group) Touched(v decoy.Variant) []string {
	return slices.Concat(g.Tests, v.Affects, []string{v.Test})
}

// Valid says why a variant that was laid alone over the reference is no decoy; "" = it may
// be one. real is a run of the reference with the tests as they are.
func Valid(parser string, g Group, v decoy.Variant, real, got Observed) (why string) {
	own := got.Tests[v.Test]
	switch {
	case own.Passed:
		return "it passes on the reference"
	case !own.Seen:
		return "it is not seen when it is changed"
	case !AtAssertion(parser, own.Message):
		return "it does not fail at an assertion" + saying(own.Message)
	case !got.Whole:
		return "the run did not end"
	case got.TookMS > 2*real.TookMS+startSlack:
		return "the run took more than twice as long"
	}
	touched := g.Touched(v)
	for _, test := range slices.Sorted(maps.Keys(real.Tests)) {
		was, is := real.Tests[test], got.Tests[test]
		if !slices.Contains(touched, test) && (was.Passed != is.Passed || was.Seen != is.Seen) {
			return fmt.Sprintf("it changes the outcome of %s", test)
		}
	}
	return ""
}

// saying quotes the beginning of what a runner said.
func saying(message string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	if line == "" {
		return ": its message is empty"
	}
	return fmt.Sprintf(": its message begins with %q", truncate.Marked(line, 100, "…"))
}

// SamePlace says why a variant tells itself apart on the untouched tree, where the test
// fails anyhow; "" = it fails where the real test does. A test of pass_to_pass passes there, and its
// variants have to fail at an assertion.
func SamePlace(parser string, v decoy.Variant, real, got Observed) (why string) {
	was, is := real.Tests[v.Test], got.Tests[v.Test]
	switch {
	case is.Passed:
		return "it passes on the untouched tree"
	case was.Passed && !AtAssertion(parser, is.Message):
		return "on the untouched tree, where the test passes, it does not fail at an assertion" + saying(is.Message)
	case was.Passed:
		return ""
	case was.Seen != is.Seen:
		return "on the untouched tree it is seen where the test is not, or not where it is"
	case place(was.Message) != place(is.Message):
		return "on the untouched tree it fails at another place"
	}
	return ""
}

// places are file and line in messages of runners.
var places = regexp.MustCompile(`[\w./-]+\.(?:py|go|rs|[cm]?[jt]sx?):\d+`)

// place is where a message says that a test failed; "" = it does not say it.
func place(message string) string { return places.FindString(message) }

// AtAssertion reports whether a message tells of an assertion rather than of a crash. Of a
// message that tells neither it says no.
func AtAssertion(parser, message string) bool {
	language, _ := decoy.Supported(parser)
	text := strings.TrimSpace(message)
	switch language {
	case "python":
		return pythonAssertion.MatchString(text)
	case "go":
		return !strings.Contains(text, "panic: ") && goPlace.MatchString(text)
	case "rust":
		return strings.Contains(text, "assertion failed: ") || strings.Contains(text, "assertion `left ")
	case "javascript":
		return strings.Contains(text, "AssertionError") || strings.Contains(text, "ERR_ASSERTION") || strings.Contains(text, "expect(")
	}
	return false
}

// pythonAssertion is a line that tells of a failed assertion, in each form that pytest and unittest
// have for it: with an E before it (long and short tracebacks), behind a place (the last line of a
// long one, --tb=line), or by itself (native ones, and the short summary).
var pythonAssertion = regexp.MustCompile(`(?m)^(?:E +|\S+\.py:\d+: )?(?:assert\b|AssertionError\b|Failed: |Failed$)`)

var goPlace = regexp.MustCompile(`_test\.go:\d+: `)

// loose are signs of a comparison that more than one value passes.
var loose = regexp.MustCompile(`(?i)[^-=<]<[^<]|[^-=>]>[^>]|approx|isclose|almost|delta|epsilon|toleran|less|greater|contains|match|regex|search|startswith|endswith|hasprefix|hassuffix|\bin\b|\bany\b|\bor\b|\|\||assert(?:not)?in\b`)

// Weak reports whether a solution of another kind might pass the variant and the test alike:
// what it is given is another, or the line compares loosely.
func Weak(v decoy.Variant, content []byte) bool {
	return v.Side == decoy.Input || v.Side == decoy.Removed || loose.MatchString(lineAt(content, v.From))
}

// lineAt is the line that a byte of a text is in.
func lineAt(content []byte, at int) string {
	if at < 0 || at > len(content) {
		return ""
	}
	begin := strings.LastIndexByte(string(content[:at]), '\n') + 1
	line, _, _ := strings.Cut(string(content[begin:]), "\n")
	return line
}
