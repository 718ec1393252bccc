package diff

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// File is what a diff says of one file.
type File struct {
	Name  string // of the file after it, or before it where it is gone
	Fresh bool   // the file is new
	Moved bool   // it is renamed or copied
	Whole bool   // made, gone, moved, of another mode, binary or without hunks: it is taken or left as one
	Head  []byte // all before the first hunk
	Hunks []Hunk
}

// Hunk is one place of a file.
type Hunk struct {
	Old    Span // of the file before
	New    Span // of the file after
	Behind string
	Body   []string // its lines, each with its mark and its end
}

// Span is a part of a file as the head of a hunk has it.
type Span struct {
	First, Lines int
	Plain        bool // the number of lines is not written
}

// Start is the number of the first line, also of a part without lines, which is named by the
// line before it.
func (s Span) Start() int {
	if s.Lines == 0 {
		return s.First + 1
	}
	return s.First
}

func (s Span) String() string {
	if s.Plain && s.Lines == 1 {
		return strconv.Itoa(s.First)
	}
	return fmt.Sprintf("%d,%d", s.First, s.Lines)
}

// Bytes writes a file as it was read.
func (f File) Bytes() []byte {
	var b bytes.Buffer
	b.Write(f.Head)
	for _, h := range f.Hunks {
		fmt.Fprintf(&b, "@@ -%s +%s @@%s", h.Old, h.New, h.Behind)
		for _, line := range h.Body {
			b.WriteString(line)
		}
	}
	return b.Bytes()
}

// Read takes a diff apart. What stands before its first file is left out. The error says what
// is none of a diff; the files are then all that could be read.
func Read(text []byte) (files []File, err error) {
	wrong := func(format string, values ...any) {
		if err == nil {
			err = fmt.Errorf(format, values...)
		}
	}
	lines := strings.SplitAfter(string(text), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if strings.HasPrefix(line, "diff --git ") {
			files = append(files, File{Head: []byte(line), Name: gitName(strings.TrimRight(line[len("diff --git "):], "\r\n"))})
			continue
		}
		if line == "" || len(files) == 0 {
			continue
		}
		f := &files[len(files)-1]
		switch {
		case strings.HasPrefix(line, "@@ "):
			h, next, bad := hunkAt(lines, i)
			if bad != nil {
				wrong("%w", bad)
			}
			if next > i {
				f.Hunks = append(f.Hunks, h)
				i = next - 1
			}
		case len(f.Hunks) == 0:
			f.header(line)
		case strings.TrimSpace(line) != "":
			wrong("line %d belongs to no hunk", i+1)
		}
	}
	if len(files) == 0 {
		wrong("it has no line that begins with %q", "diff --git")
	}
	for i := range files {
		files[i].Whole = files[i].Whole || len(files[i].Hunks) == 0
	}
	return files, err
}

// header takes a line before the first hunk.
func (f *File) header(line string) {
	f.Head = append(f.Head, line...)
	text := strings.TrimRight(line, "\r\n")
	for _, word := range []string{
		"old mode ", "new mode ", "new file mode ", "deleted file mode ", "rename ", "copy ", "similarity ", "dissimilarity ", "GIT binary patch", "Binary files ",
	} {
		f.Whole = f.Whole || strings.HasPrefix(text, word)
	}
	f.Fresh = f.Fresh || strings.HasPrefix(text, "new file mode ")
	for _, word := range []string{"+++ ", "--- ", "rename to ", "copy to "} {
		name, ok := strings.CutPrefix(text, word)
		if !ok {
			continue
		}
		name = unquoted(name)
		if moved := strings.HasSuffix(word, " to "); moved {
			f.Moved = true
		} else if name == "/dev/null" {
			continue
		} else {
			_, name, _ = strings.Cut(name, "/")
		}
		if name != "" {
			f.Name = name
		}
	}
}

// gitName is the new name in "a/OLD b/NEW". What follows tells it again where it is
// ambiguous.
func gitName(both string) string {
	name := both
	if quoted, err := strconv.QuotedPrefix(both); err == nil && strings.HasPrefix(both, `"`) {
		name = strings.TrimPrefix(both[len(quoted):], " ")
	} else if i := strings.Index(both, ` "b/`); i >= 0 {
		name = both[i+1:]
	} else if half := len(both) / 2; len(both)%2 == 1 && both[half] == ' ' && strings.TrimPrefix(both[:half], "a/") == strings.TrimPrefix(both[half+1:], "b/") {
		name = both[half+1:]
	} else if i := strings.LastIndex(both, " b/"); i >= 0 {
		name = both[i+1:]
	}
	return strings.TrimPrefix(unquoted(name), "b/")
}

// unquoted is a name as Git writes it, in quotes where it has to.
func unquoted(text string) string {
	if !strings.HasPrefix(text, `"`) {
		text, _, _ = strings.Cut(text, "\t")
		return text
	}
	if quoted, err := strconv.QuotedPrefix(text); err == nil {
		text = quoted
	}
	if name, err := strconv.Unquote(text); err == nil {
		return name
	}
	return strings.Trim(text, `"`)
}

var hunkHead = regexp.MustCompile(`^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@(.*\n?)$`)

// hunkAt reads the hunk that begins at a line, and returns the number of the one behind it, 0
// where no hunk begins. While its counts are not used up a line belongs to it, whatever it looks
// like, unless it can be none of a hunk.
func hunkAt(lines []string, at int) (h Hunk, next int, err error) {
	m := hunkHead.FindStringSubmatch(lines[at])
	if m == nil {
		return h, 0, fmt.Errorf("line %d is no head of a hunk", at+1)
	}
	h = Hunk{Old: newSpan(m[1], m[2]), New: newSpan(m[3], m[4]), Behind: m[5]}
	old, made := h.Old.Lines, h.New.Lines
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
			return h, next, fmt.Errorf("line %d belongs to no hunk", next+1)
		}
		h.Body = append(h.Body, line)
	}
	if old != 0 || made != 0 {
		return h, next, fmt.Errorf("the hunk at line %d has other lines than it says", at+1)
	}
	return h, next, nil
}

func newSpan(first, lines string) Span {
	s := Span{Lines: 1, Plain: lines == ""}
	s.First, _ = strconv.Atoi(first) // nine digits at most
	if lines != "" {
		s.Lines, _ = strconv.Atoi(lines)
	}
	return s
}
