package workbench

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What is kept of an output for the model, in bytes. The end has the failures.
const (
	outputHead = 4 << 10
	outputTail = 8 << 10
)

// escape is a sequence that moves the cursor of a terminal or changes its colours.
var escape = regexp.MustCompile(`\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[^\[\]])`)

// legible makes text of what a program printed: no colours, of a line that was written several
// times the last one, nothing that cannot be seen.
func legible(output string) string {
	text := strings.ToValidUTF8(output, "\uFFFD")
	text = escape.ReplaceAllString(text, "")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if strings.ContainsRune(text, '\r') {
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			line = strings.TrimRight(line, "\r")
			lines[i] = line[strings.LastIndexByte(line, '\r')+1:]
		}
		text = strings.Join(lines, "\n")
	}
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return -1
	}, text)
}

// cut leaves the middle of a text out where it is longer than head and tail together.
func cut(text string, head, tail int) string {
	if len(text) <= head+tail {
		return text
	}
	end, begin := head, len(text)-tail
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	for begin < len(text) && !utf8.RuneStart(text[begin]) {
		begin++
	}
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", text[:end], begin-end, text[begin:])
}

// shown is what a model gets to see of an output.
func shown(output []byte) string {
	return cut(legible(string(output)), outputHead, outputTail)
}
