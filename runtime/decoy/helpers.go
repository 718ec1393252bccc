package decoy

import "strings"

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
		name := m.is(at - 1)
		if at-1 != begin || c.operands != 0 || m.kind(at-1) != word {
			continue
		}
		s := stem(name)
		if i := strings.LastIndexByte(name, '_'); i > 0 {
			s = name[:i]
		}
		if s != "" {
			own[at-1] = form{s, len(m.parts(at))}
			names[own[at-1]] = appendNew(names[own[at-1]], name)
		}
	}
	for at, f := range own {
		if others := newName(m.is(at), names[f]); len(others) > 0 {
			m.contrary[at] = others[0]
		}
	}
}

// helpers finds calls of functions that the file has and that assert something themselves:
// as with assertions, what is expected comes last.
func (m *marks) helpers() {
	before := make([]int, len(m.tok)+1) // so many tokens are part of an assertion
	for i := range m.tok {
		before[i+1] = before[i]
		if m.compared[i] > 0 {
			before[i+1]++
		}
	}
	asserting := map[string]bool{}
	for i := range m.tok {
		switch m.is(i) {
		case "func", "def", "fn", "function":
			at := i + 1
			if m.is(at) == "(" {
				at = m.over(at)
			}
			if body := m.bodyOf(at); m.kind(at) == word && before[body.to] > before[body.from] {
				asserting[m.is(at)] = true
			}
		}
	}
	for i := range m.tok {
		if m.is(i) != "(" || !asserting[m.is(i-1)] || m.owner[i] < 0 {
			continue
		}
		chain, begin := m.callee(i)
		if _, _, known := m.callAt(i); !known && strings.Count(chain, ".") < 2 && !isDefined(m.is(begin-1)) {
			m.calls = append(m.calls, i)
		}
	}
}

// isDefined says whether a word defines what follows.
func isDefined(before string) bool {
	return before == "func" || before == "def" || before == "fn" || before == "function" || before == "class"
}

// bodyOf is the body of a function whose name is at at.
func (m *marks) bodyOf(at int) span {
	if m.lang.name == "python" {
		def := at - 1
		if !m.starts(def) {
			return span{}
		}
		end := at
		for n := 0; n < maxHeader && end < len(m.tok) && (!m.starts(end) || m.column(end) > m.column(def)); n++ {
			end = m.over(end)
		}
		return span{at, min(end, len(m.tok))}
	}
	brace := m.find(span{at, min(len(m.tok), at+maxHeader)}, "{", ";")
	if brace < 0 {
		return span{}
	}
	return m.within(brace)
}
