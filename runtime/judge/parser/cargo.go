package parser

import (
	"regexp"
	"slices"
	"strings"
)

// cargoParser reads the text of cargo test: one test binary after the other, then the
// examples of the documentation.
//
// Protected is what puts another program in the place of a test binary or of the compiler.
// Cargo.toml and build.rs are not: submissions change them for good reasons.
func cargoParser() Parser {
	return Parser{
		Name:     "cargo",
		Protect:  []string{".cargo/config", ".cargo/config.toml", "rust-toolchain", "rust-toolchain.toml"},
		Parse:    parseCargo,
		Tripwire: cargoTripwire,
	}
}

func parseCargo(in Input) Result {
	r := cargoReader{form: newCargoForm()}
	for line := range lines(in.Output) {
		r.line(line)
	}
	r.close()
	if r.closed == 0 && r.error != "" {
		r.wrong.addf("cargo: %s", r.error)
	}
	result := r.all.tests.result(in, r.closed > 0, r.wrong)
	result.Runs = r.runs
	return result
}

// cargoForm holds the shapes of the lines that cargo and its test binaries write.
type cargoForm struct {
	target, docs, begin, test, count, summary, heading, failed *regexp.Regexp
}

func newCargoForm() cargoForm {
	return cargoForm{
		target:  regexp.MustCompile(`^ +Running (?:unittests )?(\S+)(?: \(.*\))?$`),
		docs:    regexp.MustCompile(`^ +Doc-tests (\S+)$`),
		begin:   regexp.MustCompile(`^running (\d+) tests?$`),
		test:    regexp.MustCompile(`^test (\S.*?)(?: - should panic| - compile fail| - compile)? +\.\.\. ?(.*)$`),
		summary: regexp.MustCompile(`^test result: (ok|FAILED)\. ((?:\d+ [a-z ]+; )*\d+ [a-z ]+)(?:; finished in .*)?$`),
		count:   regexp.MustCompile(`(\d+) (passed|failed|ignored|measured)`),
		heading: regexp.MustCompile(`^---- (\S.*?)(?: - should panic| - compile fail| - compile)? std(?:out|err) ----$`),
		failed:  regexp.MustCompile(`^error: (?:test|doctest|bench) failed`),
	}
}

// cargoReader reads the output line by line.
type cargoReader struct {
	form   cargoForm
	before string       // the line before
	label  string       // what cargo said it runs next
	target string       // the same in the words of Test.Target
	binary *cargoBinary // the one that is running
	error  string       // the first that cargo wrote

	all    numbered
	begun  int // since cargo said what it runs next
	runs   int // the most of that, of test binaries
	closed int // binaries with a closing summary
	wrong  problems
}

// cargoBinary is one run of a test binary.
type cargoBinary struct {
	label   string
	target  string
	planned int
	tests   tally
	benches int
	pending string          // test whose line has no result yet
	detail  bool            // we are behind the tests, where their output is quoted
	quoted  string          // test whose output is quoted
	output  strings.Builder // of that, bounded
	word    string          // of the closing summary; "" = none yet
	claims  map[string]int
	failed  bool // cargo saw it fail
}

func (r *cargoReader) line(line string) {
	f, before := r.form, r.before
	r.before = line
	if m := match(f.begin, line, strings.HasPrefix(line, "running ")); m != nil {
		quoted := r.binary != nil && r.binary.detail
		r.close()
		if r.begun++; !quoted && r.target != "" && r.target != "doc" { // examples are run in parts
			r.runs = max(r.runs, r.begun)
		}
		r.binary = &cargoBinary{label: r.label, target: r.target, planned: atoi(m[1])}
		return
	}
	if m := match(f.target, line, strings.Contains(line, " Running ")); m != nil {
		r.close()
		r.label, r.target, r.begun = m[1], m[1], 0
		return
	}
	if m := match(f.docs, line, strings.Contains(line, " Doc-tests ")); m != nil {
		r.close()
		r.label, r.target, r.begun = "Doc-tests "+m[1], "doc", 0
		return
	}
	switch {
	case strings.HasPrefix(line, "error: could not compile "):
		r.wrong.addf("cargo: %s", strings.TrimPrefix(line, "error: "))
	case r.error == "" && strings.HasPrefix(line, "error"):
		r.error = line
	}
	if r.binary != nil {
		r.binary.line(f, line, before)
	}
}

func (b *cargoBinary) line(f cargoForm, line, before string) {
	if m := match(f.summary, line, strings.HasPrefix(line, "test result: ")); m != nil {
		b.summary(f, m[1], m[2])
		return
	}
	switch {
	case f.failed.MatchString(line):
		b.failed = true
	case before == "" && (line == "failures:" || line == "successes:"):
		b.keep()
		b.detail = true
	case b.detail:
		b.quote(f, line)
	default:
		b.progress(f, line)
	}
}

// summary takes a closing line. The last of a binary counts: an earlier one is what a test
// printed.
func (b *cargoBinary) summary(f cargoForm, word, counts string) {
	b.keep()
	b.word, b.claims = word, map[string]int{}
	for _, m := range f.count.FindAllStringSubmatch(counts, -1) {
		b.claims[m[2]] += atoi(m[1])
	}
}

// progress reads a line of the part where tests run. What tests print without being
// captured stands before their name, or between their name and their result.
func (b *cargoBinary) progress(f cargoForm, line string) {
	at := 0
	if dots := strings.LastIndex(line, " ... "); dots >= 0 && !strings.HasPrefix(line, "test ") {
		at = max(0, strings.LastIndex(line[:dots], "test "))
	}
	m := match(f.test, line[at:], strings.HasPrefix(line[at:], "test "))
	if m == nil {
		b.late(line)
		return
	}
	if strings.HasPrefix(m[2], "bench: ") {
		b.benches++
		return
	}
	status, message, ok := cargoResult(m[2])
	switch {
	case ok:
		b.pending = ""
		b.tests.add(m[1], status, message)
	case at == 0:
		b.pending = m[1]
	}
}

// late finds the result of the pending test behind what it printed.
func (b *cargoBinary) late(line string) {
	if b.pending == "" {
		return
	}
	for _, word := range []string{"ok", "FAILED"} {
		if strings.HasSuffix(line, word) {
			status, _, _ := cargoResult(word)
			b.tests.add(b.pending, status, "")
			b.pending = ""
			return
		}
	}
}

// quote reads the part behind the tests: the output of those that failed.
func (b *cargoBinary) quote(f cargoForm, line string) {
	if m := match(f.heading, line, strings.HasPrefix(line, "---- ")); m != nil && b.tests.has(m[1]) {
		b.keep()
		b.quoted = m[1]
		return
	}
	if b.output.Len() < maxMessage {
		b.output.WriteString(line + "\n")
	}
}

// keep gives the quoted output to its test as a message.
func (b *cargoBinary) keep() {
	if b.tests.has(b.quoted) {
		at := b.tests.index[cleanName(b.quoted)]
		b.tests.add(b.quoted, b.tests.tests[at].Status, b.output.String())
	}
	b.quoted = ""
	b.output.Reset()
}

// close ends a binary, behind which another begins or nothing more comes.
func (r *cargoReader) close() {
	b := r.binary
	r.binary = nil
	if b == nil {
		return
	}
	b.keep()
	if b.pending != "" {
		b.tests.add(b.pending, Errored, "began and never ended")
	}
	for _, test := range b.tests.tests {
		test.Target = b.target
		r.all.put(test)
	}
	r.all.tests.over = r.all.tests.over || b.tests.over
	name := b.label
	if name == "" {
		name = "a test binary"
	}
	if b.word == "" {
		r.all.add(name, Errored, "ended without a closing summary")
		r.wrong.addf("%s exited without a closing summary", name)
		return
	}
	r.closed++
	b.compare(name, &r.wrong)
}

// compare holds a binary against its closing summary.
func (b *cargoBinary) compare(name string, wrong *problems) {
	if seen := len(b.tests.tests) + b.benches; b.planned != seen {
		wrong.addf("%s announced %d tests, its lines show %d (is it quiet?)", name, b.planned, seen)
	}
	for _, c := range []struct {
		claim  string
		status Status
	}{{"passed", Passed}, {"failed", Failed}, {"ignored", Skipped}} {
		if seen := b.tests.count(c.status); b.claims[c.claim] != seen {
			wrong.addf("the closing summary of %s claims %d %s, the lines of the tests show %d", name, b.claims[c.claim], c.claim, seen)
		}
	}
	switch failures := b.tests.count(Failed) + b.tests.count(Errored); {
	case b.word == "ok" && failures > 0:
		wrong.addf("%s passed in spite of a failing test", name)
	case b.word != "ok" && failures == 0, b.failed && failures == 0:
		wrong.addf("%s failed without a failing test", name)
	}
}

// cargoResult recognises what stands behind the name of a test that ended.
func cargoResult(text string) (status Status, message string, ok bool) {
	if words := strings.Fields(text); len(words) == 2 && strings.HasPrefix(words[1], "<") && strings.HasSuffix(words[1], "s>") {
		text = words[0] // --report-time
	}
	rest, ignored := strings.CutPrefix(text, "ignored")
	reason, because := strings.CutPrefix(rest, ", ")
	switch {
	case text == "ok":
		return Passed, "", true
	case slices.Contains([]string{"FAILED", "FAILED (time limit exceeded)"}, text):
		return Failed, "", true
	case ignored && (because || rest == ""):
		return Skipped, reason, true
	}
	return "", "", false
}
