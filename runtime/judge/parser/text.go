package parser

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"regexp"
	"strings"
	"unicode"

	"github.com/assayd/assayd/runtime/truncate"
)

// Bounds of what a parser hands on, in bytes and tests.
const (
	maxTests   = 100_000
	maxName    = 512
	maxMessage = 4096
	maxSummary = 4096
	maxLine    = 64 << 10 // of a line of text; what is longer is cut, and so matches nothing
)

// lines yields the lines of text without their ends and without terminal colours.
func lines(text []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		for raw := range bytes.Lines(text) {
			raw = bytes.TrimRight(raw, "\r\n")
			if !yield(stripANSI(string(raw[:min(len(raw), maxLine)]))) {
				return
			}
		}
	}
}

// match finds a shape in a line; worth is a cheap test that spares most lines the search.
func match(shape *regexp.Regexp, line string, worth bool) []string {
	if !worth {
		return nil
	}
	return shape.FindStringSubmatch(line)
}

// stripANSI removes the escape sequences that colour a terminal (CSI and OSC).
func stripANSI(s string) string {
	if !strings.Contains(s, "\x1b") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\x1b' || i+1 >= len(s) {
			b.WriteByte(s[i])
			continue
		}
		switch s[i+1] {
		case '[':
			i = endOfSequence(s, i+2, func(c byte) bool { return c >= '@' && c <= '~' })
		case ']':
			i = endOfSequence(s, i+2, func(c byte) bool { return c == '\a' || c == '\x1b' })
		default:
			i++
		}
	}
	return b.String()
}

// endOfSequence returns the index of the first byte from start that ends a sequence.
func endOfSequence(s string, start int, ends func(byte) bool) int {
	for start < len(s) && !ends(s[start]) {
		start++
	}
	return start
}

// cleanName makes a name that is safe to store and print. A name that is too long is cut
// and gets a digest of the whole, so that two of them stay two.
func cleanName(name string) string {
	name = printable(strings.TrimSpace(name), "")
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	digest := "~" + hex.EncodeToString(sum[:8])
	return truncate.Text(name, maxName-len(digest)) + digest
}

// cleanText makes a message or summary of at most limit bytes; lines and tabs stay.
func cleanText(text string, limit int) string {
	return printable(strings.TrimSpace(truncate.Text(text, limit)), "\n\t")
}

// printable replaces invalid UTF-8 and control characters, but for those in keep, by a
// question mark: never longer than what it was given.
func printable(s, keep string) string {
	s = strings.ToValidUTF8(s, "?")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !strings.ContainsRune(keep, r) {
			return '?'
		}
		return r
	}, s)
}
