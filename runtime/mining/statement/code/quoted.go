package code

import (
	"strings"
	"unicode/utf8"
)

// quote is how a literal begins and ends.
type quote struct {
	open, end string
	raw       bool // backslashes mean nothing
	lines     bool // it may have several
}

// quoted takes a literal.
func (x *lexer) quoted() bool {
	rest := x.rest()
	q, ok := opening(rest, x.language)
	if !ok {
		return x.pattern()
	}
	body := rest[len(q.open):]
	end, closed := q.find(body)
	after := x.at + len(q.open) + end
	if closed {
		after += len(q.end)
	}
	doc := x.language == Python && q.lines && x.fresh && x.statement()
	switch {
	case doc: // it says something to people, as a comment does
		x.at, x.spaced = after, true
	case q.raw:
		x.emit(Text, body[:end], true, after)
	default:
		x.emit(Text, unescaped(body[:end]), false, after)
	}
	return true
}

// statement tells whether a string that is the first of its line stands for itself.
func (x *lexer) statement() bool {
	if len(x.all) == 0 {
		return true
	}
	switch last := x.all[len(x.all)-1]; last.Value {
	case "(", "[", "{", ",", "=", "+", "%":
		return last.Kind != Mark
	}
	return true
}

// opening is the quote that a text begins with, and what may stand before it.
func opening(text string, l Language) (quote, bool) {
	prefix := 0
	for prefix < len(text) && prefix < 3 && strings.IndexByte("rRbBuUfFLc8$@", text[prefix]) >= 0 {
		prefix++
	}
	if prefix == len(text) || prefix > 0 && !prefixed(text[:prefix], l) {
		prefix = 0
	}
	before, at := text[:prefix], text[prefix:]
	raw := strings.ContainsAny(before, "rR")
	if l == Rust && strings.Contains(before, "r") || l == C && raw {
		if q, ok := rawOpening(before, at, l); ok {
			return q, true
		}
	}
	for _, three := range []string{`"""`, `'''`} {
		if strings.HasPrefix(at, three) && (l == Python || l == Java && three == `"""`) {
			return quote{before + three, three, raw, true}, true
		}
	}
	switch {
	case at == "":
	case at[0] == '"':
		return quote{before + `"`, `"`, raw, l == Rust}, true
	case at[0] == '\'' && l == Rust:
		// A lifetime has no second quote.
		_, size := utf8.DecodeRuneInString(at[1:])
		if len(at) > 1+size && (at[1] == '\\' || at[1+size] == '\'') {
			return quote{before + `'`, `'`, false, false}, true
		}
	case at[0] == '\'':
		return quote{before + `'`, `'`, raw, false}, true
	case at[0] == '`' && l == Go && prefix == 0:
		return quote{"`", "`", true, true}, true
	case at[0] == '`' && l == JavaScript && prefix == 0:
		return quote{"`", "`", false, true}, true
	}
	return quote{}, false
}

// prefixed tells what may stand before a quote.
func prefixed(before string, l Language) bool {
	switch l {
	case Python:
		return !strings.ContainsAny(before, "Lc8$@")
	case Rust:
		return before == "r" || before == "b" || before == "br" || before == "c" || before == "cr"
	case C:
		return before == "L" || before == "u" || before == "U" || before == "u8" || before == "R" || before == "LR" || before == "uR" || before == "UR" || before == "u8R" || before == "@"
	case Java:
		return before == "$" || before == "@" || before == "$@"
	}
	return false
}

// rawOpening is that of r#"…"# and R"x(…)x".
func rawOpening(before, at string, l Language) (quote, bool) {
	if l == Rust {
		hashes := len(at) - len(strings.TrimLeft(at, "#"))
		if !strings.HasPrefix(at[hashes:], `"`) {
			return quote{}, false
		}
		return quote{before + at[:hashes+1], `"` + at[:hashes], true, true}, true
	}
	paren := strings.IndexByte(at[:min(len(at), 20)], '(')
	if paren < 1 || at[0] != '"' {
		return quote{}, false
	}
	return quote{before + at[:paren+1], ")" + at[1:paren] + `"`, true, true}, true
}

// find is where a literal ends. One that is never closed ends with its line, or with the
// text if it may have several.
func (q quote) find(body string) (end int, closed bool) {
	for i := 0; i < len(body); i++ {
		switch {
		case strings.HasPrefix(body[i:], q.end):
			return i, true
		case body[i] == '\\' && (!q.raw || q.end != "`" && !q.lines): // also in Python's raw ones
			i++ // or the line goes on
		case body[i] == '\n' && !q.lines:
			return i, false
		}
	}
	return len(body), false
}

// unescaped is what a literal means, as far as that is the same everywhere.
func unescaped(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		switch text[i] {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case '\n':
		case '\\', '"', '\'', '`', '/':
			b.WriteByte(text[i])
		default:
			b.WriteByte('\\')
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

// pattern takes a regular expression of JavaScript, whose quotes would open strings.
func (x *lexer) pattern() bool {
	rest := x.rest()
	if x.language != JavaScript || rest[0] != '/' || !x.operand() {
		return false
	}
	class, i := false, 1
	for ; i < len(rest) && rest[i] != '\n'; i++ {
		switch {
		case rest[i] == '\\':
			i++
		case rest[i] == '[', rest[i] == ']':
			if class = rest[i] == '['; x.at+i < x.unclosed {
				return false // from here on all is as it was for the slash before
			}
		case rest[i] == '/' && !class:
			x.emit(Text, rest[1:i], true, x.at+i+1+wordEnd(rest[i+1:], false))
			return true
		}
	}
	x.unclosed = x.at + i
	return false
}

// operand tells whether a value comes next: a slash then divides nothing.
func (x *lexer) operand() bool {
	if len(x.all) == 0 {
		return true
	}
	last := x.all[len(x.all)-1]
	switch last.Kind {
	case Mark:
		return last.Value != ")" && last.Value != "]" && last.Value != "}"
	case Word:
		return words(" return typeof case in of ").has(last.Value)
	}
	return false
}
