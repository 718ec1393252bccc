package docker

import (
	"path"
	"slices"

	"github.com/assayd/assayd/runtime/container"
)

// inOrder is the argument vector of a command. A shell whose output and errors go to one
// writer gets one pipe for both. The engine reads two, and whoever is late with one of them
// makes lines change places: cargo says on one which tests it runs, and on the other how they
// came out.
func inOrder(c container.Command) []string {
	if len(c.Argv) == 0 || !slices.Contains([]string{"sh", "bash", "dash"}, path.Base(c.Argv[0])) || !oneWriter(c) {
		return c.Argv
	}
	return append([]string{c.Argv[0], "-c", `exec "$0" "$@" 2>&1`}, c.Argv...)
}

// oneWriter reports whether output and errors go to the same place.
func oneWriter(c container.Command) (same bool) {
	defer func() {
		if recover() != nil { // writers that cannot be compared are two
			same = false
		}
	}()
	return c.Stdout != nil && c.Stdout == c.Stderr
}
