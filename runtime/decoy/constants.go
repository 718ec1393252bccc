package decoy

import (
	"strings"

	"github.com/assayd/assayd/runtime/decoy/replacement"
	"github.com/assayd/assayd/runtime/decoy/source"
)

// gather puts the values of a span into a pool: none that is banned, a key, or an index.
func (m *marks) gather(s source.Span) *replacement.Pool {
	p := replacement.NewPool()
	for i := s.From; i < s.To; i++ {
		if m.banned[i] > 0 || m.isKey(i) {
			continue
		}
		switch m.Kind(i) {
		case source.Text:
			if !m.Tok[i].Interpolated && !m.isAlone(i) {
				p.AddText(m.At(i))
			}
		case source.Char:
			p.AddChar(m.At(i))
		case source.Word:
			if family := m.family(i); family != "" {
				p.AddConstant(family, m.At(i))
			}
		}
	}
	return p
}

// family is what the name of a constant has in common with others of its type: what stands
// before its last word, or the type before it. "" = it looks like none.
func (m *marks) family(at int) string {
	name := m.At(at)
	if m.At(at+1) == "(" || m.At(at+1) == "." || m.At(at+1) == "::" || m.At(at+1) == "!" || contains(m.lang.keywords, name) || isExpected(name) {
		return ""
	}
	upper := name[0] >= 'A' && name[0] <= 'Z'
	if m.isType(at) {
		return ""
	}
	if dot := m.At(at - 1); (dot == "." || dot == "::") && m.Kind(at-2) == source.Word && upper {
		of := m.At(at - 2)
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
	switch before := m.At(at - 1); {
	case m.Kind(at-1) == source.Word:
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
