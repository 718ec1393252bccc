package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// maxSpec bounds a spec file, in bytes.
const maxSpec = 4 << 20

// ErrEmpty says that a root holds nothing at all, as a mount point does whose file system
// is not there. Records do not count: they may be written there meanwhile.
var ErrEmpty = errors.New("the folder is empty")

// Unknown is a file or folder that could not be looked at: what it holds is neither there
// nor gone.
type Unknown struct {
	Path string // absolute
	Err  error
}

// Found is what one look at a root has found.
type Found struct {
	Inputs   []Input // also one without a text for each Previous file that is unknown
	Unknown  []Unknown
	Snapshot StatSnapshot // of it all
}

// Scan finds the spec files below a root: *.hcl, but not in folders that a spec names as
// data, nor in those beginning with . or _, nor beyond links that leave the root. Each file
// is listed once. Between two files that name each other's folder as data, the one that was
// accepted before is right, then the one higher up: a file that an agent writes cannot
// make a spec disappear.
func Scan(root string, prev Previous, o Options) *Found { return scanAt(time.Now(), root, prev, o) }

func scanAt(now time.Time, root string, prev Previous, o Options) *Found {
	if o.Settings == nil {
		o.Settings = DefaultSettings(o.Env)
	}
	s := &scan{root: filepath.Clean(root), prev: prev, o: &o, data: map[string]bool{}, around: map[string]bool{}, seen: map[string]bool{}, read: map[string][]byte{}, reals: map[string]string{}}
	s.found.Snapshot.at = now
	if err := s.open(); err != nil {
		s.unknown(s.root, err)
		return &s.found
	}
	defer s.dir.Close()
	for _, path := range sortedKeys(prev) {
		if prev[path].Root == s.root {
			if text, err := s.text(path); !errors.Is(err, fs.ErrNotExist) {
				s.listen(path, text)
			}
		}
	}
	s.folders = []string{s.root}
	for len(s.folders)+len(s.links) > 0 {
		if len(s.folders) > 0 {
			next := s.folders[0]
			s.folders = s.folders[1:]
			s.folder(next)
			continue
		}
		next := s.links[0] // last, so that what is there under its own name keeps it
		s.links = s.links[1:]
		s.link(next)
	}
	s.drop()
	return &s.found
}

// scan is one look at a root.
type scan struct {
	root, real string
	dir        *os.Root // real
	prev       Previous
	o          *Options
	found      Found
	folders    []string        // still to be read, higher ones first
	links      []string        // still to be followed
	data       map[string]bool // folders named as data, without links
	around     map[string]bool // folders of specs that name a folder around themselves: data is what is in folders below
	seen       map[string]bool // folders and files, without links
	read       map[string][]byte
	reals      map[string]string // without links: the files that were found, and folders of those that were read
}

func (s *scan) open() error {
	s.found.Snapshot.follow(s.root)
	real, err := filepath.EvalSymlinks(s.root)
	if err != nil {
		return err
	}
	s.real = real
	entries, err := os.ReadDir(real)
	if err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return filepath.Ext(e.Name()) != ".jsonl" }) {
		err = ErrEmpty
	}
	if err == nil {
		s.dir, err = os.OpenRoot(real)
	}
	return err
}

// text reads a spec file, once in a look. The usual one, which is reached without a link, is
// read without a question about each folder on the way: there may be ten thousand.
func (s *scan) text(path string) (text []byte, err error) {
	if text, ok := s.read[path]; ok {
		return text, nil
	}
	s.found.Snapshot.note(path)
	folder := filepath.Dir(path)
	real, ok := s.reals[folder]
	if !ok {
		if real, err = filepath.EvalSymlinks(folder); err != nil {
			return nil, err
		}
		s.reals[folder] = real
	}
	rel, err := filepath.Rel(s.real, filepath.Join(real, filepath.Base(path)))
	if err == nil {
		text, err = readRegular(s.dir, rel, maxSpec)
	}
	if err != nil {
		text, err = readBelow(s.root, path, maxSpec)
	}
	if err == nil {
		s.read[path] = text
	}
	return text, err
}

// unknown notes that nothing is known below a path: what was accepted there stays.
func (s *scan) unknown(path string, err error) {
	s.found.Snapshot.vague = true
	s.found.Unknown = append(s.found.Unknown, Unknown{path, err})
	for _, known := range sortedKeys(s.prev) {
		if s.prev[known].Root == s.root && within(known, path) {
			s.found.Inputs = append(s.found.Inputs, s.input(known, nil, err))
		}
	}
}

func (s *scan) input(path string, text []byte, err error) Input {
	in := Input{Path: path, Display: path, Root: s.root, Text: text}
	if rel, rerr := filepath.Rel(s.root, path); rerr == nil {
		in.Display = filepath.ToSlash(rel)
	}
	switch {
	case errors.Is(err, errTooLarge) || errors.Is(err, errNotRegular):
		in.Refused = sentence(err)
	case err != nil:
		in.Unknown = plain(err).Error()
	}
	return in
}

// folder reads one folder, and notes what is below.
func (s *scan) folder(path string) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		s.unknown(path, err)
		return
	}
	if s.seen[real] || s.isData(path) || s.isData(real) {
		return
	}
	s.seen[real] = true
	entries, err := s.found.Snapshot.list(real)
	if err != nil {
		s.unknown(path, err)
		return
	}
	for _, entry := range entries {
		name, full := entry.Name(), filepath.Join(path, entry.Name())
		switch {
		case strings.HasPrefix(name, "."):
		case entry.IsDir():
			if !strings.HasPrefix(name, "_") {
				s.folders = append(s.folders, full)
			}
		case entry.Type() == fs.ModeSymlink:
			s.links = append(s.links, full)
		case isSpec(name):
			s.file(full, filepath.Join(real, name))
		}
	}
}

func isSpec(name string) bool { return filepath.Ext(name) == ".hcl" }

// link follows a symbolic link that stays in the root.
func (s *scan) link(path string) {
	s.found.Snapshot.follow(path)
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		s.broken(path, err)
		return
	}
	info, err := os.Stat(real)
	switch {
	case err != nil:
		s.broken(path, err)
	case !within(real, s.real):
	case info.IsDir():
		if !strings.HasPrefix(filepath.Base(path), "_") {
			s.folders = append(s.folders, path)
		}
	case isSpec(path):
		s.file(path, real)
	}
}

// broken notes a link that leads nowhere, as while links are swapped, if something was
// accepted under it.
func (s *scan) broken(path string, err error) {
	for known := range s.prev {
		if within(known, path) {
			s.unknown(path, err)
			return
		}
	}
}

func (s *scan) file(path, real string) {
	if s.seen[real] || s.isData(filepath.Dir(path)) || s.isData(filepath.Dir(real)) {
		return
	}
	s.seen[real] = true
	s.reals[path] = real
	text, err := s.text(path)
	if err != nil {
		text = nil
	}
	in := s.input(path, text, err)
	in.Changed = changedAt(real) // after reading: of what is changed in between, nothing has settled
	s.found.Inputs = append(s.found.Inputs, in)
	s.listen(path, text)
}

// changedAt is when a file's text, name or rights last changed, zero if that cannot be told.
// Unlike the time of its text, nobody can set it: a copy that keeps times is as new as it is.
func changedAt(path string) time.Time {
	t := traceOf(path)
	if t.missing {
		return time.Time{}
	}
	return t.changedAt()
}

// drop removes files that lie in a folder which was named after they were found.
func (s *scan) drop() {
	kept := s.found.Inputs[:0]
	for _, in := range s.found.Inputs {
		real := s.reals[in.Path]
		if real == "" { // it was not found
			var err error
			if real, err = filepath.EvalSymlinks(in.Path); err != nil {
				real = in.Path
			}
		}
		if !s.isData(filepath.Dir(in.Path)) && !s.isData(filepath.Dir(real)) {
			kept = append(kept, in)
		}
	}
	s.found.Inputs = kept
}

// isData reports whether a folder is or lies in one that is named as data.
func (s *scan) isData(folder string) bool {
	if s.data[folder] {
		return true
	}
	for dir := filepath.Dir(folder); within(dir, s.root) || within(dir, s.real); dir = filepath.Dir(dir) {
		if s.data[dir] || s.around[dir] {
			return true
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return false
}

// listen notes the folders that a file names as data, unless it lies in one itself. A text
// that cannot be read through also counts with what was accepted of it before.
func (s *scan) listen(path string, text []byte) {
	own := filepath.Dir(path)
	if s.isData(own) {
		return
	}
	last := s.prev[path]
	sum := sha256.Sum256(text)
	if last.Hash == hex.EncodeToString(sum[:]) {
		s.name(own, last.Blocks.dataFolders())
		return
	}
	if len(last.Blocks.dataFolders()) == 0 && !mayNameFolder(text) {
		return // whether it can be read through or not
	}
	named, sound := newFile(s.input(path, text, nil), s.o).dataFolders()
	if !sound || text == nil {
		named = append(named, last.Blocks.dataFolders()...)
	}
	s.name(own, named)
}

func (s *scan) name(own string, folders []string) {
	for _, folder := range folders {
		if within(own, folder) {
			s.around[own] = true
			continue
		}
		s.data[folder] = true
		if real, err := evalExisting(folder); err == nil {
			s.data[real] = true
		}
	}
}

// String names what is unknown and why.
func (u Unknown) String() string { return fmt.Sprintf("%s: %v", u.Path, plain(u.Err)) }
