package proof

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// section is what a diff says of one file.
type section struct {
	name  string // of the file after it, or before it where it is gone
	head  []byte // all before the first hunk
	hunks []hunk
	whole bool // made, gone, renamed, of another mode or binary: is taken or left as one
	fresh bool // the file is new
}

// hunk is one place of a file.
type hunk struct {
	old    span // of the file before
	new    span // of the file after
	behind string
	body   []string // its lines, each with its mark and its end
}

// span is a part of a file as the head of a hunk has it.
type span struct {
	first, lines int
	plain        bool // the number of lines is not written
}

func (s span) String() string {
	if s.plain && s.lines == 1 {
		return strconv.Itoa(s.first)
	}
	return fmt.Sprintf("%d,%d", s.first, s.lines)
}

// start is the number of the first line, also of a part without lines, which is named by the
// line before it.
func (s span) start() int {
	if s.lines == 0 {
		return s.first + 1
	}
	return s.first
}

var hunkHead = regexp.MustCompile(`^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@(.*\n?)$`)

// split takes a diff in Git's format apart. What stands before its first file is left out.
func split(diff []byte) ([]section, error) {
	var all []section
	lines := strings.SplitAfter(string(diff), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch {
		case line == "":
		case strings.HasPrefix(line, "diff --git "):
			all = append(all, section{head: []byte(line), name: gitName(line)})
		case len(all) == 0:
		case strings.HasPrefix(line, "@@ "):
			h, next, err := hunkAt(lines, i)
			if err != nil {
				return nil, err
			}
			s := &all[len(all)-1]
			s.hunks = append(s.hunks, h)
			i = next - 1
		default:
			s := &all[len(all)-1]
			if len(s.hunks) > 0 && strings.TrimSpace(line) == "" {
				continue
			}
			if len(s.hunks) > 0 {
				return nil, fmt.Errorf("line %d belongs to no hunk", i+1)
			}
			s.header(line)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("it has no line that begins with %q", "diff --git")
	}
	for i := range all {
		all[i].whole = all[i].whole || len(all[i].hunks) == 0
	}
	return all, nil
}

// header takes a line before the first hunk.
func (s *section) header(line string) {
	s.head = append(s.head, line...)
	text := strings.TrimRight(line, "\r\n")
	for _, word := range []string{
		"old mode ", "new mode ", "new file mode ", "deleted file mode ", "rename ", "copy ", "similarity ", "dissimilarity ", "GIT binary patch", "Binary files ",
	} {
		s.whole = s.whole || strings.HasPrefix(text, word)
	}
	s.fresh = s.fresh || strings.HasPrefix(text, "new file mode ")
	for _, word := range []string{"+++ ", "--- ", "rename to ", "copy to "} {
		rest, ok := strings.CutPrefix(text, word)
		if !ok || rest == "/dev/null" {
			continue
		}
		if !strings.HasPrefix(rest, `"`) {
			rest, _, _ = strings.Cut(rest, "\t")
		}
		rest = unquoted(rest)
		if word == "+++ " || word == "--- " {
			_, rest, _ = strings.Cut(rest, "/")
		}
		if rest != "" {
			s.name = rest
		}
	}
}

// gitName is the second name of "diff --git a/NAME b/NAME".
func gitName(line string) string {
	both := strings.TrimRight(strings.TrimPrefix(line, "diff --git "), "\r\n")
	if at := strings.Index(both, ` "b/`); at >= 0 {
		return strings.TrimPrefix(unquoted(both[at+1:]), "b/")
	}
	// The halves are equal but for their first letter, if no other line has the name.
	if half := len(both) / 2; len(both)%2 == 1 && both[half] == ' ' {
		_, name, _ := strings.Cut(both[half+1:], "/")
		return name
	}
	_, name, _ := strings.Cut(both, " b/")
	return name
}

// unquoted is a name as Git writes it, in quotes where it has to.
func unquoted(name string) string {
	if plain, err := strconv.Unquote(name); err == nil && strings.HasPrefix(name, `"`) {
		return plain
	}
	return name
}

// hunkAt reads the hunk that begins at a line, and returns the number of the one behind it.
func hunkAt(lines []string, at int) (h hunk, next int, err error) {
	m := hunkHead.FindStringSubmatch(lines[at])
	if m == nil {
		return h, 0, fmt.Errorf("line %d is no head of a hunk", at+1)
	}
	h = hunk{old: newSpan(m[1], m[2]), new: newSpan(m[3], m[4]), behind: m[5]}
	old, made := h.old.lines, h.new.lines
	for next = at + 1; next < len(lines) && lines[next] != ""; next++ {
		line := lines[next]
		if line[0] != '\\' && old <= 0 && made <= 0 {
			break
		}
		switch line[0] {
		case ' ', '\n', '\r':
			old, made = old-1, made-1
		case '-':
			old--
		case '+':
			made--
		case '\\':
		default:
			return h, 0, fmt.Errorf("line %d belongs to no hunk", next+1)
		}
		h.body = append(h.body, line)
	}
	if old != 0 || made != 0 {
		return h, 0, fmt.Errorf("the hunk at line %d has other lines than it says", at+1)
	}
	return h, next, nil
}

func newSpan(first, lines string) span {
	s := span{lines: 1, plain: lines == ""}
	s.first, _ = strconv.Atoi(first) // nine digits at most
	if lines != "" {
		s.lines, _ = strconv.Atoi(lines)
	}
	return s
}

// unit is what is taken or left as one: a hunk, or the whole of a section.
type unit struct{ section, hunk int }

// units are all those of a diff.
func units(sections []section) (all []unit) {
	for i, s := range sections {
		if s.whole {
			all = append(all, unit{i, 0})
			continue
		}
		for k := range s.hunks {
			all = append(all, unit{i, k})
		}
	}
	return all
}

// join writes the diff without some units. The hunks that stay are told to be where they come
// to be without the others: Git looks there first, and there may be a second such place.
func join(sections []section, without map[unit]bool) []byte {
	var b bytes.Buffer
	for i, s := range sections {
		if s.whole {
			if !without[unit{i, 0}] {
				b.Write(s.bytes())
			}
			continue
		}
		kept := s
		kept.hunks = nil
		for k, h := range s.hunks {
			if !without[unit{i, k}] {
				kept.hunks = append(kept.hunks, h)
			}
		}
		if len(kept.hunks) > 0 {
			b.Write(kept.settled().bytes())
		}
	}
	return b.Bytes()
}

// settled has each hunk where those before it put it.
func (s section) settled() section {
	hunks, moved := make([]hunk, len(s.hunks)), 0
	for i, h := range s.hunks {
		h.new.first = h.old.start() + moved
		if h.new.lines == 0 {
			h.new.first--
		}
		moved += h.new.lines - h.old.lines
		hunks[i] = h
	}
	s.hunks = hunks
	return s
}

func (s section) bytes() []byte {
	var b bytes.Buffer
	b.Write(s.head)
	for _, h := range s.hunks {
		fmt.Fprintf(&b, "@@ -%s +%s @@%s", h.old, h.new, h.behind)
		for _, line := range h.body {
			b.WriteString(line)
		}
	}
	return b.Bytes()
}

// place is where a unit is, as path:line after the fix.
func place(sections []section, u unit) string {
	s := sections[u.section]
	if len(s.hunks) == 0 {
		return s.name
	}
	h := s.hunks[u.hunk]
	line := h.new.start()
	for _, text := range h.body {
		if text[0] == '+' || text[0] == '-' {
			break
		}
		line++
	}
	return fmt.Sprintf("%s:%d", s.name, max(line, 1))
}
