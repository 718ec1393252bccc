package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// maxLinks bounds the links on the way to one root, as the kernel does.
const maxLinks = 40

// refresh makes the watches agree with the folders that are there now.
func (w *watcher) refresh() {
	trouble := w.update()
	w.stale = false
	switch {
	case trouble != nil && trouble.Error() != w.trouble:
		w.trouble = trouble.Error()
		w.log.Warn("some folders cannot be watched; changes there are found by looking now and then",
			"every", w.poll, "reason", w.trouble)
	case trouble == nil && w.trouble != "":
		w.trouble = ""
		w.log.Info("all folders are watched again")
	}
}

func (w *watcher) update() error {
	if w.broken {
		w.disconnect()
		w.broken = false
	}
	if w.fs == nil {
		if err := w.connect(); err != nil {
			return err
		}
	}
	err := w.survey()
	// A folder that was moved keeps its watch under its old name, and its new name was
	// taken for watched. Dropping the old one dropped both: survey again.
	for round := 0; round < 3 && w.dropStale(); round++ {
		err = w.survey()
	}
	return err
}

// survey follows every root and watches all that matters on the way and below.
func (w *watcher) survey() error {
	w.layout = newLayout(w.layout)
	var trouble error
	for _, root := range w.roots {
		dir, err := w.follow(root)
		trouble = errors.Join(trouble, err)
		if dir != "" {
			w.layout.roots = append(w.layout.roots, dir)
		}
	}
	for _, dir := range w.layout.roots {
		trouble = errors.Join(trouble, w.walk(dir))
	}
	return trouble
}

// maxFollows bounds how often a path is followed anew because it changed meanwhile.
const maxFollows = 100

// follow returns the real folder that path leads to, "" when there is none. It watches
// the places where that can change: the parent of every link, the parent of the folder
// itself, and where the path ends too early, the folder in which it would go on.
func (w *watcher) follow(path string) (dir string, err error) {
	for range maxFollows {
		if dir, err = w.followOnce(path); !errors.Is(err, errMoved) {
			return dir, err
		}
	}
	return "", fmt.Errorf("watch %q: it changes all the time", path)
}

// errMoved says that the folder in which a path ended has gone meanwhile: nothing would ever
// be heard of it.
var errMoved = errors.New("the folder has moved")

func (w *watcher) followOnce(path string) (string, error) {
	dir, rest := "/", strings.Split(path, "/")
	links := 0
	var trouble error
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			dir = filepath.Dir(dir)
			continue
		}
		next := filepath.Join(dir, name)
		link := isLink(next)
		if len(rest) == 0 || link || !isDir(next) {
			// Watch first, look then: the other way round, a change in between is lost.
			trouble = errors.Join(trouble, w.watchName(dir, name))
		}
		target, err := os.Readlink(next)
		switch {
		case err == nil:
			if links++; links > maxLinks {
				return "", errors.Join(trouble, fmt.Errorf("watch %q: too many links", path))
			}
			if filepath.IsAbs(target) {
				dir = "/"
			}
			rest = append(strings.Split(target, "/"), rest...)
		case isDir(next):
			dir = next
		case !isDir(dir):
			return "", errMoved
		default:
			return "", trouble
		}
	}
	return dir, trouble
}

// walk watches a real folder and those below, nearest first so that the limit cuts off
// the deepest, without folders whose name begins with a dot or an underscore. Links are
// followed as long as they stay under a root.
func (w *watcher) walk(dir string) error {
	var trouble error
	for queue := []string{dir}; len(queue) > 0; queue = queue[1:] {
		dir := queue[0]
		if w.layout.trees[dir] {
			continue
		}
		w.layout.trees[dir] = true
		// Before listing it: what is made in between is then an event.
		if err := w.add(dir); err != nil {
			if errors.Is(err, errLimit) {
				delete(w.layout.trees, dir)
				return err
			}
			trouble = errors.Join(trouble, err)
		}
		found, err := w.list(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			trouble = errors.Join(trouble, fmt.Errorf("list a watched folder: %w", err))
		}
		for _, name := range found.folders {
			queue = append(queue, filepath.Join(dir, name))
		}
		for _, name := range found.links {
			target, err := filepath.EvalSymlinks(filepath.Join(dir, name))
			switch {
			case err != nil || !w.layout.inside(target):
			case isDir(target):
				queue = append(queue, target)
			default:
				trouble = errors.Join(trouble, w.watchName(filepath.Dir(target), filepath.Base(target)))
			}
		}
	}
	return trouble
}

// grow watches what was just made at path, when it is a folder in a watched tree.
func (w *watcher) grow(path string) {
	if !w.layout.trees[filepath.Dir(path)] || hidden(filepath.Base(path)) || isLink(path) || !isDir(path) {
		return
	}
	// A folder of that name may have been there before: its watch is not on this one.
	delete(w.layout.trees, path)
	if err := w.walk(path); err != nil {
		// The refresh before the next pulse meets the same trouble and reports it.
		w.log.Debug("watching a new folder", "path", path, "error", err)
	}
}

func (w *watcher) watchName(dir, name string) error {
	if w.layout.names[dir] == nil {
		w.layout.names[dir] = map[string]bool{}
	}
	w.layout.names[dir][name] = true
	return w.add(dir)
}

var errLimit = errors.New("too many folders to watch")

func (w *watcher) add(dir string) error {
	if w.layout.size() > w.limit {
		return fmt.Errorf("%w: more than %d", errLimit, w.limit)
	}
	err := w.fs.Add(dir)
	if err == nil || errors.Is(err, fs.ErrNotExist) { // gone meanwhile: its parent tells
		return nil
	}
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("%w: the kernel's fs.inotify.max_user_watches is reached", errLimit)
	}
	return fmt.Errorf("watch folder %q: %w", dir, err)
}

// dropStale removes the watches that the layout does not want, and tells whether there
// were any.
func (w *watcher) dropStale() bool {
	dropped := false
	for _, dir := range w.fs.WatchList() {
		if w.layout.watches(dir) {
			continue
		}
		dropped = true
		if err := w.fs.Remove(dir); err != nil && !errors.Is(err, fsnotify.ErrNonExistentWatch) {
			// The folder is gone, and its watch with it.
			w.log.Debug("dropping the watch of a folder", "path", dir, "error", err)
		}
	}
	return dropped
}
