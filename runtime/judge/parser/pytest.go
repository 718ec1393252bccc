package parser

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// pytestParser reads pytest's console output at any verbosity, or a JUnit file where the
// judge fetched one.
//
// pyproject.toml is not protected although it can hold settings of pytest: submissions
// change it for good reasons, and what is pytest's of it is settled by runtime/judge/steer, as
// are modules that shadow pytest's own.
func pytestParser() Parser {
	return Parser{
		Name: "pytest",
		Protect: []string{
			"conftest.py", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg",
			"sitecustomize.py", "usercustomize.py", "*.pth",
			"*.dist-info/entry_points.txt", "*.egg-info/entry_points.txt",
		},
		Parse:    parsePytest,
		Tripwire: pytestTripwire,
	}
}

func parsePytest(in Input) Result {
	if len(in.Files) > 0 {
		return parseJUnit(in)
	}
	r := pytestReader{form: newPytestForm(), agreed: true, details: pytestDetails{form: newPytestDetailForm()}}
	for line := range lines(in.Output) {
		r.line(line)
	}
	r.interrupt()
	result := r.all.result(in, r.closed > 0 && r.agreed && r.nested == 0, r.wrong)
	result.Runs = r.runs
	return result
}

// pytestForm holds the shapes of the lines pytest writes.
type pytestForm struct {
	header, closing, count            *regexp.Regexp
	verbose, worker, bare, start, row *regexp.Regexp
	short, collecting                 *regexp.Regexp
}

func newPytestForm() pytestForm {
	const (
		status  = `(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)`
		trailer = `(?: \(.*\))?(?:\s+\[\s*\d+%\])?\s*$`
		counts  = `(?:no tests ran|\d+ [a-z][a-z ]*(?:, \d+ [a-z][a-z ]*)*)`
	)
	return pytestForm{
		header:     regexp.MustCompile(`^=+ (\S.*?) =+$`),
		closing:    regexp.MustCompile(`^(?:=+ )?(` + counts + `) in [0-9.]+s?(?: seconds)?(?: \([0-9:, days]+\))?(?: =+)?$`),
		count:      regexp.MustCompile(`(\d+) ([a-z][a-z ]*)`),
		verbose:    regexp.MustCompile(`^(\S.*?::.*?) ` + status + trailer),
		worker:     regexp.MustCompile(`^\[gw\d+\](?: \[\s*\d+%\])? ` + status + ` (\S.*?)\s*$`),
		bare:       regexp.MustCompile(`^` + status + trailer),
		start:      regexp.MustCompile(`^(\S+?::[^\s\[]+(?:\[.*?\])?)(?: |$)`),
		row:        regexp.MustCompile(`^(?:\S*[./]\S* )?([.FEsxXRu,]+)(?:\s+\[\s*(?:\d+%|\d+/\d+)\])?\s*$`),
		short:      regexp.MustCompile(`^(PASSED|FAILED|ERROR|XFAIL|XPASS) (\S.*)$`),
		collecting: regexp.MustCompile(`^_+ ERROR collecting (\S.*?) _+$`),
	}
}

// pytestSection is the part of pytest's output a line belongs to.
type pytestSection int

const (
	sectionProgress pytestSection = iota
	sectionDetail                 // failures, warnings and so on: holds captured output of tests
	sectionShort                  // short test summary info
)

// pytestReader reads one or more runs of pytest, line by line.
type pytestReader struct {
	form    pytestForm
	section pytestSection
	nested  int            // runs of pytest inside the captured output of a test
	pending string         // test whose line was begun but whose status has not come yet
	open    bool           // the current run has begun and not closed
	held    map[string]int // closing summary that may have been the output of a test

	run     tally          // current run
	details pytestDetails  // of the current run
	dots    map[Status]int // progress letters of the current run
	xs      int            // of those, failures that were expected
	all     tally
	closed  int  // runs with a closing summary
	runs    int  // those that named a test before they were cut short, in addition
	agreed  bool // all of them agree with their tests
	wrong   problems
}

func (r *pytestReader) line(line string) {
	if m := match(r.form.closing, line, strings.Contains(line, " in ")); m != nil {
		r.end(m[1])
		return
	}
	if m := match(r.form.header, line, strings.HasPrefix(line, "=")); m != nil {
		r.header(m[1])
		return
	}
	switch {
	case r.nested > 0:
	case strings.HasPrefix(line, "INTERNALERROR> "):
		r.wrong.addf("pytest broke down")
	case r.section == sectionProgress:
		r.progress(line)
	case r.section == sectionShort:
		r.short(line)
	default:
		if m := match(r.form.collecting, line, strings.HasPrefix(line, "_")); m != nil {
			r.add(m[1], Errored, "error while collecting tests")
			return
		}
		r.details.line(line)
	}
}

// header follows the sections. A session that starts within captured output is a test's
// own use of pytest: nothing of it counts.
func (r *pytestReader) header(title string) {
	switch {
	case title == "test session starts":
		if r.nested > 0 || r.section == sectionDetail && r.held == nil {
			r.nested++
			return
		}
		r.interrupt()
		r.open = true
	case r.nested > 0:
	case title == "short test summary info":
		r.section, r.held = sectionShort, nil
	case isDetail(title):
		r.section = sectionDetail
		r.details.section(title)
	}
}

func isDetail(title string) bool {
	switch title {
	case "FAILURES", "ERRORS", "PASSES", "XFAILURES", "XPASSES", "rerun test summary info":
		return true
	}
	return strings.HasPrefix(title, "warnings summary") || strings.HasPrefix(title, "slowest ")
}

// end handles a closing summary. Among captured output it is one only if no short summary
// follows.
func (r *pytestReader) end(counts string) {
	if r.nested > 0 {
		r.nested--
		return
	}
	want := map[string]int{}
	for _, m := range r.form.count.FindAllStringSubmatch(counts, -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			r.wrong.addf("a closing summary of pytest has an impossible number")
		}
		want[strings.TrimSuffix(m[2], "s")] += n
	}
	if r.section == sectionDetail {
		r.held = want
		return
	}
	r.close(want)
}

// interrupt ends a run behind which there is nothing more of it.
func (r *pytestReader) interrupt() {
	switch {
	case r.held != nil:
		r.close(r.held)
	case r.open:
		r.wrong.addf("pytest exited without a closing summary")
		r.close(nil)
	}
}

// progress reads a line of the part where tests run.
func (r *pytestReader) progress(line string) {
	f := r.form
	if message, ok := strings.CutPrefix(line, "ERROR: "); ok {
		r.wrong.addf("pytest: %s", message)
		return
	}
	named := strings.Contains(line, "::")
	if m := match(f.verbose, line, named); m != nil {
		r.pending = ""
		r.told(withoutOrigin(m[1]), m[2], "")
	} else if m := match(f.worker, line, strings.HasPrefix(line, "[gw")); m != nil {
		r.told(m[2], m[1], "")
	} else if m := match(f.bare, line, !named && r.pending != ""); m != nil {
		r.told(r.pending, m[1], "")
		r.pending = ""
	} else if m := match(f.start, line, named); m != nil {
		r.pending = m[1]
	} else if m := match(f.row, line, strings.ContainsAny(line, ".FEsxX")); m != nil {
		r.letters(m[1])
	}
}

// letters counts the marks that stand for tests where their names are not printed.
func (r *pytestReader) letters(row string) {
	if r.dots == nil {
		r.dots = map[Status]int{}
	}
	r.open = true
	for _, c := range row {
		switch c {
		case 'x':
			r.dots[Passed]++
			r.xs++
		case '.', 'X':
			r.dots[Passed]++
		case 'F':
			r.dots[Failed]++
		case 'E':
			r.dots[Errored]++
		}
	}
}

// short reads a line of the short summary: a status, a name, and mostly a message.
func (r *pytestReader) short(line string) {
	m := r.form.short.FindStringSubmatch(line)
	if m == nil {
		return
	}
	name, message := r.splitMessage(m[2])
	if begin := r.form.start.FindStringSubmatch(m[2]); m[1] == "XPASS" && begin != nil {
		name = begin[1] // some versions put the reason behind a mere space
	}
	r.told(name, m[1], message)
}

// splitMessage separates "name - message". Parameters in a name can hold the separator
// too: a name that is known wins, then one whose brackets are closed.
func (r *pytestReader) splitMessage(text string) (name, message string) {
	const separator, candidates = " - ", 16
	closed := -1
	for from, n := 0, 0; n < candidates; n++ {
		at := strings.Index(text[from:], separator)
		if at < 0 {
			break
		}
		at += from
		if r.run.has(text[:at]) {
			return text[:at], text[at+len(separator):]
		}
		if closed < 0 && (text[at-1] == ']' || !strings.Contains(text[:at], "[")) {
			closed = at
		}
		from = at + len(separator)
	}
	if closed < 0 || r.run.has(text) {
		return text, ""
	}
	return text[:closed], text[closed+len(separator):]
}

func (r *pytestReader) add(name string, status Status, message string) {
	r.put(Test{Name: name, Status: status, Message: message})
}

// told records a test by pytest's word for its result.
func (r *pytestReader) told(name, word, message string) {
	r.put(Test{Name: name, Status: pytestStatus(word), Message: message, Expected: word == "XFAIL"})
}

func (r *pytestReader) put(test Test) {
	r.open = true
	r.run.put(test)
}

// close ends a run: it adds the tests that only had a progress letter, compares the whole
// with the closing summary, and begins anew. Nil stands for a run that was cut short.
func (r *pytestReader) close(want map[string]int) {
	for _, test := range r.run.tests {
		if test.Expected {
			r.xs--
		}
	}
	for _, status := range slices.Sorted(maps.Keys(r.dots)) {
		for n := r.run.count(status) + 1; n <= min(r.dots[status], maxTests); n++ {
			r.run.put(Test{Name: fmt.Sprintf("(unnamed %s %d)", status, n), Status: status, Expected: status == Passed && r.xs > 0})
			if status == Passed {
				r.xs--
			}
		}
	}
	for i := range r.run.tests {
		if test := &r.run.tests[i]; test.Status == Failed {
			test.Detail = cleanText(r.details.of(test.Name), maxDetail)
		}
	}
	if want != nil || len(r.run.tests) > 0 {
		r.runs++
	}
	if want != nil {
		r.compare(want)
		r.closed++
	}
	r.all.merge(&r.run)
	r.details.blocks, r.details.on = nil, false
	r.run, r.dots, r.xs, r.open, r.held, r.pending, r.section = tally{}, nil, 0, false, nil, "", sectionProgress
}

func (r *pytestReader) compare(want map[string]int) {
	claimed := map[Status]int{
		Passed:  want["passed"] + want["xpassed"] + want["xfailed"],
		Failed:  want["failed"],
		Errored: want["error"],
	}
	for _, status := range []Status{Passed, Failed, Errored} {
		if seen := r.run.count(status); seen != claimed[status] {
			r.agreed = false
			r.wrong.addf("the closing summary claims %d %s, the lines of the tests show %d", claimed[status], status, seen)
		}
	}
}

func pytestStatus(word string) Status {
	switch word {
	case "PASSED", "XFAIL", "XPASS":
		return Passed
	case "SKIPPED":
		return Skipped
	case "FAILED":
		return Failed
	default:
		return Errored
	}
}

// withoutOrigin removes the " <- file" that verbose output puts behind an inherited test.
func withoutOrigin(name string) string {
	at := strings.LastIndex(name, " <- ")
	if at < 0 || strings.ContainsAny(name[at+len(" <- "):], " ]") {
		return name
	}
	return name[:at]
}
