package decoy

import (
	"sort"
	"strings"
)

// file is the text of one file with its tokens, without blanks and comments. Places in it
// are indices of tokens.
type file struct {
	name  string
	src   string
	lang  *language
	tok   []token
	pair  []int // of a bracket the place of the other one, else -1
	outer []int // of a token the place of the bracket around it, else -1
	lines []int // bytes where lines begin

	structs map[string]int      // see types
	loops   map[string][]string // see tables
}

// span is the tokens [from, to).
type span struct{ from, to int }

func (s span) has(at int) bool    { return s.from <= at && at < s.to }
func (s span) covers(o span) bool { return s.from <= o.from && o.to <= s.to }
func (s span) empty() bool        { return s.from >= s.to }

func newFile(name, src string, lang *language) *file {
	f := &file{name: name, src: src, lang: lang, lines: []int{0}}
	for _, t := range tokenize(&lang.syntax, src) {
		if t.kind != space && t.kind != comment {
			f.tok = append(f.tok, t)
		}
	}
	f.match()
	for i := range len(src) {
		if src[i] == '\n' {
			f.lines = append(f.lines, i+1)
		}
	}
	return f
}

// match finds the brackets that belong together.
func (f *file) match() {
	f.pair, f.outer = make([]int, len(f.tok)), make([]int, len(f.tok))
	around := []int{-1}
	for i, t := range f.tok {
		n := len(around) - 1
		f.pair[i] = -1
		if t.kind == shut && n > 0 && closes(f.is(around[n]), f.is(i)) {
			f.pair[i], f.pair[around[n]] = around[n], i
			around = around[:n]
			n--
		}
		f.outer[i] = around[n]
		if t.kind == open {
			around = append(around, i)
		}
	}
}

func closes(begin, end string) bool {
	return begin+end == "()" || begin+end == "[]" || begin+end == "{}"
}

// is returns the text of a token, "" where there is none.
func (f *file) is(at int) string {
	if at < 0 || at >= len(f.tok) {
		return ""
	}
	return f.src[f.tok[at].from:f.tok[at].to]
}

func (f *file) kind(at int) kind {
	if at < 0 || at >= len(f.tok) {
		return other
	}
	return f.tok[at].kind
}

func (f *file) whole() span { return span{0, len(f.tok)} }

// line counts from 1.
func (f *file) line(offset int) int {
	return sort.Search(len(f.lines), func(i int) bool { return f.lines[i] > offset })
}

// column is how many bytes stand before a token on its line.
func (f *file) column(at int) int {
	from := f.tok[at].from
	return from - f.lines[f.line(from)-1]
}

// starts says whether a token is the first of its line.
func (f *file) starts(at int) bool { return at >= 0 && at < len(f.tok) && f.tok[at].first }

// touches says whether nothing stands between a token and the one before it.
func (f *file) touches(at int) bool { return at > 0 && f.tok[at-1].to == f.tok[at].from }

// over returns the place behind a token, or behind the brackets that it opens.
func (f *file) over(at int) int {
	if f.kind(at) == open && f.pair[at] > at {
		return f.pair[at] + 1
	}
	return at + 1
}

// back returns the place of a token, or of the bracket that it closes.
func (f *file) back(at int) int {
	if f.kind(at) == shut && f.pair[at] >= 0 {
		return f.pair[at]
	}
	return at
}

// within returns what stands between a bracket and its end.
func (f *file) within(at int) span {
	if f.kind(at) != open || f.pair[at] < 0 {
		return span{}
	}
	return span{at + 1, f.pair[at]}
}

// parts cuts what stands between brackets at its commas; a comma at the end begins no part.
func (f *file) parts(at int) []span {
	in := f.within(at)
	var all []span
	from := in.from
	for i := in.from; i < in.to; {
		if f.is(i) == "," {
			all = append(all, span{from, i})
			from = i + 1
		}
		i = f.over(i)
	}
	if from < in.to {
		all = append(all, span{from, in.to})
	}
	return all
}

// find returns the first place of a text in a span, not looking into brackets; -1 = none.
func (f *file) find(s span, texts ...string) int {
	for i := s.from; i < s.to; i = f.over(i) {
		for _, t := range texts {
			if f.is(i) == t {
				return i
			}
		}
	}
	return -1
}

// callee returns the names before a bracket, joined as a.b.c, and where they begin. What a
// call returned is "()" in it: expect(x).toBe is "expect().toBe".
func (f *file) callee(at int) (chain string, begin int) {
	var names []string
	i := at - 1
	for range 12 {
		if f.is(i) == "!" && f.touches(i+1) {
			names = append(names, "!")
			i--
		}
		if f.is(i) == ">" && f.is(i-2) == "<" { // generics of one name
			i -= 3
			if f.is(i) == "::" {
				i--
			}
		}
		if f.is(i) == ")" && f.pair[i] >= 0 && len(names) > 0 {
			names = append(names, "()")
			i = f.pair[i] - 1
		}
		if f.kind(i) != word {
			break
		}
		names = append(names, f.is(i))
		begin = i
		if dot := f.is(i - 1); dot != "." && dot != "::" && dot != "?." {
			break
		}
		names = append(names, ".")
		i -= 2
	}
	for l, r := 0, len(names)-1; l < r; l, r = l+1, r-1 {
		names[l], names[r] = names[r], names[l]
	}
	return strings.Join(names, ""), begin
}

// last returns the last name of a chain.
func last(chain string) string { return chain[strings.LastIndexByte(chain, '.')+1:] }

// statementEnd returns the place behind the statement that a token belongs to.
func (f *file) statementEnd(at, limit int) int {
	i := f.over(at)
	for n := 0; i < limit && n < maxStatement; n, i = n+1, f.over(i) {
		switch {
		case f.is(i) == ";", f.kind(i) == shut && f.pair[i] < at:
			return i
		case f.starts(i) && f.lang.lineEnds(f, i):
			return i
		}
	}
	return min(i, limit)
}

// content is what stands between the quotes of a string, and where in the token it begins.
func content(literal string) (body string, begin int) {
	begin = strings.IndexAny(literal, "\"'`")
	if begin < 0 {
		return "", 0
	}
	q := literal[begin : begin+1]
	if triple := strings.Repeat(q, 3); len(literal) >= begin+6 && strings.HasPrefix(literal[begin:], triple) {
		return literal[begin+3 : len(literal)-3], begin + 3
	}
	end := strings.LastIndex(literal, q)
	if end <= begin {
		return "", begin
	}
	return literal[begin+1 : end], begin + 1
}
