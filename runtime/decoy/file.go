package decoy

import "github.com/assayd/assayd/runtime/decoy/source"

// file is a text in a language.
type file struct {
	*source.File
	lang *language

	structs map[string]int      // see types
	loops   map[string][]string // see tables
}

func newFile(name, src string, lang *language) *file {
	return &file{File: source.New(name, src, &lang.syntax), lang: lang}
}

// statementEnd returns the place behind the statement that a token belongs to.
func (f *file) statementEnd(at, limit int) int {
	i := f.Over(at)
	for n := 0; i < limit && n < maxStatement; n, i = n+1, f.Over(i) {
		switch {
		case f.At(i) == ";", f.Kind(i) == source.Close && f.Pair[i] < at:
			return i
		case f.Starts(i) && f.lang.lineEnds(f, i):
			return i
		}
	}
	return min(i, limit)
}
