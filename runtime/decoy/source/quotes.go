package source

import (
	"strings"
	"unicode/utf8"
)

// hashed goes over r#"a string"#, whose quotes are at at.
func (z *scanner) hashed(t *Token, at int, prefix string) bool {
	if !z.syntax.Hashes || !strings.HasSuffix(prefix, "r") {
		return false
	}
	end := at
	for end < len(z.src) && z.src[end] == '#' {
		end++
	}
	if end == len(z.src) || z.src[end] != '"' {
		return false
	}
	closing := `"` + z.src[at:end]
	t.Kind = Text
	n := strings.Index(z.src[end+1:], closing)
	if n < 0 {
		t.Kind, z.at = Other, len(z.src)
		return true
	}
	z.at = end + 1 + n + len(closing)
	return true
}

// text goes over a string whose quotes are at at, if there is one.
func (z *scanner) text(t *Token, at int) bool {
	if z.syntax.Ticks && z.src[at] == '\'' {
		return z.tick(t, at)
	}
	for _, q := range z.syntax.Quotes {
		if !strings.HasPrefix(z.src[at:], q.Open) {
			continue
		}
		t.Kind = q.Kind
		z.at = at + len(q.Open)
		if !z.quoted(q, t) {
			t.Kind = Other
		}
		return true
	}
	return false
}

// quoted goes to the end of a string; false = it has none.
func (z *scanner) quoted(q Quote, t *Token) bool {
	for z.at < len(z.src) {
		switch c := z.src[z.at]; {
		case strings.HasPrefix(z.src[z.at:], q.Open):
			z.at += len(q.Open)
			return true
		case c == '\\' && !q.Raw:
			z.at = min(z.at+2, len(z.src))
		case c == '\n' && !q.Lines:
			return false
		case q.Interpolated && strings.HasPrefix(z.src[z.at:], "${"):
			t.Interpolated = true
			z.interpolation()
		default:
			z.at++
		}
	}
	return false
}

// interpolation goes over ${an expression}, with what it holds of braces and strings.
func (z *scanner) interpolation() {
	// Of what surrounds: '{' an expression, '`' a string with further ones.
	around := []byte{'{'}
	for z.at += 2; z.at < len(z.src) && len(around) > 0; {
		c, inner := z.src[z.at], around[len(around)-1]
		z.at++
		switch {
		case c == '\\':
			z.at = min(z.at+1, len(z.src))
		case inner == '`' && c == '`', inner == '{' && c == '}':
			around = around[:len(around)-1]
		case inner == '`' && c == '$' && z.at < len(z.src) && z.src[z.at] == '{':
			z.at++
			around = append(around, '{')
		case inner == '{' && (c == '{' || c == '`'):
			around = append(around, c)
		case inner == '{' && (c == '"' || c == '\''):
			for z.at < len(z.src) && z.src[z.at] != c && z.src[z.at] != '\n' {
				if z.src[z.at] == '\\' {
					z.at++
				}
				z.at++
			}
			z.at = min(z.at+1, len(z.src))
		}
	}
}

// tick goes over 'c'. What else a tick begins is a symbol: the name of a lifetime follows.
func (z *scanner) tick(t *Token, at int) bool {
	rest := z.src[at+1:]
	if strings.HasPrefix(rest, `\`) {
		const longest = len(`\u{10FFFF}'`)
		if n := strings.IndexByte(rest[min(2, len(rest)):min(longest, len(rest))], '\''); n >= 0 {
			t.Kind, z.at = Char, at+1+2+n+1
			return true
		}
	} else if _, size := utf8.DecodeRuneInString(rest); size > 0 && strings.HasPrefix(rest[size:], "'") {
		t.Kind, z.at = Char, at+1+size+1
		return true
	}
	if at > z.at {
		return false
	}
	t.Kind = Symbol
	z.at++
	return true
}
