package parser

import (
	"maps"
	"regexp"
	"strings"
)

// goText reads the text of go test -v. The name of a package comes only behind its tests,
// so they are held back until then.
type goText struct {
	run, result, trailer, late *regexp.Regexp

	current *goPackage
	results []goResult // of the current package, in order
	last    string     // test that is printing
}

type goResult struct {
	test   string
	status Status
}

func newGoText() goText {
	const result = `--- (PASS|FAIL|SKIP): (\S+) \(\d+(?:\.\d+)?s\)$`
	return goText{
		run:     regexp.MustCompile(`^=== (RUN|CONT|NAME|PAUSE)\s+(\S+)$`),
		result:  regexp.MustCompile(`^( *)` + result),
		late:    regexp.MustCompile(`^.*` + result), // behind something a test printed without a line end
		trailer: regexp.MustCompile(`^(ok|FAIL|\?)[ ]*\t(\S+)(?:[ \t](.*))?$`),
		current: newGoPackage(""),
	}
}

// textLine handles a line that is no event.
func (r *goReader) textLine(line string) {
	t := &r.text
	if m := match(t.run, line, strings.HasPrefix(line, "=== ")); m != nil {
		if m[1] == "RUN" {
			t.current.running[m[2]] = true
		}
		t.last = m[2]
		return
	}
	if test, status, ok := t.ending(line); ok {
		delete(t.current.running, test)
		t.results = append(t.results, goResult{test, status})
		t.last = test
		return
	}
	if m := match(t.trailer, line, strings.Contains(line, "\t")); m != nil {
		r.trailer(m[1], m[2], m[3])
		return
	}
	if line == "PASS" || line == "FAIL" {
		t.current.hear(line)
		t.last = ""
		return
	}
	if t.last != "" {
		t.current.keep(t.last, line+"\n")
	}
}

// ending recognises the result of a test: as a line of its own, no deeper than its name
// goes, or behind other output if the test is known to be running.
func (t *goText) ending(line string) (test string, status Status, ok bool) {
	if !strings.HasSuffix(line, "s)") {
		return "", "", false
	}
	if m := t.result.FindStringSubmatch(line); m != nil && len(m[1]) <= 4*strings.Count(m[3], "/") {
		return m[3], goStatus(m[2]), true
	}
	if m := t.late.FindStringSubmatch(line); m != nil && t.current.running[m[2]] {
		return m[2], goStatus(m[1]), true
	}
	return "", "", false
}

// trailer ends a package: everything since the last one belongs to it.
func (r *goReader) trailer(word, name, rest string) {
	p, held := r.pkg(name), r.text.current
	p.orderly = held.orderly && (p.orderly || p.ended == "")
	maps.Copy(p.running, held.running)
	maps.Copy(p.output, held.output)
	p.hear(rest)
	if !strings.HasSuffix(rest, " failed]") {
		p.trailers++
	}
	switch word {
	case "ok":
		p.end("pass")
	case "?":
		p.end("skip")
	default:
		p.end("fail")
	}
	r.flush(p)
}

// flush gives a package the results held back for it.
func (r *goReader) flush(p *goPackage) {
	for _, result := range r.text.results {
		r.test(p, result.test, result.status)
		r.textual = true
	}
	r.text.current, r.text.results, r.text.last = newGoPackage(""), nil, ""
}

// endText closes the text: results without a trailer come from a test binary run by
// itself, or from output that was cut.
func (r *goReader) endText() {
	held := r.text.current
	if len(r.text.results) == 0 && len(held.running) == 0 {
		return
	}
	r.packages[held.name] = held
	r.flush(held)
	switch {
	case held.orderly && held.failures > 0:
		held.end("fail")
	case held.orderly:
		held.end("pass")
	}
}
