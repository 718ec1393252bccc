package decoy

import (
	"path"
	"strings"
)

func golang() *language {
	return &language{
		name: "go",
		syntax: syntax{
			comments: []string{"//"}, block: true, ticks: true,
			quotes: []quote{{open: `"`, kind: text}, {open: "`", kind: text, raw: true, lines: true}},
			symbols: []string{
				"<<=", ">>=", "&^=", "...", ":=", "==", "!=", "<=", ">=", "&&", "||", "<-", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<", ">>", "&^",
			},
		},
		owns:       func(name string) bool { return strings.HasSuffix(name, ".go") },
		place:      path.Dir,
		units:      goUnits,
		wants:      goWants,
		rows:       func(f *file, u unit) map[string][]row { return namedRows(f, u, goSubtest) },
		call:       goCall,
		columns:    goColumns,
		table:      goTable,
		lineEnds:   goLineEnds,
		conditions: failingIf,
		assertions: goAssertions(),
		families: [][]string{
			{"true", "false"},
			{"MaxUint64", "MaxUint32", "MaxUint16", "MaxUint8", "MaxUint"},
			{"MaxInt64", "MaxInt32", "MaxInt16", "MaxInt8", "MaxInt"},
			{"MinInt64", "MinInt32", "MinInt16", "MinInt8", "MinInt"},
			{"MaxFloat64", "MaxFloat32"},
		},
		turned:   map[string]string{"==": "!=", "!=": "==", "<": ">", ">": "<", "<=": ">=", ">=": "<=", "!": ""},
		builders: []string{"New", "Errorf", "byte", "rune", "string", "int", "int64", "int32", "uint", "uint64", "uint32", "float64", "float32"},
		keywords: []string{"nil", "func", "range", "return", "if", "for", "map", "struct", "interface", "string", "int", "bool", "byte", "error", "any", "true", "false"},
		ignored:  []string{"import", "package"},
	}
}

// goUnits finds functions and methods whose names say that they are tests. A method is
// known as ".Name".
func goUnits(f *file) []unit {
	var all []unit
	for i := 0; i < len(f.tok); i++ {
		if f.is(i) != "func" || f.outer[i] >= 0 || !f.starts(i) {
			continue
		}
		at, method := i+1, ""
		if f.is(at) == "(" {
			at, method = f.over(at), "."
		}
		name := f.is(at)
		if f.is(at+1) != "(" || !goTestName(name) {
			continue
		}
		body := f.over(at + 1)
		for f.is(body) != "{" && body < len(f.tok) && !f.starts(body) {
			body++
		}
		if in := f.within(body); f.is(body) == "{" && f.pair[body] >= 0 {
			all = append(all, unit{name: method + name, all: span{i, in.to + 1}, body: in})
			i = in.to
		}
	}
	return all
}

func goTestName(name string) bool {
	return strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Example") || strings.HasPrefix(name, "Fuzz")
}

// goWants reads package::TestX/row; of a suite of testify the row is a method.
func goWants(name string) ([]want, string) {
	pkg, test, found := strings.Cut(name, "::")
	if !found {
		pkg, test = "", name
	}
	test, row, _ := strings.Cut(test, "/")
	all := []want{{name: test, path: pkg, row: row}}
	if method, rest, _ := strings.Cut(row, "/"); goTestName(method) {
		all = append(all, want{name: "." + method, path: pkg, row: rest})
	}
	return all, ""
}

// goSubtest is how go test writes the name of a subtest.
func goSubtest(title string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '\t' || r == '\n' || r == '\r' {
			return '_'
		}
		return r
	}, title)
}

func goLineEnds(f *file, at int) bool {
	switch f.kind(at - 1) {
	case text, char, number, word, shut:
		return f.outer[at] < 0 || f.is(f.outer[at]) == "{"
	}
	return f.is(at-1) == "++" || f.is(at-1) == "--"
}

func goCall(l *language, chain string) (call, bool) {
	name := last(chain)
	switch name {
	case "Run":
		return call{role: titles}, true
	case "Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow", "panic":
		if !strings.HasPrefix(chain, "assert.") && !strings.HasPrefix(chain, "require.") {
			return call{role: fails}, name != "Error" || strings.Count(chain, ".") == 1
		}
	case "Log", "Logf", "Skip", "Skipf", "Println", "Printf", "Print":
		return call{role: says}, true
	}
	if strings.HasPrefix(chain, "t.") || strings.HasPrefix(chain, "fmt.") || strings.HasPrefix(chain, "strings.") {
		return call{}, false
	}
	c, ok := l.assertions[strings.TrimSuffix(name, "f")]
	if !ok || c.operands == 2 && c.expected == 1 && !strings.Contains(chain, ".") {
		return helper(name)
	}
	if c.contrary != "" && strings.HasSuffix(name, "f") {
		c.contrary += "f"
	}
	return c, true
}

// goAssertions are those of testify, gotest.tools and is.
func goAssertions() map[string]call {
	all := map[string]call{
		"Equal": {expected: 0, contrary: "NotEqual"}, "NotEqual": {expected: 0, contrary: "Equal"},
		"EqualValues": {expected: 0, contrary: "NotEqualValues"}, "Exactly": {expected: 0}, "Same": {expected: 0, contrary: "NotSame"},
		"DeepEqual": {expected: 1}, "JSONEq": {expected: 0}, "YAMLEq": {expected: 0}, "ElementsMatch": {expected: 0}, "InDelta": {expected: 0},
		"Len": {expected: 1}, "Contains": {expected: 1, contrary: "NotContains"}, "NotContains": {expected: 1, contrary: "Contains"},
		"EqualError": {expected: 1}, "ErrorContains": {expected: 1}, "ErrorIs": {expected: 1, contrary: "NotErrorIs"}, "ErrorAs": {expected: 1},
		"Regexp": {expected: 0, contrary: "NotRegexp"}, "Greater": {expected: 1, contrary: "Less"}, "Less": {expected: 1, contrary: "Greater"},
		"Subset": {expected: 1, contrary: "NotSubset"}, "IsType": {expected: 0}, "HasPrefix": {expected: 1},
	}
	for name, c := range all {
		c.role, c.operands = asserts, 2
		all[name] = c
	}
	for name, contrary := range map[string]string{
		"True": "False", "Nil": "NotNil", "NoError": "Error", "Empty": "NotEmpty", "Zero": "NotZero", "Panics": "NotPanics",
	} {
		all[name] = call{role: asserts, operands: 1, contrary: contrary}
		all[contrary] = call{role: asserts, operands: 1, contrary: name}
	}
	return all
}

// goColumns reads the fields of []struct{…}{…}, or of a type of the same file.
func goColumns(f *file, at int) ([]string, bool) {
	if f.is(at) != "{" {
		return nil, false
	}
	if i := at - 1; f.is(i) == "}" && f.pair[i] > 0 && f.is(f.pair[i]-1) == "struct" {
		before := f.is(f.pair[i] - 2)
		return goFields(f, f.pair[i]), before == "]" || before == "*"
	}
	begin := at - 1
	if f.kind(begin) != word {
		return nil, false
	}
	if before := f.is(begin - 1); before != "]" && (before != "*" || f.is(begin-2) != "]") {
		return nil, false
	}
	if fields, ok := f.types()[f.is(begin)]; ok {
		return goFields(f, fields), true
	}
	return nil, false
}

// goTable reads var name = value.
func goTable(f *file, at int) (name string, value span) {
	if f.is(at) != "var" || f.outer[at] >= 0 || !f.starts(at) || f.is(at+2) != "=" {
		return "", span{}
	}
	return f.is(at + 1), span{at + 3, f.statementEnd(at, len(f.tok))}
}

// types are the brackets of the structs that a file declares, by name.
func (f *file) types() map[string]int {
	if f.structs == nil {
		f.structs = map[string]int{}
		for i := range f.tok {
			if f.is(i) == "struct" && f.is(i+1) == "{" && f.kind(i-1) == word && f.is(i-2) == "type" {
				f.structs[f.is(i-1)] = i + 1
			}
		}
	}
	return f.structs
}

// goFields names the fields of a struct. Two lines are two fields, as "a, b string" are.
func goFields(f *file, at int) []string {
	var names []string
	in := f.within(at)
	for i := in.from; i < in.to && len(names) < maxColumns; {
		for f.kind(i) == word {
			names = append(names, f.is(i))
			if f.is(i+1) != "," {
				break
			}
			i += 2
		}
		for i++; i < in.to && !f.starts(i) && f.is(i-1) != ";"; i = f.over(i) {
		}
	}
	return names
}
