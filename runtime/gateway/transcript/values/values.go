package values

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// Members calls f with each member of an object, those of equal names too, until f returns
// false. It reports whether raw is an object.
func Members(raw []byte, f func(name string, value []byte) bool) (object bool) {
	at := space(raw, 0)
	if at == len(raw) || raw[at] != '{' {
		return false
	}
	for at = space(raw, at+1); at < len(raw) && raw[at] == '"'; at = space(raw, at+1) {
		end := skip(raw, at)
		name := Text(raw[at:end])
		begin := space(raw, space(raw, end)+1) // behind the colon
		end = skip(raw, begin)
		if end <= begin || !f(name, raw[begin:end]) {
			break
		}
		if at = space(raw, end); at == len(raw) || raw[at] != ',' {
			break
		}
	}
	return true
}

// Elements calls f with each element of an array, until f returns false. It reports whether
// raw is an array.
func Elements(raw []byte, f func(value []byte) bool) (array bool) {
	at := space(raw, 0)
	if at == len(raw) || raw[at] != '[' {
		return false
	}
	for at = space(raw, at+1); at < len(raw) && raw[at] != ']'; at = space(raw, at+1) {
		end := skip(raw, at)
		if end <= at || !f(raw[at:end]) {
			break
		}
		if at = space(raw, end); at == len(raw) || raw[at] != ',' {
			break
		}
	}
	return true
}

// Count is how many values there are, those within others too; as soon as there are more than
// most it says so.
func Count(raw []byte, most int) (n int) {
	for at := 0; at < len(raw) && n <= most; {
		switch raw[at] {
		case '"':
			at = quoted(raw, at)
			continue
		case ',', '{', '[': // what is empty counts as if it were not
			n++
		}
		at++
	}
	return n + 1
}

// Text is the text that a string says, or "" for what is none.
func Text(raw []byte) (text string) {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	if end := skip(raw, 0); end > 1 && bytes.IndexByte(raw[:end], '\\') < 0 && utf8.Valid(raw[:end]) {
		return string(raw[1 : end-1])
	}
	_ = json.Unmarshal(raw, &text) // what cannot be read says nothing
	return text
}

// space is where the next byte is that is no space.
func space(raw []byte, at int) int {
	for at < len(raw) && (raw[at] == ' ' || raw[at] == '\t' || raw[at] == '\r' || raw[at] == '\n') {
		at++
	}
	return min(at, len(raw))
}

// skip is where the value ends that begins at a byte.
func skip(raw []byte, at int) int {
	depth := 0
	for at < len(raw) {
		switch raw[at] {
		case '"':
			at = quoted(raw, at)
		case '{', '[':
			depth++
			at++
		case '}', ']':
			if depth == 0 { // it closes what the value is in
				return at
			}
			depth--
			at++
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return at
			}
			at++
			continue
		default: // a number, or a word
			for at < len(raw) && !ends(raw[at]) {
				at++
			}
		}
		if depth == 0 {
			return at
		}
	}
	return at
}

// quoted is where the string ends that begins at a byte.
func quoted(raw []byte, at int) int {
	for at++; at < len(raw); at++ {
		switch raw[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	return len(raw)
}

// ends reports whether a byte is behind a number or a word.
func ends(c byte) bool {
	switch c {
	case ',', ':', ']', '}', ' ', '\t', '\r', '\n', '"', '[', '{':
		return true
	}
	return false
}
