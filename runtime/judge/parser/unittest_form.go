package parser

import (
	"regexp"
	"strings"
)

// unittestForm holds the shapes of the lines unittest writes.
type unittestForm struct {
	start, alone, block, name  *regexp.Regexp
	letters, ran, verdict, sum *regexp.Regexp
}

func newUnittestForm() unittestForm {
	const (
		method = `[\pL_][^\s()]*`
		owner  = `[\pL_][\pL\pN_.<>]*`
		detail = `((?: \[.*?\])?(?: \(.*?\))?)` // message and parameters of a subtest
	)
	return unittestForm{
		start:   regexp.MustCompile(`^ *(` + method + ` \(` + owner + `\))` + detail + ` \.\.\.(?: |$)`),
		alone:   regexp.MustCompile(`^ *(` + method + ` \((?:` + owner + `)?\))` + detail + `$`),
		block:   regexp.MustCompile(`^(FAIL|ERROR|UNEXPECTED SUCCESS): (\S.*)$`),
		name:    regexp.MustCompile(`^(\S+ \(\S*\))(?: (.*))?$`),
		letters: regexp.MustCompile(`^[.FEsxu]+$`),
		ran:     regexp.MustCompile(`^Ran (\d+) tests? in \d+\.\d+s$`),
		verdict: regexp.MustCompile(`^(OK|FAILED|NO TESTS RAN)(?: \(([a-z0-9=, ]+)\))?$`),
		sum:     regexp.MustCompile(`([a-z][a-z ]*)=(\d+)`),
	}
}

// begins says whether a line can be the first of a run.
func (f unittestForm) begins(line string) bool {
	return f.start.MatchString(line) || f.alone.MatchString(line) || f.letters.MatchString(line)
}

// Lines that unittest draws above a traceback, and above its end.
var (
	thickRule = strings.Repeat("=", 70)
	thinRule  = strings.Repeat("-", 70)
)

// unittestResult recognises a text that is a result and nothing else.
func unittestResult(text string) (word, reason string, ok bool) {
	switch text {
	case "ok", "FAIL", "ERROR", "expected failure", "unexpected success":
		return text, "", true
	}
	quoted, found := strings.CutPrefix(text, "skipped ")
	if n := len(quoted); found && n >= 2 && strings.ContainsAny(quoted[:1], `'"`) && quoted[n-1] == quoted[0] {
		return "skipped", quoted[1 : n-1], true
	}
	return "", "", false
}

func unittestStatus(word string) Status {
	switch word {
	case "ok", "expected failure":
		return Passed
	case "skipped":
		return Skipped
	case "ERROR":
		return Errored
	default:
		return Failed
	}
}
