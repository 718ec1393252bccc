package code

// definer finds the names that a piece of source text defines, by what stands beside them.
type definer struct {
	tokens           []Token
	language         Language
	keywords         map[string]bool
	added            bool // of added lines alone
	variable, member map[string]bool

	groups []group // that are open
}

// group is what is between brackets.
type group struct {
	open string
	list map[string]bool // where names that begin lines in it are defined; nil = nowhere
}

func (d *definer) at(i int) string { return value(d.tokens, i) }

func (d *definer) isWord(i int) bool {
	return i >= 0 && i < len(d.tokens) && d.tokens[i].Kind == Word
}

// define notes a name.
func (d *definer) define(in map[string]bool, i int) {
	if d.isWord(i) && !d.keywords[d.tokens[i].Value] && (!d.added || d.tokens[i].Added) {
		in[d.tokens[i].Value] = true
	}
}

func (d *definer) run() {
	for i, t := range d.tokens {
		if t.Kind == Mark {
			d.mark(i)
			continue
		}
		if t.Kind != Word {
			continue
		}
		if len(d.groups) > 0 {
			if list := d.groups[len(d.groups)-1].list; list != nil && (t.First || d.at(i-1) == "," || d.at(i-1) == "{") {
				d.define(list, i)
			}
		}
		switch d.language {
		case Python:
			d.python(i)
		case Go:
			d.golang(i)
		case JavaScript:
			d.javascript(i)
		case Rust:
			d.rust(i)
		default:
			d.typed(i)
		}
	}
}

// mark follows brackets, and the marks that define.
func (d *definer) mark(i int) {
	switch v := d.at(i); v {
	case "(", "[", "{":
		d.groups = append(d.groups, group{v, d.listed(i)})
	case ")", "]", "}":
		if len(d.groups) > 0 {
			d.groups = d.groups[:len(d.groups)-1]
		}
	case ":=":
		d.left(i)
	case "=>", "->":
		if d.isWord(i - 1) {
			if v == "=>" && d.language == JavaScript || v == "->" && d.language == Java {
				d.define(d.variable, i-1)
			}
		} else if d.at(i-1) == ")" && d.language != Rust && d.language != Python {
			d.parameters(d.opening(i - 1))
		}
	case "|":
		if before := d.at(i - 1); d.language == Rust && (before == "(" || before == "," || before == "=" || before == "move" || before == "{") {
			for k := i + 1; k < len(d.tokens) && k < i+40 && d.at(k) != "|"; k++ {
				if p := d.at(k - 1); p == "|" || p == "," || p == "&" || p == "mut" || p == "(" {
					d.define(d.variable, k)
				}
			}
		}
	}
}

// listed says where the lines between brackets define names: fields, and groups of
// declarations.
func (d *definer) listed(i int) map[string]bool {
	before := d.at(i - 1)
	switch d.language {
	case Go:
		if d.at(i) == "(" && (before == "var" || before == "const") {
			return d.variable
		}
		if d.at(i) == "(" && before == "type" || d.at(i) == "{" && (before == "struct" || before == "interface") {
			return d.member
		}
	case Rust, JavaScript, C, Java:
		if d.at(i) != "{" {
			return nil
		}
		for k := i - 1; k >= 0 && k > i-12; k-- { // struct Name<T> {
			switch d.at(k) {
			case "struct", "enum", "union":
				return d.member
			case "interface", "type":
				if d.language == JavaScript {
					return d.member
				}
			case ";", "}", ")", "{":
				return nil
			}
		}
	}
	return nil
}

// left defines the names on the left of Go's := and Python's.
func (d *definer) left(i int) {
	for k := i - 1; d.isWord(k); k -= 2 {
		d.define(d.variable, k)
		if d.at(k-1) != "," || d.tokens[k].First {
			return
		}
	}
}

// maxSpan is how many tokens a list of parameters may have.
const maxSpan = 400

// opening is the bracket that the one at i closes, -1 if it is not there.
func (d *definer) opening(i int) int {
	depth := 0
	for k := i; k >= 0 && k > i-maxSpan; k-- {
		switch d.at(k) {
		case ")", "]", "}":
			depth++
		case "(", "[", "{":
			if depth--; depth == 0 {
				return k
			}
		}
	}
	return -1
}

// parameters defines those of the list that opens at i, and returns the place of its end.
func (d *definer) parameters(i int) (end int) {
	if i < 0 || d.at(i) != "(" {
		return i
	}
	depth := 0
	for k := i; k < len(d.tokens) && k < i+maxSpan; k++ {
		switch d.at(k) {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			if depth--; depth == 0 {
				return k
			}
		}
		if before := d.at(k - 1); depth == 1 && (before == "(" || before == "," || before == "*" && d.language == Python || before == "mut") {
			if d.language != Rust || d.at(k+1) == ":" {
				d.define(d.variable, k)
			}
		}
	}
	return -1
}

func (d *definer) python(i int) {
	before, after := d.at(i-1), d.at(i+1)
	switch {
	case before == "def", before == "class":
		d.define(d.member, i)
		if before == "def" {
			d.parameters(i + 1)
		}
	case before == "as":
		d.define(d.variable, i)
	case d.at(i) == "for", d.at(i) == "lambda":
		for k := i + 1; k < len(d.tokens) && k < i+40 && d.at(k) != "in" && d.at(k) != ":"; k++ {
			if d.at(k-1) != "=" && !attaches(d.at(k-1)) {
				d.define(d.variable, k)
			}
		}
	case before == "." && d.at(i-2) == "self" && after == "=":
		d.define(d.member, i)
	case d.tokens[i].First && len(d.groups) == 0 && after == ":":
		d.define(d.variable, i)
	case after == "=" && d.tokens[i+1].Space && len(d.groups) == 0 && !attaches(before):
		d.left(i + 1)
	}
}

func (d *definer) golang(i int) {
	switch d.at(i - 1) {
	case "type":
		d.define(d.member, i)
	case "var", "const":
		d.define(d.variable, i)
	}
	if d.at(i) != "func" {
		return
	}
	next := i + 1
	if d.at(next) == "(" {
		end := d.parameters(next)
		if end < 0 || !d.isWord(end+1) || d.at(end+2) != "(" {
			return // it has no name
		}
		next = end + 1
	}
	if d.isWord(next) {
		d.define(d.member, next)
		for next++; next < len(d.tokens) && next < i+maxSpan && d.at(next) != "(" && d.at(next) != "{"; next++ {
			continue // parameters of types
		}
		d.parameters(next)
	}
}

func (d *definer) javascript(i int) {
	before, after := d.at(i-1), d.at(i+1)
	switch before {
	case "function", "class", "enum", "interface", "type", "namespace":
		d.define(d.member, i)
		if before == "function" {
			d.parameters(i + 1)
		}
	case "const", "let", "var", "as":
		d.define(d.variable, i)
	case "import":
		if after == "from" || after == "," {
			d.define(d.variable, i)
		}
	}
	switch {
	case after != "(":
	case d.at(i) == "function", d.at(i) == "catch":
		d.parameters(i + 1)
	case d.tokens[i].First && !d.keywords[d.at(i)] && !attaches(before):
		if end := d.closing(i + 1); end > 0 && d.at(end+1) == "{" {
			d.define(d.member, i)
			d.parameters(i + 1)
		}
	}
}

// closing is the bracket that closes the one at i, -1 if it is not near.
func (d *definer) closing(i int) int {
	depth := 0
	for k := i; k < len(d.tokens) && k < i+maxSpan; k++ {
		switch d.at(k) {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			if depth--; depth == 0 {
				return k
			}
		}
	}
	return -1
}

func (d *definer) rust(i int) {
	switch d.at(i - 1) {
	case "fn", "struct", "enum", "trait", "mod", "type", "union":
		d.define(d.member, i)
		if d.at(i-1) == "fn" {
			for k := i + 1; k < len(d.tokens) && k < i+maxSpan && d.at(k) != "{" && d.at(k) != ";"; k++ {
				if d.at(k) == "(" {
					d.parameters(k)
					break
				}
			}
		}
	case "const", "static", "let", "mut", "ref", "for", "as":
		d.define(d.variable, i)
	case "!":
		if d.at(i-2) == "macro_rules" {
			d.define(d.member, i)
		}
	}
	if d.at(i) == "let" && d.at(i+1) == "(" {
		for k := i + 2; k < len(d.tokens) && k < i+40 && d.at(k) != "=" && d.at(k) != ";"; k++ {
			d.define(d.variable, k)
		}
	}
}

// typed is for languages in which a type stands before what is defined.
func (d *definer) typed(i int) {
	before, after := d.at(i-1), d.at(i+1)
	switch before {
	case "class", "interface", "enum", "record", "struct", "union", "namespace", "fun", "func", "def", "trait", "object", "protocol", "define", "function":
		d.define(d.member, i)
		d.parameters(i + 1)
		return
	case "val", "var", "let":
		d.define(d.variable, i)
		return
	}
	if !d.typeBefore(i) {
		return
	}
	switch after {
	case "(":
		if end := d.closing(i + 1); end > 0 && (d.at(end+1) == "{" || d.at(end+1) == "throws" || d.at(end+1) == ":") {
			d.define(d.member, i)
		} else if d.language == C && end > 0 && d.at(end+1) == ";" {
			d.define(d.variable, i) // Type name(arguments), as C++ has it
		}
	case "=", ";", ",", ")", ":", "[", "{":
		d.define(d.variable, i)
	}
}

// typeBefore tells whether what stands before a word may be its type.
func (d *definer) typeBefore(i int) bool {
	if i == 0 {
		return false
	}
	t, before := d.tokens[i], d.tokens[i-1]
	switch before.Kind {
	case Word:
		return !words(" return new throw case else import package goto typename delete in of instanceof extends implements throws using namespace static if while assert yield await co_return and or not is as ").has(before.Value)
	case Mark:
		switch before.Value {
		case "*", "&":
			return before.Space != t.Space && i > 1 && d.tokens[i-2].Kind == Word
		case ">", "]":
			return !before.Space && t.Space
		}
	}
	return false
}
