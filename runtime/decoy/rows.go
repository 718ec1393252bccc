package decoy

import (
	"strconv"
	"strings"

	"github.com/assayd/assayd/runtime/decoy/source"
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
	for _, part := range append([]source.Span{u.body}, u.tables...) {
		for i := part.From; i < part.To; i++ {
			if f.Kind(i) != source.Text {
				continue
			}
			title, _ := source.Content(f.At(i))
			if s := f.rowOf(i, part); !s.Empty() {
				name := written(unescape(title))
				rows[name] = append(rows[name], row{s, i})
			}
		}
	}
	return rows
}

// rowOf is the part of a test that a string at at names: a call whose first argument it is,
// the value of a map, or the row around it.
func (f *file) rowOf(at int, body source.Span) source.Span {
	around := f.Outer[at]
	if around < body.From || f.Pair[around] < 0 {
		return source.Span{}
	}
	all := source.Span{From: around, To: f.Pair[around] + 1}
	if f.At(around) == "(" && at == around+1 {
		chain, begin := f.Callee(around)
		if c, ok := f.lang.call(f.lang, chain); ok && c.role == titles {
			return source.Span{From: begin, To: all.To}
		}
	}
	if f.At(at+1) == ":" && f.At(around) == "{" {
		for i := at + 2; i < min(at+8, all.To); i++ {
			if f.Kind(i) == source.Open {
				return source.Span{From: at, To: f.Over(i)}
			}
		}
	}
	if table := f.Outer[around]; table >= body.From && f.At(table) != "(" && f.At(around) != "(" {
		if before := f.At(around - 1); before == "{" || before == "," || f.Kind(around-1) == source.Word {
			return all
		}
	}
	return source.Span{}
}

// lastGroup is the bracket whose contents end a span, -1 = there is none.
func (f *file) lastGroup(s source.Span) int {
	if f.Kind(s.To-1) != source.Close || f.Pair[s.To-1] < s.From {
		return -1
	}
	return f.Pair[s.To-1]
}

// tableColumns names the columns of a table that a loop goes through.
func tableColumns(f *file, at int) ([]string, bool) {
	if f.At(at) == "{" || f.Pair[at] < 0 {
		return nil, false
	}
	i := at - 1
	for range 3 {
		if f.At(i) == "&" || f.At(i) == "!" || f.At(i) == "vec" {
			i--
		}
	}
	switch f.At(i) {
	case "in", "of":
		return forNames(f, i)
	case ",":
		if around := f.Outer[at]; around > 0 && f.At(around-1) == "parametrize" {
			return pythonArguments(f, source.Span{From: around + 1, To: i}), true
		}
	case "(":
		if f.At(i-1) == "each" && f.At(f.Pair[at]+1) == ")" && f.At(f.Pair[at]+2) == "(" {
			return arrowNames(f, f.Pair[at]+2), true
		}
	case "=":
		for range maxColumns { // over a type
			i--
			if f.Kind(i) != source.Word && f.At(i) != ":" || f.Starts(i) {
				break
			}
			if names, ok := f.tables()[f.At(i)]; ok {
				return names, true
			}
		}
		if names, ok := f.tables()[f.At(i)]; ok {
			return names, true
		}
	}
	if end := f.Pair[at]; f.At(end+1) == "." && (f.At(end+2) == "forEach" || f.At(end+2) == "map") && f.At(end+3) == "(" {
		return arrowNames(f, end+3), true
	}
	return nil, false
}

// forNames are the names between for and in.
func forNames(f *file, in int) ([]string, bool) {
	for i := in - 1; i > in-maxColumns*2 && i >= 0; i-- {
		if f.At(i) == "for" {
			return words(f, source.Span{From: i + 1, To: in}), true
		}
	}
	return nil, false
}

// arrowNames are the parameters of the function that a call is given.
func arrowNames(f *file, at int) []string {
	for i := at + 1; i < at+maxColumns && i < len(f.Tok); i++ {
		if f.At(i) == "(" {
			in := f.Within(i)
			in.To = min(in.To, in.From+2*maxColumns)
			return words(f, in)
		}
	}
	return nil
}

// words are the names in a span.
func words(f *file, s source.Span) []string {
	var names []string
	for i := s.From; i < s.To && len(names) < maxColumns; i++ {
		switch name := f.At(i); name {
		case "const", "let", "var", "mut", "ref", "async", "function":
		default:
			if f.Kind(i) == source.Word {
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
	for i := range f.Tok {
		switch f.At(i) {
		case "in", "of":
			at := i + 1
			if f.At(at) == "&" {
				at++
			}
			if f.Kind(at) == source.Word {
				if names, ok := forNames(f, i); ok {
					f.loops[f.At(at)] = names
				}
			}
		case "forEach":
			if f.At(i-1) == "." && f.At(i+1) == "(" {
				f.loops[f.At(i-2)] = arrowNames(f, i+1)
			}
		case "each":
			if f.At(i+1) == "(" && f.At(i+3) == ")" && f.At(i+4) == "(" {
				f.loops[f.At(i+2)] = arrowNames(f, i+4)
			}
		case "parametrize":
			if args := f.Parts(i + 1); f.At(i+1) == "(" && len(args) > 1 {
				f.loops[f.At(args[1].From)] = pythonArguments(f, args[0])
			}
		}
	}
	return f.loops
}

// failingIf finds the condition of an if whose block fails the test.
func failingIf(f *file, at int) (condition, message source.Span) {
	if f.At(at) != "if" || f.At(at+1) == "let" {
		return source.Span{}, source.Span{}
	}
	header := source.Span{From: at + 1, To: min(len(f.Tok), at+maxHeader)}
	block := f.Over(at + 1)
	if f.At(at+1) == "(" && (f.At(block) == "{" || f.At(block) == "throw") {
		header = f.Within(at + 1)
	} else {
		block = f.Find(header, "{")
		header.To = block
		for semicolon := f.Find(header, ";"); semicolon >= 0; semicolon = f.Find(header, ";") {
			header.From = semicolon + 1
		}
	}
	if block < 0 || header.Empty() {
		return source.Span{}, source.Span{}
	}
	in := f.Within(block)
	for i := in.From; i < min(in.To, in.From+64); i++ {
		if f.At(i) == "throw" {
			return header, source.Span{}
		}
		if f.At(i) == "(" {
			chain, _ := f.Callee(i)
			if c, ok := f.lang.call(f.lang, chain); ok && c.role == fails {
				return header, source.Span{}
			}
		}
	}
	return source.Span{}, source.Span{}
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
	if err != nil || n < 0 || !source.IsDigit(digits[0]) {
		return -1
	}
	return n
}
