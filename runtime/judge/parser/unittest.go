package parser

import "strings"

// unittestParser reads what python -m unittest writes. With -v every test has a name; without
// it the failures have one and the others a letter each, as with pytest -q. No setting of the
// environment asks for names.
//
// A subtest counts for its test: one that passes is never named, so the names of those that
// fail could stand in no manifest.
func unittestParser() Parser {
	return Parser{
		Name:     "unittest",
		Protect:  append(pythonStartup(), "unittest.py"), // python -m looks in the working directory first
		Parse:    parseUnittest,
		Tripwire: unittestTripwire,
	}
}

// pythonStartup are the files that Python runs before any program.
func pythonStartup() []string {
	return []string{"sitecustomize.py", "usercustomize.py", "*.pth"}
}

func parseUnittest(in Input) Result {
	r := unittestReader{form: newUnittestForm()}
	for line := range lines(in.Output) {
		r.line(line)
	}
	r.interrupt()
	result := r.all.result(in, r.closed > 0, r.wrong)
	result.Runs = r.runs
	return result
}

// unittestReader reads one or more runs of unittest, line by line.
type unittestReader struct {
	form     unittestForm
	before   string         // the line before
	awaiting []string       // name and detail that ended a line: a docstring follows
	current  *unittestTest  // test begun last
	block    *unittestBlock // traceback we are in
	claims   map[string]int // closing summary whose last line has not come yet
	held     *unittestSummary
	run      unittestRun

	all    tally
	closed int // runs with a closing summary
	runs   int // those that named a test before they were cut short, in addition
	wrong  problems
}

// unittestTest is the test whose line was read last.
type unittestTest struct {
	name, message string
	status        Status // "" = none yet
	word          string // the result in unittest's words
	firm          bool   // the result stood where only unittest writes it
	holder        bool   // a fixture of a class or module, not a test
	modern        bool   // of a version that names whatever it writes a result for
}

// unittestSummary is a closing summary. Behind an account of a failure it may be what that
// quotes, so it is held until nothing more of the kind follows.
type unittestSummary struct {
	claims map[string]int // tests that ran, and results by unittest's words
	failed bool
}

// unittestBlock is the account of one failure.
type unittestBlock struct {
	name   string
	status Status
	text   strings.Builder
	body   bool // we are behind the line above the traceback
}

func (r *unittestReader) line(line string) {
	before := r.before
	r.before = line
	if r.claims != nil {
		if line == "" {
			return
		}
		claims := r.claims
		r.claims = nil
		if m := r.form.verdict.FindStringSubmatch(line); m != nil {
			r.summary(claims, m[1] == "FAILED", m[2])
			return
		}
	}
	if m := match(r.form.ran, line, before == thinRule); m != nil {
		r.claims = map[string]int{"run": atoi(m[1])}
		return
	}
	if m := match(r.form.block, line, before == thickRule); m != nil {
		r.open(m[1], m[2])
		return
	}
	if r.held != nil && r.form.begins(line) {
		r.end(*r.held)
	}
	switch {
	case r.held != nil:
	case r.block != nil && line == thinRule && !r.block.body:
		r.block.body = true
	case r.block != nil:
		if r.block.text.Len() < 4*maxMessage {
			r.block.text.WriteString(line + "\n")
		}
	case line == thickRule || line == thinRule:
	default:
		r.progress(line)
	}
}

// progress reads a line of the part where tests run.
func (r *unittestReader) progress(line string) {
	if name := r.awaiting; name != nil {
		r.awaiting = nil
		if doc, rest, ok := strings.Cut(line+" ", " ... "); ok && doc != "" {
			rest = strings.TrimSuffix(rest, " ")
			r.meet(name[0], name[1], rest)
			if !r.starts(rest) {
				r.told(rest)
			}
			return
		}
	}
	if m := match(r.form.alone, line, strings.HasSuffix(line, ")") || strings.HasSuffix(line, "]")); m != nil {
		r.awaiting = m[1:]
		return
	}
	if r.starts(line) {
		return
	}
	if word, reason, ok := unittestResult(line); ok {
		r.bare(word, reason)
		return
	}
	if match(r.form.letters, line, r.run.started == 0) != nil {
		r.run.count(line)
		return
	}
	r.tentative(line)
}

// starts reads a line that begins with the name of a test. Old versions write no result for
// a test with a failed subtest, so that the next test stands behind it on the same line.
func (r *unittestReader) starts(line string) bool {
	const most = 8 // tests on one line
	found := false
	for range most {
		m := r.form.start.FindStringSubmatch(line)
		if m == nil || found && r.current.modern {
			break
		}
		found = true
		line = line[len(m[0]):]
		r.meet(m[1], m[2], line)
	}
	if found {
		r.told(line)
	}
	return found
}

// meet decides whether a name begins a test, or is a further result of the current one.
func (r *unittestReader) meet(name, detail, rest string) {
	if r.current != nil && r.current.name == name {
		word, _, ok := unittestResult(rest)
		again := ok && (word == "FAIL" || word == "ERROR") && r.current.status != "" && r.current.status != Passed
		if detail != "" || again {
			return
		}
	}
	r.begin(name)
}

func (r *unittestReader) begin(name string) {
	r.settle()
	method, owner, _ := strings.Cut(strings.TrimSuffix(name, ")"), " (")
	t := &unittestTest{name: name, modern: strings.HasSuffix(owner, "."+method)}
	switch method {
	case "setUpClass", "tearDownClass", "setUpModule", "tearDownModule":
		t.holder = true
	default:
		r.run.started++
	}
	r.current = t
}

// told reads what stands behind the name of a test: its result, or what it printed.
func (r *unittestReader) told(text string) {
	if word, reason, ok := unittestResult(text); ok {
		r.take(word, reason, true)
		return
	}
	r.tentative(text)
}

// bare handles a result on a line of its own. Behind another result it belongs to a class
// that could not be set up; but newer versions name a class that is skipped, so that there
// the test was skipped after it printed a result.
func (r *unittestReader) bare(word, reason string) {
	t := r.current
	if t == nil || t.firm && !(t.modern && word == "skipped") {
		r.run.see(word)
		return
	}
	r.take(word, reason, true)
}

// tentative finds a result behind something that the test printed. What comes later in the
// line of the test is more likely to be it.
func (r *unittestReader) tentative(line string) {
	if r.current == nil || r.current.firm {
		return
	}
	for _, word := range []string{"ok", "FAIL", "ERROR", "expected failure", "unexpected success"} {
		if strings.HasSuffix(line, word) {
			r.take(word, "", false)
			return
		}
	}
	if at := strings.LastIndex(line, "skipped "); at >= 0 {
		if word, reason, ok := unittestResult(line[at:]); ok {
			r.take(word, reason, false)
		}
	}
}

// take gives the current test a result. Of several firm ones the worst counts.
func (r *unittestReader) take(word, reason string, firm bool) {
	t := r.current
	status := unittestStatus(word)
	if firm {
		r.run.see(word)
	}
	if t.firm && severity(status) <= severity(t.status) {
		return
	}
	t.status, t.word, t.message, t.firm = status, word, reason, firm
}

// settle records the current test, behind which another begins or the run ends.
func (r *unittestReader) settle() {
	t := r.current
	r.current = nil
	if t == nil {
		return
	}
	if t.status == "" {
		r.run.unfinished = append(r.run.unfinished, t.name)
		return
	}
	if !t.firm {
		r.run.see(t.word)
	}
	if t.status == Skipped && !t.holder {
		r.run.skipped++
	}
	r.run.tests.put(Test{Name: t.name, Status: t.status, Message: t.message, Expected: t.word == "expected failure"})
}

// open begins the account of a failure.
func (r *unittestReader) open(word, name string) {
	r.shut()
	r.settle()
	r.held = nil
	if r.run.blocks == nil {
		r.run.blocks = map[string]int{}
	}
	r.run.blocks[word]++
	r.block = &unittestBlock{name: name, status: Failed}
	if word == "ERROR" {
		r.block.status = Errored
	}
	if m := r.form.name.FindStringSubmatch(name); m != nil {
		r.block.name = m[1]
		r.block.text.WriteString(m[2] + "\n")
	}
}

func (r *unittestReader) shut() {
	if b := r.block; b != nil {
		text := strings.Trim(b.text.String(), "=-\n")
		r.run.tests.add(b.name, b.status, text[max(0, len(text)-maxMessage):]) // the reason is at the end
	}
	r.block = nil
}

// summary takes a closing summary. One that says all is well is what a test printed, if that
// test is still running or one has failed, and no failure was accounted for.
func (r *unittestReader) summary(claims map[string]int, failed bool, counts string) {
	running := r.current != nil && r.current.status == ""
	if !failed && len(r.run.blocks) == 0 && (running || r.run.seen["FAIL"]+r.run.seen["ERROR"] > 0) {
		return
	}
	for _, m := range r.form.sum.FindAllStringSubmatch(counts, -1) {
		claims[strings.TrimSpace(m[1])] = atoi(m[2])
	}
	s := unittestSummary{claims: claims, failed: failed}
	if r.block != nil {
		r.held = &s
		return
	}
	r.end(s)
}

func (r *unittestReader) end(s unittestSummary) {
	bad := s.claims["failures"]+s.claims["errors"]+s.claims["unexpected successes"] != 0
	if bad != s.failed {
		r.wrong.addf("the closing summary of unittest contradicts itself")
	}
	r.closed++
	r.finish(s.claims)
}

// interrupt ends a run behind which there is nothing more of it.
func (r *unittestReader) interrupt() {
	if r.held != nil {
		r.end(*r.held)
		return
	}
	if r.current == nil && r.block == nil && r.run.started+len(r.run.letters)+len(r.run.blocks) == 0 {
		return
	}
	r.wrong.addf("unittest exited without a closing summary")
	r.finish(nil)
}

// finish records a run and begins anew. Nil claims stand for a run that was cut short.
func (r *unittestReader) finish(claims map[string]int) {
	r.shut()
	r.settle()
	for _, name := range r.run.unfinished {
		if !r.run.tests.has(name) {
			r.run.tests.add(name, Errored, "began and never ended")
			r.wrong.addf("a test of unittest never ended")
		}
	}
	total := r.run.total()
	if claims != nil || total > 0 {
		r.runs++
	}
	if claims != nil {
		r.run.compare(claims, total, &r.wrong)
	}
	r.all.merge(&r.run.tests)
	r.run, r.held, r.awaiting = unittestRun{}, nil, nil
}
