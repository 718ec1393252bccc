package sanitize

import (
	"archive/tar"
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/patch"
)

// Stats is what cleaning did.
type Stats struct {
	Entries int   // kept
	Dropped int   // left out: excluded, hidden, protected, or a link that must not be
	Bytes   int64 // content of the files kept
}

// cleanTime is the modification time of all entries, so that equal trees are equal blobs.
var cleanTime = time.Unix(0, 0).UTC()

// Clean reads a hostile tar or tar.gz archive and writes a tar of what may be submitted:
// sorted, each folder before its content, without owners, times, special bits or hard
// links. What the archive says is gone comes first. What cannot be an honest archive (absolute paths, parent folders, devices, bombs)
// refuses all of it with a *Refusal; what is excluded or hidden is left out and counted.
// Extracted over the judge image the result changes no path that the rules hide.
func Clean(r io.Reader, w io.Writer, rules Rules) (Stats, error) {
	book, err := NewRulebook(rules)
	if err != nil {
		return Stats{}, err
	}
	s, err := newSpool(rules.Spool)
	if err != nil {
		return Stats{}, err
	}
	defer s.close()
	a := &archive{book: book, spool: s, entries: map[string]*entry{}, gone: removals{book: book, names: map[string]bool{}}}
	in := newIntake(r, book)
	if err := a.read(in); err != nil {
		return Stats{}, err
	}
	if err := in.drain(); err != nil {
		return Stats{}, err
	}
	if err := a.settle(); err != nil {
		return Stats{}, err
	}
	if err := in.raw.grown(a.stats.Bytes); err != nil {
		return Stats{}, err // by copies of one file
	}
	if err := a.write(w); err != nil {
		return Stats{}, fmt.Errorf("write the cleaned archive: %w", err)
	}
	return a.stats, nil
}

// archive is a tree taking shape: the last entry of a name wins.
type archive struct {
	book    *Rulebook
	spool   *spool
	entries map[string]*entry
	gone    removals
	seen    int
	stats   Stats
}

type entry struct {
	name   string
	kind   byte // tar.TypeReg, TypeDir or TypeSymlink
	mode   int64
	offset int64 // of the content in the spool
	size   int64
	target string // of a link, relative to the workdir
}

func (a *archive) read(in *intake) error {
	for {
		h, err := in.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		a.seen++
		if most := a.book.slack*a.book.maxFiles + 1000; a.seen > most || len(a.book.folders) > most || len(a.entries)+len(a.gone.names) > a.book.maxFiles {
			return tooMany(a.book.maxFiles)
		}
		name, err := normalise(h.Name)
		if err != nil {
			return err
		}
		if name == "." {
			continue
		}
		if !a.book.open(name) {
			a.book.own.sees(name)
			a.stats.Dropped++
			continue
		}
		if whole := len(path.Join(a.book.workdir, name)); whole > maxName {
			return round.Refuse(400, "the archive holds a path of %d bytes, counted with the workdir; %d is the most", whole, maxName)
		}
		if patch.Removes(h) {
			a.note(name)
			continue
		}
		if err := a.add(name, h, in); err != nil {
			return err
		}
	}
}

func (a *archive) add(name string, h *tar.Header, in *intake) error {
	e := &entry{name: name, kind: h.Typeflag, mode: h.Mode & 0o777}
	switch h.Typeflag {
	case tar.TypeDir:
		e.mode |= 0o700
	case tar.TypeReg, tar.TypeCont, tar.TypeGNUSparse:
		e.kind = tar.TypeReg
		if err := a.keepContent(e, h.Size, in); err != nil {
			return err
		}
	case tar.TypeSymlink:
		if !a.link(e, h.Linkname) {
			a.stats.Dropped++
			delete(a.entries, name)
			return nil
		}
	case tar.TypeLink:
		return a.hardlink(e, h.Linkname)
	default:
		return round.Refuse(400, "the archive holds %q, which is a device, a pipe or the like (type %q)", h.Name, h.Typeflag)
	}
	a.entries[name] = e
	return nil
}

func (a *archive) keepContent(e *entry, size int64, in *intake) error {
	e.mode |= 0o600
	if size > a.book.maxBytes-a.spool.size {
		return tooLarge(a.book.maxBytes)
	}
	e.offset = a.spool.size
	n, err := in.copyTo(a.spool)
	e.size = n
	return err
}

// link notes where a symbolic link leads, by its text. It returns false for a place that
// is not below the workdir.
func (a *archive) link(e *entry, target string) bool {
	if path.IsAbs(target) || checkName(target) != nil {
		return false
	}
	e.target = path.Join(path.Dir(e.name), target)
	return e.target != "." && e.target != ".." && !strings.HasPrefix(e.target, "../")
}

// hardlink makes a copy of an earlier file of the archive. A link to anything else, above
// all to a file that was left out or that only the judge image has, is left out.
func (a *archive) hardlink(e *entry, target string) error {
	origin, err := normalise(target)
	if err != nil {
		return err
	}
	if origin == e.name {
		return nil
	}
	from, ok := a.entries[origin]
	if !ok || from.kind != tar.TypeReg {
		a.stats.Dropped++
		delete(a.entries, e.name)
		return nil
	}
	e.kind, e.mode, e.offset, e.size = tar.TypeReg, from.mode, from.offset, from.size
	a.entries[e.name] = e
	return nil
}

// settle leaves out what cannot stay beside the other entries and the judge image, and
// adds the folders that the archive took for granted.
func (a *archive) settle() error {
	if err := a.settleOwn(); err != nil {
		return err
	}
	a.stats.Dropped += a.gone.settle(a.entries)
	kept := map[string]*entry{}
	if len(a.gone.names) > a.book.maxFiles {
		return tooMany(a.book.maxFiles)
	}
	for name, e := range a.entries {
		if !a.fits(e) {
			a.stats.Dropped++
			continue
		}
		kept[name] = e
		for dir := range Upwards(path.Dir(name)) {
			if kept[dir] != nil || a.entries[dir] != nil {
				continue
			}
			folder := &entry{name: dir, kind: tar.TypeDir, mode: 0o755}
			if a.book.open(dir) && a.fits(folder) {
				kept[dir] = folder
			}
		}
		if len(kept)+len(a.gone.names) > a.book.maxFiles {
			return tooMany(a.book.maxFiles)
		}
	}
	a.entries = kept
	for name, e := range kept {
		if !a.gone.clear(name, e.kind == tar.TypeDir) {
			return round.Refuse(400, "the judge image has %q as a file where the archive has a folder, or the other way round", name)
		}
		if a.stats.Bytes += e.size; a.stats.Bytes > a.book.maxBytes {
			return tooLarge(a.book.maxBytes)
		}
	}
	a.stats.Entries = len(kept) + len(a.gone.names)
	return nil
}

// fits reports whether the entry may be laid over the judge image, next to the others.
func (a *archive) fits(e *entry) bool {
	if a.book.holders[e.name] {
		return false // the folder of a hidden file stays as the image made it
	}
	for dir := range Upwards(path.Dir(e.name)) {
		if up, ok := a.entries[dir]; ok && up.kind != tar.TypeDir {
			return false
		}
		if _, ok := a.gone.link(dir); ok {
			return false
		}
	}
	if target, ok := a.gone.link(e.name); ok {
		// A link of the image may be replaced, unless it is another name for something
		// hidden or for a place that no submission can reach.
		if e.kind == tar.TypeDir || target == "" || a.book.touchesHidden(target) {
			return false
		}
	}
	return e.kind != tar.TypeSymlink || a.leadsWell(e)
}

// leadsWell reports whether a link's target could itself be submitted. The text of a link
// says where it leads only when no other link is on the way.
func (a *archive) leadsWell(e *entry) bool {
	if !a.book.open(e.target) {
		return false
	}
	for dir := range Upwards(path.Dir(e.target)) {
		if _, ok := a.gone.link(dir); ok {
			return false
		}
		if on, ok := a.entries[dir]; ok && on.kind == tar.TypeSymlink {
			return false
		}
	}
	if target, ok := a.gone.link(e.target); ok {
		return target != "" && a.book.open(target)
	}
	return true
}

func (a *archive) write(w io.Writer) error {
	buffered := bufio.NewWriterSize(w, 256<<10)
	tw := tar.NewWriter(buffered)
	if err := a.gone.write(tw); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(a.entries)) {
		e := a.entries[name]
		h := &tar.Header{Typeflag: e.kind, Name: name, Mode: e.mode, Size: e.size, ModTime: cleanTime}
		switch e.kind {
		case tar.TypeDir:
			h.Name += "/"
		case tar.TypeSymlink:
			h.Mode, h.Linkname = 0o777, relative(path.Dir(name), e.target)
		}
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
		if e.kind == tar.TypeReg {
			if _, err := io.Copy(tw, a.spool.section(e.offset, e.size)); err != nil {
				return err
			}
		}
	}
	return errors.Join(tw.Close(), buffered.Flush())
}

// relative is the shortest way from a folder to a path, both clean and relative.
func relative(dir, target string) string {
	from, to := strings.Split(dir, "/"), strings.Split(target, "/")
	if dir == "." {
		from = nil
	}
	for len(from) > 0 && len(to) > 1 && from[0] == to[0] {
		from, to = from[1:], to[1:]
	}
	return strings.Repeat("../", len(from)) + strings.Join(to, "/")
}
