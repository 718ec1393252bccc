package sanitize

import (
	"archive/tar"
	"maps"
	"path"
	"slices"

	"github.com/assayd/assayd/runtime/patch"
)

// removals are the paths that an archive says are gone. They are gone before anything of
// the archive is laid over the image, and with them the folders that held nothing else.
type removals struct {
	book    *Rulebook
	names   map[string]bool
	emptied map[string]bool // folders above them
	kept    map[string]bool // folders of the judge image that hold something still; nil = not looked at yet
}

// note takes an entry that says its path is gone.
func (a *archive) note(name string) {
	a.gone.names[name] = true
	delete(a.entries, name) // the last word on a name counts
}

// settle leaves out what no submission may remove, and what is replaced anyway. It returns
// how many were left out.
func (r *removals) settle(entries map[string]*entry) (dropped int) {
	for name := range r.names {
		if e := entries[name]; e != nil && e.kind != tar.TypeDir {
			delete(r.names, name)
		} else if !r.may(name) {
			delete(r.names, name)
			dropped++
		}
	}
	r.emptied = map[string]bool{}
	for name := range r.names {
		for dir := range Upwards(path.Dir(name)) {
			r.emptied[dir] = true
		}
	}
	return dropped
}

// may reports whether a path that could be submitted may be removed: a file, a link that is
// not another name for something hidden, or what is not there.
func (r *removals) may(name string) bool {
	if r.book.present[name] || r.book.holders[name] {
		return false // a folder
	}
	if r.book.own.stays(name) {
		return false
	}
	for dir := range Upwards(path.Dir(name)) {
		if _, ok := r.book.links[dir]; ok {
			return false
		}
	}
	target, ok := r.book.links[name]
	return !ok || target != "" && !r.book.touchesHidden(target)
}

// link says where a link of the judge image leads that is still there.
func (r *removals) link(name string) (target string, ok bool) {
	if r.names[name] {
		return "", false
	}
	target, ok = r.book.links[name]
	return target, ok
}

// clear reports whether the judge image has nothing at a path that is in the way of a file,
// or of a folder: nothing of the other kind, or nothing that stays.
func (r *removals) clear(name string, folder bool) bool {
	is, ok := r.book.present[name]
	switch {
	case !ok || is == folder:
		return true
	case folder:
		return r.names[name]
	}
	return r.emptied[name] && !r.holds(name)
}

// holds reports whether a folder of the judge image holds anything that stays.
func (r *removals) holds(dir string) bool {
	if r.kept == nil {
		r.kept = maps.Clone(r.book.holders)
		stays := func(name string) {
			for up := range Upwards(path.Dir(name)) {
				r.kept[up] = true
			}
		}
		for name, folder := range r.book.present {
			if folder && !r.emptied[name] || !folder && !r.names[name] {
				stays(name)
			}
		}
		for name := range r.book.links {
			if !r.names[name] {
				stays(name)
			}
		}
	}
	return r.kept[dir]
}

// write writes the entries, which come before all others.
func (r *removals) write(w *tar.Writer) error {
	for _, name := range slices.Sorted(maps.Keys(r.names)) {
		h := patch.Removal(name)
		h.ModTime = cleanTime
		if err := w.WriteHeader(h); err != nil {
			return err
		}
	}
	return nil
}
