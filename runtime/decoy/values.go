package decoy

import "strings"

// maxValues is how many values are proposed for one token.
const maxValues = 2

// values collects new values for a token, the best first.
type values struct {
	old   string
	found []string
}

func (v *values) full() bool { return len(v.found) >= maxValues }

func (v *values) add(value string) {
	if !v.full() && value != v.old && value != "" && !contains(v.found, value) {
		v.found = append(v.found, value)
	}
}

// newText proposes strings: of the same length where there is one, from the same test
// before those of the file. A number in it moves by one; a word becomes another.
func newText(literal string, holes bool, unit, file *pool) []string {
	v := values{old: literal}
	body, begin := content(literal)
	with := func(other string) {
		if !v.full() {
			v.add(literal[:begin] + other + literal[begin+len(body):])
		}
	}
	borrow := func(p *pool, length int, alike bool) {
		for _, other := range p.texts[length] {
			if other != body && fits(other, literal[:begin]) && (!alike || shapeOf(other) == shapeOf(body)) {
				with(other)
			}
		}
	}
	reword := func(p *pool) {
		for _, w := range wordsOf(body, holes) {
			for _, other := range p.words[shapeOf(body[w.from:w.to])] {
				if other != body[w.from:w.to] {
					with(body[:w.from] + other + body[w.to:])
					break
				}
			}
		}
	}
	whole := !holes && body != ""
	if whole {
		borrow(unit, len(body), true)
	}
	if moved, ok := moveIn(body, holes); ok {
		with(moved)
	}
	for _, p := range []*pool{unit, file} {
		reword(p)
		if whole {
			borrow(p, len(body), true)
		}
	}
	if len(v.found) > 0 { // another of the same test is second, whatever its length
		spare := v.found[1:]
		v.found = v.found[:1:1]
		others(&v, unit, body, holes, borrow)
		for _, value := range spare {
			v.add(value)
		}
	}
	for _, p := range []*pool{unit, file} {
		if whole && len(body) > 1 {
			borrow(p, len(body), false)
		}
	}
	for _, p := range []*pool{unit, file} {
		others(&v, p, body, holes, borrow)
	}
	for _, p := range []*pool{unit, file} { // a word of any length
		for _, w := range wordsOf(body, holes) {
			for _, other := range p.all {
				if !v.full() && other != body[w.from:w.to] && shapeOf(other).letter == shapeOf(body[w.from:w.to]).letter {
					with(body[:w.from] + other + body[w.to:])
				}
			}
		}
	}
	return v.found
}

// others borrows strings of other lengths.
func others(v *values, p *pool, body string, holes bool, borrow func(p *pool, length int, alike bool)) {
	if holes || strings.Contains(body, "\n") {
		return
	}
	for n := 0; n < min(len(p.lengths), maxDonors) && !v.full(); n++ {
		if p.lengths[n] != len(body) && p.lengths[n] <= max(12, 2*len(body)) {
			borrow(p, p.lengths[n], false)
		}
	}
}

// swapCase proposes a string whose letters are upper case where they were lower case; "" = it
// has a meaning, or no words.
func swapCase(literal string, holes bool) string {
	body, begin := content(literal)
	if holes || len(wordsOf(body, false)) == 0 || len(body) > 100 || strings.ContainsAny(body, "\\%{") {
		return ""
	}
	swapped := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return r
	}, body)
	return literal[:begin] + swapped + literal[begin+len(body):]
}

// fits says whether the content of one string may stand in another that opens like this.
func fits(body, opening string) bool {
	return !strings.ContainsAny(body, "\\\n\"'`{}$%#") || strings.HasSuffix(opening, `"`) && !strings.ContainsAny(body, "\\\n\"{}$%#")
}

// moveIn moves the last number of a string by one, with as many digits as before.
func moveIn(body string, holes bool) (string, bool) {
	end := -1
	pass(body, holes, func(i int) int {
		n := 0
		for i+n < len(body) && digit(body[i+n]) {
			n++
		}
		if n > 0 {
			end = i + n
		}
		return n
	})
	if end < 0 {
		return "", false
	}
	return body[:end-1] + string(nextDigit(body[end-1])) + body[end:], true
}

func nextDigit(d byte) byte {
	if d == '9' {
		return '8'
	}
	return d + 1
}

// newNumber proposes numbers that are as long: one more, one less.
func newNumber(literal string) []string {
	v := values{old: literal}
	digits, base := literal, "0123456789"
	lower := strings.ToLower(literal)
	from := 0
	switch {
	case strings.HasPrefix(lower, "0x"):
		base, from = "0123456789abcdef", 2
	case strings.HasPrefix(lower, "0b"):
		base, from = "01", 2
	case strings.HasPrefix(lower, "0o"):
		base, from = "01234567", 2
	}
	at := -1
	for i := from; i < len(digits); i++ {
		c := lower[i]
		if strings.IndexByte(base, c) >= 0 {
			at = i
		} else if c != '_' && c != '.' {
			break // an exponent or a suffix
		}
	}
	if at < 0 {
		return nil
	}
	n := strings.IndexByte(base, lower[at])
	for _, next := range []int{n + 1, n - 1} {
		if next >= 0 && next < len(base) {
			v.add(literal[:at] + base[next:next+1] + literal[at+1:])
		}
	}
	return v.found
}

// newChar proposes characters of the same test, then of the file.
func newChar(literal string, unit, file *pool) []string {
	v := values{old: literal}
	if n := len(literal); n >= 3 && digit(literal[n-2]) && literal[n-3] == '\'' {
		v.add(literal[:n-2] + string(nextDigit(literal[n-2])) + literal[n-1:])
	}
	for _, same := range []bool{true, false} {
		for _, p := range []*pool{unit, file} {
			for _, other := range p.chars {
				if (len(other) == len(literal)) == same && strings.HasPrefix(other, "b") == strings.HasPrefix(literal, "b") {
					v.add(other)
				}
			}
		}
	}
	return v.found
}

// newPattern proposes regular expressions with another word or number.
func newPattern(literal string, unit, file *pool) []string {
	v := values{old: literal}
	end := strings.LastIndexByte(literal, '/')
	if end < 1 {
		return nil
	}
	body := literal[1:end]
	for _, p := range []*pool{unit, file} {
		for _, w := range wordsOf(body, false) {
			for _, other := range p.words[shapeOf(body[w.from:w.to])] {
				if other != body[w.from:w.to] && !v.full() {
					v.add("/" + body[:w.from] + other + body[w.to:] + literal[end:])
					break
				}
			}
		}
	}
	return v.found
}

// newName proposes names of a list, those of the same length first.
func newName(name string, lists ...[]string) []string {
	v := values{old: name}
	for _, list := range lists {
		for _, other := range list {
			if len(other) == len(name) {
				v.add(other)
			}
		}
	}
	for _, list := range lists {
		for _, other := range list {
			v.add(other)
		}
	}
	return v.found
}
