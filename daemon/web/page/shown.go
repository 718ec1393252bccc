package page

import (
	"bytes"
	"fmt"
	"regexp"
	"unicode"
	"unicode/utf8"
)

// sequences are those that steer a terminal: colours and moves of the cursor, and texts for its window, whose end must
// come before the next sign that HTML is made of: what ends in the midst of one takes nothing of the page with it.
var sequences = regexp.MustCompile(`\x1b\[[0-9:;?]*[ !#$%()*+,.-]*[@-~]|\x1b\][^\x07\x1b<>"&]*(?:\x07|\x1b\\)`)

// shown is HTML without what steers a terminal, and with signs in the place of characters that nobody sees and that turn
// the order of letters. All of a page goes through it, so that no template can forget it; templates have no such
// characters themselves.
func shown(html []byte) []byte {
	html = sequences.ReplaceAll(html, nil)
	if utf8.Valid(html) && bytes.IndexFunc(html, unseen) < 0 {
		return html
	}
	out := make([]byte, 0, len(html)+len(html)/16)
	for len(html) > 0 {
		r, size := utf8.DecodeRune(html)
		switch {
		case r == utf8.RuneError && size == 1:
			out = append(out, "\uFFFD"...)
		case !unseen(r):
			out = append(out, html[:size]...)
		case r == '\r':
			if size == len(html) || html[size] != '\n' {
				out = append(out, '\n') // progress bars write a line over itself
			}
		case !unicode.IsControl(r):
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		html = html[size:]
	}
	return out
}

// unseen are control characters but ends of lines and tabs, and those about the order of letters.
func unseen(r rune) bool {
	if r == '\n' || r == '\t' {
		return false
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}
