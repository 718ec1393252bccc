package proof

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/assayd/assayd/runtime/mining/statement/code"
)

// minName is how long the name of a test has to be, in bytes, to be told from those of others.
const minName = 8

// ranHidden reports whether any test that ran with the fix is known to be a hidden one. What
// runners call a test does not always tell where it stands: false may mean that nobody knows.
func (p *prover) ranHidden() bool {
	files := code.Files(p.c.Task.Judge.Patch)
	for _, s := range p.after {
		for name, w := range s.ways {
			if w != absent && slices.ContainsFunc(files, func(f code.File) bool { return isOf(name, f) }) {
				return true
			}
		}
	}
	return false
}

// rootPackage is how long the path of a module mostly is.
var rootPackage = regexp.MustCompile(`^[^/]+(/[^/]+){0,2}(/v[0-9]+)?$`)

// isOf reports whether a test is of a file: its name has the file or the package, or a name
// that the patch gives to a test there.
func isOf(name string, f code.File) bool {
	group, dir := groupOf(name), path.Dir(f.Name)
	if group != "" && (group == f.Name || strings.HasSuffix(f.Name, "/"+group)) {
		return true
	}
	all := steps(name)
	if code.LanguageOf(f.Name) == code.Go {
		if dir == "." && rootPackage.MatchString(group) || strings.HasSuffix("/"+group, "/"+dir) {
			return true
		}
	} else if place := lastSteps(strings.TrimSuffix(f.Name, path.Ext(f.Name))); place != "" && strings.Contains(all, place) {
		return true
	}
	return slices.ContainsFunc(f.TestNames(), func(given string) bool {
		return len(given) >= minName && strings.Contains(all, steps(given))
	})
}

// steps are the words of a name, with slashes around them.
func steps(name string) string {
	return "/" + strings.Join(strings.FieldsFunc(name, func(c rune) bool {
		return c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c)
	}), "/") + "/"
}

// lastSteps are the last two words of a path; one alone could be anybody's.
func lastSteps(name string) string {
	words := strings.Split(strings.Trim(steps(name), "/"), "/")
	if len(words) < 2 {
		return ""
	}
	return "/" + strings.Join(words[len(words)-2:], "/") + "/"
}
