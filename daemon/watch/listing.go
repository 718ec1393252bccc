package watch

import (
	"io/fs"
	"os"
	"time"

	"github.com/assayd/assayd/runtime/kernel"
)

// listing is what leads on from a folder. Files in it are of no interest: their changes are
// the folder's.
type listing struct {
	folders, links []string
	seen           mark
}

// mark tells whether the entries of a folder are the same as before: the kernel moves its
// change time with each that comes or goes.
type mark = kernel.File

// youngMark is for how long another change may leave the change time as it is: file systems
// count it in steps, of two seconds at most.
const youngMark = 2 * time.Second

// markOf marks a folder as it is now. The mark of one that is not there is the zero mark.
func markOf(dir string) (m mark) {
	m, _ = kernel.Stat(dir)
	return m
}

// list reads what leads on from a folder, unless that is known from the survey before: ten
// thousand files would be listed every half minute for the few folders among them.
func (w *watcher) list(dir string) (listing, error) {
	now := markOf(dir)
	known, ok := w.layout.before[dir]
	if !ok || known.seen != now {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return listing{}, err
		}
		known = listing{seen: now}
		for _, entry := range entries {
			switch {
			case entry.IsDir() && !hidden(entry.Name()):
				known.folders = append(known.folders, entry.Name())
			case entry.Type()&fs.ModeSymlink != 0:
				known.links = append(known.links, entry.Name())
			}
		}
	}
	if now != (mark{}) && time.Since(time.Unix(now.Changed.Unix())) > w.young {
		w.layout.lists[dir] = known
	}
	return known, nil
}
