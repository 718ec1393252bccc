package decoy

import "strings"

// callAt returns what the call of a bracket does.
func (m *marks) callAt(at int) (c call, begin int, ok bool) {
	if m.kind(at) != open || m.pair[at] < 0 || m.kind(at-1) != word && m.is(at-1) != "!" && m.is(at-1) != ">" {
		return call{}, 0, false
	}
	if m.is(at) != "(" && m.is(at-1) != "!" {
		return call{}, 0, false
	}
	chain, begin := m.callee(at)
	if chain == "" || isDefined(m.is(begin-1)) {
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
	in := m.within(at)
	switch c.role {
	case says, fails:
		m.banned.add(in)
	case titles, events:
		if args := m.parts(at); len(args) > 0 {
			m.banned.add(args[0])
		}
	case raises:
		m.raised(at, begin)
	case asserts:
		m.calls = append(m.calls, at)
		if chain, _ := m.callee(at); isContrary(chain) {
			m.negated.add(in)
		}
		args := m.arguments(at)
		if c.operands > 0 && len(args) > c.operands {
			m.banned.add(span{args[c.operands].from, in.to})
			in.to = args[c.operands].from
		}
		m.compared.add(in)
		if c.operands == 1 && c.contrary == "" {
			m.begins(in)
		}
		if c.contrary != "" && (c.operands != 2 || len(args) != 1) { // a method that compares has no contrary
			name := at - 1
			if m.is(name) == "!" {
				name--
			}
			m.contrary[name] = c.contrary
		}
	}
}

// begins remembers that a condition without a comparison can be turned round where it
// begins.
func (m *marks) begins(s span) {
	if s.empty() || m.kind(s.from) != word || m.lang.name == "python" {
		return
	}
	for i := s.from; i < s.to; i = m.over(i) {
		if m.compares(i) {
			return
		}
	}
	m.contrary[s.from] = "!" + m.is(s.from)
}

// arguments are those of an assertion, without what Go's get first.
func (m *marks) arguments(at int) []span {
	args := m.parts(at)
	if m.lang.name == "go" && len(args) > 0 && args[0].to == args[0].from+1 && contains([]string{"t", "b", "tb", "f", "c"}, m.is(args[0].from)) {
		return args[1:]
	}
	return args
}

// raised looks at a call that expects an error of what it is given, or, with Python's
// with, of the block that follows.
func (m *marks) raised(at, begin int) {
	for n, arg := range m.parts(at) {
		function := m.find(arg, "(", "=>", "lambda", "function") >= 0
		switch named := m.is(arg.from+1) == "="; {
		case named && m.is(arg.from) != "match", isMessage(m.is(arg.from)):
			m.banned.add(arg)
		case named, n < 2 && !function:
			m.expected.add(arg)
			m.compared.add(arg)
		default:
			m.raising.add(arg)
		}
	}
	if m.is(begin-1) != "with" {
		return
	}
	end := m.pair[at] + 1
	column := m.column(begin - 1)
	for i := end; i < min(len(m.tok), end+maxLook); i++ {
		if m.starts(i) && m.outer[i] < 0 && m.column(i) <= column {
			end = i
			break
		}
	}
	m.raising.add(span{m.pair[at] + 1, end})
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
			for i := arg.from; i < arg.to; i = m.over(i) {
				if m.compares(i) {
					if l := args[len(args)-1]; l.to == l.from+1 && m.kind(l.from) == text {
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
func (m *marks) sides(left, right span, leftFirst bool) {
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
	for i := right.from; i < min(right.to, right.from+maxColumns); i++ {
		if m.kind(i) == word && m.family(i) != "" { // a constant
			return
		}
	}
	m.wantBut(left, right)
}

func (m *marks) expect(s span) {
	m.expected.add(s)
	m.want(s)
}

// compares says whether a token is an operator that compares.
func (m *marks) compares(at int) bool {
	switch m.is(at) {
	case "==", "!=", "===", "!==", "<=", ">=":
		return true
	case "<", ">":
		return !m.touches(at) && !m.touches(at+1)
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
	left, right := span{at, at}, span{at + 1, at + 1}
	if m.is(at) == "in" && m.is(at-1) == "not" {
		left = span{at - 1, at - 1}
	}
	if m.is(at) == "is" && m.is(at+1) == "not" {
		right = span{at + 2, at + 2}
	}
	for i := left.from - 1; i >= 0 && !m.ends(i, open); i-- {
		i = m.back(i)
		left.from = i
	}
	for i := right.to; i < len(m.tok) && !m.ends(i, shut); i = m.over(i) {
		right.to = m.over(i)
	}
	m.sides(left, right, false)
	if before := m.is(left.from - 1); m.isNegated(at) != (before == "not" || before == "!") || m.orders(at) {
		m.negated.add(span{left.from, right.to})
	}
}

// equality looks at a method that compares what it belongs to with its argument, as in
// got.Equal(want). An object that equals everything shows there.
func (m *marks) equality(at int) {
	if m.is(at) != "(" || m.compared[at] <= 0 || m.pair[at] < 0 || m.kind(at-1) != word || m.is(at-2) != "." {
		return
	}
	args := m.parts(at)
	chain, begin := m.callee(at)
	if len(args) != 1 || !isEquality(last(chain)) || begin >= at-2 {
		return
	}
	own, other := span{begin, at - 2}, args[0]
	switch {
	case own.to == own.from+1 && isExpected(m.is(own.from)):
		return // its definition is what is expected
	case m.literal(own) && !m.literal(other):
		m.expect(own)
	default:
		m.expect(other)
	}
	if before := m.is(begin - 1); (before == "!" || before == "not") != (m.failing[at] > 0) {
		m.negated.add(span{begin, m.over(at)})
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
	negated := m.is(at) == "!=" || m.is(at) == "!==" || m.is(at) == "in" && m.is(at-1) == "not" || m.is(at) == "is" && m.is(at+1) == "not"
	return negated != (m.failing[at] > 0)
}

// orders says whether an operator holds for many values.
func (m *marks) orders(at int) bool {
	return strings.Trim(m.is(at), "<>=") == "" && strings.ContainsAny(m.is(at), "<>")
}

// ends says whether a token is none of the operand of a comparison.
func (m *marks) ends(at int, bracket kind) bool {
	switch m.is(at) {
	case ",", ";", "&&", "||", "and", "or", ":", "=", ":=", "?", "if", "else", "assert", "not", "!", "return", "=>", "for":
		return true
	}
	return m.compared[at] <= 0 || m.compares(at) || m.kind(at) == bracket && m.pair[at] >= 0 || m.is(at) == "{" && m.pair[at] < 0
}
