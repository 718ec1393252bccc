package mixed

import (
	"strings"

	"github.com/assayd/assayd/runtime/decoy"
)

// Text is what an agent can read before it begins, as far as hidden files hold it, too. It
// takes no more room than those. Build one with NewText.
type Text struct {
	hidden map[string][]byte
	wanted map[string]bool            // keys of the hidden files, and whether they were seen in any file
	same   map[string]map[string]bool // pairs of lines that were seen in the file of the same path
}

// longLine is the length from which two equal lines are no coincidence.
const longLine = 40

// NewText returns a Text that looks for what hidden files hold.
func NewText(hidden map[string][]byte) *Text {
	t := &Text{hidden: hidden, wanted: map[string]bool{}, same: map[string]map[string]bool{}}
	for _, content := range hidden {
		for _, key := range keys(content) {
			t.wanted[key] = false
		}
	}
	return t
}

// Add notes a file that the agent can read.
func (t *Text) Add(name string, content []byte) {
	lines := trimmed(content)
	for _, key := range keysOf(lines) {
		if _, ok := t.wanted[key]; ok {
			t.wanted[key] = true
		}
	}
	if _, ok := t.hidden[name]; !ok {
		return
	}
	pairs := map[string]bool{}
	for i := 1; i < len(lines); i++ {
		pairs[lines[i-1]+"\n"+lines[i]] = true
	}
	t.same[name] = pairs
}

// keys are what two texts can have in common beyond coincidence.
func keys(content []byte) []string { return keysOf(trimmed(content)) }

// keysOf are long lines, and three lines that follow each other.
func keysOf(lines []string) (out []string) {
	for i, line := range lines {
		if len(line) >= longLine {
			out = append(out, line)
		}
		if i >= 2 {
			out = append(out, strings.Join(lines[i-2:i+1], "\n"))
		}
	}
	return out
}

// Tells reports whether the agent can see the text that a variant changes: a long line
// stands in any file, a short one with both neighbours in any file, or with one of them in
// the file of the same path.
func (t *Text) Tells(v decoy.Variant) bool {
	content := t.hidden[v.File]
	line := strings.TrimSpace(lineAt(content, v.From))
	if t.wanted[line] {
		return true
	}
	begin := strings.LastIndexByte(string(content[:v.From]), '\n') + 1
	_, rest, _ := strings.Cut(string(content[begin:]), "\n")
	before, after := last(trimmed(content[:begin])), first(trimmed([]byte(rest)))
	same := t.same[v.File]
	return same[before+"\n"+line] || same[line+"\n"+after] || t.wanted[before+"\n"+line+"\n"+after]
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
