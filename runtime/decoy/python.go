package decoy

import (
	"strings"

	"github.com/assayd/assayd/runtime/decoy/source"
)

func python() *language {
	return &language{
		name: "python",
		syntax: source.Syntax{
			Comments: []string{"#"},
			Quotes: []source.Quote{
				{Open: `"""`, Kind: source.Text, Lines: true}, {Open: `'''`, Kind: source.Text, Lines: true}, {Open: `"`, Kind: source.Text}, {Open: `'`, Kind: source.Text},
			},
			Prefixes: []string{"r", "b", "u", "f", "t", "rb", "br", "fr", "rf", "tr", "rt"},
			Symbols: []string{
				"**=", "//=", "<<=", ">>=", "...", ":=", "==", "!=", "<=", ">=", "->", "**", "//", "<<", ">>", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=",
			},
		},
		owns:  func(name string) bool { return strings.HasSuffix(name, ".py") },
		place: func(name string) string { return strings.TrimSuffix(name, ".py") },
		units: pythonUnits, wants: pythonWants, rows: pythonRows, call: pythonCall, columns: tableColumns,
		lineEnds: func(f *file, at int) bool { return f.Outer[at] < 0 && f.At(at-1) != `\` && f.Kind(at) != source.Close },
		conditions: func(f *file, at int) (condition, message source.Span) {
			if f.At(at) != "assert" || !f.lang.lineEnds(f, at) {
				return source.Span{}, source.Span{}
			}
			end := f.statementEnd(at, len(f.Tok))
			if comma := f.Find(source.Span{From: at + 1, To: end}, ","); comma > 0 {
				return source.Span{From: at + 1, To: comma}, source.Span{From: comma, To: end}
			}
			return source.Span{From: at + 1, To: end}, source.Span{}
		},
		assertions: pythonAssertions(),
		families: [][]string{
			{"True", "False"},
			{"ValueError", "TypeError", "KeyError", "IndexError", "RuntimeError", "AttributeError", "LookupError", "OSError"},
		},
		turned: map[string]string{
			"==": "!=", "!=": "==", "<": ">", ">": "<", "<=": ">=", ">=": "<=", "in": "not in", "not in": "in", "is": "is not", "is not": "is",
			"assert": "assert not", "assert not": "assert",
		},
		builders: []string{"set", "frozenset", "dict", "list", "tuple", "Decimal", "Fraction", "date", "datetime", "timedelta", "OrderedDict", "Path", "str", "bytes", "int", "float", "approx"},
		keywords: []string{"None", "self", "cls", "and", "or", "not", "in", "is", "if", "else", "for", "lambda", "def", "return", "str", "int", "dict", "list", "True", "False"},
		ignored:  []string{"raise", "import", "from"},
	}
}

// pythonBlock is a class or function that has begun.
type pythonBlock struct {
	column int
	class  string // "" = it is a function
	unit   int    // of a function its place among the units, else -1
}

// pythonUnits finds functions whose names begin with test, by their indentation.
func pythonUnits(f *file) []unit {
	var all []unit
	var around []pythonBlock
	decorated := -1
	leave := func(column, at int) {
		for n := len(around); n > 0 && around[n-1].column >= column; n-- {
			if u := around[n-1].unit; u >= 0 {
				all[u].all.To, all[u].body.To = at, at
			}
			around = around[:n-1]
		}
	}
	for i := range f.Tok {
		if !f.Starts(i) || !f.lang.lineEnds(f, i) {
			continue
		}
		column := f.Column(i)
		end := i
		if decorated >= 0 {
			end = decorated
		}
		leave(column, end)
		at := i
		if f.At(at) == "async" {
			at++
		}
		switch f.At(at) {
		case "@":
			if decorated < 0 {
				decorated = i
			}
			continue
		case "class":
			around = append(around, pythonBlock{column, f.At(at + 1), -1})
		case "def":
			b := pythonBlock{column, "", -1}
			if name, ok := pythonName(around, f.At(at+1)); ok {
				begin := f.Find(source.Span{From: at, To: min(len(f.Tok), at+maxHeader)}, ":") + 1
				if begin > 0 {
					b.unit = len(all)
					all = append(all, unit{name: name, all: source.Span{From: end, To: len(f.Tok)}, body: source.Span{From: begin, To: len(f.Tok)}})
				}
			}
			around = append(around, b)
		}
		decorated = -1
	}
	leave(0, len(f.Tok))
	return all
}

// pythonName is Class::name of a test; there is none in a function.
func pythonName(around []pythonBlock, name string) (string, bool) {
	if !strings.HasPrefix(name, "test") || len(around) > maxDepth {
		return "", false
	}
	for n := len(around) - 1; n >= 0; n-- {
		if around[n].class == "" {
			return "", false
		}
		name = around[n].class + "::" + name
	}
	return name, true
}

// pythonWants reads path::Class::test[row] of pytest, and test (module.Class.test) of
// unittest, also without the first or the last "test".
func pythonWants(name string) ([]want, string) {
	if method, owner, ok := strings.Cut(strings.TrimSuffix(name, ")"), " ("); ok && !strings.Contains(method, "::") {
		owner = strings.TrimSuffix(owner, "."+method)
		return []want{pythonDotted(owner + "." + method)}, ""
	}
	test, row, _ := strings.Cut(name, "[")
	path, test, found := strings.Cut(test, "::")
	if !found {
		return []want{pythonDotted(name)}, ""
	}
	return []want{{name: test, path: strings.TrimSuffix(path, ".py"), row: strings.TrimSuffix(row, "]")}}, ""
}

// pythonDotted reads module.Class.test.
func pythonDotted(name string) want {
	parts := strings.Split(name, ".")
	n := max(0, len(parts)-2)
	return want{name: strings.Join(parts[n:], "::"), path: strings.Join(parts[:n], "/")}
}

func pythonCall(l *language, chain string) (call, bool) {
	name := source.Last(chain)
	switch name {
	case "fail", "skip", "skipTest", "xfail", "exit":
		return call{role: fails}, chain != name
	case "print", "debug", "info", "warning", "subTest":
		return call{role: says}, true
	case "raises", "assertRaises", "assertRaisesRegex", "assertWarns", "warns", "assertRaisesMessage":
		return call{role: raises}, true
	}
	c, ok := l.assertions[name]
	if !ok {
		return helper(name)
	}
	return c, true
}

func pythonAssertions() map[string]call {
	all := map[string]call{}
	for name, contrary := range map[string]string{
		"assertEqual": "assertNotEqual", "assertIn": "assertNotIn", "assertIs": "assertIsNot", "assertIsInstance": "assertNotIsInstance",
		"assertAlmostEqual": "assertNotAlmostEqual", "assertGreater": "assertLess", "assertGreaterEqual": "assertLess", "assertRegex": "assertNotRegex",
	} {
		all[name] = call{role: asserts, operands: 2, expected: 1, contrary: contrary}
		if _, ok := all[contrary]; !ok {
			all[contrary] = call{role: asserts, operands: 2, expected: 1, contrary: name}
		}
	}
	for _, name := range []string{
		"assertEquals", "assertListEqual", "assertDictEqual", "assertSetEqual", "assertTupleEqual", "assertSequenceEqual", "assertMultiLineEqual", "assertCountEqual",
		"assertContains", "assertQuerySetEqual", "assert_array_equal", "assert_equal", "assert_allclose",
	} {
		all[name] = call{role: asserts, operands: 2, expected: 1}
	}
	for name, contrary := range map[string]string{"assertTrue": "assertFalse", "assertIsNone": "assertIsNotNone"} {
		all[name] = call{role: asserts, operands: 1, contrary: contrary}
		all[contrary] = call{role: asserts, operands: 1, contrary: name}
	}
	for _, name := range []string{"assert_called_with", "assert_called_once_with", "assert_any_call", "assert_has_calls"} {
		all[name] = call{role: asserts, expected: -1}
	}
	return all
}

// pythonRows are the rows of parametrize, by the names that pytest gives them.
func pythonRows(f *file, u unit) map[string][]row {
	rows := map[string][]row{}
	decorators := 0
	for i := u.all.From; i < u.body.From; i++ {
		if f.At(i) != "parametrize" || f.At(i+1) != "(" {
			continue
		}
		decorators++
		args := f.Parts(i + 1)
		if len(args) < 2 || f.Kind(args[1].From) != source.Open {
			continue
		}
		names := pythonArguments(f, args[0])
		for n, s := range f.Parts(args[1].From) {
			for _, id := range pythonIDs(f, s, names, n) {
				rows[id] = append(rows[id], row{s, 0})
			}
		}
	}
	if decorators > 1 { // a row belongs to several tests, and a name to several rows
		return nil
	}
	return rows
}

// pythonArguments are the names of "a, b" or of ["a", "b"].
func pythonArguments(f *file, s source.Span) []string {
	var names []string
	for i := s.From; i < s.To && len(names) < maxColumns; i++ {
		if f.Kind(i) == source.Text {
			body, _ := source.Content(f.At(i))
			for name := range strings.SplitSeq(body, ",") {
				names = append(names, strings.TrimSpace(name))
			}
		}
	}
	return names
}

// pythonIDs are the names that pytest may give a row.
func pythonIDs(f *file, row source.Span, names []string, n int) []string {
	values := []source.Span{row}
	if at := f.lastGroup(row); at >= 0 && (len(names) > 1 || f.At(at-1) == "param") {
		values = f.Parts(at)
		for i, v := range values {
			if f.At(v.From) == "id" && f.At(v.From+1) == "=" {
				body, _ := source.Content(f.At(v.From + 2))
				return []string{body}
			}
			if f.At(v.From+1) == "=" {
				values = values[:i]
				break
			}
		}
	}
	known, guessed := make([]string, len(values)), make([]string, len(values))
	for i, v := range values {
		name := ""
		if i < len(names) {
			name = names[i]
		}
		known[i], guessed[i] = pythonID(f, v, name, n)
	}
	return []string{strings.Join(known, "-"), strings.Join(guessed, "-")}
}

// pythonID is what a value adds to the name of its row; guessed is another possibility.
func pythonID(f *file, v source.Span, name string, n int) (id, guessed string) {
	one := f.Src[f.Tok[v.From].From:f.Tok[v.To-1].To]
	numbered := name + itoa(n)
	switch {
	case v.To-v.From == 1 && f.Kind(v.From) == source.Text:
		body, _ := source.Content(one)
		return body, body
	case v.To-v.From == 1 && (f.Kind(v.From) == source.Number || one == "True" || one == "False" || one == "None"):
		return one, one
	case v.To-v.From == 2 && f.At(v.From) == "-" && f.Kind(v.From+1) == source.Number:
		return one, one
	case v.To-v.From == 1 && f.Kind(v.From) == source.Word:
		return numbered, one
	}
	return numbered, numbered
}
