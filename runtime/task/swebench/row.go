package swebench

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Columns that have a meaning here.
const (
	colID        = "instance_id"
	colRepo      = "repo"
	colCommit    = "base_commit"
	colPatch     = "patch"
	colTests     = "test_patch"
	colStatement = "problem_statement"
	colHints     = "hints_text"
	colCreated   = "created_at"
	colVersion   = "version"
	colF2P       = "FAIL_TO_PASS"
	colP2P       = "PASS_TO_PASS"
	colSetup     = "environment_setup_commit"
	colImage     = "image"
	colParser    = "log_parser"
	colType      = "eval_type"
	colScript    = "eval_script"
	colOurs      = "assayd" // what the other columns cannot say
)

// columns is the order in which they are written; others follow by name.
func columns() []string {
	return []string{
		colRepo, colID, colCommit, colPatch, colTests, colStatement, colHints, colCreated, colVersion,
		colF2P, colP2P, colSetup, colImage, colParser, colType, colScript,
	}
}

// value is what a column holds. Raw says that text is JSON of something that is no text.
type value struct {
	text string
	raw  bool
}

// row is an instance: its columns, without those that are null.
type row map[string]value

func (r row) text(name string) string {
	if v := r[name]; !v.raw {
		return v.text
	}
	return ""
}

// first is the first of some columns that holds text.
func (r row) first(names ...string) string {
	for _, name := range names {
		if text := r.text(name); text != "" {
			return text
		}
	}
	return ""
}

// inner are the fields of a column that holds an object, or the text of one.
func (r row) inner(name string) row {
	v, ok := r[name]
	if !ok {
		return nil
	}
	inner, err := parseRow([]byte(v.text))
	if err != nil {
		return nil
	}
	return inner
}

// list reads a list of texts in any of the ways in which people write one: as such, as JSON
// text, as Python prints it, or one text that is the only entry. ok is false for another thing.
func (r row) list(name string) (out []string, ok bool) {
	v, there := r[name]
	text := strings.TrimSpace(v.text)
	switch {
	case !there, !v.raw && text == "":
		return nil, true
	case json.Unmarshal([]byte(text), &out) == nil && (v.raw || strings.HasPrefix(text, "[")):
		return out, kept([]byte(text), out...)
	case v.raw:
		return nil, false
	case strings.HasPrefix(text, "["):
		return pythonList(text)
	}
	return []string{text}, true
}

// lines is list for commands, where a number of lines is one text.
func (r row) lines(name string) []string {
	out, _ := r.list(name)
	return slices.DeleteFunc(out, func(line string) bool { return strings.TrimSpace(line) == "" })
}

// parseRow reads a JSON object. Of equal keys the last one counts.
func parseRow(data []byte) (row, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	r := make(row, len(fields))
	for name, raw := range fields {
		v, ok, err := newValue(raw)
		if err != nil {
			return nil, err
		}
		if ok {
			r[name] = v
		}
	}
	return r, nil
}

// newValue is a value of JSON; ok is false for null.
func newValue(raw []byte) (v value, ok bool, err error) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return value{}, false, nil
	case raw[0] == '"':
		if text, ok := unescaped(raw); ok {
			return value{text: text}, true, nil
		}
		if err = json.Unmarshal(raw, &v.text); err == nil && !kept(raw, v.text) {
			err = errors.New("holds text that is no UTF-8")
		}
		return v, true, err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return value{}, false, err
	}
	return value{compact.String(), true}, true, nil
}

// kept reports whether texts that were read as JSON are what the JSON says: what no character
// is, as half a surrogate, becomes U+FFFD without an error.
func kept(raw []byte, texts ...string) bool {
	const odd = "\uFFFD"
	there := 0
	for _, text := range texts {
		there += strings.Count(text, odd)
	}
	return there == 0 || there <= bytes.Count(raw, []byte(odd))+bytes.Count(bytes.ToLower(raw), []byte(`\ufffd`))
}

// unescaped is the text of a JSON string that has been found to be one; ok is false where more
// than the short escapes has to be undone. Rows are mostly long texts: this is most of the time
// that reading takes.
func unescaped(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[len(raw)-1] != '"' || !utf8.Valid(raw) {
		return "", false
	}
	raw = raw[1 : len(raw)-1]
	var out strings.Builder
	out.Grow(len(raw))
	for {
		at := bytes.IndexByte(raw, '\\')
		if at < 0 {
			out.Write(raw)
			return out.String(), true
		}
		if at+1 >= len(raw) {
			return "", false
		}
		short := strings.IndexByte(`"\/bfnrt`, raw[at+1])
		if short < 0 {
			return "", false
		}
		out.Write(raw[:at])
		out.WriteByte("\"\\/\b\f\n\r\t"[short])
		raw = raw[at+2:]
	}
}

// json writes a row as one line, the columns that everybody knows first.
func (r row) json() []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, name := range r.names() {
		if i > 0 {
			b.WriteString(", ")
		}
		b.Write(jsonText(name))
		b.WriteString(": ")
		b.Write(r[name].json())
	}
	b.WriteByte('}')
	return b.Bytes()
}

func (v value) json() []byte {
	if v.raw {
		return []byte(v.text)
	}
	return jsonText(v.text)
}

// names are the columns of a row as they are written.
func (r row) names() []string {
	var names []string
	for _, name := range columns() {
		if _, ok := r[name]; ok {
			names = append(names, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r)) {
		if !slices.Contains(columns(), name) && name != colOurs {
			names = append(names, name)
		}
	}
	if _, ok := r[colOurs]; ok {
		names = append(names, colOurs)
	}
	return names
}

// jsonText writes a value as people read it, with no escapes for browsers.
func jsonText(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // texts and lists of them always encode
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// escaped reports whether JSON may have to write a character in another way.
func escaped(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }

// listText is a list of names as JSON text, with the spaces that everybody's files have.
func listText(names []string) string {
	var b strings.Builder
	b.WriteByte('[')
	for i, name := range names {
		if i > 0 {
			b.WriteString(", ")
		}
		if strings.ContainsFunc(name, escaped) {
			b.Write(jsonText(name))
		} else {
			b.WriteString(`"` + name + `"`)
		}
	}
	b.WriteByte(']')
	return b.String()
}

// pythonList reads a list of strings as Python prints it.
func pythonList(text string) ([]string, bool) {
	p := python{strings.TrimSpace(text)}
	if !p.take('[') {
		return nil, false
	}
	out := []string{}
	for !p.take(']') {
		item, ok := p.str()
		if !ok {
			return nil, false
		}
		out = append(out, item)
		if !p.take(',') && !strings.HasPrefix(p.rest, "]") {
			return nil, false
		}
	}
	return out, p.rest == ""
}

type python struct{ rest string }

func (p *python) take(c byte) bool {
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = strings.TrimLeft(p.rest[1:], " \t\r\n")
	return true
}

// str takes a string literal without a prefix.
func (p *python) str() (string, bool) {
	if p.rest == "" || p.rest[0] != '\'' && p.rest[0] != '"' {
		return "", false
	}
	quote := p.rest[0]
	var out strings.Builder
	for at := p.rest[1:]; at != ""; {
		switch {
		case at[0] == quote:
			p.rest = strings.TrimLeft(at[1:], " \t\r\n")
			return out.String(), true
		case at[0] != '\\':
			out.WriteByte(at[0])
			at = at[1:]
		case len(at) > 1 && strings.IndexByte(`'"`, at[1]) >= 0:
			out.WriteByte(at[1])
			at = at[2:]
		default:
			r, multibyte, rest, err := strconv.UnquoteChar(at, 0)
			if err != nil {
				return "", false
			}
			if !multibyte && r >= 0x80 { // \xe9 is a character in Python, a byte in Go
				multibyte = true
			}
			if multibyte {
				out.WriteRune(r)
			} else {
				out.WriteByte(byte(r))
			}
			at = rest
		}
	}
	return "", false
}
