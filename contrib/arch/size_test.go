package arch

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// How large a package may be: someone new finds the room for a change within a minute.
const (
	maxFiles = 25    // of production code
	maxLines = 3_500 // in them
)

// maxPackage is for packages that are lists: a file for a command, a block of the language, or a parser.
var maxPackage = map[string][2]int{
	"daemon/cli":           {60, 10_000},
	"config":               {60, 10_000},
	"runtime/judge/parser": {60, 8_000},
}

// No package is a flat room in which nothing is found.
func TestPackagesHaveABound(t *testing.T) {
	for path, p := range packages(t) {
		entries, err := os.ReadDir(p.Dir)
		if err != nil {
			t.Fatal(err)
		}
		files, lines := 0, 0
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
				continue
			}
			text, err := os.ReadFile(filepath.Join(p.Dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			files, lines = files+1, lines+bytes.Count(text, []byte("\n"))
		}
		most, listed := maxPackage[path]
		if !listed {
			most = [2]int{maxFiles, maxLines}
		}
		if files > most[0] || lines > most[1] {
			t.Errorf("%s has %d files and %d lines, and may have %d and %d: give a part of it a package of its own", path, files, lines, most[0], most[1])
		}
	}
}
