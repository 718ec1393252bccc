package decoy

import "github.com/assayd/assayd/runtime/decoy/source"

// marks say what the tokens of a file are for.
type marks struct {
	*file
	units []unit
	owner []int // of a token its outermost test, else -1

	expected counter // what an assertion expects
	compared counter // what an assertion looks at
	failing  counter // the condition of a failure
	raising  counter // where an error is expected
	negated  counter // what an assertion wants to be otherwise
	banned   counter // messages, names of tests and events, and what is no part of a test

	contrary map[int]string  // names of assertions that can be turned round
	wanted   map[wanted]bool // names of what is expected
	calls    []int           // brackets of calls
}

// wanted is a name in one test.
type wanted struct {
	owner int
	name  string
}

// counter counts for each token how many spans it is in.
type counter []int32

func (c counter) add(s source.Span) {
	if !s.Empty() {
		c[s.From]++
		c[s.To]--
	}
}

// sum makes counts of what was added; nothing can be added afterwards but by another sum.
func (c counter) sum() {
	for i := 1; i < len(c); i++ {
		c[i] += c[i-1]
	}
}

func mark(f *file, units []unit, owner []int) *marks {
	n := len(f.Tok) + 1
	m := &marks{
		file: f, units: units, owner: owner, contrary: map[int]string{}, wanted: map[wanted]bool{},
		expected: make(counter, n), compared: make(counter, n), raising: make(counter, n), negated: make(counter, n), failing: make(counter, n), banned: make(counter, n),
	}
	m.ban()
	for i := range f.Tok {
		m.statement(i)
		m.called(i)
	}
	m.compared.sum()
	m.failing.sum()
	m.contraries()
	m.helpers()
	for _, at := range m.calls {
		m.operands(at)
	}
	for i := range f.Tok {
		m.comparison(i)
		m.equality(i)
	}
	for i := range f.Tok {
		m.table(i)
		m.definition(i)
	}
	m.expected.sum()
	m.raising.sum()
	m.negated.sum()
	m.banned.sum()
	return m
}

// ban marks what stays of the tests' declarations.
func (m *marks) ban() {
	for _, u := range m.units {
		if u.title > 0 {
			m.banned.add(source.Span{From: u.title, To: u.title + 1})
		}
		if u.raises {
			m.raising.add(u.body)
		}
	}
}

// statement looks at what words and signs begin.
func (m *marks) statement(at int) {
	f := m.file
	switch {
	case f.At(at) == "@" && f.Starts(at) && f.Outer[at] < 0:
		m.decorator(at)
	case f.At(at) == "#" && f.At(at+2) == "should_panic" && f.At(at+3) == "(":
		m.expected.add(f.Within(at + 3))
	case f.At(at) == "#" && (f.At(at+1) == "[" || f.At(at+2) == "["):
		m.banned.add(source.Span{From: at, To: max(at+1, f.Over(at+1), f.Over(at+2))})
	case f.At(at) == "struct" && f.At(at+1) == "{":
		m.banned.add(f.Within(at + 1))
	case f.Kind(at) != source.Word:
	case contains(f.lang.ignored, f.At(at)) && (f.Starts(at) || f.At(at) == "throw" && f.At(at-1) != "."):
		m.banned.add(source.Span{From: at, To: f.statementEnd(at, len(f.Tok))})
	default:
		condition, message := f.lang.conditions(f, at)
		m.compared.add(condition)
		if m.At(at) == "if" {
			m.failing.add(condition)
		}
		m.begins(condition)
		m.banned.add(message)
	}
}

// decorator bans all of a decorator but the rows of parametrize.
func (m *marks) decorator(at int) {
	end := m.statementEnd(at, min(len(m.Tok), at+maxHeader))
	bracket := m.Find(source.Span{From: at, To: end}, "(")
	if bracket < 0 || m.At(bracket-1) != "parametrize" {
		m.banned.add(source.Span{From: at, To: end})
		return
	}
	for i, arg := range m.Parts(bracket) {
		if i != 1 {
			m.banned.add(arg)
		}
	}
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}
