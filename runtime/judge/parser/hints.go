package parser

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// hintBytes is how much of the end of an output is looked at for a hint.
const hintBytes = 256 << 10

// Hint says what may be wrong where a parser found nothing in the output of a command that ended: that
// it printed nothing, or that another parser would understand it; "" = nothing is known.
func Hint(p Parser, in Input) string {
	if len(bytes.TrimSpace(in.Output)) == 0 {
		if len(in.Files) > 0 {
			return ""
		}
		return "the command printed nothing"
	}
	in.Output = in.Output[max(0, len(in.Output)-hintBytes):]
	best, most := "", 0
	for _, e := range table() {
		if e.name != e.parser.Name || e.name == p.Name || e.parser.Tripwire == nil {
			continue // no runner: a line could be anything
		}
		if found := e.parser.Parse(in); found.Complete && len(found.Tests) > most {
			best, most = e.name, len(found.Tests)
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("parser %q understands nothing of the output, and %q finds %d tests there%s", p.Name, best, most, doubt)
}

// doubt ends a hint at another parser.
const doubt = ": is that the parser?"

// Doubted reports whether a problem is that another parser would understand the output.
func Doubted(problem string) bool { return strings.Contains(problem, doubt) }

// begun is how runners tell that a test begins, by parser; the name is the first group. What follows
// a test that ended is on the same line, but for go test.
var begun = map[string]*regexp.Regexp{
	"cargo":    regexp.MustCompile(`(?m)^test (\S+) has been running for over`),
	"django":   regexp.MustCompile(`(?m)^(\w+ \([\w.]+\)).*\.\.\. *\z`),
	"gotest":   regexp.MustCompile(`(?m)^=== (?:RUN|CONT) +(\S+)`),
	"pytest":   regexp.MustCompile(`(?m)^(\S+::\S+) *\z`),
	"unittest": regexp.MustCompile(`(?m)^(\w+ \([\w.]+\)).*\.\.\. *\z`),
}

// goEnded is how go test tells that a test ended.
var goEnded = regexp.MustCompile(`(?m)^ *--- \w+: (\S+) `)

// Unfinished names the test that had begun when a command was ended, where its runner says so; "" = it
// does not.
func Unfinished(p Parser, output []byte) string {
	pattern := begun[p.Name]
	if pattern == nil {
		return ""
	}
	output = output[max(0, len(output)-hintBytes):]
	ended := map[string]bool{}
	if p.Name == "gotest" {
		for _, m := range goEnded.FindAllSubmatch(output, -1) {
			ended[string(m[1])] = true
		}
	}
	for _, m := range slices.Backward(pattern.FindAllSubmatch(output, -1)) {
		if name := string(m[1]); !ended[name] {
			return cleanText(name, 200)
		}
	}
	return ""
}
