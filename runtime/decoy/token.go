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
