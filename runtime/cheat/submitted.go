package cheat

import (
	"archive/tar"
	"bufio"
	"errors"
	"io"
	"strings"
)

// maxDiffLine bounds a line of a diff that is looked at.
const maxDiffLine = 1 << 20

// patch looks at what a diff in Git's format adds, file by file.
func (s *search) patch(where string, r io.Reader) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var name string
	var added strings.Builder
	gone := false
	flush := func() {
		// A judge leaves out what steers it. The place where a tree has nothing is no doing of who
		// handed it in.
		if name != "" && !(gone && where == patchPlace) {
			s.handedIn(where, name)
		}
		s.source(where, name, added.String(), true)
		added.Reset()
	}
	hunk := false
	for {
		text, whole, err := readLine(in, maxDiffLine)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		line := string(text)
		switch {
		case !whole:
			s.miss("%s: a line of %s is longer than %d bytes", where, name, maxDiffLine)
		case strings.HasPrefix(line, "diff --git "):
			flush()
			hunk, gone = false, false
			_, name, _ = strings.Cut(line, " b/")
		case !hunk && (strings.HasPrefix(line, "deleted file mode ") || line == "+++ /dev/null"):
			gone = true
		case !hunk && strings.HasPrefix(line, "--- ") && name == "":
			name = diffName(line[4:])
		case !hunk && strings.HasPrefix(line, "+++ ") && diffName(line[4:]) != "":
			name, gone = diffName(line[4:]), false
		case strings.HasPrefix(line, "@@ "):
			hunk = true
		case hunk && strings.HasPrefix(line, "+") && added.Len() <= maxCode:
			added.WriteString(line[1:])
			added.WriteByte('\n')
		}
		if err != nil {
			flush()
			return nil
		}
	}
}

// diff looks at a diff that a command was given.
func (s *search) diff(where, text string) {
	_ = s.patch(where, strings.NewReader(text)) // reading a text does not fail
}

// diffName is the name in a heading of a diff; "" = none.
func diffName(text string) string {
	text, _, _ = strings.Cut(strings.Trim(text, `"`), "\t")
	for _, side := range []string{"a/", "b/"} {
		if name, ok := strings.CutPrefix(text, side); ok {
			return name
		}
	}
	if text == "/dev/null" {
		return ""
	}
	return text
}

// handedIn looks at the name of a file that is submitted or changed. What is submitted may be
// the whole tree, so a file that steers a runner has to be new there.
func (s *search) handedIn(where, name string) {
	p := s.normal(name, "")
	_, there := s.untouched(p)
	if key := where + "\x00" + p; !s.handed[key] && len(s.handed) < maxOwn {
		s.handed[key] = true
		if s.laid(p) || inside(p) && s.steers(p) && (where == patchPlace || !there) {
			s.say(JudgePaths, where, p)
		}
	}
}

// archive looks at the files of a submitted archive, and at what they have that the untouched
// tree had not.
func (s *search) archive(where string, r io.Reader) error {
	in := tar.NewReader(r)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag == tar.TypeDir {
			continue
		}
		p := s.normal(strings.TrimPrefix(h.Name, "./"), "")
		s.handedIn(where, p)
		if h.Typeflag != tar.TypeReg || !isCode(p[strings.LastIndexByte(p, '/')+1:]) {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(in, maxCode+1))
		if err != nil {
			return err
		}
		if old, ok := s.untouched(p); ok {
			text = []byte(without(string(text), string(old)))
		}
		s.source(where, p, string(text), true)
	}
}
