package parser

import (
	"regexp"
	"strings"
)

// tapParser reads TAP 12, 13 or 14 of any producer, also several streams one after the
// other. Tests are named as by the parser node: flat ones "number description", those
// announced by "# Subtest" by their path.
//
// Unlike node's own output every stream must have its plan, first or last: without one it
// cannot be told from a stream that was cut.
func tapParser() Parser {
	return Parser{
		Name:    "tap",
		Protect: []string{".taprc", ".proverc", "ava.config.*"},
		Parse:   parseAnyTAP,
		Environ: plainEnviron,
	}
}

func parseAnyTAP(in Input) Result {
	r := newTAPReader()
	r.streams = true
	timed := regexp.MustCompile(` # time=[\d.]+m?s$`)
	for line := range lines(in.Output) {
		if strings.HasPrefix(strings.TrimLeft(line, " "), "ok") || strings.HasPrefix(strings.TrimLeft(line, " "), "not ok") {
			// Times change from run to run; a brace announces subtests that follow.
			line = timed.ReplaceAllString(strings.TrimSuffix(line, " {"), "")
		}
		r.line(line)
	}
	r.commit()
	r.finish()
	if r.planned < 0 && len(r.tests.tests.tests) > 0 {
		r.wrong.addf("no plan found")
	}
	if r.planned >= 0 && r.planned != r.top {
		r.wrong.addf("%d tests were planned, %d were reported", r.planned, r.top)
	}
	return r.tests.tests.result(in, r.planned >= 0, r.wrong)
}
