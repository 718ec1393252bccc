package patch

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// maxName bounds a name in a diff.
const maxName = 4096

// Paths returns the names of all files that a diff may touch, the old and the new ones,
// sorted. It may name more than there are, never less: what Apply changes is among them. A
// diff that no base could take is refused with *NotApplied, one without content is
// ErrEmpty.
func Paths(diff []byte) ([]string, error) {
	if err := sound(diff); err != nil {
		return nil, err
	}
	found := map[string]bool{}
	s := scanner{}
	for rest := diff; len(rest) > 0; {
		var line []byte
		line, rest = cutLine(rest)
		for _, name := range s.names(line, rest) {
			clean, err := allowed(name)
			if err != nil {
				return nil, err
			}
			found[clean] = true
		}
	}
	if len(found) == 0 {
		return nil, &NotApplied{"it names no file: this is no diff"}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// sound looks at a diff as a whole.
func sound(diff []byte) error {
	switch {
	case len(bytes.TrimSpace(diff)) == 0:
		return ErrEmpty
	case len(diff) > MaxBytes:
		return &NotApplied{fmt.Sprintf("it has %d bytes; %d is the most", len(diff), MaxBytes)}
	}
	return nil
}

// allowed returns a name as a path of a tree, or says why it cannot be one.
func allowed(name string) (string, error) {
	switch {
	case len(name) > maxName:
		return "", &NotApplied{fmt.Sprintf("it names a path of %d bytes", len(name))}
	case !filepath.IsLocal(name), strings.ContainsRune(name, 0), path.Clean(name) == ".":
		return "", &NotApplied{fmt.Sprintf("it names %.200q, which is not below the tree", name)}
	case gits(path.Clean(name)):
		return "", &NotApplied{fmt.Sprintf("it names %.200q, and nobody's patch changes Git's own files", name)}
	}
	return path.Clean(name), nil
}

// cutLine takes the first line, with its end.
func cutLine(text []byte) (line, rest []byte) {
	end := bytes.IndexByte(text, '\n') + 1
	if end == 0 {
		end = len(text)
	}
	return text[:end], text[end:]
}

// scanner follows a diff line by line: where a hunk's counts are not used up, a line belongs
// to it, whatever it looks like, unless it can be no line of a hunk.
type scanner struct {
	old, new int // lines that the hunk still has
}

// body reports whether a line is of a hunk.
func (s *scanner) body(line []byte) bool {
	if s.old <= 0 && s.new <= 0 {
		return false
	}
	switch line[0] {
	case ' ', '\n', '\r':
		s.old--
		s.new--
	case '-':
		s.old--
	case '+':
		s.new--
	case '\\':
	default:
		s.old, s.new = 0, 0
		return false
	}
	return true
}

// names are those that a line tells of; rest is what follows it.
func (s *scanner) names(line, rest []byte) []string {
	if s.body(line) {
		return nil
	}
	text := strings.TrimRight(string(line[:min(len(line), 3*maxName)]), "\r\n")
	if old, new, ok := counts(text); ok {
		s.old, s.new = old, new
		return nil
	}
	if both, ok := strings.CutPrefix(text, "diff --git "); ok {
		return gitNames(both)
	}
	for _, header := range []string{"rename from ", "rename to ", "rename old ", "rename new ", "copy from ", "copy to "} {
		if name, ok := strings.CutPrefix(text, header); ok {
			return []string{unquoted(name)}
		}
	}
	if name, ok := strings.CutPrefix(text, "+++ "); ok {
		return side(name)
	}
	if name, ok := strings.CutPrefix(text, "--- "); ok && bytes.HasPrefix(rest, []byte("+++ ")) {
		return side(name)
	}
	return nil
}

// counts are the numbers of lines in the header of a hunk.
func counts(text string) (old, new int, ok bool) {
	text, ok = strings.CutPrefix(text, "@@ -")
	if !ok {
		return 0, 0, false
	}
	before, after, _ := strings.Cut(text, " +")
	after, _, _ = strings.Cut(after, " ")
	return count(before), count(after), true
}

func count(span string) int {
	_, n, given := strings.Cut(span, ",")
	if !given {
		return 1
	}
	lines, err := strconv.Atoi(n)
	if err != nil {
		return 0
	}
	return lines
}

// side is the name behind "--- " or "+++ ", without its first part; none where no file is.
func side(text string) []string {
	if !strings.HasPrefix(text, `"`) {
		text, _, _ = strings.Cut(text, "\t")
	}
	name := unquoted(text)
	if name == "/dev/null" {
		return nil
	}
	_, below, ok := strings.Cut(name, "/")
	if !ok {
		return nil // Git takes no such name either
	}
	return []string{below}
}

// gitNames are the names in "a/OLD b/NEW". Where neither is quoted only equal ones can be
// told apart, and other lines tell of different ones.
func gitNames(both string) (names []string) {
	if strings.HasPrefix(both, `"`) {
		quoted, err := strconv.QuotedPrefix(both)
		if err != nil {
			return nil
		}
		return append(side(quoted), side(strings.TrimPrefix(both[len(quoted):], " "))...)
	}
	if i := strings.Index(both, ` "`); i >= 0 {
		return append(side(both[:i]), side(both[i+1:])...)
	}
	for i, c := range both {
		if c != ' ' {
			continue
		}
		old, new := side(both[:i]), side(both[i+1:])
		if len(old) == 1 && len(new) == 1 && old[0] == new[0] {
			names = append(names, old[0])
		}
	}
	return names
}

// unquoted is a name as Git writes it, in quotes where it has to.
func unquoted(text string) string {
	if !strings.HasPrefix(text, `"`) {
		return text
	}
	end := 1
	for end < len(text) && text[end] != '"' {
		if text[end] == '\\' {
			end++
		}
		end++
	}
	if name, err := strconv.Unquote(text[:min(end+1, len(text))]); err == nil {
		return name
	}
	return text
}
