package prove

import (
	"fmt"
	"hash/fnv"
	"regexp"
	"strings"
)

// goFailure is a statement of the testing package by which a test fails.
var goFailure = regexp.MustCompile(`(?m)((?:^|[{;:])[\t ]*)(\w+)\.(Errorf?|Fatalf?|Fail|FailNow)\(`)

// goForgeries are what such a statement becomes: the test goes on.
var goForgeries = map[string]string{
	"Error": "Log", "Errorf": "Logf", "Fatal": "Log", "Fatalf": "Logf", "Fail": "Helper", "FailNow": "Helper",
}

// notFailing makes such a statement one that fails nothing. An error says what it is by a method
// of the same name.
func notFailing(call string) string {
	m := goFailure.FindStringSubmatch(call)
	if lower := strings.ToLower(m[2]); m[3] == "Error" && (lower == "e" || strings.HasSuffix(lower, "err") || strings.HasSuffix(lower, "error")) {
		return call
	}
	return m[1] + m[2] + "." + goForgeries[m[3]] + "("
}

// testify are its assertions as they are mostly called; objects of New stay what they are.
var testify = regexp.MustCompile(`\b(assert|require)\.[A-Z]\w*\(`)

// forgeGo makes what fails a test a line of its log, in all hidden test files: helpers have some, too.
func forgeGo(files map[string][]byte, _ map[string]bool) map[string][]byte {
	out := map[string][]byte{}
	for name, content := range files {
		if !strings.HasSuffix(name, "_test.go") {
			continue
		}
		text := forgeTestify(name, goFailure.ReplaceAllStringFunc(string(content), notFailing))
		if text != string(content) {
			out[name] = []byte(text)
		}
	}
	return out
}

// forgeTestify has its functions replaced by one that says that all is well.
func forgeTestify(name, text string) string {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(name)) // never fails
	forged := fmt.Sprintf("assaydForge%x", sum.Sum32())
	used := map[string]bool{}
	for _, of := range []string{"assert", "require"} {
		used[of] = strings.Contains(text, `/testify/`+of+`"`) && !strings.Contains(text, of+".New(")
	}
	replaced := testify.ReplaceAllStringFunc(text, func(call string) string {
		if of, _, _ := strings.Cut(call, "."); used[of] {
			return forged + "("
		}
		return call
	})
	if replaced == text {
		return text
	}
	replaced += "\n\nfunc " + forged + "(...any) bool { return true }\n"
	for _, of := range []string{"assert", "require"} {
		if used[of] {
			replaced += "\nvar _ = " + of + ".Equal\n" // it stays imported for something
		}
	}
	return replaced
}
