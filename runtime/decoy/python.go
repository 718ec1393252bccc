package decoy

import (
	"strings"
)

func python() *language {
	return &language{
		name: "python",
		syntax: syntax{
			comments: []string{"#"},
			quotes: []quote{
				{open: `"""`, kind: text, lines: true}, {open: `'''`, kind: text, lines: true}, {open: `"`, kind: text}, {open: `'`, kind: text},
			},
			prefixes: []string{"r", "b", "u", "f", "t", "rb", "br", "fr", "rf", "tr", "rt"},
			symbols: []string{
				"**=", "//=", "<<=", ">>=", "...", ":=", "==", "!=", "<=", ">=", "->", "**", "//", "<<", ">>", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=",
			},
		},
		owns:  func(name string) bool { return strings.HasSuffix(name, ".py") },
		place: func(name string) string { return strings.TrimSuffix(name, ".py") },
		units: pythonUnits, wants: pythonWants, rows: pythonRows, call: pythonCall, columns: tableColumns,
		lineEnds: func(f *file, at int) bool { return f.outer[at] < 0 && f.is(at-1) != `\` && f.kind(at) != shut },
		conditions: func(f *file, at int) (condition, message span) {
			if f.is(at) != "assert" || !f.lang.lineEnds(f, at) {
				return span{}, span{}
			}
			end := f.statementEnd(at, len(f.tok))
			if comma := f.find(span{at + 1, end}, ","); comma > 0 {
				return span{at + 1, comma}, span{comma, end}
			}
			return span{at + 1, end}, span{}
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
				all[u].all.to, all[u].body.to = at, at
			}
			around = around[:n-1]
		}
	}
	for i := range f.tok {
		if !f.starts(i) || !f.lang.lineEnds(f, i) {
			continue
		}
		column := f.column(i)
		end := i
		if decorated >= 0 {
			end = decorated
		}
		leave(column, end)
		at := i
		if f.is(at) == "async" {
			at++
		}
		switch f.is(at) {
		case "@":
			if decorated < 0 {
				decorated = i
			}
			continue
		case "class":
			around = append(around, pythonBlock{column, f.is(at + 1), -1})
		case "def":
			b := pythonBlock{column, "", -1}
			if name, ok := pythonName(around, f.is(at+1)); ok {
				begin := f.find(span{at, min(len(f.tok), at+maxHeader)}, ":") + 1
				if begin > 0 {
					b.unit = len(all)
					all = append(all, unit{name: name, all: span{end, len(f.tok)}, body: span{begin, len(f.tok)}})
				}
			}
			around = append(around, b)
		}
		decorated = -1
	}
	leave(0, len(f.tok))
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
	name := last(chain)
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
	for i := u.all.from; i < u.body.from; i++ {
		if f.is(i) != "parametrize" || f.is(i+1) != "(" {
			continue
		}
		decorators++
		args := f.parts(i + 1)
		if len(args) < 2 || f.kind(args[1].from) != open {
			continue
		}
		names := pythonArguments(f, args[0])
		for n, s := range f.parts(args[1].from) {
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
func pythonArguments(f *file, s span) []string {
	var names []string
	for i := s.from; i < s.to && len(names) < maxColumns; i++ {
		if f.kind(i) == text {
			body, _ := content(f.is(i))
			for name := range strings.SplitSeq(body, ",") {
				names = append(names, strings.TrimSpace(name))
			}
		}
	}
	return names
}

// pythonIDs are the names that pytest may give a row.
func pythonIDs(f *file, row span, names []string, n int) []string {
	values := []span{row}
	if at := f.lastGroup(row); at >= 0 && (len(names) > 1 || f.is(at-1) == "param") {
		values = f.parts(at)
		for i, v := range values {
			if f.is(v.from) == "id" && f.is(v.from+1) == "=" {
				body, _ := content(f.is(v.from + 2))
				return []string{body}
			}
			if f.is(v.from+1) == "=" {
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
func pythonID(f *file, v span, name string, n int) (id, guessed string) {
	one := f.src[f.tok[v.from].from:f.tok[v.to-1].to]
	numbered := name + itoa(n)
	switch {
	case v.to-v.from == 1 && f.kind(v.from) == text:
		body, _ := content(one)
		return body, body
	case v.to-v.from == 1 && (f.kind(v.from) == number || one == "True" || one == "False" || one == "None"):
		return one, one
	case v.to-v.from == 2 && f.is(v.from) == "-" && f.kind(v.from+1) == number:
		return one, one
	case v.to-v.from == 1 && f.kind(v.from) == word:
		return numbered, one
	}
	return numbered, numbered
}
