package decoy

import (
	"strings"
)

func rust() *language {
	return &language{
		name: "rust",
		syntax: syntax{
			comments: []string{"//"}, block: true, nested: true, ticks: true, hashes: true,
			quotes:   []quote{{open: `"`, kind: text, lines: true}},
			prefixes: []string{"b", "r", "br", "c", "cr"},
			symbols: []string{
				"<<=", ">>=", "..=", "...", "::", "==", "!=", "<=", ">=", "&&", "||", "=>", "->", "..", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=",
			},
		},
		owns:  func(name string) bool { return strings.HasSuffix(name, ".rs") },
		place: func(name string) string { return strings.TrimSuffix(strings.TrimSuffix(name, ".rs"), "/mod") },
		units: rustUnits, wants: rustWants, call: rustCall, columns: tableColumns, conditions: failingIf,
		lineEnds: func(f *file, at int) bool {
			before := f.is(at - 1)
			return (f.outer[at] < 0 || f.is(f.outer[at]) == "{") && (before == ";" || before == "{" || before == "}" && f.is(at) != "." && f.is(at) != "?")
		},
		families: [][]string{
			{"true", "false"},
			{"u64", "u32"},
			{"i64", "i32"},
			{"u128", "i128"},
			{"u16", "i16"},
			{"usize", "isize"},
			{"u8", "i8"},
			{"f64", "f32"},
			{"MAX", "MIN"},
			{"Less", "Greater"},
			{"is_ok", "is_err"},
			{"is_some", "is_none"},
		},
		turned:   map[string]string{"==": "!=", "!=": "==", "<": ">", ">": "<", "<=": ">=", ">=": "<=", "!": "", "is_ok": "is_err", "is_err": "is_ok", "is_some": "is_none", "is_none": "is_some"},
		builders: []string{"vec!", "Some", "Ok", "Err", "String.from", "to_string", "to_owned", "into", "new", "from", "to_vec", "Box.new"},
		keywords: []string{"None", "self", "Self", "let", "mut", "ref", "fn", "if", "else", "match", "for", "in", "as", "true", "false", "Ok", "Err", "Some"},
		ignored:  []string{"use"},
	}
}

// rustUnits finds functions with an attribute that ends in test, by their modules.
func rustUnits(f *file) []unit {
	var all []unit
	type module struct {
		path string
		to   int
	}
	around := []module{{"", len(f.tok)}}
	for i := 0; i < len(f.tok); i++ {
		for len(around) > 1 && i >= around[len(around)-1].to {
			around = around[:len(around)-1]
		}
		outer := around[len(around)-1].path
		switch {
		case f.is(i) == "mod" && f.kind(i+1) == word && f.is(i+2) == "{" && f.pair[i+2] > 0 && len(around) < maxDepth:
			around = append(around, module{outer + f.is(i+1) + "::", f.pair[i+2]})
		case f.is(i) == "fn" && f.kind(i+1) == word:
			test, panics, begin := rustAttributes(f, i)
			at := f.find(span{i + 2, min(len(f.tok), i+2+maxHeader)}, "{", ";")
			if in := f.within(at); test && at > 0 && !in.empty() {
				all = append(all, unit{name: outer + f.is(i+1), all: span{begin, in.to + 1}, body: in, raises: panics})
				i = in.to
			}
		}
	}
	return all
}

// rustAttributes looks at what stands before fn.
func rustAttributes(f *file, at int) (test, panics bool, begin int) {
	begin = at
	for range maxColumns {
		i := begin - 1
		switch f.is(i) {
		case "pub", "async", "unsafe", "const", "extern":
			begin = i
			continue
		case ")":
			if f.pair[i] > 0 && f.is(f.pair[i]-1) == "pub" {
				begin = f.pair[i] - 1
				continue
			}
		case "]":
			if f.pair[i] > 0 && f.is(f.pair[i]-1) == "#" {
				begin = f.pair[i] - 1
				for j := f.pair[i] + 1; j < i && (f.kind(j) == word || f.is(j) == "::"); j++ {
					test = test || f.is(j) == "test" && (j+1 == i || f.is(j+1) == "(")
					panics = panics || f.is(j) == "should_panic"
				}
				continue
			}
		}
		break
	}
	return test, panics, begin
}

// rustWants reads module::test, and path.rs::module::test. A module may be one of the file
// or the file itself.
func rustWants(name string) ([]want, string) {
	if strings.HasPrefix(name, "doc::") || strings.Contains(name, " - ") || strings.Contains(name, "(line ") {
		return nil, "it is an example of the documentation"
	}
	if path, test, ok := strings.Cut(name, ".rs::"); ok {
		all := []want{{name: test, path: path}}
		more, _ := rustWants(test)
		for _, w := range more {
			if w.path != "" { // of a module of the crate whose root the path is
				all = append(all, w)
			}
		}
		return all, ""
	}
	all := []want{{name: name}}
	for parts := strings.Split(name, "::"); len(all) < len(parts) && len(all) < maxDepth; {
		n := len(all)
		all = append(all, want{name: strings.Join(parts[n:], "::"), path: strings.Join(parts[:n], "/")})
	}
	return all, ""
}

func rustCall(_ *language, chain string) (call, bool) {
	switch name := last(chain); name {
	case "panic!", "unreachable!", "todo!", "unimplemented!":
		return call{role: fails}, true
	case "println!", "eprintln!", "print!", "eprint!", "dbg!", "write!", "writeln!", "expect", "info!", "debug!":
		return call{role: says}, true
	case "assert_eq!", "assert_ne!", "debug_assert_eq!":
		contrary := map[string]string{"assert_eq!": "assert_ne", "assert_ne!": "assert_eq"}[name]
		return call{role: asserts, operands: 2, expected: 1, contrary: contrary}, true
	case "assert!", "debug_assert!":
		return call{role: asserts, operands: 1}, true
	case "matches!", "assert_matches!":
		return call{role: asserts, operands: 2, expected: 1}, true
	default:
		return helper(name)
	}
}
