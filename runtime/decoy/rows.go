package decoy

import (
	"strconv"
	"strings"
)

// Bounds of what is looked at; more of it is left as it is.
const (
	maxDepth     = 8    // tests within tests, modules and classes around them
	maxColumns   = 24   // of a table, or fields of a struct
	maxHeader    = 400  // tokens before the block of an if or a function
	maxName      = 4096 // bytes of the name of a test
	maxStatement = 4096 // tokens of a statement, without what is in brackets
	maxLook      = 256  // tokens of an expression
)

// namedRows finds subtests and rows of tables by the strings that name them.
func namedRows(f *file, u unit, written func(string) string) map[string][]row {
	rows := map[string][]row{}
	for _, part := range append([]span{u.body}, u.tables...) {
		for i := part.from; i < part.to; i++ {
			if f.kind(i) != text {
				continue
			}
			title, _ := content(f.is(i))
			if s := f.rowOf(i, part); !s.empty() {
				name := written(unescape(title))
				rows[name] = append(rows[name], row{s, i})
			}
		}
	}
	return rows
}

// rowOf is the part of a test that a string at at names: a call whose first argument it is,
// the value of a map, or the row around it.
func (f *file) rowOf(at int, body span) span {
	around := f.outer[at]
	if around < body.from || f.pair[around] < 0 {
		return span{}
	}
	all := span{around, f.pair[around] + 1}
	if f.is(around) == "(" && at == around+1 {
		chain, begin := f.callee(around)
		if c, ok := f.lang.call(f.lang, chain); ok && c.role == titles {
			return span{begin, all.to}
		}
	}
	if f.is(at+1) == ":" && f.is(around) == "{" {
		for i := at + 2; i < min(at+8, all.to); i++ {
			if f.kind(i) == open {
				return span{at, f.over(i)}
			}
		}
	}
	if table := f.outer[around]; table >= body.from && f.is(table) != "(" && f.is(around) != "(" {
		if before := f.is(around - 1); before == "{" || before == "," || f.kind(around-1) == word {
			return all
		}
	}
	return span{}
}

// lastGroup is the bracket whose contents end a span, -1 = there is none.
func (f *file) lastGroup(s span) int {
	if f.kind(s.to-1) != shut || f.pair[s.to-1] < s.from {
		return -1
	}
	return f.pair[s.to-1]
}

// tableColumns names the columns of a table that a loop goes through.
func tableColumns(f *file, at int) ([]string, bool) {
	if f.is(at) == "{" || f.pair[at] < 0 {
		return nil, false
	}
	i := at - 1
	for range 3 {
		if f.is(i) == "&" || f.is(i) == "!" || f.is(i) == "vec" {
			i--
		}
	}
	switch f.is(i) {
	case "in", "of":
		return forNames(f, i)
	case ",":
		if around := f.outer[at]; around > 0 && f.is(around-1) == "parametrize" {
			return pythonArguments(f, span{around + 1, i}), true
		}
	case "(":
		if f.is(i-1) == "each" && f.is(f.pair[at]+1) == ")" && f.is(f.pair[at]+2) == "(" {
			return arrowNames(f, f.pair[at]+2), true
		}
	case "=":
		for range maxColumns { // over a type
			i--
			if f.kind(i) != word && f.is(i) != ":" || f.starts(i) {
				break
			}
			if names, ok := f.tables()[f.is(i)]; ok {
				return names, true
			}
		}
		if names, ok := f.tables()[f.is(i)]; ok {
			return names, true
		}
	}
	if end := f.pair[at]; f.is(end+1) == "." && (f.is(end+2) == "forEach" || f.is(end+2) == "map") && f.is(end+3) == "(" {
		return arrowNames(f, end+3), true
	}
	return nil, false
}

// forNames are the names between for and in.
func forNames(f *file, in int) ([]string, bool) {
	for i := in - 1; i > in-maxColumns*2 && i >= 0; i-- {
		if f.is(i) == "for" {
			return words(f, span{i + 1, in}), true
		}
	}
	return nil, false
}

// arrowNames are the parameters of the function that a call is given.
func arrowNames(f *file, at int) []string {
	for i := at + 1; i < at+maxColumns && i < len(f.tok); i++ {
		if f.is(i) == "(" {
			in := f.within(i)
			in.to = min(in.to, in.from+2*maxColumns)
			return words(f, in)
		}
	}
	return nil
}

// words are the names in a span.
func words(f *file, s span) []string {
	var names []string
	for i := s.from; i < s.to && len(names) < maxColumns; i++ {
		switch name := f.is(i); name {
		case "const", "let", "var", "mut", "ref", "async", "function":
		default:
			if f.kind(i) == word {
				names = append(names, name)
			}
		}
	}
	return names
}

// tables names the columns of what loops go through, by its name.
func (f *file) tables() map[string][]string {
	if f.loops != nil {
		return f.loops
	}
	f.loops = map[string][]string{}
	for i := range f.tok {
		switch f.is(i) {
		case "in", "of":
			at := i + 1
			if f.is(at) == "&" {
				at++
			}
			if f.kind(at) == word {
				if names, ok := forNames(f, i); ok {
					f.loops[f.is(at)] = names
				}
			}
		case "forEach":
			if f.is(i-1) == "." && f.is(i+1) == "(" {
				f.loops[f.is(i-2)] = arrowNames(f, i+1)
			}
		case "each":
			if f.is(i+1) == "(" && f.is(i+3) == ")" && f.is(i+4) == "(" {
				f.loops[f.is(i+2)] = arrowNames(f, i+4)
			}
		case "parametrize":
			if args := f.parts(i + 1); f.is(i+1) == "(" && len(args) > 1 {
				f.loops[f.is(args[1].from)] = pythonArguments(f, args[0])
			}
		}
	}
	return f.loops
}

// failingIf finds the condition of an if whose block fails the test.
func failingIf(f *file, at int) (condition, message span) {
	if f.is(at) != "if" || f.is(at+1) == "let" {
		return span{}, span{}
	}
	header := span{at + 1, min(len(f.tok), at+maxHeader)}
	block := f.over(at + 1)
	if f.is(at+1) == "(" && (f.is(block) == "{" || f.is(block) == "throw") {
		header = f.within(at + 1)
	} else {
		block = f.find(header, "{")
		header.to = block
		for semicolon := f.find(header, ";"); semicolon >= 0; semicolon = f.find(header, ";") {
			header.from = semicolon + 1
		}
	}
	if block < 0 || header.empty() {
		return span{}, span{}
	}
	in := f.within(block)
	for i := in.from; i < min(in.to, in.from+64); i++ {
		if f.is(i) == "throw" {
			return header, span{}
		}
		if f.is(i) == "(" {
			chain, _ := f.callee(i)
			if c, ok := f.lang.call(f.lang, chain); ok && c.role == fails {
				return header, span{}
			}
		}
	}
	return span{}, span{}
}

// helper is what a function of the tests' own does, by its name.
func helper(name string) (call, bool) {
	return call{role: asserts, expected: -1}, isAssertion(name)
}

// unescape undoes the escapes that names of tests have.
func unescape(body string) string {
	if !strings.Contains(body, `\`) {
		return body
	}
	if s, err := strconv.Unquote(`"` + strings.NewReplacer(`\'`, `'`, "\\`", "`", `"`, `\"`, "\n", `\n`, `\"`, `\"`).Replace(body) + `"`); err == nil {
		return s
	}
	return body
}

func itoa(n int) string { return strconv.Itoa(n) }

// atoi reads digits; -1 = it is something else.
func atoi(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || !digit(digits[0]) {
		return -1
	}
	return n
}
