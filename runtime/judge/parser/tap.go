package parser

import (
	"regexp"
	"strconv"
	"strings"
)

// nodeParser reads TAP: what node --test writes when its output is no terminal, and flat
// TAP as tape writes it.
func nodeParser() Parser {
	return Parser{
		Name: "node",
		Protect: []string{
			".mocharc", ".mocharc.*", "jest.config.*", "vitest.config.*", "vitest.workspace.*",
			"ava.config.*", ".taprc", "karma.conf.*", "node.config.json",
		},
		Parse:    parseTAP,
		Tripwire: nodeTripwire,
	}
}

func parseTAP(in Input) Result {
	r := newTAPReader()
	for line := range lines(in.Output) {
		r.line(line)
	}
	r.commit()
	complete := r.finish()
	result := r.tests.tests.result(in, complete, r.wrong)
	result.Runs = r.begun
	return result
}

// tapPoint is one "ok" or "not ok" and what its YAML block says.
type tapPoint struct {
	depth, indent int
	ok            bool
	number        string
	text          string // description, still escaped, without directive
	directive     string // SKIP, TODO or ""
	suite         bool
	inherited     bool // failed only because something below it did
	message       string
	long          bool // the message is the lines that follow
	asserted      bool // node says that an assertion failed
}

// said is what a point says of its failure.
func (p *tapPoint) said() string {
	if p.asserted {
		return strings.TrimSpace("AssertionError [ERR_ASSERTION]: " + p.message)
	}
	return p.message
}

type tapReader struct {
	point, field, total, plan *regexp.Regexp

	names     []string  // of the enclosing subtests, by depth
	announced []bool    // by depth: "# Subtest" came since the last point
	children  []bool    // by depth: points came below since "# Subtest"
	open      *tapPoint // waits for its YAML block
	yaml      int       // indent of the YAML block we are in; -1 = none

	tests   numbered
	counts  map[string]int // points by kind, in the words of node's summary
	top     int            // points at depth 0
	begun   int            // streams, and what came before the first of them
	claims  map[string]int // closing summary
	planned int            // -1 = no plan
	streams bool           // one after another: plans and summaries add up
	wrong   problems
}

func newTAPReader() *tapReader {
	return &tapReader{
		point:   regexp.MustCompile(`^( *)(not ok|ok)(?: (\d+))?(?: - | |$)(.*)$`),
		field:   regexp.MustCompile(`^ *(type|error|code|failureType|operator): ?(.*)$`),
		total:   regexp.MustCompile(`^# (tests|suites|pass|fail|cancelled|skipped|skip|todo)\s+(\d+)$`),
		plan:    regexp.MustCompile(`^1\.\.(\d+)(?:\s*#.*)?$`),
		yaml:    -1,
		planned: -1,
		counts:  map[string]int{},
		claims:  map[string]int{},
	}
}

func (r *tapReader) line(line string) {
	text := strings.TrimLeft(line, " ")
	indent := len(line) - len(text)
	if r.yaml >= 0 {
		r.diagnostic(line, text, indent)
		return
	}
	if r.open != nil && text == "---" && indent == r.open.indent+2 {
		r.yaml = indent
		return
	}
	r.commit()
	if m := match(r.point, line, strings.HasPrefix(text, "ok") || strings.HasPrefix(text, "not ok")); m != nil {
		r.begin(m)
	} else if name, ok := strings.CutPrefix(text, "# Subtest: "); ok {
		r.announce(indent/4, unescapeTAP(name))
	} else if m := match(r.total, line, strings.HasPrefix(line, "# ")); m != nil {
		r.claim(m[1], m[2])
	} else if m := match(r.plan, line, strings.HasPrefix(line, "1..")); m != nil {
		r.promise(atoi(m[1]))
	} else if strings.HasPrefix(line, "TAP version ") {
		if r.begun == 0 && r.top > 0 {
			r.begun = 1
		}
		r.begun++
	} else if strings.HasPrefix(line, "Bail out!") {
		r.wrong.addf("the run bailed out")
	}
}

// diagnostic reads a line of the YAML block that belongs to the open point.
func (r *tapReader) diagnostic(line, text string, indent int) {
	if indent <= r.yaml && text == "..." {
		r.yaml = -1
		return
	}
	m := match(r.field, line, indent <= r.yaml+2)
	if m == nil {
		r.open.more(text, indent > r.yaml)
		return
	}
	r.open.long = false
	value := strings.Trim(m[2], "'\"")
	switch {
	case m[1] == "type":
		r.open.suite = value == "suite"
	case m[1] == "failureType":
		r.open.inherited = value == "subtestsFailed"
	case m[1] == "error" && r.open.message == "" && (value == "|-" || value == "|"):
		r.open.long = true
	case m[1] == "error" && r.open.message == "":
		r.open.message = value
	case m[1] == "code":
		r.open.asserted = value == "ERR_ASSERTION"
	case m[1] == "operator" && r.open.message == "":
		r.open.message = "failed: " + value
	}
}

// more takes a line of a message that has several.
func (p *tapPoint) more(text string, within bool) {
	p.long = p.long && (within || text == "")
	if !p.long || text == "" || len(p.message)+len(text) >= maxMessage {
		return
	}
	if p.message != "" {
		p.message += "\n"
	}
	p.message += text
}

// maxDepth bounds how deep subtests are followed.
const maxDepth = 64

func (r *tapReader) announce(depth int, name string) {
	if depth >= maxDepth {
		return
	}
	for len(r.names) <= depth {
		r.names = append(r.names, "")
		r.announced = append(r.announced, false)
		r.children = append(r.children, false)
	}
	r.names, r.announced, r.children = r.names[:depth+1], r.announced[:depth+1], r.children[:depth+1]
	r.names[depth], r.announced[depth], r.children[depth] = name, true, false
}

func (r *tapReader) begin(m []string) {
	text, directive := splitDirective(m[4])
	r.open = &tapPoint{
		indent: len(m[1]), depth: len(m[1]) / 4, ok: m[2] == "ok",
		number: m[3], text: text, directive: directive,
	}
}

// commit records the open point, now that its YAML block is over.
func (r *tapReader) commit() {
	p := r.open
	r.open, r.yaml = nil, -1
	if p == nil || p.depth >= maxDepth {
		return
	}
	if p.depth == 0 {
		r.top++
	}
	name, announced, parent := r.identify(p)
	switch {
	case p.depth == 0 && announced && isTestFile(unescapeTAP(p.text)):
		r.file(p, name, parent)
		return
	case p.suite:
		if !p.ok && !p.inherited && p.directive == "" {
			r.tests.tests.add(name, Errored, p.said())
		}
		return
	}
	r.count(p)
	r.tests.add(name, p.status(), p.said())
}

// identify names a point: by its path where it was announced as a subtest, else by its
// number and description, for flat TAP repeats descriptions. It also says whether points
// came below it.
func (r *tapReader) identify(p *tapPoint) (name string, announced, parent bool) {
	own := unescapeTAP(p.text)
	if p.depth > 0 && p.depth <= len(r.children) {
		r.children[p.depth-1] = true
	}
	if p.depth >= len(r.announced) || !r.announced[p.depth] {
		return strings.TrimSpace(p.number + " " + own), false, false
	}
	parent = r.children[p.depth]
	r.announced[p.depth] = false
	var parts []string
	for depth, outer := range r.names[:p.depth] {
		if depth > 0 || !isTestFile(outer) {
			parts = append(parts, outer)
		}
	}
	return strings.Join(append(parts, own), " > "), true, parent
}

// file handles the point that stands for a whole test file. One that passed is no test: it
// wraps others, or there were none in it. One that failed without others could not run.
func (r *tapReader) file(p *tapPoint, name string, parent bool) {
	switch {
	case parent:
		return
	case p.ok:
		r.wrong.addf("%s ended without reporting a test", name)
	default:
		r.tests.tests.add(name, Errored, p.said())
		r.wrong.addf("%s could not be run to its end", name)
	}
	r.count(p)
}

func (r *tapReader) count(p *tapPoint) {
	r.counts["tests"]++
	switch {
	case p.directive == "SKIP":
		r.counts["skipped"]++
	case p.directive == "TODO":
		r.counts["todo"]++
	case p.ok:
		r.counts["pass"]++
	default:
		r.counts["fail"]++
	}
}

// status of a point. What is marked as still to do counts neither way.
func (p *tapPoint) status() Status {
	switch {
	case p.directive != "":
		return Skipped
	case p.ok:
		return Passed
	default:
		return Failed
	}
}

// claim takes a line of the closing summary; of one stream the last summary counts.
func (r *tapReader) claim(word, number string) {
	if word == "tests" && !r.streams {
		clear(r.claims)
	}
	switch word {
	case "cancelled":
		word = "fail"
	case "skip":
		word = "skipped"
	}
	r.claims[word] += atoi(number)
}

// promise takes a plan; of one stream the last counts.
func (r *tapReader) promise(points int) {
	switch {
	case points < 0:
		r.wrong.addf("a plan is too large")
	case r.streams:
		r.planned = max(r.planned, 0) + points
	default:
		r.planned = points
	}
}

// finish compares the points with the closing summary, or with the plan if there is none.
func (r *tapReader) finish() (complete bool) {
	if _, ok := r.claims["tests"]; !ok {
		if r.planned >= 0 && r.planned != r.top {
			r.wrong.addf("%d tests were planned, %d were reported", r.planned, r.top)
		}
		return r.planned >= 0
	}
	for _, word := range []string{"tests", "pass", "fail"} {
		shown := r.counts[word]
		if word == "pass" { // some count what was skipped or is still to do as passed
			shown = min(max(r.claims[word], shown), shown+r.counts["skipped"]+r.counts["todo"])
		}
		if r.claims[word] != shown {
			r.wrong.addf("the closing summary claims %s %d, the lines of the tests show %d", word, r.claims[word], shown)
		}
	}
	return true
}

// splitDirective separates "# SKIP reason" and "# TODO reason" from a description. A "#" of
// the description itself is escaped.
func splitDirective(text string) (rest, directive string) {
	text = strings.TrimRight(text, " ")
	for from := 0; ; {
		at := strings.Index(text[from:], "#")
		if at < 0 {
			return text, ""
		}
		at += from
		if from = at + 1; at > 0 && text[at-1] != ' ' {
			continue
		}
		word, _, _ := strings.Cut(strings.TrimLeft(text[at+1:], " "), " ")
		switch word = strings.ToUpper(word); {
		case strings.HasPrefix(word, "SKIP"):
			return strings.TrimRight(text[:at], " "), "SKIP"
		case word == "TODO":
			return strings.TrimRight(text[:at], " "), "TODO"
		}
	}
}

func unescapeTAP(text string) string {
	return strings.NewReplacer(`\\`, `\`, `\#`, `#`).Replace(text)
}

func isTestFile(name string) bool {
	for _, ext := range []string{".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".jsx", ".tsx"} {
		if strings.HasSuffix(name, ext) {
			return !strings.Contains(name, " ")
		}
	}
	return false
}

// atoi reads digits; a number too large for an int is never equal to a count.
func atoi(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return -1
	}
	return n
}
