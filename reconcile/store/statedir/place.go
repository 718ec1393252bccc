package statedir

import (
	"fmt"
	"os"
)

// CopiedError says that a state directory was copied together with its owner id. Two with
// one id would remove each other's containers.
type CopiedError struct {
	Dir  string // the copy
	From string // the one that it was copied from, which is still there
}

func (e *CopiedError) Error() string {
	return fmt.Sprintf("this state was copied from %s, which still uses it: remove %s to begin again", e.From, e.Dir)
}

// SameFolder reports whether two paths lead to one folder.
func SameFolder(a, b string) bool {
	first, err := os.Stat(a)
	second, serr := os.Stat(b)
	return err == nil && serr == nil && os.SameFile(first, second)
}
