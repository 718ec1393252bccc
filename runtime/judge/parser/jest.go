package parser

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/truncate"
)

// jestParser reads the text of jest --verbose, or the document of jest --json where the
// text names no passed test.
//
// A test is named "describe > nested > title", as the tree of --verbose shows it; a test
// file that could not be run is an error named by its path. Names that repeat are told
// apart by number, in the order of the paths of their files, for jest runs the files in an
// order of its own.
//
// Without --verbose jest names the tests of a single file only. Nothing in the environment
// changes that: of more files the failed tests are seen, and the result is not complete.
//
// package.json is not protected although it can hold settings of jest: submissions change
// it for good reasons.
func jestParser() Parser {
	return Parser{
		Name:     "jest",
		Protect:  []string{"jest.config.*", "jest.setup.*", "jest-preset.*"},
		Parse:    parseJest,
		Environ:  plainEnviron,
		Tripwire: jestTripwire,
	}
}

// plainEnviron asks runners for output as a pipe gets it: no colours, no progress lines.
func plainEnviron(env map[string]string) map[string]string {
	out := maps.Clone(env)
	if out == nil {
		out = map[string]string{}
	}
	out["CI"], out["FORCE_COLOR"] = "true", "0"
	return out
}

func parseJest(in Input) Result {
	r := newJestReader()
	for line := range lines(in.Output) {
		r.line(line)
	}
	result := Result{}
	if doc, ok := lastJestDocument(in.Output); ok && !r.named() {
		result = r.document(in, doc)
	} else {
		result = r.finish(in)
	}
	result.Runs = r.runs
	return result
}

// jestFile is what the text shows of one run of a test file.
type jestFile struct {
	path     string
	failed   bool
	tests    []jestTest
	broken   bool // the file itself could not be run
	messages map[string]string
	order    []string // titles of messages, in order
}

type jestTest struct {
	name   string
	status Status
	word   string // in the summary
}

// jestPart is the part of jest's output a line belongs to.
type jestPart int

const (
	jestNoise   jestPart = iota // between files: what they print
	jestTree                    // tests of a file
	jestDetails                 // why they failed
	jestRecap                   // the details again, before the summary
)

type jestReader struct {
	header, test, duration, total, count *regexp.Regexp

	part   jestPart
	names  []string // of the describe blocks around, by depth, each with those around it
	title  string   // whose message we are in
	files  []jestFile
	lines  int    // tests named, bounded
	runs   int    // closing summaries
	claims census // of the last summary; nil = none
	suites census
	wrong  problems
}

func newJestReader() *jestReader {
	return &jestReader{
		header:   regexp.MustCompile(`^ ?(PASS|FAIL) +(\S.*?)(?: \([\d.]+ m?s\))?(?: \([\d.]+ MB heap size\))?\s*$`),
		test:     regexp.MustCompile(`^( +)(✓|✕|○|✎|√|×) (.*)$`),
		duration: regexp.MustCompile(` \(\d+(?:\.\d+)? ?m?s\)$`),
		total:    regexp.MustCompile(`^(Tests|Test Suites): +(.*?)(?:, )?(?:\d+ of )?(\d+) total$`),
		count:    regexp.MustCompile(`(\d+) ([a-z]+)`),
	}
}

func (r *jestReader) line(line string) {
	if m := match(r.total, line, strings.HasPrefix(line, "Test")); m != nil {
		r.summary(m[1], m[2], m[3])
		return
	}
	if r.part == jestRecap {
		return
	}
	if m := match(r.header, line, strings.HasPrefix(strings.TrimPrefix(line, " "), "PASS") || strings.HasPrefix(strings.TrimPrefix(line, " "), "FAIL")); m != nil {
		r.part, r.names, r.title = jestTree, nil, ""
		r.files = append(r.files, jestFile{path: m[2], failed: m[1] == "FAIL", messages: map[string]string{}})
		return
	}
	switch {
	case line == "Summary of all failing tests":
		r.part = jestRecap
	case r.part != jestNoise && strings.HasPrefix(line, "  ● "):
		r.part = jestDetails
		r.detail(strings.TrimPrefix(line, "  ● "))
	case r.part == jestDetails:
		r.explain(line)
	case r.part == jestTree && line == "":
		r.part = jestNoise
	case r.part == jestTree:
		r.branch(line)
	case strings.HasPrefix(line, "  ● ") && len(r.files) > 0:
		r.part = jestDetails
		r.detail(strings.TrimPrefix(line, "  ● "))
	}
}

// summary takes a line of the closing summary; the last one of an output counts.
func (r *jestReader) summary(what, counts, total string) {
	claims := census{"total": atoi(total)}
	for _, m := range r.count.FindAllStringSubmatch(counts, -1) {
		claims[m[2]] = atoi(m[1])
	}
	r.part = jestNoise
	if what == "Tests" {
		r.runs++
		r.claims = claims
	} else {
		r.suites = claims
	}
}

// branch reads a line of the tree of a file: a test or a describe block.
func (r *jestReader) branch(line string) {
	if m := match(r.test, line, true); m != nil {
		depth := len(m[1])/2 - 1
		if depth < 0 || depth > len(r.names) || r.lines == maxTests {
			r.wrong.addf("the tree of tests is not understood")
			return
		}
		r.lines++
		r.record(m[2], r.names[:depth], r.duration.ReplaceAllString(m[3], ""))
		return
	}
	title := strings.TrimLeft(line, " ")
	depth := (len(line)-len(title))/2 - 1
	if depth >= 0 && depth <= min(len(r.names), maxDepth) {
		r.names = append(r.names[:depth:depth], cleanName(within(r.names[:depth], title)))
	}
}

func (r *jestReader) record(mark string, outer []string, title string) {
	test := jestTest{status: Skipped, word: "skipped"}
	switch mark {
	case "✓", "√":
		test.status, test.word = Passed, "passed"
	case "✕", "×":
		test.status, test.word = Failed, "failed"
	case "✎":
		test.word = "todo"
		title = strings.TrimPrefix(title, "todo ")
	default:
		title = strings.TrimPrefix(title, "skipped ")
	}
	test.name = within(outer, title)
	file := &r.files[len(r.files)-1]
	file.tests = append(file.tests, test)
}

// detail begins the reason why a test, or the file, failed.
func (r *jestReader) detail(title string) {
	file := &r.files[len(r.files)-1]
	r.title = strings.ReplaceAll(strings.TrimSpace(title), " › ", " > ")
	switch {
	case r.title == "Test suite failed to run":
		file.broken = true
	case r.title == "Console":
		r.title = ""
	case strings.HasPrefix(r.title, "process.exit called"):
		r.wrong.addf("a test file ended the process")
	}
	if _, known := file.messages[r.title]; r.title != "" && !known && len(file.order) < maxTests {
		file.messages[r.title] = ""
		file.order = append(file.order, r.title)
	}
}

func (r *jestReader) explain(line string) {
	if len(r.files) == 0 || r.title == "" {
		return
	}
	file := &r.files[len(r.files)-1]
	if text, ok := file.messages[r.title]; ok && len(text) < maxMessage {
		file.messages[r.title] = truncate.Text(text+strings.TrimPrefix(line, "    ")+"\n", maxMessage)
	}
}

// named says whether the text names the tests that passed.
func (r *jestReader) named() bool {
	seen, _ := r.seen()
	return seen["total"] > 0 && (r.claims == nil || seen["total"] == r.claims["total"])
}

// seen counts tests and files in the words of the summary.
func (r *jestReader) seen() (tests, suites census) {
	tests, suites = census{}, census{}
	for _, file := range r.files {
		word := "passed"
		if file.failed {
			word = "failed"
		}
		suites[word]++
		for _, test := range file.tests {
			tests["total"]++
			tests[test.word]++
		}
	}
	return tests, suites
}

// jestWords are the words of the closing summary.
var jestWords = []string{"total", "passed", "failed", "skipped", "todo"}

func (r *jestReader) finish(in Input) Result {
	seen, suites := r.seen()
	if r.claims != nil {
		seen.disagreement(r.claims, jestWords, &r.wrong)
	}
	if r.suites != nil {
		suites.disagreement(r.suites, []string{"passed", "failed"}, &r.wrong)
	}
	var all numbered
	slices.SortStableFunc(r.files, func(a, b jestFile) int { return strings.Compare(a.path, b.path) })
	for _, file := range r.files {
		file.addTo(&all, &r.wrong)
	}
	return all.tests.result(in, r.claims != nil && r.suites != nil, r.wrong)
}

// addTo records the tests of a file; where no tree names them, those whose failure is told.
func (f jestFile) addTo(all *numbered, wrong *problems) {
	const broken = "Test suite failed to run"
	for _, test := range f.tests {
		message := ""
		if test.status == Failed {
			message = f.messages[test.name]
		}
		all.add(test.name, test.status, message)
	}
	if f.broken {
		all.tests.add(f.path, Errored, f.messages[broken])
		wrong.addf("%s could not be run", f.path)
	}
	if len(f.tests) > 0 || !f.failed {
		return
	}
	for _, title := range f.order {
		if title != broken {
			all.add(title, Failed, f.messages[title])
		}
	}
}
