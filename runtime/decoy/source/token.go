package source

import (
	"strings"
	"unicode/utf8"
)

// Kind of a token.
type Kind uint8

// Kinds of tokens.
const (
	Space   Kind = iota // blanks and line ends
	Comment             // to its end
	Text                // a string, with its quotes
	Char                // a character, with its quotes
	Pattern             // a regular expression of JavaScript
	Number              // with its suffix
	Word                // a name or keyword
	Open                // ( [ {
	Close               // ) ] }
	Symbol              // an operator
	Other               // what is none of these, such as a string without an end
)

// Token is the bytes [from, to) of a file.
type Token struct {
	Kind         Kind
	From, To     int
	Interpolated bool // a string with expressions in it
	first        bool // no other token but blanks and comments stands before it on its line
}

// Syntax is what the tokenizer has to know of a language.
type Syntax struct {
	Comments []string // begin a comment to the end of the line
	Block    bool     // there are /* comments */
	Nested   bool     // and comments within them
	Quotes   []Quote  // those with the longest opening first
	Prefixes []string // letters that may stand before a quote, in lower case
	Symbols  []string // operators of several bytes, the longest first
	Hashes   bool     // r#"strings"#
	Ticks    bool     // 'c' is a character, 'name is none
	Patterns bool     // /regular expressions/
	Dollar   bool     // $ is a letter
}

// Quote is a way to write strings.
type Quote struct {
	Open         string // ends with the same
	Kind         Kind
	Raw          bool // a backslash is a backslash
	Lines        bool // may have several lines
	Interpolated bool // may hold ${expressions}
}

// scanner cuts a text into tokens.
type scanner struct {
	syntax  *Syntax
	src     string
	at      int
	tokens  []Token
	value   bool // the last token ends a value, so that a slash divides
	slashes int  // up to here no pattern ends
}

// Tokenize cuts a text into tokens that join to it. It takes time linear in the text.
func Tokenize(s *Syntax, src string) []Token {
	z := scanner{syntax: s, src: src, tokens: make([]Token, 0, len(src)/4)}
	first := true
	for z.at < len(src) {
		t := Token{From: z.at}
		z.next(&t)
		if z.at <= t.From || z.at > len(src) {
			z.at = t.From + 1
			t.Kind = Other
		}
		t.To, t.first = z.at, first
		switch t.Kind {
		case Space, Comment:
			first = first || strings.Contains(src[t.From:t.To], "\n")
		default:
			first = false
			z.value = t.Kind == Text || t.Kind == Char || t.Kind == Number || t.Kind == Pattern ||
				t.Kind == Close || t.Kind == Word && !beforeValue(src[t.From:t.To])
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

func (z *scanner) next(t *Token) {
	c := z.src[z.at]
	switch {
	case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f':
		t.Kind = Space
		for z.at < len(z.src) && strings.IndexByte(" \t\n\r\f", z.src[z.at]) >= 0 {
			z.at++
		}
	case z.comment():
		t.Kind = Comment
	case z.text(t, z.at):
	case z.letter(c):
		z.word(t)
	case c >= '0' && c <= '9':
		t.Kind = Number
		z.number()
	case strings.IndexByte("([{", c) >= 0:
		t.Kind = Open
		z.at++
	case strings.IndexByte(")]}", c) >= 0:
		t.Kind = Close
		z.at++
	case c == '/' && z.syntax.Patterns && !z.value && z.pattern():
		t.Kind = Pattern
	default:
		t.Kind = Symbol
		z.symbol()
	}
}

func (z *scanner) letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= utf8.RuneSelf || c == '$' && z.syntax.Dollar
}

// IsLetter says whether a byte is a letter of ASCII.
func IsLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// IsDigit says whether a byte is a decimal digit.
func IsDigit(c byte) bool { return c >= '0' && c <= '9' }

// comment goes over a comment, if there is one.
func (z *scanner) comment() bool {
	rest := z.src[z.at:]
	for _, begin := range z.syntax.Comments {
		if strings.HasPrefix(rest, begin) {
			z.at += lineLength(rest)
			return true
		}
	}
	if !z.syntax.Block || !strings.HasPrefix(rest, "/*") {
		return false
	}
	depth := 1
	for z.at += 2; z.at < len(z.src) && depth > 0; {
		switch rest := z.src[z.at:]; {
		case strings.HasPrefix(rest, "*/"):
			depth--
			z.at += 2
		case z.syntax.Nested && strings.HasPrefix(rest, "/*"):
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
func (z *scanner) word(t *Token) {
	t.Kind = Word
	at := z.at
	for at < len(z.src) && (z.letter(z.src[at]) || IsDigit(z.src[at])) {
		at++
	}
	if at-z.at <= 2 && at < len(z.src) {
		prefix := strings.ToLower(z.src[z.at:at])
		for _, p := range z.syntax.Prefixes {
			if p == prefix && (z.hashed(t, at, prefix) || z.text(t, at)) {
				t.Interpolated = t.Interpolated || strings.Contains(prefix, "f")
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
		if !z.letter(c) && !IsDigit(c) && (c != '.' || !IsDigit(next)) && (c != '+' && c != '-' || !exponent || !IsDigit(next)) {
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
	for _, s := range z.syntax.Symbols {
		if strings.HasPrefix(z.src[z.at:], s) {
			z.at += len(s)
			return
		}
	}
	z.at++
}
