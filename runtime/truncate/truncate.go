package truncate

import (
	"strings"
	"unicode/utf8"
)

// Text returns the longest beginning of a text that has at most so many bytes and ends at the border of a
// character. What is no UTF-8 in it stays.
func Text(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// Valid returns at most so many bytes of a text, without what is no UTF-8, also where the text is short enough.
func Valid(text string, most int) string {
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

// Marked returns a text that is short enough as it is. Of any other it returns Valid, and behind that the mark,
// which does not count.
func Marked(text string, most int, mark string) string {
	if len(text) <= most {
		return text
	}
	return Valid(text, most) + mark
}
