package decoy

import (
	"strings"

	"github.com/assayd/assayd/runtime/decoy/source"
)

// callAt returns what the call of a bracket does.
func (m *marks) callAt(at int) (c call, begin int, ok bool) {
	if m.Kind(at) != source.Open || m.Pair[at] < 0 || m.Kind(at-1) != source.Word && m.At(at-1) != "!" && m.At(at-1) != ">" {
		return call{}, 0, false
	}
	if m.At(at) != "(" && m.At(at-1) != "!" {
		return call{}, 0, false
	}
	chain, begin := m.Callee(at)
	if chain == "" || isDefined(m.At(begin-1)) {
		return call{}, 0, false
	}
	c, ok = m.lang.call(m.lang, chain)
	return c, begin, ok
}

// called looks at what a call does.
func (m *marks) called(at int) {
	c, begin, ok := m.callAt(at)
	if !ok {
		return
	}
	in := m.Within(at)
	switch c.role {
	case says, fails:
		m.banned.add(in)
	case titles, events:
		if args := m.Parts(at); len(args) > 0 {
			m.banned.add(args[0])
		}
	case raises:
		m.raised(at, begin)
	case asserts:
		m.calls = append(m.calls, at)
		if chain, _ := m.Callee(at); isContrary(chain) {
			m.negated.add(in)
		}
		args := m.arguments(at)
		if c.operands > 0 && len(args) > c.operands {
			m.banned.add(source.Span{From: args[c.operands].From, To: in.To})
			in.To = args[c.operands].From
		}
		m.compared.add(in)
		if c.operands == 1 && c.contrary == "" {
			m.begins(in)
		}
		if c.contrary != "" && (c.operands != 2 || len(args) != 1) { // a method that compares has no contrary
			name := at - 1
			if m.At(name) == "!" {
				name--
			}
			m.contrary[name] = c.contrary
		}
	}
}

// begins remembers that a condition without a comparison can be turned round where it
// begins.
func (m *marks) begins(s source.Span) {
	if s.Empty() || m.Kind(s.From) != source.Word || m.lang.name == "python" {
		return
	}
	for i := s.From; i < s.To; i = m.Over(i) {
		if m.compares(i) {
			return
		}
	}
	m.contrary[s.From] = "!" + m.At(s.From)
}

// arguments are those of an assertion, without what Go's get first.
func (m *marks) arguments(at int) []source.Span {
	args := m.Parts(at)
	if m.lang.name == "go" && len(args) > 0 && args[0].To == args[0].From+1 && contains([]string{"t", "b", "tb", "f", "c"}, m.At(args[0].From)) {
		return args[1:]
	}
	return args
}

// raised looks at a call that expects an error of what it is given, or, with Python's
// with, of the block that follows.
func (m *marks) raised(at, begin int) {
	for n, arg := range m.Parts(at) {
		function := m.Find(arg, "(", "=>", "lambda", "function") >= 0
		switch named := m.At(arg.From+1) == "="; {
		case named && m.At(arg.From) != "match", isMessage(m.At(arg.From)):
			m.banned.add(arg)
		case named, n < 2 && !function:
			m.expected.add(arg)
			m.compared.add(arg)
		default:
			m.raising.add(arg)
		}
	}
	if m.At(begin-1) != "with" {
		return
	}
	end := m.Pair[at] + 1
	column := m.Column(begin - 1)
	for i := end; i < min(len(m.Tok), end+maxLook); i++ {
		if m.Starts(i) && m.Outer[i] < 0 && m.Column(i) <= column {
			end = i
			break
		}
	}
	m.raising.add(source.Span{From: m.Pair[at] + 1, To: end})
}

// operands finds which arguments of an assertion are expected.
func (m *marks) operands(at int) {
	c, _, _ := m.callAt(at)
	args := m.arguments(at)
	if c.operands > 0 {
		args = args[:min(len(args), c.operands)]
	}
	switch {
	case c.operands < 0:
		for _, arg := range args {
			m.expect(arg)
		}
	case c.operands == 1 || len(args) < 2:
	case c.operands == 2:
		m.sides(args[0], args[1], c.expected == 0)
	default:
		for _, arg := range args {
			for i := arg.From; i < arg.To; i = m.Over(i) {
				if m.compares(i) {
					if l := args[len(args)-1]; l.To == l.From+1 && m.Kind(l.From) == source.Text {
						m.banned.add(l)
					}
					return
				}
			}
		}
		for n := len(args) - 1; n > 0; n-- {
			if m.literal(args[n]) {
				m.expect(args[n])
				return
			}
		}
		m.expect(args[len(args)-1])
	}
}

// sides chooses the expected one of two: the one that is written out, else by convention.
func (m *marks) sides(left, right source.Span, leftFirst bool) {
	l, r := m.literal(left), m.literal(right)
	switch {
	case l && !r, l == r && leftFirst:
		m.expect(left)
	default:
		m.expect(right)
	}
	if l || r {
		return
	}
	m.wantBut(right, left)
	for i := right.From; i < min(right.To, right.From+maxColumns); i++ {
		if m.Kind(i) == source.Word && m.family(i) != "" { // a constant
			return
		}
	}
	m.wantBut(left, right)
}

func (m *marks) expect(s source.Span) {
	m.expected.add(s)
	m.want(s)
}

// compares says whether a token is an operator that compares.
func (m *marks) compares(at int) bool {
	switch m.At(at) {
	case "==", "!=", "===", "!==", "<=", ">=":
		return true
	case "<", ">":
		return !m.Touches(at) && !m.Touches(at+1)
	case "in":
		return m.lang.name == "python"
	case "is":
		return m.lang.name == "python"
	}
	return false
}

// comparison looks at an operator in an assertion.
func (m *marks) comparison(at int) {
	if m.compared[at] <= 0 || !m.compares(at) {
		return
	}
	left, right := source.Span{From: at, To: at}, source.Span{From: at + 1, To: at + 1}
	if m.At(at) == "in" && m.At(at-1) == "not" {
		left = source.Span{From: at - 1, To: at - 1}
	}
	if m.At(at) == "is" && m.At(at+1) == "not" {
		right = source.Span{From: at + 2, To: at + 2}
	}
	for i := left.From - 1; i >= 0 && !m.ends(i, source.Open); i-- {
		i = m.Back(i)
		left.From = i
	}
	for i := right.To; i < len(m.Tok) && !m.ends(i, source.Close); i = m.Over(i) {
		right.To = m.Over(i)
	}
	m.sides(left, right, false)
	if before := m.At(left.From - 1); m.isNegated(at) != (before == "not" || before == "!") || m.orders(at) {
		m.negated.add(source.Span{From: left.From, To: right.To})
	}
}

// equality looks at a method that compares what it belongs to with its argument, as in
// got.Equal(want). An object that equals everything shows there.
func (m *marks) equality(at int) {
	if m.At(at) != "(" || m.compared[at] <= 0 || m.Pair[at] < 0 || m.Kind(at-1) != source.Word || m.At(at-2) != "." {
		return
	}
	args := m.Parts(at)
	chain, begin := m.Callee(at)
	if len(args) != 1 || !isEquality(source.Last(chain)) || begin >= at-2 {
		return
	}
	own, other := source.Span{From: begin, To: at - 2}, args[0]
	switch {
	case own.To == own.From+1 && isExpected(m.At(own.From)):
		return // its definition is what is expected
	case m.literal(own) && !m.literal(other):
		m.expect(own)
	default:
		m.expect(other)
	}
	if before := m.At(begin - 1); (before == "!" || before == "not") != (m.failing[at] > 0) {
		m.negated.add(source.Span{From: begin, To: m.Over(at)})
	}
}

// isEquality says whether a name is that of a method that compares.
func isEquality(name string) bool {
	switch strings.ToLower(strings.ReplaceAll(name, "_", "")) {
	case "equal", "equals", "eq", "isequal", "equalto", "isequalto", "deepequal", "deepequals", "same", "issame", "cmp", "compare", "compareto":
		return true
	}
	return false
}

// isNegated says whether a comparison holds where two things differ: any other value is as
// good there. It is the other way round in the condition of a failure.
func (m *marks) isNegated(at int) bool {
	negated := m.At(at) == "!=" || m.At(at) == "!==" || m.At(at) == "in" && m.At(at-1) == "not" || m.At(at) == "is" && m.At(at+1) == "not"
	return negated != (m.failing[at] > 0)
}

// orders says whether an operator holds for many values.
func (m *marks) orders(at int) bool {
	return strings.Trim(m.At(at), "<>=") == "" && strings.ContainsAny(m.At(at), "<>")
}

// ends says whether a token is none of the operand of a comparison.
func (m *marks) ends(at int, bracket source.Kind) bool {
	switch m.At(at) {
	case ",", ";", "&&", "||", "and", "or", ":", "=", ":=", "?", "if", "else", "assert", "not", "!", "return", "=>", "for":
		return true
	}
	return m.compared[at] <= 0 || m.compares(at) || m.Kind(at) == bracket && m.Pair[at] >= 0 || m.At(at) == "{" && m.Pair[at] < 0
}
