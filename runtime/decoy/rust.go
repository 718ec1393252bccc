package decoy

import (
	"strings"

	"github.com/assayd/assayd/runtime/decoy/source"
)

func rust() *language {
	return &language{
		name: "rust",
		syntax: source.Syntax{
			Comments: []string{"//"}, Block: true, Nested: true, Ticks: true, Hashes: true,
			Quotes:   []source.Quote{{Open: `"`, Kind: source.Text, Lines: true}},
			Prefixes: []string{"b", "r", "br", "c", "cr"},
			Symbols: []string{
				"<<=", ">>=", "..=", "...", "::", "==", "!=", "<=", ">=", "&&", "||", "=>", "->", "..", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=",
			},
		},
		owns:  func(name string) bool { return strings.HasSuffix(name, ".rs") },
		place: func(name string) string { return strings.TrimSuffix(strings.TrimSuffix(name, ".rs"), "/mod") },
		units: rustUnits, wants: rustWants, call: rustCall, columns: tableColumns, conditions: failingIf,
		lineEnds: func(f *file, at int) bool {
			before := f.At(at - 1)
			return (f.Outer[at] < 0 || f.At(f.Outer[at]) == "{") && (before == ";" || before == "{" || before == "}" && f.At(at) != "." && f.At(at) != "?")
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
	around := []module{{"", len(f.Tok)}}
	for i := 0; i < len(f.Tok); i++ {
		for len(around) > 1 && i >= around[len(around)-1].to {
			around = around[:len(around)-1]
		}
		outer := around[len(around)-1].path
		switch {
		case f.At(i) == "mod" && f.Kind(i+1) == source.Word && f.At(i+2) == "{" && f.Pair[i+2] > 0 && len(around) < maxDepth:
			around = append(around, module{outer + f.At(i+1) + "::", f.Pair[i+2]})
		case f.At(i) == "fn" && f.Kind(i+1) == source.Word:
			test, panics, begin := rustAttributes(f, i)
			at := f.Find(source.Span{From: i + 2, To: min(len(f.Tok), i+2+maxHeader)}, "{", ";")
			if in := f.Within(at); test && at > 0 && !in.Empty() {
				all = append(all, unit{name: outer + f.At(i+1), all: source.Span{From: begin, To: in.To + 1}, body: in, raises: panics})
				i = in.To
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
		switch f.At(i) {
		case "pub", "async", "unsafe", "const", "extern":
			begin = i
			continue
		case ")":
			if f.Pair[i] > 0 && f.At(f.Pair[i]-1) == "pub" {
				begin = f.Pair[i] - 1
				continue
			}
		case "]":
			if f.Pair[i] > 0 && f.At(f.Pair[i]-1) == "#" {
				begin = f.Pair[i] - 1
				for j := f.Pair[i] + 1; j < i && (f.Kind(j) == source.Word || f.At(j) == "::"); j++ {
					test = test || f.At(j) == "test" && (j+1 == i || f.At(j+1) == "(")
					panics = panics || f.At(j) == "should_panic"
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
	switch name := source.Last(chain); name {
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
