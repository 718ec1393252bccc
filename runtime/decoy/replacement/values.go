package replacement

import (
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/decoy/source"
)

// MaxValues is how many values are proposed for one token.
const MaxValues = 2

// values collects new values for a token, the best first.
type values struct {
	old   string
	found []string
}

func (v *values) full() bool { return len(v.found) >= MaxValues }

func (v *values) add(value string) {
	if !v.full() && value != v.old && value != "" && !slices.Contains(v.found, value) {
		v.found = append(v.found, value)
	}
}

// stringValues collects new values for a string.
type stringValues struct {
	values
	body         string
	begin        int  // of the body in the token
	interpolated bool // there are expressions in it
}

// Text proposes strings: of the same length where there is one, from the same test
// before those of the file. A number in it moves by one; a word becomes another.
func Text(literal string, interpolated bool, unit, file *Pool) []string {
	v := stringValues{values: values{old: literal}, interpolated: interpolated}
	v.body, v.begin = source.Content(literal)
	both := []*Pool{unit, file}
	v.borrow(unit, len(v.body), true)
	if moved, ok := moveIn(v.body, interpolated); ok {
		v.with(moved)
	}
	for _, p := range both {
		v.reword(p)
		v.borrow(p, len(v.body), true)
	}
	if len(v.found) > 0 { // another of the same test is second, whatever its length
		spare := v.found[1:]
		v.found = v.found[:1:1]
		v.others(unit)
		for _, value := range spare {
			v.add(value)
		}
	}
	for _, p := range both {
		if len(v.body) > 1 {
			v.borrow(p, len(v.body), false)
		}
	}
	for _, p := range both {
		v.others(p)
	}
	for _, p := range both {
		v.rewordFreely(p)
	}
	return v.found
}

// with adds the string with another body.
func (v *stringValues) with(body string) {
	if !v.full() {
		v.add(v.old[:v.begin] + body + v.old[v.begin+len(v.body):])
	}
}

// borrow takes strings of one length; alike are those that look like the old one.
func (v *stringValues) borrow(p *Pool, length int, alike bool) {
	if v.interpolated || v.body == "" && length == 0 {
		return
	}
	for _, other := range p.texts[length] {
		if other != v.body && fits(other, v.old[:v.begin]) && (!alike || shapeOf(other) == shapeOf(v.body)) {
			v.with(other)
		}
	}
}

// others takes strings of other lengths.
func (v *stringValues) others(p *Pool) {
	if strings.Contains(v.body, "\n") {
		return
	}
	for n := 0; n < min(len(p.lengths), maxSame) && !v.full(); n++ {
		if p.lengths[n] != len(v.body) && p.lengths[n] <= max(12, 2*len(v.body)) {
			v.borrow(p, p.lengths[n], false)
		}
	}
}

// reword makes one word another that is as long.
func (v *stringValues) reword(p *Pool) {
	for _, w := range wordsOf(v.body, v.interpolated) {
		for _, other := range p.words[shapeOf(v.body[w.From:w.To])] {
			if other != v.body[w.From:w.To] {
				v.with(v.body[:w.From] + other + v.body[w.To:])
				break
			}
		}
	}
}

// rewordFreely makes one word another of any length.
func (v *stringValues) rewordFreely(p *Pool) {
	for _, w := range wordsOf(v.body, v.interpolated) {
		for _, other := range p.all {
			if old := v.body[w.From:w.To]; !v.full() && other != old && shapeOf(other).letter == shapeOf(old).letter {
				v.with(v.body[:w.From] + other + v.body[w.To:])
			}
		}
	}
}

// SwapCase proposes a string whose letters are upper case where they were lower case; "" = it
// has a meaning, or no words.
func SwapCase(literal string, interpolated bool) string {
	body, begin := source.Content(literal)
	if interpolated || len(wordsOf(body, false)) == 0 || len(body) > 100 || strings.ContainsAny(body, "\\%{") {
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
func moveIn(body string, interpolated bool) (string, bool) {
	end := -1
	eachPlain(body, interpolated, func(i int) int {
		n := 0
		for i+n < len(body) && source.IsDigit(body[i+n]) {
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

// Number proposes numbers that are as long: one more, one less; of large ones one less
// first.
func Number(literal string) []string {
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
	moves := []int{n + 1, n - 1}
	if at-from >= 2 { // it may be the largest of its type
		moves = []int{n - 1, n + 1}
	}
	for _, next := range moves {
		if next >= 0 && next < len(base) {
			v.add(literal[:at] + base[next:next+1] + literal[at+1:])
		}
	}
	return v.found
}

// Char proposes characters of the same test, then of the file.
func Char(literal string, unit, file *Pool) []string {
	v := values{old: literal}
	if n := len(literal); n >= 3 && source.IsDigit(literal[n-2]) && literal[n-3] == '\'' {
		v.add(literal[:n-2] + string(nextDigit(literal[n-2])) + literal[n-1:])
	}
	for _, same := range []bool{true, false} {
		for _, p := range []*Pool{unit, file} {
			for _, other := range p.chars {
				if (len(other) == len(literal)) == same && strings.HasPrefix(other, "b") == strings.HasPrefix(literal, "b") {
					v.add(other)
				}
			}
		}
	}
	return v.found
}

// Pattern proposes regular expressions with another word or number.
func Pattern(literal string, unit, file *Pool) []string {
	v := values{old: literal}
	end := strings.LastIndexByte(literal, '/')
	if end < 1 {
		return nil
	}
	body := literal[1:end]
	for _, p := range []*Pool{unit, file} {
		for _, w := range wordsOf(body, false) {
			for _, other := range p.words[shapeOf(body[w.From:w.To])] {
				if other != body[w.From:w.To] && !v.full() {
					v.add("/" + body[:w.From] + other + body[w.To:] + literal[end:])
					break
				}
			}
		}
	}
	return v.found
}

// Name proposes names of a list, those of the same length first.
func Name(name string, lists ...[]string) []string {
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
