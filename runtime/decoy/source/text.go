package source

import (
	"sort"
	"strings"
)

// File is the text of one file with its tokens, without blanks and comments. Places in it
// are indices of tokens.
type File struct {
	Name  string // of the file
	Src   string // all of its text
	Tok   []Token
	Pair  []int // of a bracket the place of the other one, else -1
	Outer []int // of a token the place of the bracket around it, else -1
	Lines []int // bytes where lines begin
}

// Span is the tokens [from, to).
type Span struct{ From, To int }

// Has says whether a token is in it.
func (s Span) Has(at int) bool { return s.From <= at && at < s.To }

// Covers says whether another one is in it.
func (s Span) Covers(o Span) bool { return s.From <= o.From && o.To <= s.To }

// Empty says whether no token is in it.
func (s Span) Empty() bool { return s.From >= s.To }

// New cuts a text; name is that of its file.
func New(name, src string, syntax *Syntax) *File {
	f := &File{Name: name, Src: src, Lines: []int{0}}
	for _, t := range Tokenize(syntax, src) {
		if t.Kind != Space && t.Kind != Comment {
			f.Tok = append(f.Tok, t)
		}
	}
	f.match()
	for i := range len(src) {
		if src[i] == '\n' {
			f.Lines = append(f.Lines, i+1)
		}
	}
	return f
}

// match finds the brackets that belong together.
func (f *File) match() {
	f.Pair, f.Outer = make([]int, len(f.Tok)), make([]int, len(f.Tok))
	around := []int{-1}
	for i, t := range f.Tok {
		n := len(around) - 1
		f.Pair[i] = -1
		if t.Kind == Close && n > 0 && closes(f.At(around[n]), f.At(i)) {
			f.Pair[i], f.Pair[around[n]] = around[n], i
			around = around[:n]
			n--
		}
		f.Outer[i] = around[n]
		if t.Kind == Open {
			around = append(around, i)
		}
	}
}

func closes(begin, end string) bool {
	return begin+end == "()" || begin+end == "[]" || begin+end == "{}"
}

// At returns the text of a token, "" where there is none.
func (f *File) At(at int) string {
	if at < 0 || at >= len(f.Tok) {
		return ""
	}
	return f.Src[f.Tok[at].From:f.Tok[at].To]
}

// Kind returns the kind of a token, Other where there is none.
func (f *File) Kind(at int) Kind {
	if at < 0 || at >= len(f.Tok) {
		return Other
	}
	return f.Tok[at].Kind
}

// Whole is all tokens.
func (f *File) Whole() Span { return Span{0, len(f.Tok)} }

// Line counts from 1.
func (f *File) Line(offset int) int {
	return sort.Search(len(f.Lines), func(i int) bool { return f.Lines[i] > offset })
}

// Column is how many bytes stand before a token on its line.
func (f *File) Column(at int) int {
	from := f.Tok[at].From
	return from - f.Lines[f.Line(from)-1]
}

// Starts says whether a token is the first of its line.
func (f *File) Starts(at int) bool { return at >= 0 && at < len(f.Tok) && f.Tok[at].first }

// Touches says whether nothing stands between a token and the one before it.
func (f *File) Touches(at int) bool { return at > 0 && f.Tok[at-1].To == f.Tok[at].From }

// Over returns the place behind a token, or behind the brackets that it opens.
func (f *File) Over(at int) int {
	if f.Kind(at) == Open && f.Pair[at] > at {
		return f.Pair[at] + 1
	}
	return at + 1
}

// Back returns the place of a token, or of the bracket that it closes.
func (f *File) Back(at int) int {
	if f.Kind(at) == Close && f.Pair[at] >= 0 {
		return f.Pair[at]
	}
	return at
}

// Within returns what stands between a bracket and its end.
func (f *File) Within(at int) Span {
	if f.Kind(at) != Open || f.Pair[at] < 0 {
		return Span{}
	}
	return Span{at + 1, f.Pair[at]}
}

// Parts cuts what stands between brackets at its commas; a comma at the end begins no part.
func (f *File) Parts(at int) []Span {
	in := f.Within(at)
	var all []Span
	from := in.From
	for i := in.From; i < in.To; {
		if f.At(i) == "," {
			all = append(all, Span{from, i})
			from = i + 1
		}
		i = f.Over(i)
	}
	if from < in.To {
		all = append(all, Span{from, in.To})
	}
	return all
}

// Find returns the first place of a text in a span, not looking into brackets; -1 = none.
func (f *File) Find(s Span, texts ...string) int {
	for i := s.From; i < s.To; i = f.Over(i) {
		for _, t := range texts {
			if f.At(i) == t {
				return i
			}
		}
	}
	return -1
}

// Callee returns the names before a bracket, joined as a.b.c, and where they begin. What a
// call returned is "()" in it: expect(x).toBe is "expect().toBe".
func (f *File) Callee(at int) (chain string, begin int) {
	var names []string
	i := at - 1
	for range 12 {
		if f.At(i) == "!" && f.Touches(i+1) {
			names = append(names, "!")
			i--
		}
		if f.At(i) == ">" && f.At(i-2) == "<" { // generics of one name
			i -= 3
			if f.At(i) == "::" {
				i--
			}
		}
		if f.At(i) == ")" && f.Pair[i] >= 0 && len(names) > 0 {
			names = append(names, "()")
			i = f.Pair[i] - 1
		}
		if f.Kind(i) != Word {
			break
		}
		names = append(names, f.At(i))
		begin = i
		if dot := f.At(i - 1); dot != "." && dot != "::" && dot != "?." {
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

// Last returns the last name of a chain.
func Last(chain string) string { return chain[strings.LastIndexByte(chain, '.')+1:] }

// Content is what stands between the quotes of a string, and where in the token it begins.
func Content(literal string) (body string, begin int) {
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
