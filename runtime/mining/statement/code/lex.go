package code

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind says what a token is.
type Kind byte

// The kinds. Comments and white space are none.
const (
	Word   Kind = iota // an identifier or a keyword
	Text               // a string; Value is what is between its quotes
	Number             //
	Mark               // one character of everything else; Go's :=, ::, ->, => and ?. in one
)

// Token is a piece of source text.
type Token struct {
	Kind  Kind
	Value string
	Line  int  // that it begins on, in its hunk
	Added bool // the diff adds that line
	First bool // of its line
	Space bool // there is white space before it
	Raw   bool // of a Text: backslashes mean nothing
}

// maxLine is how long a line may be, in bytes, that somebody wrote. Longer ones are packed
// programs or data.
const maxLine = 16 << 10

// Tokens are those of what a diff leaves of a file, hunk by hunk: of the lines added and
// those around them. There are none of a language that is not read.
func (f File) Tokens() [][]Token {
	l := LanguageOf(f.Name)
	if l == "" {
		return nil
	}
	var all [][]Token
	for _, h := range f.Hunks {
		x := lexer{language: l}
		var text strings.Builder
		for i, line := range h {
			if line.Kind != '-' && len(line.Text) <= maxLine {
				x.starts = append(x.starts, start{text.Len(), i, line.Kind == '+'})
				text.WriteString(line.Text)
				text.WriteByte('\n')
			}
		}
		x.text = text.String()
		all = append(all, x.tokens())
	}
	return all
}

// start is where a line begins.
type start struct {
	at    int
	line  int // in the hunk
	added bool
}

type lexer struct {
	language Language
	text     string
	starts   []start

	at     int
	line   int // index of the line that at is on
	fresh  bool
	spaced bool
	all    []Token

	unclosed int // up to here a pattern was looked for that is never closed
}

func (x *lexer) tokens() []Token {
	x.fresh = true
	for x.at < len(x.text) {
		x.next()
	}
	return x.all
}

func (x *lexer) rest() string { return x.text[x.at:] }

// emit adds the token up to a place, and goes on behind it.
func (x *lexer) emit(k Kind, value string, raw bool, end int) {
	for x.line+1 < len(x.starts) && x.starts[x.line+1].at <= x.at {
		x.line++
	}
	on := x.starts[x.line]
	x.all = append(x.all, Token{Kind: k, Value: value, Line: on.line, Added: on.added, First: x.fresh, Space: x.spaced, Raw: raw})
	x.fresh, x.spaced, x.at = false, false, end
}

func (x *lexer) next() {
	c, size := utf8.DecodeRuneInString(x.rest())
	switch {
	case c == '\n':
		x.fresh, x.spaced = true, true
		x.at++
	case unicode.IsSpace(c):
		x.spaced = true
		x.at += size
	case x.comment():
	case x.quoted():
	case c == '_' || c == '$' && x.language == JavaScript || unicode.IsLetter(c):
		end := x.at + wordEnd(x.rest(), x.language == JavaScript)
		x.emit(Word, x.text[x.at:end], false, end)
	case c >= '0' && c <= '9':
		end := x.at + numberEnd(x.rest())
		x.emit(Number, x.text[x.at:end], false, end)
	default:
		for _, mark := range []string{"::", "->", "=>", "?.", ":=", "==", "!=", "<=", ">="} {
			if strings.HasPrefix(x.rest(), mark) {
				size = len(mark)
			}
		}
		x.emit(Mark, x.text[x.at:x.at+size], false, x.at+size)
	}
}

func wordEnd(text string, dollar bool) int {
	for i, c := range text {
		if c != '_' && !(c == '$' && dollar) && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return i
		}
	}
	return len(text)
}

func numberEnd(text string) int {
	for i, c := range text {
		point := c == '.' && i+1 < len(text) && text[i+1] >= '0' && text[i+1] <= '9'
		if !point && c != '_' && !(c < unicode.MaxASCII && (unicode.IsLetter(c) || unicode.IsDigit(c))) {
			return i
		}
	}
	return len(text)
}

// comment skips one.
func (x *lexer) comment() bool {
	rest := x.rest()
	switch {
	case x.language == Python && rest[0] == '#', x.language != Python && strings.HasPrefix(rest, "//"):
		x.at += lineEnd(rest)
	case x.language != Python && strings.HasPrefix(rest, "/*"):
		end := strings.Index(rest[2:], "*/")
		if end < 0 {
			x.at = len(x.text)
		} else {
			x.at += end + 4
		}
	case x.language != Python && x.fresh && (strings.HasPrefix(rest, "* ") || strings.HasPrefix(rest, "*/") || strings.HasPrefix(rest, "*\n")):
		x.at += lineEnd(rest) // within one that began before the hunk
	default:
		return false
	}
	x.spaced = true
	return true
}

func lineEnd(text string) int {
	if end := strings.IndexByte(text, '\n'); end >= 0 {
		return end
	}
	return len(text)
}
