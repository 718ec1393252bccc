package decoy

import "strings"

// walk goes through an expression, over what is given to calls other than those that only
// make a value, and over indices. It calls f with each other token until that returns false.
func (m *marks) walk(s span, f func(at int) bool) {
	for i, n := s.from, 0; i < s.to && n < maxLook; n++ {
		if m.kind(i) == open && m.touches(i) {
			indexed := m.is(i) == "[" && (m.kind(i-1) == word || m.kind(i-1) == shut) && i > s.from
			if indexed || m.is(i) == "(" && !m.builds(i) {
				i = m.over(i)
				continue
			}
		}
		if !f(i) {
			return
		}
		i++
	}
}

// builds says whether the call of a bracket only makes a value.
func (m *marks) builds(at int) bool {
	if m.kind(at-1) != word && m.is(at-1) != "!" && m.is(at-1) != "]" {
		return true // a bracket of arithmetic
	}
	if m.is(at-1) == "]" { // []byte(…) ends with a word, f[int](…) does not
		return false
	}
	chain, _ := m.callee(at)
	return contains(m.lang.builders, last(chain)) || contains(m.lang.builders, chain)
}

// literal says whether an expression has a value that is written out.
func (m *marks) literal(s span) bool {
	found := false
	m.walk(s, func(at int) bool {
		switch m.kind(at) {
		case text, char, number, pattern:
			found = true
		case word:
			switch m.is(at) {
			case "true", "false", "True", "False", "nil", "None", "null", "undefined":
				found = true
			}
		case open: // an empty list
			found = found || m.pair[at] == at+1
		}
		return !found
	})
	return found
}

// plain says whether an expression calls nothing but what makes values.
func (m *marks) plain(s span) bool {
	calls := false
	m.walk(s, func(at int) bool {
		return m.is(at) != "=>" && m.is(at) != "function" && m.is(at) != "func" && m.is(at) != "lambda"
	})
	for i, n := s.from, 0; i < s.to && n < maxLook && !calls; i, n = i+1, n+1 {
		calls = m.is(i) == "(" && m.touches(i) && !m.builds(i) || m.is(i) == "=>" || m.is(i) == "function" || m.is(i) == "func" || m.is(i) == "lambda"
	}
	return !calls
}

// wantBut is want where no name of the other side is in it: what both are made of changes
// both.
func (m *marks) wantBut(s, other span) {
	for i := other.from; i < min(other.to, other.from+maxLook); i++ {
		for j := s.from; j < min(s.to, s.from+maxColumns); j++ {
			if m.kind(i) == word && m.is(i) == m.is(j) && m.is(i-1) != "." && m.is(j-1) != "." {
				return
			}
		}
	}
	m.want(s)
}

// want remembers the names of an expected expression.
func (m *marks) want(s span) {
	if s.empty() {
		return
	}
	owner := m.owner[s.from]
	m.walk(s, func(at int) bool {
		name := m.is(at)
		if m.kind(at) == word && m.is(at+1) != "(" && m.is(at+1) != "." && !contains(m.lang.keywords, name) {
			m.wanted[wanted{owner, name}] = true
			m.wanted[wanted{-1, name}] = true
		}
		return true
	})
}

// definition looks at what an expected name is set to.
func (m *marks) definition(at int) {
	name := m.is(at)
	if m.kind(at) == text && m.is(at+1) == ":" {
		name, _ = content(name)
	} else if m.kind(at) != word {
		return
	}
	if !m.wanted[wanted{m.owner[at], name}] && !isExpected(name) {
		return
	}
	switch m.is(at + 1) {
	case ":=", "=":
		around := m.outer[at]
		if around >= 0 && m.is(around) != "{" {
			if isExpected(name) && m.lang.name == "python" { // a named argument
				m.expected.add(span{at + 2, m.partEnd(at+2, around)})
			}
			return
		}
		value := span{at + 2, m.statementEnd(at, len(m.tok))}
		if m.is(at-1) == "," { // of several, the last
			comma := m.find(value, ",")
			if comma < 0 {
				return
			}
			value.from = comma + 1
		}
		m.defined(value, isExpected(name))
	case ":":
		if around := m.outer[at]; around >= 0 && m.is(around) == "{" && !m.declares(at) {
			m.expected.add(span{at + 2, m.partEnd(at+2, around)})
			return
		}
		for i := at + 2; i < min(len(m.tok), at+2+maxColumns) && !m.starts(i); i = m.over(i) {
			if m.is(i) == "=" {
				m.defined(span{i + 1, m.statementEnd(i, len(m.tok))}, isExpected(name))
				return
			}
		}
	}
}

// declares says whether a name is one of a declaration: let name: type = …
func (m *marks) declares(at int) bool {
	switch m.is(at - 1) {
	case "let", "mut", "const", "var", "static":
		return true
	}
	return m.lang.name == "python" && m.starts(at) && m.outer[at] < 0
}

func (m *marks) defined(s span, sure bool) {
	if s.empty() {
		return
	}
	if sure || m.plain(s) {
		m.expected.add(s)
	}
}

// partEnd is where a part between commas ends that begins at at.
func (m *marks) partEnd(at, bracket int) int {
	end := m.pair[bracket]
	i := at
	for n := 0; i < end && n < maxLook; n++ {
		if m.is(i) == "," {
			return i
		}
		i = m.over(i)
	}
	return i
}

// table looks at the rows of a table that a test goes through.
func (m *marks) table(at int) {
	if m.kind(at) != open || m.pair[at] < 0 {
		return
	}
	names, ok := m.lang.columns(m.file, at)
	if !ok {
		return
	}
	naming := m.naming(at)
	for _, row := range m.parts(at) {
		columns := []span{row}
		if group := m.lastGroup(row); group >= 0 {
			columns = m.parts(group)
			m.row(columns, names)
		}
		m.named(columns, names, naming)
	}
}

// naming says which values of a row are parts of the name of its test, so that they must
// stay: of Python's parametrize all, unless names are given, and of test.each those that
// the name is a format of: so many, or those with these names.
type naming struct {
	first int
	names string
}

func (m *marks) naming(at int) naming {
	around := m.outer[at]
	if around < 1 {
		return naming{}
	}
	switch m.is(around - 1) {
	case "parametrize":
		for _, arg := range m.parts(around) {
			if m.is(arg.from) == "ids" && m.kind(arg.from+2) == open {
				return naming{}
			}
		}
		return naming{first: maxColumns}
	case "each":
		if title := m.pair[around] + 2; m.kind(title) == text && m.pair[around] > 0 {
			body, _ := content(m.is(title))
			return naming{strings.Count(body, "%") - 2*strings.Count(body, "%%") - strings.Count(body, "%#"), body}
		}
	}
	return naming{}
}

// named bans what names the test of a row.
func (m *marks) named(columns []span, names []string, by naming) {
	for _, column := range columns {
		if m.is(column.from) == "id" && m.is(column.from+1) == "=" {
			return
		}
	}
	for i, column := range columns {
		said := i < len(names) && strings.Contains(by.names, "$"+names[i]) || by.names != "" && m.is(column.from+1) == ":" && strings.Contains(by.names, "$"+m.is(column.from))
		single := column.to-column.from == 1 || column.to-column.from == 2 && m.is(column.from) == "-"
		if said || i < by.first && (single || by.names != "") {
			m.banned.add(column)
		}
	}
}

// row looks at the columns of a row.
func (m *marks) row(columns []span, names []string) {
	for n, column := range columns {
		if m.is(column.from+1) == "=" { // a named argument: pytest.param(…, id="name")
			m.banned.add(span{column.from, columns[len(columns)-1].to})
			columns = columns[:n]
			break
		}
	}
	if len(names) != len(columns) {
		names = nil
	}
	found, keyed := false, false
	for i, column := range columns {
		name, value := "", column
		switch {
		case m.is(column.from+1) == ":":
			name, value.from, keyed = m.is(column.from), column.from+2, true
		case names != nil:
			name = names[i]
		}
		switch {
		case isMessage(name):
			m.banned.add(value)
		case name != "" && (isExpectedColumn(name) || m.wanted[wanted{-1, name}]):
			m.expected.add(value)
			found = true
		}
	}
	if !found && !keyed && len(columns) > 1 {
		m.expected.add(columns[len(columns)-1])
	}
}
