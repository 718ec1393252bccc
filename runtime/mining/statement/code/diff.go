package code

import (
	"fmt"
	"path"
	"strings"

	"github.com/assayd/assayd/runtime/mining/diff"
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

// Files reads a diff as Git writes it. What is none gives no files, and content that is no
// text has no hunks.
func Files(text []byte) (files []File) {
	all, _ := diff.Read(text) // what is none of it is left out
	for _, f := range all {
		file := File{Name: f.Name, Fresh: f.Fresh || f.Moved}
		for _, h := range f.Hunks {
			file.Hunks = append(file.Hunks, linesOf(h))
		}
		files = append(files, file)
	}
	return files
}

func linesOf(of diff.Hunk) (h Hunk) {
	for _, line := range of.Body {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		switch {
		case line == "":
			h = append(h, Line{"", ' '})
		case line[0] != '\\': // there is no newline
			h = append(h, Line{line[1:], line[0]})
		}
	}
	return h
}

// maxNames is how many files an excerpt lists, and maxName how much of a name it shows.
const (
	maxNames = 500
	maxName  = 300
)

// Excerpt is a diff in at most so many bytes, and a line for each file where that is not
// all: what is left out is said.
func Excerpt(patch []byte, most int) string {
	text := strings.ToValidUTF8(string(patch), "\uFFFD")
	if len(text) <= most {
		return text
	}
	head := text[:most]
	if end := strings.LastIndexByte(head, '\n'); end > 0 {
		head = head[:end+1]
	}
	var b strings.Builder
	b.WriteString(strings.ToValidUTF8(head, ""))
	files := Files(patch)
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
