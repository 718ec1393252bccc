package replacement

import (
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/decoy/source"
)

// Pool holds the values that a test or a file has, to borrow from.
type Pool struct {
	texts     map[int][]string // contents of strings, by length in bytes
	lengths   []int            // those of texts, in the order of the file
	words     map[shape][]string
	all       []string // some of those
	chars     []string
	Constants map[string][]string // names of constants, by what they have in common
}

// shape is what a word has in common with those it may become.
type shape struct {
	length int
	letter byte // 'a' lower case, 'A' upper case, 'T' title, 'm' mixed, '.' no letters alone
}

const (
	maxSame  = 32  // of one shape
	maxWords = 256 // of one string
)

// NewPool returns one without values.
func NewPool() *Pool {
	return &Pool{texts: map[int][]string{}, words: map[shape][]string{}, Constants: map[string][]string{}}
}

// AddText adds a string, with its quotes.
func (p *Pool) AddText(literal string) {
	body, _ := source.Content(literal)
	if !isStatus(body) {
		if p.texts[len(body)] == nil {
			p.lengths = append(p.lengths, len(body))
		}
		p.texts[len(body)] = AppendNew(p.texts[len(body)], body)
	}
	for _, w := range wordsOf(body, false) {
		if name := body[w.From:w.To]; !isStatus(name) {
			p.words[shapeOf(name)] = AppendNew(p.words[shapeOf(name)], name)
			p.all = AppendNew(p.all, name)
		}
	}
}

// AddChar adds a character, with its quotes.
func (p *Pool) AddChar(literal string) { p.chars = AppendNew(p.chars, literal) }

// AddConstant adds the name of a constant.
func (p *Pool) AddConstant(family, name string) {
	p.Constants[family] = AppendNew(p.Constants[family], name)
}

// AppendNew adds a value that a list has not, while it is short.
func AppendNew(list []string, value string) []string {
	if len(list) >= maxSame || slices.Contains(list, value) {
		return list
	}
	return append(list, value)
}

// isStatus says whether runners have a meaning for a word.
func isStatus(name string) bool {
	switch strings.ToLower(name) {
	case "", "pass", "passed", "fail", "failed", "failure", "ok", "not ok", "skip", "skipped", "todo", "error", "errors", "success":
		return true
	}
	return false
}

// wordsOf finds the words of two letters and more in a string, where it is plain text.
func wordsOf(body string, interpolated bool) []source.Span {
	var all []source.Span
	eachPlain(body, interpolated, func(i int) int {
		n := 0
		for i+n < len(body) && source.IsLetter(body[i+n]) {
			n++
		}
		if n >= 2 && n < 32 && len(all) < maxWords {
			all = append(all, source.Span{From: i, To: i + n})
		}
		return n
	})
	return all
}

// eachPlain goes through a string, over what a backslash or a percent sign gives a meaning, over
// names in formats, and over interpolated. What f says that it took is passed, else a byte.
func eachPlain(body string, interpolated bool, f func(i int) int) {
	depth := 0
	for i := 0; i < len(body); {
		switch c := body[i]; {
		case c == '\\':
			i += escapeLength(body[i:])
		case interpolated && c == '{':
			depth++
			i++
		case interpolated && c == '}':
			depth = max(0, depth-1)
			i++
		case depth > 0:
			i++
		case c == '%':
			for i++; i < len(body) && strings.IndexByte("+-# 0123456789.*[]", body[i]) >= 0; i++ {
			}
			i++
		case c == '{' && i+1 < len(body) && source.IsLetter(body[i+1]):
			for i < len(body) && body[i] != '}' && body[i] != ' ' && body[i] != '"' {
				i++
			}
		default:
			i += max(1, f(i))
		}
	}
}

// escapeLength is how long an escape is that a string begins with.
func escapeLength(body string) int {
	n := 2
	if len(body) > 1 && strings.IndexByte("xuUN0123", body[1]) >= 0 {
		for n < len(body) && n < 12 && strings.IndexByte("0123456789abcdefABCDEF{}", body[n]) >= 0 {
			n++
		}
	}
	return n
}

func shapeOf(name string) shape {
	s := shape{len(name), 'm'}
	for i := range len(name) {
		if !source.IsLetter(name[i]) {
			s.letter = '.'
			return s
		}
	}
	switch rest := name[min(1, len(name)):]; {
	case strings.ToLower(name) == name:
		s.letter = 'a'
	case strings.ToUpper(name) == name:
		s.letter = 'A'
	case strings.ToLower(rest) == rest:
		s.letter = 'T'
	}
	return s
}
