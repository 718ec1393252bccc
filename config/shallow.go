package config

import "bytes"

// shallow reports whether a text stays within the bounds of nesting and of operators, by a look at its bytes: the library's
// lexer takes as long as the parser, which has to lex the text once more.
func shallow(text []byte) bool {
	depth, operators, plain := measured(text)
	return plain && depth <= maxNesting && operators <= maxOperators
}

// bracket is one that is open: what closes it, and in which line it was opened.
type bracket struct {
	closer byte
	line   int
}

// closers are what closes each bracket.
var closers = map[byte]byte{'{': '}', '[': ']', '(': ')'}

// measured is how deep a text is nested, and how many operators it has, at least as much as the lexer would find. It knows only
// plain texts, whose lines have nothing but words, brackets that match, whole strings, and comments to their end, and in which
// a bracket of another line is closed by the first sign of a line. Of other texts the parser may see other brackets closed
// than a reader does.
func measured(text []byte) (deepest, operators int, plain bool) {
	var open []bracket
	number := 0
	for line := range bytes.Lines(text) {
		number++
		for first := true; len(line) > 0; {
			n, c := 1, line[0]
			switch c {
			case '"':
				if n, plain = plainString(line); !plain {
					return 0, 0, false
				}
				deepest = max(deepest, len(open)+1)
			case '{', '[', '(':
				open = append(open, bracket{closers[c], number})
				if deepest = max(deepest, len(open)); deepest > maxNesting {
					return deepest, operators, true
				}
			case '}', ']', ')':
				if len(open) == 0 || open[len(open)-1].closer != c || open[len(open)-1].line != number && !first {
					return 0, 0, false
				}
				open = open[:len(open)-1]
			case '$', '~': // of templates
				return 0, 0, false
			case '#':
				n = len(line)
			case '/':
				if follows(line, '*') { // a comment that may end in another line
					return 0, 0, false
				}
				if operators++; follows(line, '/') {
					n = len(line)
				}
			case '<':
				if operators++; follows(line, '<') { // a text of several lines
					return 0, 0, false
				}
			case '=':
				if follows(line, '=') {
					operators++
				}
			case '!', '-', '+', '*', '%', '&', '|', '?', '>':
				operators++
			}
			first = first && (c == ' ' || c == '\t')
			line = line[n:]
		}
	}
	return deepest, operators, true
}

func follows(line []byte, c byte) bool { return len(line) > 1 && line[1] == c }

// plainString is how long the string is with which a line begins, with its quotes; one with a template in it, or without
// an end, is none.
func plainString(line []byte) (n int, ok bool) {
	for i := 1; i < len(line); i++ {
		switch line[i] {
		case '"':
			return i + 1, true
		case '\\':
			i++
		case '{':
			if line[i-1] == '$' || line[i-1] == '%' {
				return 0, false
			}
		}
	}
	return 0, false
}
