package arch

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// tables are the headings of README.md below which a table has to have so many rows, with
// what stands before their numbers.
var tables = []struct {
	heading, prefix string
	rows            int
}{
	{"## Weaknesses of SForge", "W-", 75},
	{"## Pains of users of other harnesses", "", 40},
}

// named is a test as a row names it.
var named = regexp.MustCompile("`([a-z0-9/]+ (?:Test|Fuzz)\\w+)`")

// Each number has its row, in order; each test that is named is there; and a row without
// one says why.
func TestEveryRowOfTheTablesHolds(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	there := testsOf(t, "../..")
	for _, table := range tables {
		_, rest, found := strings.Cut(string(page), table.heading+"\n")
		if !found {
			t.Fatalf("README.md has no %q", table.heading)
		}
		rest, _, _ = strings.Cut(rest, "\n## ")
		rows := 0
		for line := range strings.Lines(rest) {
			cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
			if !strings.HasPrefix(line, "|") || strings.TrimSpace(cells[0]) == "number" || strings.HasPrefix(cells[0], "---") {
				continue
			}
			rows++
			checkRow(t, fmt.Sprintf("%s%d", table.prefix, rows), cells, there)
		}
		if rows != table.rows {
			t.Errorf("%s: %d rows, want %d", table.heading, rows, table.rows)
		}
	}
}

// The rows of what was found in assayd itself have numbers above those of SForge, which rise and
// may have gaps.
func TestEveryRowOfOurOwnHolds(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	there := testsOf(t, "../..")
	_, rest, found := strings.Cut(string(page), "## Weaknesses of our own\n")
	if !found {
		t.Fatal(`README.md has no "## Weaknesses of our own"`)
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	last := 75
	for line := range strings.Lines(rest) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		number, isRow := strings.CutPrefix(strings.TrimSpace(cells[0]), "W-")
		if !isRow {
			continue
		}
		n, err := strconv.Atoi(number)
		if err != nil || n <= last {
			t.Errorf("row W-%s follows W-%d", number, last)
		}
		last = n
		checkRow(t, "W-"+number, cells, there)
	}
}

func checkRow(t *testing.T, number string, cells []string, there map[string]bool) {
	t.Helper()
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	if len(cells) != 4 || cells[0] != number || cells[1] == "" || cells[2] == "" {
		t.Errorf("%q stands where row %s should, with its number, two sentences and its tests", cells, number)
		return
	}
	tests := named.FindAllStringSubmatch(cells[3], -1)
	for _, name := range tests {
		if !there[name[1]] {
			t.Errorf("%s (%s): there is no test %s", number, cells[1], name[1])
		}
	}
	if rest := strings.Trim(named.ReplaceAllString(cells[3], ""), ", "); rest != "" {
		t.Errorf("%s: %q is not the name of a test", number, rest)
	}
	if len(tests) == 0 && !strings.HasPrefix(cells[2], "does not apply: ") && !strings.HasPrefix(cells[2], "waits for ") {
		t.Errorf("%s (%s): neither a test nor a reason", number, cells[1])
	}
}

// testsOf lists the tests and fuzz targets of the tree, as "folder TestName", those that a
// build tag keeps for later among them.
func testsOf(t *testing.T, root string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	declaration := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(name))
		for _, m := range declaration.FindAllSubmatch(text, -1) {
			found[filepath.ToSlash(dir)+" "+string(bytes.TrimSpace(m[1]))] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
