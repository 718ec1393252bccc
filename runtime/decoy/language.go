package decoy

import (
	"strings"

	"github.com/assayd/assayd/runtime/decoy/source"
)

// language is what has to be known of a language. There is a file for each.
type language struct {
	name   string
	syntax source.Syntax

	// owns says whether a file of that name is in the language.
	owns func(name string) bool
	// place is what want.path is compared with.
	place func(name string) string
	// units finds the tests of a file, outer ones before what they contain.
	units func(f *file) []unit
	// wants returns what a name of a test may mean, the most likely first, or the reason why
	// there is no such test.
	wants func(name string) ([]want, string)
	// rows finds the parts of a test that have names of their own, by these; may be nil.
	rows func(f *file, u unit) map[string][]row
	// call says what a call does, by the names before its bracket; args are its arguments.
	call func(l *language, chain string) (call, bool)
	// columns names the columns of a table whose bracket is at at; nil = it is no table that
	// a test goes through, and "" = a name is not known.
	columns func(f *file, at int) ([]string, bool)
	// table is the value of a variable of the file that is declared at at, with its name.
	// Nil = tables outside of tests stay as they are.
	table func(f *file, at int) (name string, value source.Span)
	// lineEnds says whether a token that is the first of its line begins a statement.
	lineEnds func(f *file, at int) bool
	// conditions finds what the word at at asserts without a call, as in if got != want { fail },
	// and a message for people.
	conditions func(f *file, at int) (condition, message source.Span)

	assertions map[string]call   // by their names
	families   [][]string        // constants of the same type
	turned     map[string]string // operators and what asserts the contrary
	builders   []string          // calls that only make a value
	keywords   []string
	ignored    []string // words that begin a statement which is for people, or no part of a test
}

// unit is a test in a file.
type unit struct {
	name string      // as in want
	all  source.Span // with decorators
	body source.Span

	title  int           // the place of its name, if that is a string
	tables []source.Span // outside of it, that no other test uses
	raises bool          // an error is expected of it
	each   bool          // its name is a format
}

// inTable says whether a part is in a table outside of the test.
func (u *unit) inTable(s source.Span) bool {
	for _, table := range u.tables {
		if table.Covers(s) {
			return true
		}
	}
	return false
}

// row is a part of a test that has a name of its own.
type row struct {
	source.Span
	title int // the place of a string that is the name; 0 = none
}

// want is what to look for.
type want struct {
	name string // of the unit
	path string // of the file, or its end without an extension; "" = any
	row  string // what the rest of the name stands for
	nth  int    // of several with this name
}

// role of a call.
type role int

const (
	asserts role = iota + 1 // compares its arguments
	says                    // its arguments are for people
	fails                   // so are these, and the test fails
	raises                  // expects an error of what it holds
	titles                  // its first argument names a test
	events                  // its first argument names an event
)

// call is what a call does.
type call struct {
	role     role
	operands int    // of an assertion, before its message; 0 = any, -1 = all are expected
	expected int    // which is expected by convention, from 0; -1 = the last
	contrary string // the name of the assertion that is turned round; "" = none
}

// languages is the table, by name.
func languages() map[string]*language {
	all := map[string]*language{}
	for _, l := range []*language{golang(), python(), javascript(), rust()} {
		all[l.name] = l
	}
	return all
}

// isMessage says whether a name is that of a column or argument for people.
func isMessage(name string) bool {
	switch strings.ToLower(name) {
	case "name", "desc", "descr", "description", "title", "msg", "message", "id", "ids", "label", "comment", "reason", "testname":
		return true
	}
	return false
}

// isExpected says whether a name is that of what is expected.
func isExpected(name string) bool {
	lower := strings.ToLower(name)
	for _, begin := range []string{"want", "expect", "exp", "should"} {
		rest, ok := strings.CutPrefix(lower, begin)
		if ok && (begin != "exp" || rest == "" || name[3] == '_' || name[3] >= 'A' && name[3] <= 'Z') {
			return true
		}
	}
	return ends(name, "expected", "want", "wanted", "exp")
}

// isExpectedColumn is isExpected for a column of a table, where less can be meant.
func isExpectedColumn(name string) bool {
	return isExpected(name) || ends(name, "result", "output", "out", "err", "error", "valid", "ok")
}

// ends says whether the last word of a name is one of these.
func ends(name string, words ...string) bool {
	lower := strings.ToLower(name)
	for _, end := range words {
		if before, ok := strings.CutSuffix(lower, end); ok {
			if before == "" || strings.HasSuffix(before, "_") || name[len(before)] >= 'A' && name[len(before)] <= 'Z' {
				return true
			}
		}
	}
	return false
}

// isContrary says whether an assertion wants things to differ.
func isContrary(chain string) bool {
	name := strings.ToLower(source.Last(chain))
	for _, part := range []string{"not", "none", "never", "without", "mismatch", "_ne", "_no_"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return strings.Contains(chain, ".not.")
}

// isAssertion says whether a name is likely that of a helper that asserts.
func isAssertion(name string) bool {
	lower := strings.ToLower(strings.TrimSuffix(name, "!"))
	for _, begin := range []string{"assert", "check", "verify", "expect", "require", "ensure", "must", "should", "compare"} {
		if strings.HasPrefix(lower, begin) {
			return true
		}
	}
	return false
}
