package mixed

import (
	"strings"

	"github.com/assayd/assayd/runtime/decoy"
)

// Text is what an agent can read before it begins: files by their paths below workdir.
// Build one with NewText.
type Text struct {
	pairs   map[string]map[string]bool // two lines of a file that follow each other
	long    map[string]bool            // long lines of any file
	triples map[string]bool            // three lines of any file that follow each other
}

// longLine is the length from which two equal lines are no coincidence.
const longLine = 40

// NewText returns an empty Text.
func NewText() *Text {
	return &Text{pairs: map[string]map[string]bool{}, long: map[string]bool{}, triples: map[string]bool{}}
}

// Add notes a file.
func (t *Text) Add(name string, content []byte) {
	lines := trimmed(content)
	pairs := map[string]bool{}
	for i, line := range lines {
		if len(line) >= longLine {
			t.long[line] = true
		}
		if i >= 1 {
			pairs[lines[i-1]+"\n"+line] = true
		}
		if i >= 2 {
			t.triples[strings.Join(lines[i-2:i+1], "\n")] = true
		}
	}
	t.pairs[name] = pairs
}

// Tells reports whether the agent can see the text that a variant changes: a long line
// stands in any file, a short one with both neighbours in any file, or with one of them in
// the file of the same path.
func (t *Text) Tells(v decoy.Variant, content []byte) bool {
	line := strings.TrimSpace(lineAt(content, v.From))
	if t.long[line] {
		return true
	}
	begin := strings.LastIndexByte(string(content[:v.From]), '\n') + 1
	_, rest, _ := strings.Cut(string(content[begin:]), "\n")
	before, after := last(trimmed(content[:begin])), first(trimmed([]byte(rest)))
	same := t.pairs[v.File]
	return same[before+"\n"+line] || same[line+"\n"+after] || t.triples[before+"\n"+line+"\n"+after]
}

func first(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return lines[0]
}

func last(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return lines[len(lines)-1]
}

// trimmed are the lines of a text without their margins, and without those that are blank.
func trimmed(content []byte) (lines []string) {
	for line := range strings.Lines(string(content)) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}
