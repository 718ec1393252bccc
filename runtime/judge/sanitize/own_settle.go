package sanitize

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"path"
	"slices"

	"github.com/assayd/assayd/runtime/judge/steer"
)

// sees notes a mark of an archive that is left out itself, as a file of a cache is.
func (o *ownership) sees(name string) {
	if o != nil && Mark(name) && len(o.added) < o.book.maxFiles {
		o.added[name] = true
	}
}

// bring notes the marks of an archive, once all of it is known. It reports whether that
// changes what is open.
func (o *ownership) bring(entries map[string]*entry) (changed bool) {
	if o == nil {
		return false
	}
	for name := range entries {
		if Mark(name) && !o.own.Marks[name] {
			o.added[name] = true
		}
	}
	changed = len(o.added) > 0
	if changed {
		clear(o.book.folders)
	}
	return changed
}

// settleOwn puts the runner's parts of mixed settings files into the archive's, and leaves out what
// cannot be read, and what the marks of the archive have shown to be derived.
func (a *archive) settleOwn() error {
	o := a.book.own
	if o == nil {
		return nil
	}
	var mixed []string
	changed := o.bring(a.entries)
	for name, e := range a.entries {
		switch {
		case changed && !a.book.open(name), o.settles(name) && e.kind == tar.TypeSymlink:
			a.stats.Dropped++
			delete(a.entries, name)
		case o.settles(name) && e.kind == tar.TypeReg:
			mixed = append(mixed, name)
		}
	}
	slices.Sort(mixed)
	for i, name := range mixed {
		if i >= MaxMixed { // nobody has so many, and each takes its time
			a.stats.Dropped++
			delete(a.entries, name)
			continue
		}
		if err := a.merge(a.entries[name]); err != nil {
			return err
		}
	}
	return nil
}

// merge gives an entry the content that it may have.
func (a *archive) merge(e *entry) error {
	o := a.book.own
	base := o.own.Settings[e.name]
	if base == nil && o.own.Marks[e.name] || e.size > steer.MaxMerged {
		a.stats.Dropped++
		delete(a.entries, e.name)
		return nil
	}
	submitted, err := io.ReadAll(a.spool.section(e.offset, e.size))
	if err != nil {
		return fmt.Errorf("read %q again: %w", e.name, err)
	}
	merged, ok := steer.Merge(e.name, base, submitted)
	switch {
	case !ok:
		a.stats.Dropped++
		delete(a.entries, e.name)
	case !bytes.Equal(merged, submitted):
		e.offset, e.size = a.spool.size, int64(len(merged))
		if _, err := a.spool.Write(merged); err != nil {
			return err
		}
	}
	return nil
}

// settles reports whether the runner's part of the file at a path is the image's.
func (o *ownership) settles(name string) bool {
	return o != nil && slices.Contains(o.mixed, path.Base(name))
}

// stays reports whether a settings file of the image cannot be removed.
func (o *ownership) stays(name string) bool {
	if o == nil {
		return false
	}
	_, ok := o.own.Settings[name]
	return ok && (path.Dir(name) == "." || o.book.holders[path.Dir(name)])
}
