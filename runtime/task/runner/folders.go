package runner

import (
	"path"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/patch"
)

// TestFolders are the folders from which files of tests may load what they need, by their
// paths: the one of tests that a file lies in, else those of data beside it. Sorted.
func TestFolders(files []string) (folders []string) {
	for _, name := range files {
		folders = append(folders, foldersOf(name)...)
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

func foldersOf(name string) []string {
	dir := path.Dir(path.Clean(name))
	parts := strings.Split(dir, "/")
	for i, part := range parts {
		switch strings.ToLower(part) {
		case "test", "tests", "__tests__", "e2e", "testdata", "test_data", "unittests", "unit_tests", "integration_tests", "integration-tests":
			return []string{path.Join(parts[:i+1]...)}
		case "spec", "specs", "testing", "t":
			if i == 0 && !strings.HasSuffix(name, "_test.go") {
				return []string{part}
			}
		}
	}
	var beside []string
	for _, data := range []string{"testdata", "__snapshots__", "__fixtures__", "__mocks__"} {
		beside = append(beside, path.Join(dir, data))
	}
	return beside
}

// Asked are the files of a solution that lie in folders of its hidden tests, which it is judged
// by: they are code that is asked for, although the tests may load them.
func Asked(tests []string, solution []byte) (files []string) {
	changed, err := patch.Paths(solution)
	if err != nil {
		return nil // whoever lays it says so
	}
	folders := TestFolders(tests)
	for _, name := range changed {
		if !slices.Contains(tests, name) && slices.ContainsFunc(folders, func(dir string) bool { return strings.HasPrefix(name, dir+"/") }) {
			files = append(files, name)
		}
	}
	return files
}
