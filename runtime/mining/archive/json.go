package archive

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"unicode/utf8"
)

// maxDepth is how deep objects and lists may lie in each other, as in encoding/json.
const maxDepth = 10_000

// raw is a JSON string as it stands, with its quotes; nil = there is none.
type raw []byte

// String returns the text of it.
func (r raw) String() string {
	if len(r) < 2 {
		return ""
	}
	if inner := r[1 : len(r)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	var text string
	if json.Unmarshal(r, &text) != nil {
		return "" // cannot be: a walker has gone over it
	}
	return text
}

// is compares without memory of its own where nothing is escaped.
func (r raw) is(text string) bool {
	if len(r) < 2 {
		return false
	}
	if inner := r[1 : len(r)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner) == text
	}
	return r.String() == text
}

// walker goes over one JSON value from its beginning, and is as strict as encoding/json. It
// is several times as fast, because it makes nothing of what it passes and may stop midway,
// and half of an archive's bytes are those of pull requests. Of members that an object has
// twice the first counts.
type walker struct {
	b     []byte
	at    int
	depth int
}

// space passes white space, and tells whether something follows.
func (w *walker) space() bool {
	for w.at < len(w.b) {
		switch w.b[w.at] {
		case ' ', '\t', '\r', '\n':
			w.at++
		default:
			return true
		}
	}
	return false
}

// next tells whether the next byte is this one, and passes it if so.
func (w *walker) next(c byte) bool {
	if w.at < len(w.b) && w.b[w.at] == c {
		w.at++
		return true
	}
	return false
}

// object passes an object, or whatever other value is there. For each member of the wanted
// names it calls at, which has to pass the value. It is false where that is, and where the
// object is broken.
func (w *walker) object(wanted []string, at func(i int) bool) bool {
	if !w.next('{') {
		return w.value()
	}
	if w.depth++; w.depth > maxDepth || !w.space() {
		return false
	}
	seen := 0
	for more := !w.next('}'); more; {
		key, ok := w.text()
		if !ok || !w.space() || !w.next(':') || !w.space() {
			return false
		}
		if i := index(wanted, key); i >= 0 && seen&(1<<i) == 0 {
			seen |= 1 << i
			ok = at(i)
		} else {
			ok = w.value()
		}
		if !ok || !w.space() {
			return false
		}
		if more = w.next(','); more && !w.space() || !more && !w.next('}') {
			return false
		}
	}
	w.depth--
	return true
}

func index(wanted []string, key raw) int {
	for i, name := range wanted {
		if key.is(name) {
			return i
		}
	}
	return -1
}

// list passes a list.
func (w *walker) list() bool {
	w.at++
	if w.depth++; w.depth > maxDepth || !w.space() {
		return false
	}
	for more := !w.next(']'); more; {
		if !w.value() || !w.space() {
			return false
		}
		if more = w.next(','); more && !w.space() || !more && !w.next(']') {
			return false
		}
	}
	w.depth--
	return true
}

// value passes any value.
func (w *walker) value() bool {
	if w.at >= len(w.b) {
		return false
	}
	switch w.b[w.at] {
	case '"':
		_, ok := w.text()
		return ok
	case '{':
		return w.object(nil, nil)
	case '[':
		return w.list()
	case 't':
		return w.word("true")
	case 'f':
		return w.word("false")
	case 'n':
		return w.word("null")
	default:
		_, ok := w.number()
		return ok
	}
}

// stringOr passes a value, and keeps it if it is a string.
func (w *walker) stringOr(kept *raw) (ok bool) {
	if w.at < len(w.b) && w.b[w.at] == '"' {
		*kept, ok = w.text()
		return ok
	}
	return w.value()
}

// numberOr passes a value, and keeps it if it is a number.
func (w *walker) numberOr(kept *[]byte) (ok bool) {
	if w.at < len(w.b) && (w.b[w.at] == '-' || '0' <= w.b[w.at] && w.b[w.at] <= '9') {
		*kept, ok = w.number()
		return ok
	}
	return w.value()
}

func (w *walker) word(name string) bool {
	if !bytes.HasPrefix(w.b[w.at:], []byte(name)) {
		return false
	}
	w.at += len(name)
	return true
}

// number passes a number and returns it as it stands.
func (w *walker) number() ([]byte, bool) {
	begin := w.at
	w.next('-')
	if !w.next('0') && !w.digits() {
		return nil, false
	}
	if w.next('.') && !w.digits() {
		return nil, false
	}
	if w.next('e') || w.next('E') {
		if !w.next('+') {
			w.next('-')
		}
		if !w.digits() {
			return nil, false
		}
	}
	return w.b[begin:w.at], true
}

// digits passes digits, of which there has to be one.
func (w *walker) digits() bool {
	begin := w.at
	for w.at < len(w.b) && '0' <= w.b[w.at] && w.b[w.at] <= '9' {
		w.at++
	}
	return w.at > begin
}

// text passes a string.
func (w *walker) text() (raw, bool) {
	begin := w.at
	if !w.next('"') {
		return nil, false
	}
	for {
		i := plain(w.b[w.at:])
		if w.at += i; w.at >= len(w.b) {
			return nil, false
		}
		switch w.b[w.at] {
		case '"':
			w.at++
			return w.b[begin:w.at], true
		case '\\':
			if !w.escape() {
				return nil, false
			}
		default:
			return nil, false // a control character
		}
	}
}

// escape passes a backslash and what belongs to it.
func (w *walker) escape() bool {
	if w.at+1 >= len(w.b) {
		return false
	}
	switch w.b[w.at+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		w.at += 2
		return true
	case 'u':
		if w.at+6 > len(w.b) {
			return false
		}
		for _, c := range w.b[w.at+2 : w.at+6] {
			if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
				return false
			}
		}
		w.at += 6
		return true
	}
	return false
}

// plain counts the bytes before a quote, a backslash or a control character. It looks at
// eight at once: in each byte of a word the highest bit is set if the byte is one of those.
// Above the first such byte the bits may be wrong, and are not looked at.
func plain(b []byte) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		quote, slash := x^ones*'"', x^ones*'\\'
		if found := ((quote-ones)&^quote | (slash-ones)&^slash | (x-ones*' ')&^x) & high; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c == '"' || c == '\\' || c < ' ' {
			return i
		}
	}
	return i
}
