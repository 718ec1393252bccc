package runner

import (
	"errors"
	"strings"

	"github.com/assayd/assayd/runtime/patch"
)

// Files returns the names of the files that a patch of tests may touch, sorted. An empty one
// touches none.
func Files(diff []byte) ([]string, error) {
	names, err := patch.Paths(diff)
	if errors.Is(err, patch.ErrEmpty) {
		return nil, nil
	}
	return names, err
}

// Pattern is a pattern of submit.exclude that means just this file.
func Pattern(name string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`).Replace(name)
}
