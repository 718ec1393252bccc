package decoy

import (
	"strings"

	"github.com/assayd/assayd/runtime/decoy/source"
)

// walk goes through an expression, over what is given to calls other than those that only
// make a value, and over indices. It calls f with each other token until that returns false.
func (m *marks) walk(s source.Span, f func(at int) bool) {
	for i, n := s.From, 0; i < s.To && n < maxLook; n++ {
		if m.Kind(i) == source.Open && m.Touches(i) {
			indexed := m.At(i) == "[" && (m.Kind(i-1) == source.Word || m.Kind(i-1) == source.Close) && i > s.From
			if indexed || m.At(i) == "(" && !m.builds(i) {
				i = m.Over(i)
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
	if m.Kind(at-1) != source.Word && m.At(at-1) != "!" && m.At(at-1) != "]" {
		return true // a bracket of arithmetic
	}
	if m.At(at-1) == "]" { // []byte(…) ends with a word, f[int](…) does not
		return false
	}
	chain, _ := m.Callee(at)
	return contains(m.lang.builders, source.Last(chain)) || contains(m.lang.builders, chain)
}

// literal says whether an expression has a value that is written out.
func (m *marks) literal(s source.Span) bool {
	found := false
	m.walk(s, func(at int) bool {
		switch m.Kind(at) {
		case source.Text, source.Char, source.Number, source.Pattern:
			found = true
		case source.Word:
			switch m.At(at) {
			case "true", "false", "True", "False", "nil", "None", "null", "undefined":
				found = true
			}
		case source.Open: // an empty list
			found = found || m.Pair[at] == at+1
		}
		return !found
	})
	return found
}

// plain says whether an expression calls nothing but what makes values.
func (m *marks) plain(s source.Span) bool {
	calls := false
	m.walk(s, func(at int) bool {
		return m.At(at) != "=>" && m.At(at) != "function" && m.At(at) != "func" && m.At(at) != "lambda"
	})
	for i, n := s.From, 0; i < s.To && n < maxLook && !calls; i, n = i+1, n+1 {
		calls = m.At(i) == "(" && m.Touches(i) && !m.builds(i) || m.At(i) == "=>" || m.At(i) == "function" || m.At(i) == "func" || m.At(i) == "lambda"
	}
	return !calls
}

// wantBut is want where no name of the other side is in it: what both are made of changes
// both.
func (m *marks) wantBut(s, other source.Span) {
	for i := other.From; i < min(other.To, other.From+maxLook); i++ {
		for j := s.From; j < min(s.To, s.From+maxColumns); j++ {
			if m.Kind(i) == source.Word && m.At(i) == m.At(j) && m.At(i-1) != "." && m.At(j-1) != "." {
				return
			}
		}
	}
	m.want(s)
}

// want remembers the names of an expected expression.
func (m *marks) want(s source.Span) {
	if s.Empty() {
		return
	}
	owner := m.owner[s.From]
	m.walk(s, func(at int) bool {
		name := m.At(at)
		if m.Kind(at) == source.Word && m.At(at+1) != "(" && m.At(at+1) != "." && !contains(m.lang.keywords, name) {
			m.wanted[wanted{owner, name}] = true
			m.wanted[wanted{-1, name}] = true
		}
		return true
	})
}

// definition looks at what an expected name is set to.
func (m *marks) definition(at int) {
	name := m.At(at)
	if m.Kind(at) == source.Text && m.At(at+1) == ":" {
		name, _ = source.Content(name)
	} else if m.Kind(at) != source.Word {
		return
	}
	if !m.wanted[wanted{m.owner[at], name}] && !isExpected(name) {
		return
	}
	switch m.At(at + 1) {
	case ":=", "=":
		around := m.Outer[at]
		if around >= 0 && m.At(around) != "{" {
			if isExpected(name) && m.lang.name == "python" { // a named argument
				m.expected.add(source.Span{From: at + 2, To: m.partEnd(at+2, around)})
			}
			return
		}
		value := source.Span{From: at + 2, To: m.statementEnd(at, len(m.Tok))}
		if m.At(at-1) == "," { // of several, the last
			comma := m.Find(value, ",")
			if comma < 0 {
				return
			}
			value.From = comma + 1
		}
		m.defined(value, isExpected(name))
	case ":":
		if around := m.Outer[at]; around >= 0 && m.At(around) == "{" && !m.declares(at) {
			m.expected.add(source.Span{From: at + 2, To: m.partEnd(at+2, around)})
			return
		}
		for i := at + 2; i < min(len(m.Tok), at+2+maxColumns) && !m.Starts(i); i = m.Over(i) {
			if m.At(i) == "=" {
				m.defined(source.Span{From: i + 1, To: m.statementEnd(i, len(m.Tok))}, isExpected(name))
				return
			}
		}
	}
}

// declares says whether a name is one of a declaration: let name: type = …
func (m *marks) declares(at int) bool {
	switch m.At(at - 1) {
	case "let", "mut", "const", "var", "static":
		return true
	}
	return m.lang.name == "python" && m.Starts(at) && m.Outer[at] < 0
}

func (m *marks) defined(s source.Span, sure bool) {
	if s.Empty() {
		return
	}
	if sure || m.plain(s) {
		m.expected.add(s)
	}
}

// partEnd is where a part between commas ends that begins at at.
func (m *marks) partEnd(at, bracket int) int {
	end := m.Pair[bracket]
	i := at
	for n := 0; i < end && n < maxLook; n++ {
		if m.At(i) == "," {
			return i
		}
		i = m.Over(i)
	}
	return i
}

// table looks at the rows of a table that a test goes through.
func (m *marks) table(at int) {
	if m.Kind(at) != source.Open || m.Pair[at] < 0 {
		return
	}
	names, ok := m.lang.columns(m.file, at)
	if !ok {
		return
	}
	naming := m.naming(at)
	for _, row := range m.Parts(at) {
		columns := []source.Span{row}
		if group := m.lastGroup(row); group >= 0 {
			columns = m.Parts(group)
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
	around := m.Outer[at]
	if around < 1 {
		return naming{}
	}
	switch m.At(around - 1) {
	case "parametrize":
		for _, arg := range m.Parts(around) {
			if m.At(arg.From) == "ids" && m.Kind(arg.From+2) == source.Open {
				return naming{}
			}
		}
		return naming{first: maxColumns}
	case "each":
		if title := m.Pair[around] + 2; m.Kind(title) == source.Text && m.Pair[around] > 0 {
			body, _ := source.Content(m.At(title))
			return naming{strings.Count(body, "%") - 2*strings.Count(body, "%%") - strings.Count(body, "%#"), body}
		}
	}
	return naming{}
}

// named bans what names the test of a row.
func (m *marks) named(columns []source.Span, names []string, by naming) {
	for _, column := range columns {
		if m.At(column.From) == "id" && m.At(column.From+1) == "=" {
			return
		}
	}
	for i, column := range columns {
		said := i < len(names) && strings.Contains(by.names, "$"+names[i]) || by.names != "" && m.At(column.From+1) == ":" && strings.Contains(by.names, "$"+m.At(column.From))
		single := column.To-column.From == 1 || column.To-column.From == 2 && m.At(column.From) == "-"
		if said || i < by.first && (single || by.names != "") {
			m.banned.add(column)
		}
	}
}

// row looks at the columns of a row.
func (m *marks) row(columns []source.Span, names []string) {
	for n, column := range columns {
		if m.At(column.From+1) == "=" { // a named argument: pytest.param(…, id="name")
			m.banned.add(source.Span{From: column.From, To: columns[len(columns)-1].To})
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
		case m.At(column.From+1) == ":":
			name, value.From, keyed = m.At(column.From), column.From+2, true
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
