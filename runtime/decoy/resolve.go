package decoy

import (
	"maps"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/decoy/source"
)

// resolver finds tests by their names.
type resolver struct {
	lang   *language
	units  map[*file][]unit
	owners map[*file][]int // see owners
	byName map[string][]place
	each   []place // tests whose names are formats
	rows   map[place]map[string][]row
	known  map[want]found // what was looked for before
	left   string         // why files were left out
}

// place is where a test is: a unit of a file, or a part of it.
type place struct {
	file *file
	unit *unit
	source.Span
	title int // the place of a string that names it; 0 = none
}

// maxEach bounds how many tests have names that are formats.
const maxEach = 256

func newResolver(lang *language, files map[string][]byte) *resolver {
	r := &resolver{lang: lang, units: map[*file][]unit{}, owners: map[*file][]int{}, byName: map[string][]place{}, rows: map[place]map[string][]row{}, known: map[want]found{}}
	total := 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !lang.owns(name) {
			continue
		}
		if total += len(files[name]); len(files[name]) > maxFile || total > maxFiles {
			r.left = ", and some files are too large to be looked at"
			continue
		}
		f := newFile(name, string(files[name]), lang)
		r.units[f] = lang.units(f)
		r.owners[f] = owners(f, r.units[f])
		for i := range r.units[f] {
			u := &r.units[f][i]
			at := place{f, u, u.all, u.title}
			r.byName[u.name] = append(r.byName[u.name], at)
			if u.each && len(r.each) < maxEach {
				r.each = append(r.each, at)
			}
		}
	}
	return r
}

// resolve finds a test, or says why it does not.
func (r *resolver) resolve(test string) (place, string) {
	if len(test) > maxName {
		return place{}, "its name is too long"
	}
	wants, reason := r.lang.wants(test)
	var inexact *place
	for _, w := range wants {
		at, several := r.unit(w)
		if several {
			reason = "several tests have this name"
		}
		if at == nil {
			continue
		}
		if w.row == "" {
			return *at, ""
		}
		if row, ok := r.row(*at, w.row); ok {
			return place{at.file, at.unit, row.Span, row.title}, ""
		}
		if inexact == nil {
			inexact = at
		}
	}
	if inexact != nil {
		return *inexact, ""
	}
	for _, at := range r.each {
		if len(wants) > 0 && isFormatted(wants[0].name, at.unit.name) {
			return at, ""
		}
	}
	if reason == "" {
		reason = "it is in none of the files" + r.left
	}
	return place{}, reason
}

// found is a test, or none, maybe because there are several.
type found struct {
	at      *place
	several bool
}

// unit finds the test of that name in the files that its path may mean.
func (r *resolver) unit(w want) (at *place, several bool) {
	w.row = ""
	f, ok := r.known[w]
	if !ok {
		f.at, f.several = r.search(w)
		r.known[w] = f
	}
	return f.at, f.several
}

func (r *resolver) search(w want) (at *place, several bool) {
	var found []place
	for _, at := range r.byName[w.name] {
		if isPlace(r.lang.place(at.file.Name), w.path) {
			found = append(found, at)
		}
	}
	if len(found) > 1 && w.path != "" {
		exact := slices.DeleteFunc(slices.Clone(found), func(at place) bool { return r.lang.place(at.file.Name) != w.path })
		if len(exact) > 0 {
			found = exact
		}
	}
	switch {
	case len(found) == 0:
		return nil, false
	case len(found) == 1 && w.nth <= 1:
		return &found[0], false
	case found[0].file != found[len(found)-1].file:
		return r.nearest(found, w.path)
	case r.lang.name == "javascript":
		if n := max(w.nth, 1); n <= len(found) {
			return &found[n-1], false
		}
		return nil, true
	case r.lang.name == "python": // it replaces those before
		return &found[len(found)-1], false
	}
	return nil, true
}

// nearest is the one whose place has most of the path.
func (r *resolver) nearest(found []place, path string) (*place, bool) {
	best, length, several := 0, -1, false
	for i, at := range found {
		n := len(r.lang.place(at.file.Name))
		switch {
		case path == "" || n == length:
			several = true
		case n > length && n <= len(path):
			best, length, several = i, n, false
		}
	}
	if several {
		return nil, true
	}
	return &found[best], false
}

// isPlace says whether a path may mean a place: one is the end of the other.
func isPlace(place, path string) bool {
	return path == "" || place == "." || place == path || strings.HasSuffix(path, "/"+place) || strings.HasSuffix(place, "/"+path)
}

// row finds the part of a test that the rest of its name stands for.
func (r *resolver) row(at place, name string) (row, bool) {
	if r.lang.rows == nil {
		return row{}, false
	}
	rows, ok := r.rows[at]
	if !ok {
		rows = r.lang.rows(at.file, *at.unit)
		r.rows[at] = rows
	}
	in, rest := row{Span: at.unit.all}, name
	for range maxDepth {
		s, length, ok := longest(rows, rest, in.Span, at.unit, r.lang.name == "go")
		if !ok {
			break
		}
		in = s
		if length == len(rest) {
			return in, true
		}
		rest = rest[length+1:]
	}
	return in, in.Span != at.unit.all
}

// longest finds the row with the longest name that a name begins with, up to a slash.
func longest(rows map[string][]row, name string, in source.Span, u *unit, nested bool) (found row, length int, ok bool) {
	for end := len(name); end > 0 && !ok; end = strings.LastIndexByte(name[:end], '/') {
		title, nth := name[:end], 0
		if rows[title] == nil && nested {
			if at := strings.LastIndexByte(title, '#'); at >= 0 && atoi(title[at+1:]) > 0 {
				title, nth = title[:at], atoi(title[at+1:])
			}
		}
		for _, s := range rows[title] {
			if in.Covers(s.Span) || in == u.all && u.inTable(s.Span) {
				if nth == 0 {
					return s, end, true
				}
				nth--
			}
		}
		if !nested {
			break
		}
	}
	return row{}, 0, false
}

// isFormatted says whether a name can come of a format: it has its words in their order.
func isFormatted(name, format string) bool {
	rest := name
	for i := 0; i < len(format); {
		if format[i] == '%' || format[i] == '$' {
			for i++; i < len(format) && (source.IsLetter(format[i]) || source.IsDigit(format[i]) || format[i] == '.' || format[i] == '_'); i++ {
				if format[i-1] == '%' {
					i++
					break
				}
			}
			continue
		}
		end := i
		for end < len(format) && format[end] != '%' && format[end] != '$' {
			end++
		}
		at := strings.Index(rest, format[i:end])
		if at < 0 || i == 0 && at > 0 {
			return false
		}
		rest = rest[at+end-i:]
		i = end
	}
	return true
}
