package decoy

import (
	"strings"
	"unicode/utf8"
)

// kind of a token.
type kind uint8

const (
	space   kind = iota // blanks and line ends
	comment             // to its end
	text                // a string, with its quotes
	char                // a character, with its quotes
	pattern             // a regular expression of JavaScript
	number              // with its suffix
	word                // a name or keyword
	open                // ( [ {
	shut                // ) ] }
	symbol              // an operator
	other               // what is none of these, such as a string without an end
)

// token is the bytes [from, to) of a file.
type token struct {
	kind         kind
	from, to     int
	interpolated bool // a string with expressions in it
	first        bool // no other token but blanks and comments stands before it on its line
}

// syntax is what the tokenizer has to know of a language.
type syntax struct {
	comments []string // begin a comment to the end of the line
	block    bool     // there are /* comments */
	nested   bool     // and comments within them
	quotes   []quote  // those with the longest opening first
	prefixes []string // letters that may stand before a quote, in lower case
	symbols  []string // operators of several bytes, the longest first
	hashes   bool     // r#"strings"#
	ticks    bool     // 'c' is a character, 'name is none
	patterns bool     // /regular expressions/
	dollar   bool     // $ is a letter
}

// quote is a way to write strings.
type quote struct {
	open         string // ends with the same
	kind         kind
	raw          bool // a backslash is a backslash
	lines        bool // may have several lines
	interpolated bool // may hold ${expressions}
}

// scanner cuts a text into tokens.
type scanner struct {
	syntax  *syntax
	src     string
	at      int
	tokens  []token
	value   bool // the last token ends a value, so that a slash divides
	slashes int  // up to here no pattern ends
}

// tokenize cuts a text into tokens that join to it. It takes time linear in the text.
func tokenize(s *syntax, src string) []token {
	z := scanner{syntax: s, src: src, tokens: make([]token, 0, len(src)/4)}
	first := true
	for z.at < len(src) {
		t := token{from: z.at}
		z.next(&t)
		if z.at <= t.from || z.at > len(src) {
			z.at = t.from + 1
			t.kind = other
		}
		t.to, t.first = z.at, first
		switch t.kind {
		case space, comment:
			first = first || strings.Contains(src[t.from:t.to], "\n")
		default:
			first = false
			z.value = t.kind == text || t.kind == char || t.kind == number || t.kind == pattern ||
				t.kind == shut || t.kind == word && !beforeValue(src[t.from:t.to])
		}
		z.tokens = append(z.tokens, t)
	}
	return z.tokens
}

// beforeValue says that a value follows a word, not an operator.
func beforeValue(name string) bool {
	switch name {
	case "return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "else", "do", "await", "yield":
		return true
	}
	return false
}

func (z *scanner) next(t *token) {
	c := z.src[z.at]
	switch {
	case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f':
		t.kind = space
		for z.at < len(z.src) && strings.IndexByte(" \t\n\r\f", z.src[z.at]) >= 0 {
			z.at++
		}
	case z.comment():
		t.kind = comment
	case z.text(t, z.at):
	case z.letter(c):
		z.word(t)
	case c >= '0' && c <= '9':
		t.kind = number
		z.number()
	case strings.IndexByte("([{", c) >= 0:
		t.kind = open
		z.at++
	case strings.IndexByte(")]}", c) >= 0:
		t.kind = shut
		z.at++
	case c == '/' && z.syntax.patterns && !z.value && z.pattern():
		t.kind = pattern
	default:
		t.kind = symbol
		z.symbol()
	}
}

func (z *scanner) letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= utf8.RuneSelf || c == '$' && z.syntax.dollar
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// comment goes over a comment, if there is one.
func (z *scanner) comment() bool {
	rest := z.src[z.at:]
	for _, begin := range z.syntax.comments {
		if strings.HasPrefix(rest, begin) {
			z.at += lineLength(rest)
			return true
		}
	}
	if !z.syntax.block || !strings.HasPrefix(rest, "/*") {
		return false
	}
	depth := 1
	for z.at += 2; z.at < len(z.src) && depth > 0; {
		switch rest := z.src[z.at:]; {
		case strings.HasPrefix(rest, "*/"):
			depth--
			z.at += 2
		case z.syntax.nested && strings.HasPrefix(rest, "/*"):
			depth++
			z.at += 2
		default:
			z.at++
		}
	}
	return true
}

// lineLength is how many bytes stand before the end of the line.
func lineLength(text string) int {
	if n := strings.IndexByte(text, '\n'); n >= 0 {
		return n
	}
	return len(text)
}

// word goes over a name, or over a string that letters begin.
func (z *scanner) word(t *token) {
	t.kind = word
	at := z.at
	for at < len(z.src) && (z.letter(z.src[at]) || digit(z.src[at])) {
		at++
	}
	if at-z.at <= 2 && at < len(z.src) {
		prefix := strings.ToLower(z.src[z.at:at])
		for _, p := range z.syntax.prefixes {
			if p == prefix && (z.hashed(t, at, prefix) || z.text(t, at)) {
				t.interpolated = t.interpolated || strings.Contains(prefix, "f")
				return
			}
		}
	}
	z.at = at
}

// hashed goes over r#"a string"#, whose quotes are at at.
func (z *scanner) hashed(t *token, at int, prefix string) bool {
	if !z.syntax.hashes || !strings.HasSuffix(prefix, "r") {
		return false
	}
	end := at
	for end < len(z.src) && z.src[end] == '#' {
		end++
	}
	if end == len(z.src) || z.src[end] != '"' {
		return false
	}
	closing := `"` + z.src[at:end]
	t.kind = text
	n := strings.Index(z.src[end+1:], closing)
	if n < 0 {
		t.kind, z.at = other, len(z.src)
		return true
	}
	z.at = end + 1 + n + len(closing)
	return true
}

// text goes over a string whose quotes are at at, if there is one.
func (z *scanner) text(t *token, at int) bool {
	if z.syntax.ticks && z.src[at] == '\'' {
		return z.tick(t, at)
	}
	for _, q := range z.syntax.quotes {
		if !strings.HasPrefix(z.src[at:], q.open) {
			continue
		}
		t.kind = q.kind
		z.at = at + len(q.open)
		if !z.quoted(q, t) {
			t.kind = other
		}
		return true
	}
	return false
}

// quoted goes to the end of a string; false = it has none.
func (z *scanner) quoted(q quote, t *token) bool {
	for z.at < len(z.src) {
		switch c := z.src[z.at]; {
		case strings.HasPrefix(z.src[z.at:], q.open):
			z.at += len(q.open)
			return true
		case c == '\\' && !q.raw:
			z.at = min(z.at+2, len(z.src))
		case c == '\n' && !q.lines:
			return false
		case q.interpolated && strings.HasPrefix(z.src[z.at:], "${"):
			t.interpolated = true
			z.interpolation()
		default:
			z.at++
		}
	}
	return false
}

// interpolation goes over ${an expression}, with what it holds of braces and strings.
func (z *scanner) interpolation() {
	// Of what surrounds: '{' an expression, '`' a string with further ones.
	around := []byte{'{'}
	for z.at += 2; z.at < len(z.src) && len(around) > 0; {
		c, inner := z.src[z.at], around[len(around)-1]
		z.at++
		switch {
		case c == '\\':
			z.at = min(z.at+1, len(z.src))
		case inner == '`' && c == '`', inner == '{' && c == '}':
			around = around[:len(around)-1]
		case inner == '`' && c == '$' && z.at < len(z.src) && z.src[z.at] == '{':
			z.at++
			around = append(around, '{')
		case inner == '{' && (c == '{' || c == '`'):
			around = append(around, c)
		case inner == '{' && (c == '"' || c == '\''):
			for z.at < len(z.src) && z.src[z.at] != c && z.src[z.at] != '\n' {
				if z.src[z.at] == '\\' {
					z.at++
				}
				z.at++
			}
			z.at = min(z.at+1, len(z.src))
		}
	}
}

// tick goes over 'c'. What else a tick begins is a symbol: the name of a lifetime follows.
func (z *scanner) tick(t *token, at int) bool {
	rest := z.src[at+1:]
	if strings.HasPrefix(rest, `\`) {
		const longest = len(`\u{10FFFF}'`)
		if n := strings.IndexByte(rest[min(2, len(rest)):min(longest, len(rest))], '\''); n >= 0 {
			t.kind, z.at = char, at+1+2+n+1
			return true
		}
	} else if _, size := utf8.DecodeRuneInString(rest); size > 0 && strings.HasPrefix(rest[size:], "'") {
		t.kind, z.at = char, at+1+size+1
		return true
	}
	if at > z.at {
		return false
	}
	t.kind = symbol
	z.at++
	return true
}

func (z *scanner) number() {
	begin := z.at
	for z.at < len(z.src) {
		c, next := z.src[z.at], byte(0)
		if z.at+1 < len(z.src) {
			next = z.src[z.at+1]
		}
		exponent := z.at > begin && (z.src[z.at-1] == 'e' || z.src[z.at-1] == 'E') && !strings.HasPrefix(z.src[begin:], "0x")
		if !z.letter(c) && !digit(c) && (c != '.' || !digit(next)) && (c != '+' && c != '-' || !exponent || !digit(next)) {
			return
		}
		z.at++
	}
}

// pattern goes over a regular expression, if the line has its end.
func (z *scanner) pattern() bool {
	if z.at < z.slashes {
		return false
	}
	class := false
	for at := z.at + 1; at < len(z.src) && z.src[at] != '\n'; at++ {
		switch c := z.src[at]; {
		case c == '\\':
			at++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			for at++; at < len(z.src) && z.letter(z.src[at]); at++ {
			}
			z.at = at
			return true
		}
	}
	z.slashes = z.at + lineLength(z.src[z.at:])
	return false
}

func (z *scanner) symbol() {
	for _, s := range z.syntax.symbols {
		if strings.HasPrefix(z.src[z.at:], s) {
			z.at += len(s)
			return
		}
	}
	z.at++
}
