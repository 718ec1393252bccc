package decoy

import (
	"path"
	"strings"
)

func javascript() *language {
	return &language{
		name: "javascript",
		syntax: syntax{
			comments: []string{"//", "#!"}, block: true, patterns: true, dollar: true,
			quotes: []quote{{open: `"`, kind: text}, {open: `'`, kind: text}, {open: "`", kind: text, lines: true, interpolated: true}},
			symbols: []string{
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
			if f.outer[at] >= 0 && f.is(f.outer[at]) != "{" {
				return false
			}
			switch f.kind(at - 1) {
			case text, char, number, word, shut, pattern:
				return f.kind(at) != symbol || f.is(at) == "++" || f.is(at) == "--" || f.is(at) == "!"
			}
			return f.is(at-1) == ";"
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
	for i := range f.tok {
		for n := len(around); n > 0 && i >= around[n-1].to; n-- {
			around = around[:n-1]
		}
		if f.is(i) != "(" || f.pair[i] < 0 || f.kind(i+1) != text {
			continue
		}
		chain, begin := jsCallee(f, i)
		what := jsBlock(chain)
		if what == 0 || len(around) >= maxDepth || f.is(i+2) != "," || f.tok[i+1].interpolated {
			continue
		}
		title, _ := content(f.is(i + 1))
		name := jsTitle(unescape(title))
		if n := len(around); n > 0 {
			name = around[n-1].path + " " + name
		}
		if len(name) > maxName {
			continue
		}
		around = append(around, block{name, f.pair[i], what == 't'})
		if what == 't' {
			all = append(all, unit{name: name, all: span{begin, f.pair[i] + 1}, body: span{i + 2, f.pair[i]}, title: i + 1, each: strings.Contains(chain, ".each")})
		}
	}
	return all
}

// jsCallee is callee, and of test.each(rows)(name) the chain of test.each.
func jsCallee(f *file, at int) (string, int) {
	if f.is(at-1) == ")" && f.pair[at-1] > 0 {
		at = f.pair[at-1]
	}
	return f.callee(at)
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
	name := last(chain)
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
