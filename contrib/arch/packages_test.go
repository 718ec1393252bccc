package arch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A reader of a folder knows where to begin: doc.go, or main.go in a command.
func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	for path, p := range packages(t) {
		if p.Doc == "" {
			t.Errorf("%s has no package comment", path)
		}
		begin := "doc.go"
		if p.Name == "main" {
			begin = "main.go"
		}
		if !slices.Contains(p.GoFiles, begin) {
			t.Errorf("%s has no %s", path, begin)
		}
	}
}

func TestTheTopFolderHoldsNothingElse(t *testing.T) {
	house := []string{
		"README.md", "Makefile", "go.mod", "go.sum", "LICENSE", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md",
		"config", "reconcile", "runtime", "daemon", "docs", "examples", "systemd", "contrib",
		"bin", "bench.json", "bench-compare.json", // made by make, ignored by Git
	}
	entries, err := os.ReadDir(root(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), ".") && !slices.Contains(house, entry.Name()) {
			t.Errorf("%s has no place in the top folder", entry.Name())
		}
	}
}

// contributing is the page that gives each dependency its reason.
func contributing(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// dependency is one requirement of go.mod.
type dependency struct {
	Path     string
	Indirect bool
}

func TestEveryDependencyHasAReason(t *testing.T) {
	mod := list[struct{ Require []dependency }](t, "mod", "edit", "-json")[0]
	used := map[string]bool{}
	for _, p := range packages(t) {
		for _, imported := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if path := moduleOf(imported, mod.Require); path != "" {
				used[path] = true
			}
		}
	}
	_, table, _ := strings.Cut(contributing(t), "\n## Dependencies\n")
	reasons := reasons(table)
	for path := range used {
		if reasons[path] == "" {
			t.Errorf("%s is used, and CONTRIBUTING.md does not say why", path)
		}
	}
	for path := range reasons {
		if !slices.ContainsFunc(mod.Require, func(d dependency) bool { return d.Path == path }) {
			t.Errorf("CONTRIBUTING.md has a reason for %s, which is not in go.mod", path)
		}
	}
	for _, d := range mod.Require {
		if !d.Indirect && !used[d.Path] {
			t.Errorf("%s is in go.mod, and nothing uses it", d.Path)
		}
	}
}

// moduleOf returns the module that a package is from, "" for the standard library and
// our own.
func moduleOf(imported string, modules []dependency) string {
	longest := ""
	for _, d := range modules {
		if below(imported, d.Path) && len(d.Path) > len(longest) {
			longest = d.Path
		}
	}
	return longest
}

// reasons reads the rows "| `module` | reason |" of a page.
func reasons(page string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(page) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			continue
		}
		name, ok := strings.CutPrefix(strings.TrimSpace(cells[1]), "`")
		if ok && strings.HasSuffix(name, "`") {
			all[strings.TrimSuffix(name, "`")] = strings.TrimSpace(cells[2])
		}
	}
	return all
}
