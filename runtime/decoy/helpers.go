package decoy

import (
	"strings"

	"github.com/assayd/assayd/runtime/decoy/replacement"
	"github.com/assayd/assayd/runtime/decoy/source"
)

// contraries finds functions of the tests' own that assert the contrary of another one, or
// something else of the same: assert_all and assert_none.
func (m *marks) contraries() {
	type form struct {
		stem      string
		arguments int
	}
	names := map[form][]string{}
	own := map[int]form{}
	for _, at := range m.calls {
		c, begin, _ := m.callAt(at)
		name := m.At(at - 1)
		if at-1 != begin || c.operands != 0 || m.Kind(at-1) != source.Word {
			continue
		}
		s := stem(name)
		if i := strings.LastIndexByte(name, '_'); i > 0 {
			s = name[:i]
		}
		if s != "" {
			own[at-1] = form{s, len(m.Parts(at))}
			names[own[at-1]] = replacement.AppendNew(names[own[at-1]], name)
		}
	}
	for at, f := range own {
		if others := replacement.Name(m.At(at), names[f]); len(others) > 0 {
			m.contrary[at] = others[0]
		}
	}
}

// helpers finds calls of functions that the file has and that assert something themselves:
// as with assertions, what is expected comes last.
func (m *marks) helpers() {
	before := make([]int, len(m.Tok)+1) // so many tokens are part of an assertion
	for i := range m.Tok {
		before[i+1] = before[i]
		if m.compared[i] > 0 {
			before[i+1]++
		}
	}
	asserting := map[string]bool{}
	for i := range m.Tok {
		switch m.At(i) {
		case "func", "def", "fn", "function":
			at := i + 1
			if m.At(at) == "(" {
				at = m.Over(at)
			}
			if body := m.bodyOf(at); m.Kind(at) == source.Word && before[body.To] > before[body.From] {
				asserting[m.At(at)] = true
			}
		}
	}
	for i := range m.Tok {
		if m.At(i) != "(" || !asserting[m.At(i-1)] || m.owner[i] < 0 {
			continue
		}
		chain, begin := m.Callee(i)
		if _, _, known := m.callAt(i); !known && strings.Count(chain, ".") < 2 && !isDefined(m.At(begin-1)) {
			m.calls = append(m.calls, i)
		}
	}
}

// isDefined says whether a word defines what follows.
func isDefined(before string) bool {
	return before == "func" || before == "def" || before == "fn" || before == "function" || before == "class"
}

// bodyOf is the body of a function whose name is at at.
func (m *marks) bodyOf(at int) source.Span {
	if m.lang.name == "python" {
		def := at - 1
		if !m.Starts(def) {
			return source.Span{}
		}
		end := at
		for n := 0; n < maxHeader && end < len(m.Tok) && (!m.Starts(end) || m.Column(end) > m.Column(def)); n++ {
			end = m.Over(end)
		}
		return source.Span{From: at, To: min(end, len(m.Tok))}
	}
	brace := m.Find(source.Span{From: at, To: min(len(m.Tok), at+maxHeader)}, "{", ";")
	if brace < 0 {
		return source.Span{}
	}
	return m.Within(brace)
}
