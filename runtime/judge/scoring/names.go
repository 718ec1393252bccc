package scoring

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/judge/parser"
)

// Shapes of names.
var (
	goTest         = regexp.MustCompile(`^(?:Test|Fuzz|Example)(?:[^\pL]|\p{Lu}|$)`)
	pathParameter  = regexp.MustCompile(`^([^\[]*)\[(/[^/*][^*]*)\]$`)
	unittestMethod = regexp.MustCompile(`^(\w+) \(([\w.<>]+)\)$`)
	dottedWords    = regexp.MustCompile(`^[\w$/]+(?:\.[\w$/]+)+$`)
)

// named gives tests the names by which a task declares them, where its lists write them as
// another harness or another version of the runner does. A declared name that is seen as it
// is stays what it is, one that could be meant by two declared names is left alone, and of
// several tests that one declared name can mean, all get it: then the worst counts.
//
// A test that is elsewhere by what is known of the judge's files has its own name alone.
func named(tests []parser.Test, declared []string, elsewhere func(name string) bool) []parser.Test {
	seen, known := map[string]bool{}, map[string]bool{}
	for _, t := range tests {
		seen[t.Name], seen[t.Repeats] = true, true
	}
	meant := map[string]string{} // by form; "" = two names
	for _, name := range declared {
		if known[name] || seen[name] {
			known[name] = true
			continue
		}
		known[name] = true
		for _, form := range append(loosely(name), short(name)) {
			if other, ok := meant[form]; ok && other != name {
				meant[form] = ""
			} else {
				meant[form] = name
			}
		}
	}
	if len(meant) == 0 {
		return tests
	}
	out := make([]parser.Test, 0, len(tests))
	for _, t := range tests {
		own := cmp.Or(t.Repeats, t.Name)
		if !known[t.Name] && !known[t.Repeats] && (elsewhere == nil || !elsewhere(own)) {
			t = renamed(t, meant)
		}
		out = append(out, t)
	}
	return out
}

func renamed(t parser.Test, meant map[string]string) parser.Test {
	name := cmp.Or(t.Repeats, t.Name)
	forms := append(loosely(name), shortened(name)...)
	if t.Target != "" {
		forms = append([]string{inTarget(t.Target + "::" + name)}, forms...)
	}
	for _, form := range forms {
		if other := meant[form]; other != "" && !apart(form, other, name) {
			t.Name, t.Repeats = other, ""
			return t
		}
	}
	return t
}

// apart reports whether two names of go test, of one form, are of two packages: then what one
// says is nothing of the other, for each package can print what it likes.
func apart(form, declared, seen string) bool {
	one, _, ok1 := strings.Cut(declared, "::")
	other, _, ok2 := strings.Cut(seen, "::")
	return strings.HasPrefix(form, "go ") && ok1 && ok2 && one != other
}

// HiddenFiles is what is known of a judge image's files when names of tests are compared.
type HiddenFiles struct {
	Names   []string          // regular files that are hidden
	Content map[string][]byte // of the small ones
	Present map[string]bool   // what is not hidden, by path; true is a folder
}

// goFolders are the folders of the judge's test files by the functions that go test runs in
// them; nil where not all of those files are known.
func goFolders(hidden HiddenFiles) map[string][]string {
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)\w*)\(`)
	folders := map[string][]string{}
	for _, name := range hidden.Names {
		if !strings.HasSuffix(name, "_test.go") {
			continue
		}
		content, ok := hidden.Content[name]
		if !ok {
			return nil
		}
		for _, m := range function.FindAllSubmatch(content, -1) {
			folders[string(m[1])] = append(folders[string(m[1])], path.Dir(name))
		}
	}
	return folders
}

// GoElsewhere tells of a test of go test, by its name with its package, whether it is in none
// of the folders in which the judge has it. Where a folder is a module's own, its packages may
// be called anything.
func GoElsewhere(hidden HiddenFiles) func(name string) bool {
	folders := goFolders(hidden)
	return func(name string) bool {
		pkg, test, ok := strings.Cut(name, "::")
		test, _, _ = strings.Cut(test, "/")
		in := folders[test]
		return ok && len(in) > 0 && !slices.ContainsFunc(in, func(dir string) bool {
			_, module := hidden.Present[path.Join(dir, "go.mod")]
			return dir == "." || module || path.Base(dir) == path.Base(pkg)
		})
	}
}

// loosely lists forms of a name that are the same for other ways to write it:
//
//   - pytest: lists made out of logs end a name with parameters at its first space
//   - go test: logs name no package, and have underscores for the spaces of a subtest
//   - unittest: "test_a (mod.Case)", since Python 3.11 "test_a (mod.Case.test_a)", "mod.Case.test_a"
//   - JUnit, GoogleTest: "pkg.Case::test", "pkg.Case#test", "pkg.Case.test", "pkg.Case > test()"
//   - CTest: its documents say each name twice
//   - TAP: "\#" and "\\" as they stand in the stream
//   - cargo: "tests/a.rs::test", "doc::src/lib.rs - f (line 1)", which say where a test is
func loosely(name string) (forms []string) {
	if strings.Contains(name, "::") {
		forms = append(forms, inTarget(name))
	}
	if strings.ContainsAny(name, `#\`) {
		forms = append(forms, "tap "+strings.NewReplacer(`\\`, `\`, `\#`, `#`).Replace(name))
	}
	if token, _, _ := strings.Cut(name, " "); strings.Contains(token, "::") && strings.Contains(token, "[") {
		forms = append(forms, "token "+token)
	}
	test := name
	if _, inner, ok := strings.Cut(name, "::"); ok {
		test = inner
	}
	if goTest.MatchString(test) && !strings.ContainsAny(test, ":(") {
		forms = append(forms, "go "+strings.ReplaceAll(test, " ", "_"))
	}
	if dotted := dottedName(name); dotted != "" {
		forms = append(forms, "dotted "+dotted)
	}
	if class, test, ok := strings.Cut(name, "::"); ok && class == test {
		forms = append(forms, "plain "+test)
	} else if !strings.ContainsAny(name, ":.# ") {
		forms = append(forms, "plain "+name)
	}
	return forms
}

// shortened lists the forms of a test's name that SWE-bench's parsers make shorter. A declared
// name is such a form only as it is: two long ones may have one short form.
//
//   - jest: the title without those of what it is in
//   - pytest: a parameter that is a path by its last part, "[/tmp/x/a.py]" as "[/a.py]"
func shortened(name string) (forms []string) {
	if at := strings.LastIndex(name, " > "); at >= 0 {
		forms = append(forms, short(name[at+len(" > "):]))
	}
	if m := pathParameter.FindStringSubmatch(name); m != nil {
		forms = append(forms, short(m[1]+"[/"+path.Base(m[2])+"]"))
	}
	return forms
}

// short is the form of a name that may have been shortened.
func short(name string) string { return "short " + name }

// inTarget is the form of a name that begins with the target that the test is in.
func inTarget(name string) string { return "target " + name }

// dottedName writes a method of a class as "package.Class.method", "" for other names.
func dottedName(name string) string {
	if m := unittestMethod.FindStringSubmatch(name); m != nil {
		return strings.TrimSuffix(m[2], "."+m[1]) + "." + m[1]
	}
	for _, between := range []string{"::", "#", " > "} {
		if class, test, ok := strings.Cut(name, between); ok {
			name = class + "." + strings.TrimSuffix(test, "()")
			break
		}
	}
	if !dottedWords.MatchString(name) {
		return ""
	}
	return name
}
