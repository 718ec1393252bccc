package code

// Use says how a word is used.
type Use struct {
	Attached bool // somewhere it is a part of something else: a member, a named argument, an import
	Rooted   bool // it is reached through what comes with the language, and nowhere otherwise
}

// Names are the words and literals of a file that a diff changes.
type Names struct {
	Used      map[string]Use  // words in lines added, without keywords
	Texts     []Token         // strings in lines added, without the paths
	Paths     []string        // of modules that lines added import
	Numbers   map[string]bool // in lines added
	Variables map[string]bool // defined for the file itself: variables, parameters, other names of imports
	Members   map[string]bool // defined functions, types and fields
}

// Names looks a file through. Definitions are those of added lines and of lines around
// them; with added they are those of added lines alone.
func (f File) Names(added bool) Names {
	n := Names{Used: map[string]Use{}, Numbers: map[string]bool{}, Variables: map[string]bool{}, Members: map[string]bool{}}
	l := LanguageOf(f.Name)
	known := dictionary{l, keywords(l).set(), roots(l).set()}
	for _, tokens := range f.Tokens() {
		n.use(tokens, known)
		d := definer{tokens: tokens, language: l, keywords: known.keywords, variable: n.Variables, member: n.Members, added: added}
		d.run()
	}
	return n
}

// dictionary is what is known of a language.
type dictionary struct {
	language        Language
	keywords, roots map[string]bool
}

// use notes what the added lines have.
func (n *Names) use(tokens []Token, d dictionary) {
	standard := d.standardNames(tokens)
	rooted := false // what the chain of names that is at hand begins with
	for i, t := range tokens {
		before, after := value(tokens, i-1), value(tokens, i+1)
		chained := t.Kind == Word && attaches(before)
		if t.Kind == Word && !(chained && i > 1 && tokens[i-2].Kind == Word) {
			rooted = !chained && (standard[t.Value] || d.roots[t.Value] && attaches(after))
		}
		if !t.Added {
			continue
		}
		switch t.Kind {
		case Text:
			if d.isPath(tokens, i) {
				n.Paths = append(n.Paths, t.Value)
			} else {
				n.Texts = append(n.Texts, t)
			}
		case Number:
			n.Numbers[t.Value] = true
		case Word:
			if d.keywords[t.Value] {
				continue
			}
			was, seen := n.Used[t.Value]
			n.Used[t.Value] = Use{
				Attached: was.Attached || chained || named(tokens, i, d.language),
				Rooted:   rooted && (was.Rooted || !seen),
			}
		}
	}
}

// isPath tells whether a string names what is imported.
func (d dictionary) isPath(tokens []Token, i int) bool {
	before := value(tokens, i-1)
	switch d.language {
	case JavaScript:
		return before == "from" || before == "import" || before == "(" && (value(tokens, i-2) == "require" || value(tokens, i-2) == "import")
	case C:
		return before == "include" || before == "import"
	case Go: // alone on its line, but for another name of it
		switch {
		case i+1 < len(tokens) && !tokens[i+1].First:
			return false
		case tokens[i].First:
			return i == 0 || !continues(tokens[i-1])
		}
		return before == "import" || tokens[i-1].First && (before == "_" || before == "." || tokens[i-1].Kind == Word && !d.keywords[before])
	}
	return false
}

// continues tells a token of Go after which a line goes on.
func continues(t Token) bool {
	return t.Kind == Mark && t.Value != ")" && t.Value != "]" && t.Value != "}" && t.Value != "("
}

// value is a token's, unless it is a string or is not there.
func value(tokens []Token, i int) string {
	if i < 0 || i >= len(tokens) || tokens[i].Kind == Text {
		return ""
	}
	return tokens[i].Value
}

// attaches tells the marks that lead from a name to one within.
func attaches(mark string) bool {
	return mark == "." || mark == "::" || mark == "->" || mark == "?."
}

// named tells whether a word names an argument, a field of a literal, or what is imported.
func named(tokens []Token, i int, l Language) bool {
	after := value(tokens, i+1)
	switch l {
	case Python:
		if after == "=" && !tokens[i+1].Space {
			return true
		}
		for k := i; k >= 0 && k > i-100; k-- {
			if tokens[k].First && tokens[k].Kind == Word && tokens[k].Value != value(tokens, i) {
				return tokens[k].Value == "from" || tokens[k].Value == "import"
			}
		}
		return false
	case Go, JavaScript, Rust:
		before := value(tokens, i-1)
		return after == ":" && (tokens[i].First || before == "{" || before == ",")
	case C:
		return value(tokens, i-1) == "." // of a designated initialiser
	}
	return false
}

// standardNames are the words that are imported from what comes with the language.
func (d dictionary) standardNames(tokens []Token) map[string]bool {
	found, l := map[string]bool{}, d.language
	for i, t := range tokens {
		switch {
		case t.Kind != Word:
		case l == Python && t.First && t.Value == "from" && d.roots[value(tokens, i+1)]:
			importedNames(tokens[i+1:min(len(tokens), i+maxSpan)], found)
		case (l == Rust && t.Value == "use" || l == Java && t.Value == "import") && d.standardPath(tokens[i+1:]):
			for _, one := range tokens[i+1 : min(len(tokens), i+maxSpan)] {
				if one.Value == ";" || l == Java && one.First {
					break
				}
				if one.Kind == Word {
					found[one.Value] = true
				}
			}
		case l == JavaScript && (t.Value == "import" || t.Value == "const"):
			standardModule(tokens[i+1:], found)
		}
	}
	return found
}

func (d dictionary) standardPath(tokens []Token) bool {
	first := value(tokens, 0)
	if d.language == Java && first == "static" {
		first = value(tokens, 1)
	}
	return d.roots[first]
}

// importedNames takes those of Python's "from M import A, B".
func importedNames(tokens []Token, found map[string]bool) {
	depth := 0
	for i, t := range tokens {
		switch {
		case t.Value == "(" && t.Kind == Mark:
			depth++
		case t.Value == ")" && t.Kind == Mark, i > 0 && t.First && depth == 0:
			return
		case t.Kind == Word:
			found[t.Value] = true
		}
	}
}

// standardModules are those of Node and of the test runners.
const standardModules words = ` assert assert/strict buffer child_process crypto events fs fs/promises http http2 https net os path perf_hooks process querystring readline stream string_decoder test timers timers/promises tls url util v8 vm worker_threads zlib vitest @jest/globals mocha chai sinon tap ava `

// standardModule takes the names of an import or a require of such a module.
func standardModule(tokens []Token, found map[string]bool) {
	var names []string
	for i, t := range tokens[:min(len(tokens), 200)] {
		if t.Kind == Word {
			names = append(names, t.Value)
		}
		if t.Kind == Text {
			before := value(tokens, i-1)
			module := len(t.Value) > 5 && t.Value[:5] == "node:" || standardModules.has(t.Value)
			if module && (before == "from" || before == "(" && value(tokens, i-2) == "require") {
				for _, name := range names {
					found[name] = true
				}
			}
			return
		}
		if i > 0 && (t.Value == ";" || t.Value == "const" || t.Value == "import") {
			return
		}
	}
}
