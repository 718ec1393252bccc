package decoy

import (
	"iter"
	"slices"

	"github.com/assayd/assayd/runtime/decoy/replacement"
	"github.com/assayd/assayd/runtime/decoy/source"
)

// candidate is a token of a test with what it may become.
type candidate struct {
	at, to int // tokens [at, to)
	from   int // in bytes
	side   Side
	news   []string
	early  bool // more telling than others of its side
	late   bool // less
}

// rank of a side, less is better.
func (s Side) rank() int {
	return slices.Index([]Side{Expected, Constant, Input, Removed, Comparator}, s)
}

// literal says whether one token becomes another of its kind.
func (s Side) literal() bool { return s == Expected || s == Constant || s == Input }

// isOne says whether a text is one token, of the kind of the one at at.
func (m *marks) isOne(at int, value string) bool {
	tokens := source.Tokenize(&m.lang.syntax, value)
	return len(tokens) == 1 && (tokens[0].Kind == m.Kind(at) || m.Kind(at) == source.Pattern)
}

// grows is by how many bytes a candidate changes the size of the file, either way.
func (c candidate) grows(f *file) int {
	n := len(c.news[0]) - (f.Tok[c.to-1].To - c.from)
	return max(n, -n)
}

// candidates finds all tokens of an outermost test that can be changed, in the order of the
// file.
func (m *marks) candidates(u unit, whole *replacement.Pool) []candidate {
	own := m.gather(u.all)
	var all []candidate
	add := func(c candidate) {
		if c.to == 0 {
			c.to = c.at + 1
		}
		if c.from == 0 {
			c.from = m.Tok[c.at].From
		}
		c.news = slices.DeleteFunc(c.news, func(value string) bool { return c.side.literal() && c.to == c.at+1 && !m.isOne(c.at, value) })
		if len(c.news) > 0 {
			all = append(all, c)
		}
	}
	end := u.all.To // of the last assertion
	for end > u.all.From && m.compared[end-1] <= 0 {
		end--
	}
	for i := range m.places(u) {
		if m.banned[i] > 0 {
			continue
		}
		c := candidate{at: i, side: Input, early: m.raising[i] > 0}
		if m.expected[i] > 0 {
			c.side, c.early, c.late = Expected, false, m.negated[i] > 0
		}
		switch m.Kind(i) {
		case source.Text, source.Number, source.Char, source.Pattern:
			if !m.isKey(i) {
				c.news = m.newValues(i, own, whole)
			}
			if swapped := replacement.SwapCase(m.At(i), m.Tok[i].Interpolated); swapped != "" && c.side == Input && m.Kind(i) == source.Text && len(c.news) > 0 {
				c.news = append(c.news[:1], swapped)
			}
		case source.Word:
			if m.expected[i] > 0 {
				c.side = Constant
			}
			c.news = m.newConstant(i, own, whole)
		}
		add(c)
		add(m.emptied(i))
		add(m.comparator(i))
		if u.all.Has(i) && i < end { // else nothing sees it
			add(m.removed(i, u))
		}
	}
	return all
}

// places are the tokens of a test and of its tables, in the order of the file.
func (m *marks) places(u unit) iter.Seq[int] {
	all := append([]source.Span{u.all}, u.tables...)
	slices.SortFunc(all, func(a, b source.Span) int { return a.From - b.From })
	return func(yield func(int) bool) {
		for _, s := range all {
			for i := s.From; i < s.To; i++ {
				if !yield(i) {
					return
				}
			}
		}
	}
}

func (m *marks) newValues(at int, own, whole *replacement.Pool) []string {
	literal := m.At(at)
	switch m.Kind(at) {
	case source.Text:
		if m.isAlone(at) || m.At(at-1) == "->" {
			return nil
		}
		return replacement.Text(literal, m.Tok[at].Interpolated, own, whole)
	case source.Char:
		return replacement.Char(literal, own, whole)
	case source.Pattern:
		return replacement.Pattern(literal, own, whole)
	default:
		return replacement.Number(literal)
	}
}

// emptied makes an empty list that is expected an empty map, and the other way round.
func (m *marks) emptied(at int) candidate {
	c := candidate{at: at, to: at + 2, side: Expected, late: m.negated[at] > 0}
	if m.expected[at] <= 0 || m.Kind(at) != source.Open || m.Pair[at] != at+1 || m.lang.name != "python" && m.lang.name != "javascript" {
		return candidate{at: at}
	}
	switch m.At(at) + m.At(at+1) {
	case "[]":
		c.news = []string{"{}"}
	case "{}":
		if m.At(at-1) == "=>" || m.At(at-1) == ")" {
			return candidate{at: at}
		}
		c.news = []string{"[]"}
	}
	return c
}

// isKey says whether a literal is the key of a map, an index, or the size of an array.
func (m *marks) isKey(at int) bool {
	around := m.Outer[at]
	switch {
	case m.Kind(at) == source.Word || around < 0:
		return false
	case m.At(at+1) == "=>":
		return true
	case m.At(at+1) == ":" && m.At(around) == "{":
		before := m.At(at - 1)
		return before != "?" && before != "case"
	case m.At(around) == "[":
		indexed := m.Touches(around) && (m.Kind(around-1) == source.Word || m.Kind(around-1) == source.Close) && !contains(m.lang.keywords, m.At(around-1))
		sized := m.Pair[around] > 0 && m.Kind(m.Pair[around]+1) == source.Word && m.Touches(m.Pair[around]+1)
		return indexed || sized
	}
	return false
}

// isAlone says whether a string is a statement: documentation, or a directive.
func (m *marks) isAlone(at int) bool {
	around := m.Outer[at]
	if !m.Starts(at) || m.lang.name == "python" && around >= 0 || around >= 0 && m.At(around) != "{" {
		return false
	}
	before := m.At(at - 1)
	return (m.At(at+1) == ";" || m.Starts(at+1) || at+1 == len(m.Tok)) && before != "," && before != "=" && before != "(" && before != `\` && before != "+"
}

// newConstant proposes other constants of the same type.
func (m *marks) newConstant(at int, own, whole *replacement.Pool) []string {
	name := m.At(at)
	for _, family := range m.lang.families {
		if contains(family, name) {
			if !m.isConstant(at) {
				return nil
			}
			return replacement.Name(name, family)
		}
	}
	if m.expected[at] <= 0 {
		return nil
	}
	if family := m.family(at); family != "" {
		return replacement.Name(name, own.Constants[family], whole.Constants[family])
	}
	return nil
}

// isConstant says whether a name of a family is a value here.
func (m *marks) isConstant(at int) bool {
	switch name := m.At(at); name {
	case "true", "false", "True", "False", "null", "undefined":
		return m.At(at-1) != "." && m.At(at+1) != ":"
	case "MAX", "MIN", "Less", "Greater", "MAX_SAFE_INTEGER", "MIN_SAFE_INTEGER", "MAX_VALUE", "MIN_VALUE":
		return m.At(at-1) == "::" || m.At(at-1) == "."
	case "is_ok", "is_err", "is_some", "is_none":
		return false // see turned
	case "MaxUint64", "MaxUint32", "MaxUint16", "MaxUint8", "MaxUint", "MaxInt64", "MaxInt32", "MaxInt16", "MaxInt8", "MaxInt",
		"MinInt64", "MinInt32", "MinInt16", "MinInt8", "MinInt", "MaxFloat64", "MaxFloat32":
		return m.At(at-1) == "."
	default:
		if m.lang.name == "rust" { // a type: of a bound
			return m.At(at+1) == "::" && (m.At(at+2) == "MAX" || m.At(at+2) == "MIN")
		}
		return m.expected[at] > 0 // an exception
	}
}

// comparator turns an assertion round.
func (m *marks) comparator(at int) candidate {
	none := candidate{at: at}
	if name, ok := m.contrary[at]; ok {
		return candidate{at: at, side: Comparator, news: []string{name}}
	}
	op := m.At(at)
	turned, ok := m.lang.turned[op]
	switch {
	case op == "assert" && m.lang.name == "python" && m.Starts(at):
		return m.asserted(at)
	case !ok || m.compared[at] <= 0:
		return none
	case op == "!":
		if m.compared[at-1] > 0 && m.At(at-1) != "(" || m.Kind(at+1) != source.Word && m.At(at+1) != "(" {
			return none
		}
		// The sign goes, and what it stands before stays.
		return candidate{at: at, to: at + 2, side: Comparator, news: []string{m.At(at + 1)}}
	case m.Kind(at) == source.Word && m.lang.name == "rust":
		return candidate{at: at, side: Comparator, news: []string{turned}}
	case !m.compares(at) || op == "is" && m.At(at+1) == "not" || op == "in" && m.inLoop(at):
		if op == "is" && m.compares(at) {
			return candidate{at: at, to: at + 2, side: Comparator, news: []string{"is"}}
		}
		return none
	case op == "in" && m.At(at-1) == "not":
		return candidate{at: at - 1, to: at + 1, side: Comparator, news: []string{"in"}}
	}
	return candidate{at: at, side: Comparator, news: []string{turned}}
}

// inLoop says whether a word in belongs to a comprehension.
func (m *marks) inLoop(at int) bool {
	for i := at - 1; i > at-maxColumns && i >= 0 && !m.Starts(i); i-- {
		if m.At(i) == "for" {
			return true
		}
	}
	return false
}

// asserted turns an assertion of Python round that has no comparison.
func (m *marks) asserted(at int) candidate {
	if m.At(at+1) == "not" {
		return candidate{at: at, to: at + 2, side: Comparator, news: []string{"assert"}}
	}
	for i := at + 1; i < len(m.Tok) && m.compared[i] > 0; i = m.Over(i) {
		if m.compares(i) {
			return candidate{at: at}
		}
	}
	return candidate{at: at, side: Comparator, news: []string{"assert not"}}
}

// removed leaves out a call whose result nobody takes, with its line.
func (m *marks) removed(at int, u unit) candidate {
	none := candidate{at: at}
	if m.Kind(at) != source.Word || at <= u.body.From || !m.Starts(at) || m.compared[at] > 0 || !m.lang.lineEnds(m.file, at) {
		return none
	}
	i := at
	for m.Kind(i+1) == source.Symbol && (m.At(i+1) == "." || m.At(i+1) == "::") && m.Kind(i+2) == source.Word {
		i += 2
	}
	end := m.Over(i + 1)
	if m.At(i+1) != "(" || end == i+2 || end > u.body.To {
		return none
	}
	if m.At(end) == ";" {
		end++
	}
	_, _, known := m.callAt(i + 1)
	if known || end < len(m.Tok) && !m.Starts(end) || contains(m.lang.keywords, m.At(at)) || jsBlock(m.At(at)) != 0 {
		return none
	}
	if m.At(at-1) == ":" && (end == len(m.Tok) || m.Column(end) < m.Column(at)) { // all that its block has
		return none
	}
	for i := at; i < end; i++ {
		if m.compared[i] > 0 || i > at+maxLook {
			return none
		}
	}
	from := m.Lines[m.Line(m.Tok[at].From)-1] - 1 // with the end of the line before
	if from < m.Tok[at-1].To {
		return none
	}
	return candidate{at: at, to: end, from: from, side: Removed, news: []string{""}}
}
