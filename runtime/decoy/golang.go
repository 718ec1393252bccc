package decoy

import (
	"path"
	"strings"

	"github.com/assayd/assayd/runtime/decoy/source"
)

func golang() *language {
	return &language{
		name: "go",
		syntax: source.Syntax{
			Comments: []string{"//"}, Block: true, Ticks: true,
			Quotes: []source.Quote{{Open: `"`, Kind: source.Text}, {Open: "`", Kind: source.Text, Raw: true, Lines: true}},
			Symbols: []string{
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
	for i := 0; i < len(f.Tok); i++ {
		if f.At(i) != "func" || f.Outer[i] >= 0 || !f.Starts(i) {
			continue
		}
		at, method := i+1, ""
		if f.At(at) == "(" {
			at, method = f.Over(at), "."
		}
		name := f.At(at)
		if f.At(at+1) != "(" || !goTestName(name) {
			continue
		}
		body := f.Over(at + 1)
		for f.At(body) != "{" && body < len(f.Tok) && !f.Starts(body) {
			body++
		}
		if in := f.Within(body); f.At(body) == "{" && f.Pair[body] >= 0 {
			all = append(all, unit{name: method + name, all: source.Span{From: i, To: in.To + 1}, body: in})
			i = in.To
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
	switch f.Kind(at - 1) {
	case source.Text, source.Char, source.Number, source.Word, source.Close:
		return f.Outer[at] < 0 || f.At(f.Outer[at]) == "{"
	}
	return f.At(at-1) == "++" || f.At(at-1) == "--"
}

func goCall(l *language, chain string) (call, bool) {
	name := source.Last(chain)
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
	if f.At(at) != "{" {
		return nil, false
	}
	if i := at - 1; f.At(i) == "}" && f.Pair[i] > 0 && f.At(f.Pair[i]-1) == "struct" {
		before := f.At(f.Pair[i] - 2)
		return goFields(f, f.Pair[i]), before == "]" || before == "*"
	}
	begin := at - 1
	if f.Kind(begin) != source.Word {
		return nil, false
	}
	if before := f.At(begin - 1); before != "]" && (before != "*" || f.At(begin-2) != "]") {
		return nil, false
	}
	if fields, ok := f.types()[f.At(begin)]; ok {
		return goFields(f, fields), true
	}
	return nil, false
}

// goTable reads var name = value.
func goTable(f *file, at int) (name string, value source.Span) {
	if f.At(at) != "var" || f.Outer[at] >= 0 || !f.Starts(at) || f.At(at+2) != "=" {
		return "", source.Span{}
	}
	return f.At(at + 1), source.Span{From: at + 3, To: f.statementEnd(at, len(f.Tok))}
}

// types are the brackets of the structs that a file declares, by name.
func (f *file) types() map[string]int {
	if f.structs == nil {
		f.structs = map[string]int{}
		for i := range f.Tok {
			if f.At(i) == "struct" && f.At(i+1) == "{" && f.Kind(i-1) == source.Word && f.At(i-2) == "type" {
				f.structs[f.At(i-1)] = i + 1
			}
		}
	}
	return f.structs
}

// goFields names the fields of a struct. Two lines are two fields, as "a, b string" are.
func goFields(f *file, at int) []string {
	var names []string
	in := f.Within(at)
	for i := in.From; i < in.To && len(names) < maxColumns; {
		for f.Kind(i) == source.Word {
			names = append(names, f.At(i))
			if f.At(i+1) != "," {
				break
			}
			i += 2
		}
		for i++; i < in.To && !f.Starts(i) && f.At(i-1) != ";"; i = f.Over(i) {
		}
	}
	return names
}
