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

// Bounds of a name in a diff, and of a line that tells of names.
const (
	maxName   = 4096
	maxHeader = 3 * maxName
)

// Paths returns the names of all files that a diff may touch, the old and the new ones,
// sorted. It may name more than there are, never less: what Apply changes is among them. A
// diff that no base could take is refused with *NotApplied, one without content is
// ErrEmpty.
func Paths(diff []byte) ([]string, error) {
	if err := sound(diff); err != nil {
		return nil, err
	}
	found := map[string]bool{}
	err := scan(diff, func(_ string, names []string) error {
		for _, name := range names {
			clean, err := allowed(name)
			if err != nil {
				return err
			}
			found[clean] = true
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, &NotApplied{"it names no file: this is no diff"}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// Added returns those of Paths that a diff makes new, sorted.
func Added(diff []byte) ([]string, error) {
	all, err := Paths(diff)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	var section []string // the names of the file that the scan is at
	fresh := false
	err = scan(diff, func(header string, names []string) error {
		switch {
		case strings.HasPrefix(header, "diff --git "):
			section = names
			return nil
		case strings.HasPrefix(header, "--- "):
			fresh = strings.HasPrefix(header, "--- /dev/null")
			return nil
		case strings.HasPrefix(header, "new file mode "):
			names = section
		case fresh && strings.HasPrefix(header, "+++ "):
		default:
			return nil
		}
		for _, name := range names {
			found[path.Clean(name)] = true
		}
		return nil
	})
	return slices.DeleteFunc(all, func(name string) bool { return !found[name] }), err
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
		return "", &NotApplied{fmt.Sprintf("it names %.200q, and no patch may change Git's own files", name)}
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

// scan visits the lines of a diff that are of no hunk, with the names that each tells of.
func scan(diff []byte, visit func(header string, names []string) error) error {
	s := scanner{}
	for rest := diff; len(rest) > 0; {
		var line []byte
		line, rest = cutLine(rest)
		names, hunk := s.line(line, rest)
		if hunk {
			continue
		}
		if err := visit(string(line[:min(len(line), maxHeader)]), names); err != nil {
			return err
		}
	}
	return nil
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

// line follows a line; rest is what comes after it. A line of no hunk may tell of names.
func (s *scanner) line(line, rest []byte) (names []string, hunk bool) {
	if s.body(line) {
		return nil, true
	}
	text := strings.TrimRight(string(line[:min(len(line), maxHeader)]), "\r\n")
	if old, new, ok := counts(text); ok {
		s.old, s.new = old, new
		return nil, false
	}
	return namesIn(text, rest), false
}

// namesIn are those that a line of no hunk tells of.
func namesIn(text string, rest []byte) []string {
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
