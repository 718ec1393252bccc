package parser

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/assayd/assayd/runtime/truncate"
)

// mochaParser reads the text of mocha's spec reporter, or the document of its json reporter.
//
// A test is named "describe > nested > title", as the tree of the text shows it; the
// document knows no more than "describe nested title". A hook that failed is an error, and
// as it keeps tests from running the result is not complete. What tests print with the
// indentation of the tree can pass for describe blocks.
//
// package.json is not protected although it can hold settings of mocha: submissions change
// it for good reasons.
func mochaParser() Parser {
	return Parser{
		Name:     "mocha",
		Protect:  []string{".mocharc", ".mocharc.*", "mocha.opts"},
		Parse:    parseMocha,
		Environ:  plainEnviron,
		Tripwire: mochaTripwire,
	}
}

func parseMocha(in Input) Result {
	r := newMochaReader()
	for line := range lines(in.Output) {
		r.line(line)
	}
	result := Result{}
	doc, documented := lastMochaDocument(in.Output)
	if documented {
		if r.claims != nil { // either could be what a test printed
			r.wrong.addf("the output holds a summary and a document: one of them is not the runner's")
		}
		result = r.document(in, doc)
	} else {
		result = r.finish(in)
	}
	result.Runs = r.runs
	return result
}

// mochaPoint is a test of the tree, or a hook that failed.
type mochaPoint struct {
	name   string
	word   string // in the summary
	number int    // of a failure; 0 = none
}

// mochaReader reads until the last summary. What follows it tells of the failures again.
type mochaReader struct {
	passing, failing, pending, total *regexp.Regexp

	names    []string // of the describe blocks around, by depth, each with those around it
	blank    bool     // the line before was empty, or a test outside of any block
	failures int
	points   []mochaPoint
	after    int // points before the last summary began
	claims   census
	runs     int            // closing summaries
	told     map[int]string // what is said of each failure after the summary
	telling  int
	wrong    problems
}

func newMochaReader() *mochaReader {
	return &mochaReader{
		passing: regexp.MustCompile(`^( +)(?:✔|✓|√) (.*?)(?: \(\d+ms\))?$`),
		failing: regexp.MustCompile(`^( +)(\d+)\) (.*)$`),
		pending: regexp.MustCompile(`^( +)- (.*)$`),
		total:   regexp.MustCompile(`^  (\d+) (passing|failing|pending)(?: \([^()]*\))?$`),
		blank:   true,
	}
}

func (r *mochaReader) line(line string) {
	text := strings.TrimLeft(line, " ")
	depth := (len(line)-len(text))/2 - 1
	if m := match(r.total, line, depth == 0); m != nil {
		r.summary(m[2], m[1])
		return
	}
	if r.claims != nil {
		r.tell(line)
	}
	if text == "" || depth < 0 || depth > len(r.names) || depth >= maxDepth {
		r.blank = text == ""
		return
	}
	blank := r.blank
	r.blank = depth == 0
	if m := r.passing.FindStringSubmatch(line); m != nil {
		r.point(depth, m[2], "passing", 0)
	} else if m := r.failing.FindStringSubmatch(line); m != nil && atoi(m[2]) == r.failures+1 {
		r.failures++
		r.point(depth, m[3], "failing", r.failures)
	} else if m := r.pending.FindStringSubmatch(line); m != nil {
		r.point(depth, m[2], "pending", 0)
	} else if r.blank = false; depth > 0 || blank {
		r.names = append(r.names[:depth:depth], cleanName(within(r.names[:depth], text)))
	}
}

func (r *mochaReader) point(depth int, title, word string, number int) {
	if len(r.points) > maxTests {
		return
	}
	r.points = append(r.points, mochaPoint{name: within(r.names[:depth], title), word: word, number: number})
}

// summary takes a line of the closing summary; the last summary of an output counts.
func (r *mochaReader) summary(word, number string) {
	if word == "passing" {
		r.runs++
		r.claims, r.told, r.telling = census{}, map[int]string{}, 0
		r.after = len(r.points)
	}
	if r.claims != nil {
		r.claims[word] = atoi(number)
	}
}

// tell keeps what is said after the summary of a failure.
func (r *mochaReader) tell(line string) {
	if m := match(r.failing, line, strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "   ")); m != nil && atoi(m[2]) == r.telling+1 {
		r.telling++
	}
	if text := r.told[r.telling]; r.telling <= maxTests && len(text) < maxMessage {
		r.told[r.telling] = truncate.Text(text+strings.TrimPrefix(line, "     ")+"\n", maxMessage)
	}
}

func (r *mochaReader) finish(in Input) Result {
	points := r.points
	if r.claims != nil {
		points = points[:r.after]
	}
	var all numbered
	seen := census{}
	for _, p := range points {
		seen[p.word]++
		status := map[string]Status{"passing": Passed, "failing": Failed, "pending": Skipped}[p.word]
		if p.word == "failing" && isMochaHook(p.name) {
			status = Errored
			r.wrong.addf("%s failed: tests were left out", p.name)
		}
		all.add(p.name, status, r.told[p.number])
	}
	if len(points) > maxTests {
		r.wrong.addf("more than %d tests", maxTests)
	}
	if r.claims != nil {
		seen.disagreement(r.claims, mochaWords, &r.wrong)
	}
	return all.tests.result(in, r.claims != nil, r.wrong)
}

// mochaWords are the words of the closing summary.
var mochaWords = []string{"passing", "failing", "pending"}

// isMochaHook says whether a failure is that of a hook, or of code outside of any test.
func isMochaHook(name string) bool {
	hook := regexp.MustCompile(`(?:^| )(?:"(?:before|after) (?:all|each)" hook|Uncaught error outside test suite)`)
	return hook.MatchString(name)
}

// mochaDocument is the part of the document of the json reporter that is read here.
type mochaDocument struct {
	Stats *struct {
		Tests    int `json:"tests"`
		Passes   int `json:"passes"`
		Failures int `json:"failures"`
		Pending  int `json:"pending"`
	} `json:"stats"`
	Passes   []mochaDocumentTest `json:"passes"`
	Failures []mochaDocumentTest `json:"failures"`
	Pending  []mochaDocumentTest `json:"pending"`
}

type mochaDocumentTest struct {
	Name  string `json:"fullTitle"`
	Error struct {
		Message string `json:"message"`
		Stack   string `json:"stack"`
	} `json:"err"`
}

func lastMochaDocument(output []byte) (last mochaDocument, ok bool) {
	ok = lastDocument(output, func(document []byte) bool {
		var doc mochaDocument
		if json.Unmarshal(document, &doc) != nil || doc.Stats == nil || doc.Passes == nil || doc.Failures == nil {
			return false
		}
		last = doc
		return true
	})
	return last, ok
}

func (r *mochaReader) document(in Input, doc mochaDocument) Result {
	var all numbered
	for _, list := range []struct {
		status Status
		tests  []mochaDocumentTest
	}{{Passed, doc.Passes}, {Failed, doc.Failures}, {Skipped, doc.Pending}} {
		for _, test := range list.tests {
			status := list.status
			if status == Failed && isMochaHook(test.Name) {
				status = Errored
				r.wrong.addf("%s failed: tests were left out", test.Name)
			}
			all.add(test.Name, status, joinNonEmpty(test.Error.Message, test.Error.Stack))
		}
	}
	seen := census{"passing": len(doc.Passes), "failing": len(doc.Failures), "pending": len(doc.Pending)}
	claims := census{"passing": doc.Stats.Passes, "failing": doc.Stats.Failures, "pending": doc.Stats.Pending}
	seen.disagreement(claims, mochaWords, &r.wrong)
	return all.tests.result(in, true, r.wrong)
}
