package vet

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Text is a file.
type Text struct {
	Name    string // a slash-separated path
	Content []byte
}

// MaxText is the size of the largest file that is looked into.
const MaxText = 1 << 20

// How much of a text has to be in a file for it to be told there: lines that say something,
// and the share of all of them that the image does not have anyhow.
const (
	hiddenLines, hiddenShare     = 4, 0.6
	solutionLines, solutionShare = 3, 0.8
	commonIn                     = 3 // a line that more files have belongs to nobody
)

// Secrets are what an agent must not find: the hidden files of the judge and what the
// solution adds. Look is called with each file of an image, then Found once.
type Secrets struct {
	needles []*needle
	known   map[string][]place // by line
	seen    map[string]int     // files that a line is in
	common  map[string]string  // path in the image of what is hidden under the same path, as it is there
	goals   []string           // of fail_to_pass
	out     []Finding
}

// place says which line of which needle a line is.
type place struct{ needle, line int }

// needle is a text that is looked for.
type needle struct {
	of       string // path in the container, of a hidden file or a file that the solution changes
	solution bool
	sum      [sha256.Size]byte // of hidden files
	size     int
	lines    []string // that say something, and that the file of that name does not have anyhow
	found    []sighting
}

// sighting is a file in which lines of a needle are.
type sighting struct {
	file  string
	lines []int
}

// maxSightings is how many files are kept in which there is something of one needle.
const maxSightings = 200

// NewSecrets takes hidden files and what the solution writes, by absolute path in the
// container. there returns the file that the untouched tree has under a path: it is not
// hidden.
func NewSecrets(hidden, solution []Text, goals []string, there func(path string) ([]byte, bool)) *Secrets {
	s := &Secrets{known: map[string][]place{}, seen: map[string]int{}, common: map[string]string{}, goals: goals}
	for _, h := range hidden {
		s.add(h, false, there)
	}
	for _, h := range solution {
		s.add(h, true, there)
	}
	return s
}

func (s *Secrets) add(t Text, solution bool, there func(string) ([]byte, bool)) {
	n := &needle{of: t.Name, solution: solution, sum: sha256.Sum256(t.Content), size: len(t.Content)}
	public := map[string]bool{}
	if old, ok := there(t.Name); ok {
		if !solution && bytes.Equal(old, t.Content) {
			s.sameThere(t.Name)
		}
		for _, line := range telling(old) {
			public[line] = true
		}
	}
	for _, line := range telling(t.Content) {
		if !public[line] {
			public[line] = true
			s.known[line] = append(s.known[line], place{len(s.needles), len(n.lines)})
			n.lines = append(n.lines, line)
		}
	}
	s.needles = append(s.needles, n)
}

// sameThere: a hidden file is in the tree of the agent under its own name. The judge may only
// put back what everybody sees; what holds a test that is to be made to pass is told by it.
func (s *Secrets) sameThere(name string) {
	if !isTest(name) {
		return
	}
	severity := Flags
	if len(s.goals) > 0 && !s.holdsGoal(name) {
		severity = Warns
	}
	s.say(severity, "%s, which the judge hides, is in the work image as it is", name)
}

// holdsGoal reports whether a test of fail_to_pass says that it is in the file.
func (s *Secrets) holdsGoal(name string) bool {
	base := path.Base(name)
	module := strings.TrimSuffix(base, path.Ext(base))
	return slices.ContainsFunc(s.goals, func(goal string) bool {
		return strings.Contains(goal, base) || slices.Contains(strings.FieldsFunc(goal, func(r rune) bool {
			return strings.ContainsRune(".:/()# ", r)
		}), module) || strings.HasSuffix(base, "_test.go")
	})
}

// isTest reports whether a file has the name of one with tests.
func isTest(name string) bool {
	base := strings.ToLower(path.Base(name))
	return path.Ext(base) != "" && (strings.Contains(base, "test") || strings.Contains(base, "spec") || strings.Contains(base, "check") ||
		strings.Contains(base, "grade"))
}

func (s *Secrets) say(severity Severity, format string, args ...any) {
	s.out = append(s.out, Finding{Leak, severity, fmt.Sprintf(format, args...)})
}

// Wants reports whether the content of a file has to be looked at.
func (s *Secrets) Wants(size int64) bool { return size > 0 && size <= MaxText }

// Look takes a file of the image by its absolute path.
func (s *Secrets) Look(name string, content []byte) {
	sum := sha256.Sum256(content)
	for _, n := range s.needles {
		switch {
		case n.of == name:
		case !n.solution && n.size == len(content) && n.sum == sum && len(telling(content)) > 0:
			s.say(Flags, "%s, which the judge hides, is in the work image as %s", n.of, name)
		case !n.solution && compiledOf(name, n.of):
			s.say(Flags, "%s, which the judge hides, is in the work image in compiled form as %s", n.of, name)
		}
	}
	hits := map[int]map[int]bool{}
	met := map[string]bool{}
	for _, line := range telling(content) {
		places := s.known[line]
		if len(places) > 0 && !met[line] {
			met[line] = true
			s.seen[line]++
		}
		for _, p := range places {
			if hits[p.needle] == nil {
				hits[p.needle] = map[int]bool{}
			}
			hits[p.needle][p.line] = true
		}
	}
	for i, lines := range hits {
		n := s.needles[i]
		if len(lines) < n.least() || n.of == name || n.size == len(content) && n.sum == sum || len(n.found) >= maxSightings {
			continue
		}
		found := sighting{file: name}
		for line := range lines {
			found.lines = append(found.lines, line)
		}
		n.found = append(n.found, found)
	}
}

// compiledOf reports whether a file is what Python makes of a hidden module.
func compiledOf(name, hidden string) bool {
	module, ok := strings.CutSuffix(path.Base(hidden), ".py")
	return ok && isTest(hidden) && path.Ext(name) == ".pyc" && strings.HasPrefix(path.Base(name), module+".")
}

func (n *needle) least() int {
	if n.solution {
		return solutionLines
	}
	return hiddenLines
}

// Found is what the image tells.
func (s *Secrets) Found() []Finding {
	for _, n := range s.needles {
		own := 0
		for _, line := range n.lines {
			if s.seen[line] <= commonIn {
				own++
			}
		}
		share := hiddenShare
		if n.solution {
			share = solutionShare
		}
		for _, f := range n.found {
			in := 0
			for _, line := range f.lines {
				if s.seen[n.lines[line]] <= commonIn {
					in++
				}
			}
			if in < n.least() || float64(in) < share*float64(own) {
				continue
			}
			what := n.of + ", which the judge hides,"
			if n.solution {
				what = "what the solution writes into " + n.of
			}
			s.say(Flags, "%d of %d telling lines of %s are in the work image in %s", in, own, what, f.file)
		}
	}
	return s.out
}

// telling are the lines of a text that say something, without what a diff puts before them.
func telling(content []byte) (lines []string) {
	if bytes.IndexByte(content[:min(len(content), 8000)], 0) >= 0 {
		return nil // no text
	}
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "+"))
		if letters := strings.IndexFunc(line, isLetter); len(line) >= 10 && letters >= 0 && !boilerplate(line) {
			lines = append(lines, line)
		}
	}
	return lines
}

func isLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r > 127 }

// boilerplate is what a file of any program may begin with.
func boilerplate(line string) bool {
	first, _, _ := strings.Cut(line, " ")
	return slices.Contains([]string{"import", "from", "package", "use", "#include", "using", "#!/usr/bin/env"}, cmp.Or(first, line)) ||
		strings.Contains(line, `__name__ == "__main__"`)
}
