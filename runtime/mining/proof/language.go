package proof

import (
	"path"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/mining/diff"
)

// language is how the files of one are written, as far as it matters here.
type language struct {
	line    string // begins a comment to the end of the line; "" = not known
	block   bool   // has comments as in C, too
	indent  bool   // the space before a line means something
	strings bool   // a text in three quotes is written for people where it stands by itself
	spaces  bool   // between two words there may be as much space as one likes
	keeps   string // how the lines begin that a new file cannot be without, even as comments
}

// languages are the known ones by the endings of their files.
func languages() map[string]language {
	slashes := language{line: "//", block: true}
	free := language{line: "//", block: true, spaces: true}
	hash := language{line: "#"}
	indented := language{line: "#", indent: true}
	all := map[string]language{
		".py": {line: "#", indent: true, strings: true, spaces: true}, ".pyi": {line: "#", indent: true, strings: true, spaces: true},
		".pyx": indented, ".yaml": indented, ".yml": indented, ".nim": indented, ".coffee": indented,
		".go":  {line: "//", block: true, spaces: true, keeps: "package "},
		".lua": {line: "--"}, ".sql": {line: "--"}, ".hs": {line: "--", indent: true}, ".elm": {line: "--", indent: true},
		".clj": {line: ";"}, ".cljs": {line: ";"}, ".el": {line: ";"}, ".lisp": {line: ";"}, ".erl": {line: "%"}, ".hrl": {line: "%"},
		".fs": {line: "//", indent: true}, ".css": {block: true}, ".php": slashes, ".jsx": slashes, ".tsx": slashes,
	}
	for _, ending := range []string{".java", ".kt", ".kts", ".scala", ".groovy"} {
		all[ending] = language{line: "//", block: true, spaces: true, keeps: "package "}
	}
	for _, ending := range []string{
		".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".cs", ".swift", ".rs", ".dart", ".zig",
	} {
		all[ending] = free
	}
	for _, ending := range []string{".m", ".mm", ".proto", ".sol", ".scss", ".less"} {
		all[ending] = slashes
	}
	for _, ending := range []string{".rb", ".sh", ".bash", ".pl", ".pm", ".r", ".jl", ".ex", ".exs", ".cr", ".tcl", ".toml", ".cfg", ".ini", ".cmake", ".mk"} {
		all[ending] = hash
	}
	return all
}

// languageOf returns the zero language for files of unknown kinds.
func languageOf(name string) language { return languages()[strings.ToLower(path.Ext(name))] }

// forPeople reports whether a file is read by people, or by the services around a repository,
// and not by what is tested.
func forPeople(name string) bool {
	base := strings.ToLower(path.Base(name))
	switch path.Ext(base) {
	case ".md", ".rst", ".adoc", ".markdown", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".pdf", ".ico":
		return true
	}
	stem, _, _ := strings.Cut(base, ".")
	known := []string{
		"license", "licence", "copying", "notice", "authors", "contributors", "changelog", "changes", "news", "history", "readme", "codeowners",
		"", // .gitignore, .editorconfig, .pre-commit-config.yaml
	}
	parts := strings.Split(path.Dir(strings.ToLower(name)), "/")
	ends := path.Ext(base)
	return (ends == "" || ends == ".txt" || stem == "") && slices.Contains(known, stem) ||
		slices.Contains([]string{".github", ".circleci", ".gitlab"}, parts[0]) ||
		ends == ".txt" && slices.ContainsFunc(parts, func(p string) bool { return p == "doc" || p == "docs" })
}

// behaves reports whether a unit changes more than comments, blank lines, texts for people
// and white space that means nothing.
func behaves(s diff.File, of int) bool {
	if forPeople(s.Name) {
		return false
	}
	l := languageOf(s.Name)
	if s.Whole {
		if !s.Fresh || len(s.Hunks) == 0 {
			return true // what is gone, renamed or binary; an empty new file may make a package
		}
		return slices.ContainsFunc(s.Hunks, func(h diff.Hunk) bool { return l.code(h, '+') != "" })
	}
	h := s.Hunks[of]
	return l.code(h, '-') != l.code(h, '+')
}

// code is what the changed lines of one side of a hunk say to a machine, in a form in which
// space that means nothing does not count.
func (l language) code(h diff.Hunk, mark byte) string {
	var all strings.Builder
	inside := l.opens(h, mark)
	for _, line := range h.Body {
		if line[0] == '\\' || line[0] != ' ' && line[0] != '\n' && line[0] != '\r' && line[0] != mark {
			continue
		}
		text := strings.TrimRight(line[1:], " \t\r\n")
		comment := l.comment(text, &inside)
		if line[0] != mark || comment || strings.TrimSpace(text) == "" {
			continue
		}
		all.WriteString(l.plain(text))
	}
	return all.String()
}

// plain is a line without the space that means nothing.
func (l language) plain(text string) string {
	switch {
	case l.line == "" || l.indent:
		return text + "\n"
	case strings.ContainsAny(text, "\"'`"):
		return strings.TrimSpace(text)
	}
	return strings.Join(strings.Fields(text), "")
}

// inside is what a line is in the middle of: a comment, or a text in three quotes. The zero value is code.
type inside struct {
	end  string // what ends it
	used bool   // it is a text that a machine reads, as code is
}

// opens says what a hunk begins in the middle of, by what ends before it begins.
func (l language) opens(h diff.Hunk, mark byte) inside {
	before := ""
	for _, line := range h.Body {
		if line[0] != ' ' && line[0] != mark {
			continue
		}
		text := strings.TrimSpace(line[1:])
		if l.block {
			open, end := strings.Index(text, "/*"), strings.Index(text, "*/")
			switch {
			case end >= 0 && (open < 0 || end < open):
				return inside{end: "*/"}
			case open >= 0:
				return inside{}
			}
		}
		if l.strings {
			if quotes, ends, found := ended(text, before); found && ends {
				return inside{end: quotes}
			} else if found {
				return inside{}
			}
		}
		if text != "" {
			before = text
		}
	}
	return inside{}
}

// ended says whether the first three quotes of a line end a text that began before it. Nothing in them
// tells; by custom what stands alone ends one, unless it follows the head of a function or a
// class, and what something is written behind begins one.
func ended(text, before string) (quotes string, ends, found bool) {
	quotes, at := threeQuotes(text)
	if at < 0 {
		return "", false, false
	}
	head, rest := text[:at], text[at+len(quotes):]
	switch {
	case strings.Contains(rest, quotes):
		return quotes, false, true // of one line
	case strings.Trim(head, "rRuUbBfF") != "": // used, where it is the operand of something
		used := strings.TrimRight(strings.TrimRight(head, "rRuUbBfF"), " ")
		return quotes, !strings.ContainsAny(used[len(used)-1:], "=([{,+%:") && !strings.HasSuffix(head, "return "), true
	case rest == "":
		return quotes, !strings.HasSuffix(before, ":"), true
	}
	return quotes, strings.ContainsAny(rest[:1], ".,)+%"), true // as in """.format(
}

// threeQuotes finds the first ones of a line; at is -1 if there are none.
func threeQuotes(text string) (quotes string, at int) {
	at = -1
	for _, q := range []string{`"""`, "'''"} {
		if i := strings.Index(text, q); i >= 0 && (at < 0 || i < at) {
			quotes, at = q, i
		}
	}
	return quotes, at
}

// comment reports whether a line is nothing but a comment, or a text for people, and follows
// those that have more than one line.
func (l language) comment(text string, in *inside) bool {
	text = strings.TrimSpace(text)
	if in.end != "" {
		_, rest, ends := strings.Cut(text, in.end)
		people := !in.used
		if ends {
			*in = inside{}
		}
		return people && (!ends || strings.TrimSpace(rest) == "")
	}
	if l.line != "" && strings.HasPrefix(text, l.line) {
		return !directive(text)
	}
	if l.block && strings.HasPrefix(text, "/*") {
		_, rest, ends := strings.Cut(text[2:], "*/")
		if !ends {
			*in = inside{end: "*/"}
		}
		return !ends || strings.TrimSpace(rest) == ""
	}
	if !l.strings {
		return false
	}
	quotes, at := threeQuotes(text)
	if at < 0 {
		return false
	}
	_, rest, ends := strings.Cut(text[at+len(quotes):], quotes)
	people := strings.Trim(text[:at], "rRuU") == ""
	if !ends {
		*in = inside{end: quotes, used: !people}
	}
	return people && (!ends || strings.TrimSpace(rest) == "")
}

// directive reports whether a comment says something to a machine.
func directive(text string) bool {
	for _, word := range []string{"#!", "//go:", "// +build", "//export ", "# cython:", "# distutils:"} {
		if strings.HasPrefix(text, word) {
			return true
		}
	}
	return false
}
