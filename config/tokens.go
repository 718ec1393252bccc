package config

import "bytes"

// maxTokens bounds the tokens of a spec file. The lexer of HCL takes hundreds of bytes for each, and
// a file of 4 MiB may have four million. Long texts have one a line.
const maxTokens = 400_000

// maxSyntax bounds the complaints of the parser about one file.
const maxSyntax = 100

// manyTokens reports whether a text may have more tokens than a file may have. It takes no memory,
// and counts too many rather than too few.
func manyTokens(text []byte) bool {
	n := 0
	for at := 0; at < len(text) && n <= maxTokens; {
		n++
		rest := text[at:]
		switch c := rest[0]; {
		case c == ' ' || c == '\t' || c == '\r':
			n--
			at++
		case c == '#' || bytes.HasPrefix(rest, []byte("//")):
			at += lineEnd(rest)
		case bytes.HasPrefix(rest, []byte("/*")):
			if end := bytes.Index(rest, []byte("*/")); end >= 0 {
				at += end + 2
			} else {
				at++ // it is none
			}
		case c == '"':
			at, n = at+quoted(rest), n+2
		case bytes.HasPrefix(rest, []byte("<<")):
			length, tokens := heredocTokens(rest)
			at, n = at+length, n+tokens
		case wordByte(c):
			for at < len(text) && wordByte(text[at]) {
				at++
			}
		default:
			at++
		}
	}
	return n > maxTokens
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// lineEnd is where the line ends that a text begins with, and the whole text where it has no end.
func lineEnd(text []byte) int {
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		return i
	}
	return len(text)
}

// quoted returns the length of the quoted text that begins here, which has two tokens. One
// with a template may hold anything: it is looked at as code from the template on.
func quoted(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '"':
			return i + 1
		case c == '\n', (c == '$' || c == '%') && i+1 < len(text) && text[i+1] == '{':
			return i + 1
		}
	}
	return len(text)
}

// heredocTokens returns the length of a text of many lines and its tokens: one for each line.
func heredocTokens(text []byte) (length, tokens int) {
	head := text[:lineEnd(text)]
	word := bytes.TrimRight(bytes.TrimPrefix(head[2:], []byte("-")), "\r")
	if len(word) == 0 || len(head) == len(text) || bytes.ContainsFunc(word, func(r rune) bool { return r != '-' && (r > 'z' || !wordByte(byte(r))) }) {
		return 2, 2
	}
	for length = len(head) + 1; length < len(text); tokens++ {
		line := text[length:]
		line = line[:lineEnd(line)]
		if bytes.Equal(bytes.TrimSpace(line), word) || bytes.Contains(line, []byte("${")) || bytes.Contains(line, []byte("%{")) {
			return length, tokens + 2 // the line itself is looked at as code
		}
		length += len(line) + 1
	}
	return len(text), tokens + 2
}
