package parser

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/truncate"
)

// gotestParser reads the events of go test -json and the text of go test -v.
//
// Test files are protected: an added one could bring a TestMain that exits early. go.mod
// and go.work are not: submissions change them for good reasons, and what they can point to
// is no more than the submission itself could contain.
func gotestParser() Parser {
	return Parser{
		Name:     "gotest",
		Protect:  []string{"*_test.go"},
		Parse:    parseGoTest,
		Environ:  gotestEnviron,
		Tripwire: gotestTripwire,
	}
}

// gotestEnviron asks go test for the names of passed tests.
func gotestEnviron(env map[string]string) map[string]string {
	out := maps.Clone(env)
	if out == nil {
		out = map[string]string{}
	}
	out["GOFLAGS"] = strings.TrimSpace(out["GOFLAGS"] + " -v")
	return out
}

func parseGoTest(in Input) Result {
	r := goReader{packages: map[string]*goPackage{}, text: newGoText()}
	for line := range lines(in.Output) {
		if !r.event(line) {
			r.textLine(line)
		}
	}
	r.endText()
	r.finish()
	result := r.tests.result(in, len(r.packages) > 0, r.wrong)
	for _, p := range r.packages {
		result.Runs = max(result.Runs, p.ends, p.trailers)
	}
	return result
}

// goPackage is what is known of one tested package.
type goPackage struct {
	name     string
	running  map[string]bool             // tests begun and not ended
	output   map[string]*strings.Builder // of each test, bounded
	declared map[string]bool             // tests whose result line was printed
	ended    string                      // pass, fail or skip; "" while it runs
	ends     int                         // events that say so
	trailers int                         // lines of text that do, but for those of packages that do not build
	orderly  bool                        // the test binary said PASS or FAIL itself
	idle     bool                        // no tests to run, or no test files
	build    bool                        // did not compile
	named    int                         // results of tests
	failures int                         // of those, failed
}

// goReader reads output of go test; a package is found in its events or its text.
type goReader struct {
	packages map[string]*goPackage
	tests    tally
	wrong    problems
	json     bool // there were events
	textual  bool // there were results as text
	text     goText
}

// goEvent is one line of go test -json.
type goEvent struct {
	Action      string
	Package     string
	ImportPath  string
	Test        string
	Output      string
	FailedBuild string
}

// event handles a line of JSON, and reports whether it was one.
func (r *goReader) event(line string) bool {
	if !strings.HasPrefix(line, "{") {
		return false
	}
	var e goEvent
	if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
		return false
	}
	if e.Package == "" {
		return e.ImportPath != "" // output of a build: the package says that it failed
	}
	r.json = true
	p := r.pkg(e.Package)
	switch {
	case e.Test != "":
		r.testEvent(p, e)
	case e.Action == "output":
		p.hear(e.Output)
	case e.Action == "pass" || e.Action == "fail" || e.Action == "skip":
		p.build = p.build || e.FailedBuild != ""
		p.ends++
		p.end(e.Action)
	}
	return true
}

func (r *goReader) testEvent(p *goPackage, e goEvent) {
	switch e.Action {
	case "run":
		p.running[e.Test] = true
	case "output":
		p.keep(e.Test, e.Output)
	case "pass", "fail", "skip":
		// The go command calls a test passed that ended its process with exit code 0.
		if e.Action != "pass" || p.declared[e.Test] {
			r.test(p, e.Test, goStatus(e.Action))
		}
	}
}

func (r *goReader) pkg(name string) *goPackage {
	p := r.packages[name]
	if p == nil {
		p = newGoPackage(name)
		if len(r.packages) < maxTests {
			r.packages[name] = p
		}
	}
	return p
}

func newGoPackage(name string) *goPackage {
	return &goPackage{name: name, running: map[string]bool{}, output: map[string]*strings.Builder{}, declared: map[string]bool{}}
}

// test records how a test ended.
func (r *goReader) test(p *goPackage, test string, status Status) {
	delete(p.running, test)
	p.named++
	message := ""
	if status != Passed {
		message = p.said(test)
	}
	if status == Failed {
		p.failures++
	}
	r.tests.add(p.full(test), status, message)
}

// full is the name of a test together with its package.
func (p *goPackage) full(test string) string {
	if p.name == "" {
		return test
	}
	return p.name + "::" + test
}

// keep remembers the beginning of what a test printed.
func (p *goPackage) keep(test, output string) {
	if strings.HasPrefix(output, "=== ") {
		return
	}
	if strings.Contains(output, "--- PASS: "+test+" (") {
		p.declared[test] = true
	}
	b := p.output[test]
	if b == nil {
		b = &strings.Builder{}
		p.output[test] = b
	}
	if room := maxMessage - b.Len(); room > 0 {
		b.WriteString(truncate.Text(output, room))
	}
}

func (p *goPackage) said(test string) string {
	if b := p.output[test]; b != nil {
		return b.String()
	}
	return ""
}

// hear takes notice of what the package itself prints.
func (p *goPackage) hear(output string) {
	text := strings.TrimRight(output, "\r\n")
	switch {
	case text == "PASS" || text == "FAIL":
		p.orderly = true
	case strings.Contains(text, "[no tests to run]") || strings.Contains(text, "[no test files]"):
		p.idle = true
	case strings.HasSuffix(text, "[build failed]") || strings.HasSuffix(text, "[setup failed]"):
		p.build = true
	}
}

// end closes a package; of two ends the worse counts.
func (p *goPackage) end(action string) {
	if p.ended != "fail" {
		p.ended = action
	}
}

// finish judges what is left when the output is over.
func (r *goReader) finish() {
	for _, name := range slices.Sorted(maps.Keys(r.packages)) {
		r.finishPackage(r.packages[name])
	}
	if r.json && r.textual {
		r.wrong.addf("results of -v among the events of -json")
	}
}

func (r *goReader) finishPackage(p *goPackage) {
	for _, test := range slices.Sorted(maps.Keys(p.running)) {
		r.tests.add(p.full(test), Errored, "began and never ended\n"+p.said(test))
		r.wrong.addf("%s: a test never ended", p.name)
	}
	switch {
	case p.build:
		r.tests.add(p.name, Errored, "does not build")
		r.wrong.addf("%s does not build", p.name)
	case p.ended == "":
		r.wrong.addf("%s: no closing line", p.name)
	case p.ended == "fail" && p.failures == 0 && len(p.running) == 0:
		r.tests.add(p.name, Errored, "failed without a failing test")
		r.wrong.addf("%s failed without a failing test", p.name)
	case p.ended == "pass" && p.failures > 0:
		r.wrong.addf("%s passed in spite of a failing test", p.name)
	case p.ended == "pass" && !p.idle && p.named == 0:
		r.wrong.addf("%s passed without naming a test (is -v or -json missing?)", p.name)
	case p.ended != "skip" && !p.idle && !p.orderly:
		r.wrong.addf("%s exited before its end", p.name)
	}
}

func goStatus(word string) Status {
	switch strings.ToLower(word) {
	case "pass":
		return Passed
	case "skip":
		return Skipped
	default:
		return Failed
	}
}
