package runner

import (
	"bytes"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Files returns the names of the files that a unified diff in Git's format leaves behind or
// removes, sorted, and of those that are new to it.
func Files(patch []byte) (all, added []string) {
	var p patched
	for line := range bytes.Lines(patch) {
		p.line(strings.TrimSuffix(strings.TrimSuffix(string(line[:min(len(line), maxHeader)]), "\n"), "\r"))
	}
	p.close()
	slices.Sort(p.all)
	slices.Sort(p.added)
	return slices.Compact(p.all), slices.Compact(p.added)
}

// maxHeader bounds a line that names a file.
const maxHeader = 3 * 4096

// patched follows the headers of a diff. Lines of a hunk begin with another character than
// a header's, but for removed and added lines that begin with "-- " and "++ ": the counts of
// a hunk tell these.
type patched struct {
	all, added    []string
	git, from, to string
	fresh         bool
	minus, plus   int
}

func (p *patched) line(text string) {
	if p.minus > 0 || p.plus > 0 {
		p.hunk(text)
		return
	}
	switch {
	case strings.HasPrefix(text, "diff --git "):
		p.close()
		p.git = strings.TrimPrefix(text, "diff --git ")
	case strings.HasPrefix(text, "new file mode "):
		p.fresh = true
	case strings.HasPrefix(text, "rename from "), strings.HasPrefix(text, "copy from "):
		_, name, _ := strings.Cut(text, " from ")
		p.from = unquoted(name)
	case strings.HasPrefix(text, "rename to "), strings.HasPrefix(text, "copy to "):
		_, name, _ := strings.Cut(text, " to ")
		p.to = unquoted(name)
	case strings.HasPrefix(text, "--- "):
		if p.git == "" { // of plain diff, which has no other beginning
			p.close()
		}
		p.from = side(text[4:])
		p.fresh = p.fresh || p.from == ""
	case strings.HasPrefix(text, "+++ "):
		p.to = side(text[4:])
	case strings.HasPrefix(text, "@@ -"):
		p.minus, p.plus = counts(text)
	}
}

func (p *patched) hunk(text string) {
	switch {
	case strings.HasPrefix(text, "-"):
		p.minus--
	case strings.HasPrefix(text, "+"):
		p.plus--
	case strings.HasPrefix(text, `\`):
	default:
		p.minus--
		p.plus--
	}
}

// close adds the files of the section that ends.
func (p *patched) close() {
	if p.from == "" && p.to == "" && p.git != "" { // a binary, a mode or an empty file: only the first line names it
		p.to = gitName(p.git)
	}
	for _, name := range []string{p.from, p.to} {
		if name == "" || path.IsAbs(name) || slices.Contains(strings.Split(name, "/"), "..") {
			continue
		}
		p.all = append(p.all, name)
		if p.fresh {
			p.added = append(p.added, name)
		}
	}
	p.git, p.from, p.to, p.fresh = "", "", "", false
}

// side is the name behind "--- " or "+++ ", "" for no file.
func side(text string) string {
	if !strings.HasPrefix(text, `"`) {
		text, _, _ = strings.Cut(text, "\t")
	}
	name := unquoted(text)
	if name == "/dev/null" {
		return ""
	}
	for _, prefix := range []string{"a/", "b/"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return rest
		}
	}
	return name
}

// gitName is the name in "a/NAME b/NAME", which is the same twice where no other line says it.
func gitName(text string) string {
	if strings.HasPrefix(text, `"`) {
		if end := strings.Index(text[1:], `" "`); end >= 0 {
			return side(text[:end+2])
		}
		return ""
	}
	half := len(text) / 2
	if len(text)%2 == 1 && text[half] == ' ' && strings.HasPrefix(text, "a/") && strings.TrimPrefix(text[:half], "a/") == strings.TrimPrefix(text[half+1:], "b/") {
		return text[2:half]
	}
	return ""
}

// unquoted undoes Git's quotes of names with odd bytes, which are those of C.
func unquoted(name string) string {
	if len(name) < 2 || !strings.HasPrefix(name, `"`) {
		return name
	}
	if plain, err := strconv.Unquote(name); err == nil {
		return plain
	}
	return name
}

// counts are the lines that a hunk takes and gives: "@@ -1,3 +1,4 @@".
func counts(text string) (minus, plus int) {
	fields := strings.Fields(text)
	if len(fields) < 3 {
		return 0, 0
	}
	one := func(field string) int {
		_, n, ok := strings.Cut(field[1:], ",")
		if !ok {
			return 1
		}
		count, err := strconv.Atoi(n)
		if err != nil || count < 0 {
			return 0
		}
		return count
	}
	return one(fields[1]), one(fields[2])
}

// Pattern is a pattern of submit.exclude that means just this file.
func Pattern(name string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`).Replace(name)
}
