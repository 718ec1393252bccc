package runner

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// maxLine bounds a command line: one argument of a program can have 128 KiB at most.
const maxLine = 60_000

// Command returns the line that runs the files of these tests whole, so that each test is
// named in its output; files are those that a change of tests touches. ok is false where the
// parser belongs to no runner of ours, or nothing says what to run.
func Command(parser string, names, files []string) (line string, ok bool) {
	var of []string // what to run; all of it if there is too much to say
	for _, file := range files {
		if IsTest(parser, file) {
			of = append(of, file)
		}
	}
	start, whole := "", ""
	switch parser {
	case "pytest":
		start = "python3 -m pytest -rA"
		whole = start
		of = append(of, modules(names)...)
	case "unittest":
		start, whole = "python3 -m unittest -v", "python3 -m unittest -v"
		of = dotted(of, "")
	case "django":
		start = "python3 tests/runtests.py --verbosity 2"
		of = dotted(of, "tests/")
	case "gotest":
		start, whole = "go test -count=1 -v", "go test -count=1 -v ./..."
		of = packages(names, of)
	case "cargo":
		return "cargo test --no-fail-fast", true
	case "jest":
		start, whole = "npx jest --verbose", "npx jest --verbose"
	case "mocha":
		start, whole = "npx mocha", "npx mocha"
	case "node":
		start, whole = "node --test --test-reporter=tap", "node --test --test-reporter=tap"
	}
	slices.Sort(of)
	line = start
	for _, word := range slices.Compact(of) {
		line += " " + Quote(word)
	}
	if len(of) == 0 || len(line) > maxLine {
		line = whole
	}
	return line, line != ""
}

// modules are the files in names of pytest.
func modules(names []string) []string {
	var files []string
	for _, name := range names {
		if file, _, ok := strings.Cut(name, "::"); ok && strings.HasSuffix(file, ".py") {
			files = append(files, file)
		}
	}
	return files
}

// dotted turns files into the names of modules as Python's own runner takes them.
func dotted(files []string, below string) []string {
	var out []string
	for _, file := range files {
		out = append(out, strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(file, below), ".py"), "/", "."))
	}
	return out
}

// packages are those in names of go test, or the folders of its files where no name says
// its package.
func packages(names, files []string) []string {
	found := map[string]bool{}
	for _, name := range names {
		pkg, _, ok := strings.Cut(name, "::")
		if !ok { // nobody can say where it is: what is touched is not all that has to be seen
			return nil
		}
		found[pkg] = true
	}
	if len(names) == 0 {
		for _, file := range files {
			found["./"+path.Dir(file)] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// Exact returns lines that run these tests and no others, and exit with 0 if all pass; files
// are those that hold them, for runners whose names do not say it. ok is false where the
// parser belongs to no runner that can do that. Names are as Named has them.
func Exact(parser string, names, files []string) (lines []string, ok bool) {
	files = slices.DeleteFunc(slices.Clone(files), func(name string) bool { return !IsTest(parser, name) })
	slices.Sort(files)
	var in string // what follows the pattern
	for _, file := range files {
		in += " " + Quote(file)
	}
	switch parser {
	case "pytest":
		return chunks("python3 -m pytest -q", "", " ", Quote, names), true
	case "gotest":
		return goLines(names), true
	case "cargo":
		return chunks("cargo test -- --exact", "", " ", Quote, names), true
	case "unittest":
		return chunks("python3 -m unittest", "", " ", func(name string) string { return Quote(pythonName(name)) }, names), true
	case "jest":
		return patterns("npx jest -t", in, " ", names), true
	case "mocha":
		return patterns("npx mocha -g", in, " ", names), true
	case "node":
		return nodeLines(in, names), true
	}
	return nil, false
}

// Named are names of tests as their runner has them, each once. Where runners let names repeat, it
// is we who number them: "name #2" is "name" where that is a test of the task, too, by others.
func Named(parser string, names, others []string) (out []string) {
	if !slices.Contains([]string{"cargo", "jest", "mocha", "node"}, parser) {
		return names
	}
	known, told := map[string]bool{}, map[string]bool{}
	for _, name := range slices.Concat(names, others) {
		known[name] = true
	}
	number := regexp.MustCompile(`^(.+) #[0-9]+$`)
	for _, name := range names {
		if m := number.FindStringSubmatch(name); m != nil && known[m[1]] {
			name = m[1]
		}
		if !told[name] {
			told[name] = true
			out = append(out, name)
		}
	}
	return out
}

var unittestName = regexp.MustCompile(`^(\w+) \(([\w.]+)\)$`)

// pythonName turns "test_x (package.Class)" into "package.Class.test_x".
func pythonName(name string) string {
	m := unittestName.FindStringSubmatch(name)
	switch {
	case m == nil:
		return name
	case strings.HasSuffix(m[2], "."+m[1]):
		return m[2]
	}
	return m[2] + "." + m[1]
}

// goLines runs whole tests of a package together and each subtest by itself: a pattern has
// no alternatives of paths.
func goLines(names []string) []string {
	type call struct{ pkg, pattern string }
	together := map[string][]string{}
	var single []call
	for _, name := range names {
		pkg, test, ok := strings.Cut(name, "::")
		if !ok {
			pkg, test = "./...", name
		}
		parts := strings.Split(test, "/")
		for i, part := range parts {
			parts[i] = regexp.QuoteMeta(part)
		}
		if len(parts) == 1 {
			together[pkg] = append(together[pkg], parts[0])
			continue
		}
		single = append(single, call{pkg, "^" + strings.Join(parts, "$/^") + "$"})
	}
	var lines []string
	for _, pkg := range slices.Sorted(maps.Keys(together)) {
		lines = append(lines, chunks("go test -count=1 -run '^(", ")$' "+Quote(pkg), "|", inQuotes, together[pkg])...)
	}
	for _, c := range single {
		lines = append(lines, "go test -count=1 -run "+Quote(c.pattern)+" "+Quote(c.pkg))
	}
	return lines
}

// patterns runs tests by one regular expression of their full names.
func patterns(start, end, between string, names []string) []string {
	return chunks(start+" '^(", ")$'"+end, "|", func(name string) string {
		return inQuotes(regexp.QuoteMeta(strings.ReplaceAll(name, " > ", between)))
	}, names)
}

// nodeLines names each test: the runner takes the option several times.
func nodeLines(in string, names []string) []string {
	return chunks("node --test", in, " ", func(name string) string {
		at := strings.LastIndex(name, " > ")
		if at >= 0 {
			name = name[at+3:]
		}
		return Quote("--test-name-pattern=^" + regexp.QuoteMeta(name) + "$")
	}, names)
}

// chunks makes lines of at most maxLine bytes out of names.
func chunks(start, end, between string, word func(string) string, names []string) []string {
	glue := between
	if between != "|" {
		start, glue = start+between, between
	}
	var lines []string
	line := ""
	for _, name := range names {
		w := word(name)
		if line != "" && len(start)+len(line)+len(glue)+len(w)+len(end) > maxLine {
			lines = append(lines, start+line+end)
			line = ""
		}
		if line != "" {
			line += glue
		}
		line += w
	}
	if line != "" {
		lines = append(lines, start+line+end)
	}
	return lines
}

// inQuotes is a text between single quotes of a shell.
func inQuotes(text string) string { return strings.ReplaceAll(text, "'", `'\''`) }

// Quote makes one word for a shell, as it is where it needs no quotes.
func Quote(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:=@%+,", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + inQuotes(word) + "'"
}

// Line is a command as one line for /bin/sh.
func Line(argv []string) string {
	words := make([]string, len(argv))
	for i, word := range argv {
		words[i] = Quote(word)
	}
	return strings.Join(words, " ")
}
