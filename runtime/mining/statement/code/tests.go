package code

import (
	"maps"
	"slices"
)

// calls are what tests are given their names by.
const calls words = ` it test describe context suite specify xit fit TEST_CASE SECTION Describe It Context `

// macros are those of C++ whose arguments are names.
const macros words = ` TEST TEST_F TEST_P TYPED_TEST BOOST_AUTO_TEST_CASE BOOST_FIXTURE_TEST_CASE `

// TestNames are the names that a diff gives to tests in a file, sorted: of functions and
// types that it defines, and of those that are written as strings.
func (f File) TestNames() []string {
	found := f.Names(true).Members
	for _, tokens := range f.Tokens() {
		for i, t := range tokens {
			if name, ok := givenName(tokens, i); ok && t.Added {
				found[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// givenName is the name of a test that a token is.
func givenName(tokens []Token, i int) (string, bool) {
	t := tokens[i]
	switch {
	case t.Kind == Text && value(tokens, i-1) == "(":
		return t.Value, calls.has(value(tokens, i-2)) || value(tokens, i-3) == "." && calls.has(value(tokens, i-4)) || value(tokens, i-2) == "Run"
	case t.Kind == Word && value(tokens, i-1) == ",":
		return t.Value, value(tokens, i-3) == "(" && macros.has(value(tokens, i-4))
	case t.Kind == Word && value(tokens, i-1) == "(":
		return t.Value, macros.has(value(tokens, i-2))
	}
	return "", false
}
