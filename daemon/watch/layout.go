package watch

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// layout is what has to be watched so that no change under the roots is missed. All
// paths in it are real: absolute and free of links.
type layout struct {
	roots []string                   // where the roots lead to at present
	trees map[string]bool            // folders whose every entry matters
	names map[string]map[string]bool // folders of which only these entries matter

	lists  map[string]listing // of trees
	before map[string]listing // of the layout that this one takes the place of
}

// newLayout returns an empty layout, which need not read again what the last one has read.
func newLayout(last *layout) *layout {
	l := &layout{trees: map[string]bool{}, names: map[string]map[string]bool{}, lists: map[string]listing{}}
	if last != nil {
		l.before = last.lists
	}
	return l
}

// concerns tells whether a change of path can matter: an entry of interest, or a watched
// folder itself.
func (l *layout) concerns(path string) bool {
	dir, name := filepath.Dir(path), filepath.Base(path)
	return l.trees[dir] || l.names[dir][name] || l.watches(path)
}

func (l *layout) watches(dir string) bool {
	return l.trees[dir] || l.names[dir] != nil
}

// size is the number of watches, a folder of both kinds counted twice.
func (l *layout) size() int {
	return len(l.trees) + len(l.names)
}

// inside tells whether a real path lies under a root.
func (l *layout) inside(path string) bool {
	for _, root := range l.roots {
		if path == root || strings.HasPrefix(path, strings.TrimSuffix(root, "/")+"/") {
			return true
		}
	}
	return false
}

// hidden folders hold data, never specs.
func hidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
