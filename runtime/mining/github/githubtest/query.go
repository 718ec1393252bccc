package githubtest

import (
	"fmt"
	"regexp"
)

// document is a query and its fragments.
type document struct {
	query     []selected
	fragments map[string][]selected
	types     map[string]string // of the fragments
}

// selected is a field that is asked for, or a fragment.
type selected struct {
	alias, name string
	args        map[string]string // as they are written
	below       []selected
	spread      bool
}

var lexeme = regexp.MustCompile(`\.\.\.|\$?\w+|"[^"]*"|[{}():!,]|\S`)

// parser reads what of the language of GraphQL the client uses.
type parser struct {
	words []string
	at    int
}

func parse(text string) (doc document, err error) {
	p := &parser{words: lexeme.FindAllString(text, -1)}
	defer func() {
		switch bad := recover().(type) {
		case nil:
		case syntaxError:
			err = bad
		default:
			panic(bad)
		}
	}()
	doc = document{fragments: map[string][]selected{}, types: map[string]string{}}
	for p.at < len(p.words) {
		switch word := p.take(); word {
		case "query":
			for p.peek() != "{" {
				p.take()
			}
			doc.query = p.selection()
		case "fragment":
			name := p.take()
			p.want("on")
			doc.types[name] = p.take()
			doc.fragments[name] = p.selection()
		default:
			p.fail(word)
		}
	}
	return doc, nil
}

type syntaxError struct{ word string }

func (e syntaxError) Error() string { return fmt.Sprintf("%q", e.word) }

func (p *parser) fail(word string) { panic(syntaxError{word}) }

func (p *parser) peek() string {
	if p.at >= len(p.words) {
		p.fail("end of file")
	}
	return p.words[p.at]
}

func (p *parser) take() string {
	word := p.peek()
	p.at++
	return word
}

func (p *parser) want(word string) {
	if got := p.take(); got != word {
		p.fail(got)
	}
}

func (p *parser) selection() (all []selected) {
	p.want("{")
	for p.peek() != "}" {
		if p.peek() == "..." {
			p.take()
			all = append(all, selected{name: p.take(), spread: true})
			continue
		}
		f := selected{name: p.take(), args: map[string]string{}}
		f.alias = f.name
		if p.peek() == ":" {
			p.take()
			f.name = p.take()
		}
		if p.peek() == "(" {
			for p.take(); p.peek() != ")"; {
				name := p.take()
				p.want(":")
				if f.args[name] = p.take(); p.peek() == "," {
					p.take()
				}
			}
			p.take()
		}
		if p.peek() == "{" {
			f.below = p.selection()
		}
		all = append(all, f)
	}
	p.take()
	return all
}
