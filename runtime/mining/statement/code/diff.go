package code

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// File is one that a diff changes.
type File struct {
	Name  string // the new one; the old one of a file that is removed
	Fresh bool   // the diff makes the name: the file is new, or was called otherwise
	Hunks []Hunk
}

// Hunk is a piece of a file.
type Hunk []Line

// Line is one of a hunk, without its end.
type Line struct {
	Text string
	Kind byte // '+' added, '-' removed, ' ' as it was
}

var (
	hunkHead = regexp.MustCompile(`^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@`)
	plainGit = regexp.MustCompile(`^a/(.+) b/(.+)$`)
)

// Files reads a diff as Git writes it. What is none gives no files, and content that is no
// text has no hunks.
func Files(diff []byte) []File {
	r := reader{}
	for line := range strings.Lines(string(diff)) {
		r.line(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"))
	}
	return r.files
}

// reader follows a diff line by line: where a hunk's counts are not used up, a line belongs
// to it, whatever it looks like.
type reader struct {
	files    []File
	old, new int // lines that the hunk still has
}

func (r *reader) line(text string) {
	if r.old > 0 || r.new > 0 {
		r.body(text)
		return
	}
	if both, ok := strings.CutPrefix(text, "diff --git "); ok {
		r.files = append(r.files, File{Name: gitName(both)})
		return
	}
	if len(r.files) == 0 {
		return
	}
	f := &r.files[len(r.files)-1]
	if m := hunkHead.FindStringSubmatch(text); m != nil {
		r.old, r.new = span(m[1]), span(m[2])
		f.Hunks = append(f.Hunks, nil)
		return
	}
	if len(f.Hunks) > 0 {
		return
	}
	if name, ok := strings.CutPrefix(text, "+++ "); ok {
		if name = unquoted(name); name != "/dev/null" {
			f.Name = strings.TrimPrefix(name, "b/")
		}
	} else if name, ok := strings.CutPrefix(text, "rename to "); ok {
		f.Name, f.Fresh = unquoted(name), true
	} else if name, ok := strings.CutPrefix(text, "copy to "); ok {
		f.Name, f.Fresh = unquoted(name), true
	} else if strings.HasPrefix(text, "new file mode ") {
		f.Fresh = true
	}
}

// body takes a line of a hunk.
func (r *reader) body(text string) {
	kind := byte(' ')
	if text != "" {
		kind = text[0]
		text = text[1:]
	}
	switch kind {
	case '+':
		r.new--
	case '-':
		r.old--
	case ' ':
		r.old--
		r.new--
	case '\\': // there is no newline
		return
	default: // the header lied
		r.old, r.new = 0, 0
		return
	}
	f := &r.files[len(r.files)-1]
	last := len(f.Hunks) - 1
	f.Hunks[last] = append(f.Hunks[last], Line{text, kind})
}

// span is how many lines one side of a hunk has.
func span(text string) int {
	if text == "" {
		return 1
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0 // more than there can be
	}
	return n
}

// gitName is the new name in "a/OLD b/NEW". What follows tells it again where it is
// ambiguous.
func gitName(both string) string {
	if strings.HasPrefix(both, `"`) {
		if quoted, err := strconv.QuotedPrefix(both); err == nil {
			return strings.TrimPrefix(unquoted(strings.TrimPrefix(both[len(quoted):], " ")), "b/")
		}
	}
	if i := strings.Index(both, ` "b/`); i >= 0 {
		return strings.TrimPrefix(unquoted(both[i+1:]), "b/")
	}
	if half := len(both) / 2; len(both)%2 == 1 && both[half] == ' ' && strings.HasPrefix(both, "a/") && strings.TrimPrefix(both[:half], "a/") == strings.TrimPrefix(both[half+1:], "b/") {
		return both[2:half]
	}
	if m := plainGit.FindStringSubmatch(both); m != nil {
		return m[2]
	}
	return both
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

// maxNames is how many files an excerpt lists, and maxName how much of a name it shows.
const (
	maxNames = 500
	maxName  = 300
)

// Excerpt is a diff in at most so many bytes, and a line for each file where that is not
// all: what is left out is said.
func Excerpt(diff []byte, most int) string {
	text := strings.ToValidUTF8(string(diff), "\uFFFD")
	if len(text) <= most {
		return text
	}
	head := text[:most]
	if end := strings.LastIndexByte(head, '\n'); end > 0 {
		head = head[:end+1]
	}
	var b strings.Builder
	b.WriteString(strings.ToValidUTF8(head, ""))
	files := Files(diff)
	fmt.Fprintf(&b, "\n[cut here: these are %d of %d bytes. It changes %d files:]\n", len(head), len(text), len(files))
	for i, f := range files {
		if i == maxNames {
			fmt.Fprintf(&b, "[and %d more]\n", len(files)-i)
			break
		}
		added, removed := f.counts()
		name := path.Clean(f.Name)
		fmt.Fprintf(&b, "%s +%d -%d\n", strings.ToValidUTF8(name[:min(len(name), maxName)], "?"), added, removed)
	}
	return b.String()
}

func (f File) counts() (added, removed int) {
	for _, h := range f.Hunks {
		for _, l := range h {
			switch l.Kind {
			case '+':
				added++
			case '-':
				removed++
			}
		}
	}
	return added, removed
}
