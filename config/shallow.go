package config

import "bytes"

// shallow reports whether a text stays within the bounds of nesting and of operators, by a look at its bytes: the library's
// lexer takes as long as the parser, which has to lex the text once more.
func shallow(text []byte) bool {
	depth, operators, plain := measured(text)
	return plain && depth <= maxNesting && operators <= maxOperators
}

// measured is how deep a text is nested, and how many operators it has, at least as much as the lexer would find. It knows only
// plain texts, whose lines have nothing but words, brackets, whole strings, and comments to their end.
func measured(text []byte) (deepest, operators int, plain bool) {
	depth := 0
	for line := range bytes.Lines(text) {
		for len(line) > 0 {
			n := 1
			switch line[0] {
			case '"':
				if n, plain = plainString(line); !plain {
					return 0, 0, false
				}
				deepest = max(deepest, depth+1)
			case '{', '[', '(':
				depth++
				deepest = max(deepest, depth)
			case '}', ']', ')':
				depth--
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
			line = line[n:]
		}
		if depth < 0 { // the lexer may see it otherwise
			return 0, 0, false
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
