package decoy

import "strings"

// pool holds the values that a test or a file has, to borrow from.
type pool struct {
	texts     map[int][]string // contents of strings, by length in bytes
	lengths   []int            // those of texts, in the order of the file
	words     map[shape][]string
	all       []string // some of those
	chars     []string
	constants map[string][]string // names of constants, by what they have in common
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

func newPool() *pool {
	return &pool{texts: map[int][]string{}, words: map[shape][]string{}, constants: map[string][]string{}}
}

// gather puts the values of a span into a pool: none that is banned, a key, or an index.
func (m *marks) gather(s span) *pool {
	p := newPool()
	for i := s.from; i < s.to; i++ {
		if m.banned[i] > 0 || m.isKey(i) {
			continue
		}
		switch m.kind(i) {
		case text:
			if !m.tok[i].interpolated && !m.isAlone(i) {
				p.text(m.is(i))
			}
		case char:
			p.chars = appendNew(p.chars, m.is(i))
		case word:
			if family := m.family(i); family != "" {
				p.constants[family] = appendNew(p.constants[family], m.is(i))
			}
		}
	}
	return p
}

func (p *pool) text(literal string) {
	body, _ := content(literal)
	if !isStatus(body) {
		if p.texts[len(body)] == nil {
			p.lengths = append(p.lengths, len(body))
		}
		p.texts[len(body)] = appendNew(p.texts[len(body)], body)
	}
	for _, w := range wordsOf(body, false) {
		if name := body[w.from:w.to]; !isStatus(name) {
			p.words[shapeOf(name)] = appendNew(p.words[shapeOf(name)], name)
			p.all = appendNew(p.all, name)
		}
	}
}

func appendNew(list []string, value string) []string {
	if len(list) >= maxSame || contains(list, value) {
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
func wordsOf(body string, interpolated bool) []span {
	var all []span
	eachPlain(body, interpolated, func(i int) int {
		n := 0
		for i+n < len(body) && isLetter(body[i+n]) {
			n++
		}
		if n >= 2 && n < 32 && len(all) < maxWords {
			all = append(all, span{i, i + n})
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
		case c == '{' && i+1 < len(body) && isLetter(body[i+1]):
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

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func shapeOf(name string) shape {
	s := shape{len(name), 'm'}
	for i := range len(name) {
		if !isLetter(name[i]) {
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

// family is what the name of a constant has in common with others of its type: what stands
// before its last word, or the type before it. "" = it looks like none.
func (m *marks) family(at int) string {
	name := m.is(at)
	if m.is(at+1) == "(" || m.is(at+1) == "." || m.is(at+1) == "::" || m.is(at+1) == "!" || contains(m.lang.keywords, name) || isExpected(name) {
		return ""
	}
	upper := name[0] >= 'A' && name[0] <= 'Z'
	if m.isType(at) {
		return ""
	}
	if dot := m.is(at - 1); (dot == "." || dot == "::") && m.kind(at-2) == word && upper {
		of := m.is(at - 2)
		if of[0] >= 'A' && of[0] <= 'Z' {
			return of + "::"
		}
		if s := stem(name); s != "" {
			return of + "." + s
		}
		return ""
	} else if dot == "." || dot == "::" {
		return ""
	}
	return stem(name)
}

// isType says whether a name stands where types do: behind another name, or a sign of types.
func (m *marks) isType(at int) bool {
	switch before := m.is(at - 1); {
	case m.kind(at-1) == word:
		return !contains([]string{"return", "case", "in", "not", "and", "or", "is", "if", "else", "assert", "await", "yield", "of"}, before)
	default:
		return before == "*" || before == "]" || before == "->"
	}
}

// stem is a name without its last word; "" = it has one word.
func stem(name string) string {
	if at := strings.LastIndexByte(name, '_'); at > 1 && strings.ToUpper(name) == name {
		return name[:at+1]
	}
	for i := len(name) - 1; i > 1; i-- {
		if name[i] >= 'A' && name[i] <= 'Z' && !(name[i-1] >= 'A' && name[i-1] <= 'Z') {
			return name[:i]
		}
	}
	return ""
}
