package decoy

import (
	"path"
	"strings"

	"github.com/assayd/assayd/runtime/decoy/source"
)

func javascript() *language {
	return &language{
		name: "javascript",
		syntax: source.Syntax{
			Comments: []string{"//", "#!"}, Block: true, Patterns: true, Dollar: true,
			Quotes: []source.Quote{{Open: `"`, Kind: source.Text}, {Open: `'`, Kind: source.Text}, {Open: "`", Kind: source.Text, Lines: true, Interpolated: true}},
			Symbols: []string{
				">>>=", "===", "!==", "**=", "<<=", ">>=", ">>>", "...", "&&=", "||=", "??=", "=>", "==", "!=", "<=", ">=", "&&", "||", "??", "?.", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "**",
			},
		},
		owns: func(name string) bool {
			switch path.Ext(name) {
			case ".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".jsx", ".tsx":
				return true
			}
			return false
		},
		place: func(name string) string { return strings.TrimSuffix(name, path.Ext(name)) },
		units: jsUnits, wants: jsWants, call: jsCall, columns: tableColumns, conditions: failingIf,
		lineEnds: func(f *file, at int) bool {
			if f.Outer[at] >= 0 && f.At(f.Outer[at]) != "{" {
				return false
			}
			switch f.Kind(at - 1) {
			case source.Text, source.Char, source.Number, source.Word, source.Close, source.Pattern:
				return f.Kind(at) != source.Symbol || f.At(at) == "++" || f.At(at) == "--" || f.At(at) == "!"
			}
			return f.At(at-1) == ";"
		},
		assertions: jsAssertions(),
		families: [][]string{
			{"true", "false"},
			{"undefined", "null"},
			{"TypeError", "RangeError", "SyntaxError", "ReferenceError"},
			{"MAX_SAFE_INTEGER", "MIN_SAFE_INTEGER", "MAX_VALUE", "MIN_VALUE"},
		},
		turned: map[string]string{
			"===": "!==", "!==": "===", "==": "!=", "!=": "==", "<": ">", ">": "<", "<=": ">=", ">=": "<=", "!": "",
		},
		builders: []string{"Map", "Set", "Date", "String", "Number", "Buffer.from", "BigInt", "URL", "Symbol", "RegExp"},
		keywords: []string{"null", "undefined", "this", "const", "let", "var", "new", "typeof", "function", "async", "await", "return", "true", "false", "in", "of", "if", "else"},
		ignored:  []string{"throw", "import"},
	}
}

// jsUnits finds calls such as test('name', …) and it('name', …), in those of describe and
// of other tests. The name is the path.
func jsUnits(f *file) []unit {
	type block struct {
		path string
		to   int
		test bool
	}
	var all []unit
	var around []block
	for i := range f.Tok {
		for n := len(around); n > 0 && i >= around[n-1].to; n-- {
			around = around[:n-1]
		}
		if f.At(i) != "(" || f.Pair[i] < 0 || f.Kind(i+1) != source.Text {
			continue
		}
		chain, begin := jsCallee(f, i)
		what := jsBlock(chain)
		if what == 0 || len(around) >= maxDepth || f.At(i+2) != "," || f.Tok[i+1].Interpolated {
			continue
		}
		title, _ := source.Content(f.At(i + 1))
		name := jsTitle(unescape(title))
		if n := len(around); n > 0 {
			name = around[n-1].path + " " + name
		}
		if len(name) > maxName {
			continue
		}
		around = append(around, block{name, f.Pair[i], what == 't'})
		if what == 't' {
			all = append(all, unit{name: name, all: source.Span{From: begin, To: f.Pair[i] + 1}, body: source.Span{From: i + 2, To: f.Pair[i]}, title: i + 1, each: strings.Contains(chain, ".each")})
		}
	}
	return all
}

// jsCallee is callee, and of test.each(rows)(name) the chain of test.each.
func jsCallee(f *file, at int) (string, int) {
	if f.At(at-1) == ")" && f.Pair[at-1] > 0 {
		at = f.Pair[at-1]
	}
	return f.Callee(at)
}

// jsBlock is 't' for a call that makes a test, 'd' for one that groups tests.
func jsBlock(chain string) byte {
	for _, end := range []string{".each", ".only", ".skip", ".concurrent", ".sequential", ".serial", ".failing"} {
		chain = strings.TrimSuffix(chain, end)
	}
	switch chain {
	case "test", "it", "specify", "tape", "t.it":
		return 't'
	case "describe", "suite", "context", "test.describe", "test.suite", "QUnit.module", "fdescribe", "xdescribe":
		return 'd'
	}
	if strings.HasSuffix(chain, ".test") && strings.Count(chain, ".") == 1 { // of a context; a pattern's has one argument
		return 't'
	}
	return 0
}

// jsTitle is the form in which names are compared: runners join those of the blocks in
// several ways.
func jsTitle(name string) string {
	return strings.Join(strings.Fields(strings.NewReplacer(" > ", " ", " › ", " ").Replace(name)), " ")
}

// jsWants reads the path of a test. TAP may put a number before it, and our parsers a
// number behind it where it repeats.
func jsWants(name string) ([]want, string) {
	all := []want{{name: jsTitle(name)}}
	if at := strings.LastIndex(name, " #"); at > 0 && len(name)-at < 8 {
		if n := atoi(name[at+2:]); n > 1 {
			all = append(all, want{name: jsTitle(name[:at]), nth: n})
		}
	}
	if digits, rest, ok := strings.Cut(name, " "); ok && atoi(digits) >= 0 {
		all = append(all, want{name: jsTitle(strings.TrimPrefix(rest, "- "))})
	}
	return all, ""
}

func jsCall(l *language, chain string) (call, bool) {
	name := source.Last(chain)
	switch name {
	case "on", "once", "emit", "addEventListener", "off", "dispatchEvent", "addListener", "removeListener":
		return call{role: events}, strings.Contains(chain, ".")
	case "log", "comment", "diagnostic", "plan", "error", "warn", "pass", "timeout", "setTimeout", "end", "teardown":
		return call{role: says}, strings.Contains(chain, ".")
	case "require", "Error", "done":
		return call{role: says}, true
	case "fail":
		return call{role: fails}, true
	}
	if name == "each" {
		return call{}, false
	}
	if jsBlock(chain) != 0 {
		return call{role: titles}, true
	}
	if strings.HasPrefix(chain, "expect()") || strings.Contains(chain, ".should.") || strings.Contains(chain, ".to.") {
		c := call{role: asserts, operands: -1}
		if chain == "expect()."+name && name != "not" {
			c.contrary = "not." + name
		}
		return c, true
	}
	if name == "expect" {
		return call{}, false
	}
	if name == "throws" || name == "rejects" {
		return call{role: raises}, true
	}
	c, ok := l.assertions[name]
	if !ok || !strings.Contains(chain, ".") && name != "assert" {
		return helper(name)
	}
	return c, true
}

// jsAssertions are those of node:assert, tap, tape, ava, and chai's assert.
func jsAssertions() map[string]call {
	all := map[string]call{}
	for name, contrary := range map[string]string{
		"equal": "notEqual", "strictEqual": "notStrictEqual", "deepEqual": "notDeepEqual", "deepStrictEqual": "notDeepStrictEqual",
		"same": "notSame", "is": "not", "match": "doesNotMatch", "equals": "", "strictSame": "", "looseEqual": "", "include": "notInclude", "lengthOf": "",
		"hasStrict": "", "has": "", "eq": "", "partialDeepStrictEqual": "", "like": "", "eql": "",
	} {
		all[name] = call{role: asserts, operands: 2, expected: 1, contrary: contrary}
		if contrary != "" {
			all[contrary] = call{role: asserts, operands: 2, expected: 1, contrary: name}
		}
	}
	for name, contrary := range map[string]string{"ok": "", "true": "false", "assert": "", "notOk": "ok", "truthy": "falsy", "isNull": "isNotNull"} {
		all[name] = call{role: asserts, operands: 1, contrary: contrary}
		if contrary != "" && contrary != "ok" {
			all[contrary] = call{role: asserts, operands: 1, contrary: name}
		}
	}
	return all
}
