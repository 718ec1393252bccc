package sforge

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// node is a value of a JSON document and the line that it ends on.
type node struct {
	line  int
	value any // nil, bool, string, json.Number, []node or map[string]node
}

// maxNodes bounds how many values a document holds.
const maxNodes = 200_000

// parseDocument reads one JSON value and nothing behind it.
func parseDocument(data []byte) (node, error) {
	if !utf8.Valid(data) {
		return node{}, errors.New("is not UTF-8")
	}
	// The whole text is checked first, its depth included: then the walk cannot fail.
	var text json.RawMessage
	if err := json.Unmarshal(data, &text); err != nil {
		line := 0
		if e, ok := errors.AsType[*json.SyntaxError](err); ok {
			line = lineAt(data, e.Offset-1)
		}
		return node{}, faultf(line, "is no JSON: %s", err)
	}
	d := document{data: data, Decoder: json.NewDecoder(bytes.NewReader(data)), line: 1}
	d.replaced = bytes.Contains(data, []byte(replacement)) || bytes.Contains(bytes.ToLower(data), []byte(`\ufffd`))
	d.UseNumber()
	return d.next()
}

type document struct {
	*json.Decoder
	data     []byte
	at, line int // how far lines are counted
	nodes    int
	replaced bool // the text itself has replacement characters
}

const replacement = "\uFFFD"

func (d *document) next() (node, error) {
	if d.nodes++; d.nodes > maxNodes {
		return node{}, faultf(d.line, "holds more than %d values", maxNodes)
	}
	token, err := d.Token()
	if err != nil {
		return node{}, faultf(d.line, "is no JSON: %s", err)
	}
	d.count()
	at := d.line
	switch token {
	case json.Delim('['):
		list := []node{}
		for d.More() {
			item, err := d.next()
			if err != nil {
				return node{}, err
			}
			list = append(list, item)
		}
		return node{at, list}, d.end()
	case json.Delim('{'):
		fields := map[string]node{}
		for d.More() {
			key, err := d.next()
			if err != nil {
				return node{}, err
			}
			name, _ := key.value.(string)
			if fields[name], err = d.next(); err != nil { // of equal keys the last one counts
				return node{}, err
			}
		}
		return node{at, fields}, d.end()
	}
	if text, ok := token.(string); ok && !d.replaced && strings.Contains(text, replacement) {
		return node{}, faultf(at, "holds half a surrogate pair, which no file can be written with")
	}
	return node{at, token}, nil
}

// end takes the closing bracket.
func (d *document) end() error {
	_, err := d.Token()
	d.count()
	return err
}

// count brings line up to what has been read.
func (d *document) count() {
	to := int(d.InputOffset())
	d.line += bytes.Count(d.data[d.at:to], []byte("\n"))
	d.at = to
}

// object reads the fields of a JSON object by name and gathers what is wrong with them.
type object struct {
	name   string // before the names of its fields
	line   int
	fields map[string]node
	known  map[string]bool
	faults *[]*fault
}

func (o *object) failf(line int, format string, args ...any) {
	*o.faults = append(*o.faults, faultf(line, format, args...))
}

// get returns a field; null is as good as none.
func (o *object) get(field string) (node, bool) {
	o.known[field] = true
	n, ok := o.fields[field]
	return n, ok && n.value != nil
}

func (o *object) has(field string) bool {
	_, ok := o.get(field)
	return ok
}

// line of a field, or of the object that lacks it.
func (o *object) at(field string) int {
	if n, ok := o.get(field); ok {
		return n.line
	}
	return o.line
}

func (o *object) need(field string) {
	if !o.has(field) {
		o.failf(o.line, "%q is missing", o.name+field)
	}
}

// read returns a field as a T, or otherwise if it is not there.
func read[T any](o *object, field, what string, otherwise T) T {
	n, ok := o.get(field)
	if !ok {
		return otherwise
	}
	v, ok := n.value.(T)
	if !ok {
		o.failf(n.line, "%q is no %s", o.name+field, what)
		return otherwise
	}
	return v
}

func (o *object) text(field, otherwise string) string { return read(o, field, "text", otherwise) }

func (o *object) boolean(field string, otherwise bool) bool {
	return read(o, field, "boolean", otherwise)
}

// choice returns a text that is one of the words, the first of which is the default.
func (o *object) choice(field string, words ...string) string {
	text := o.text(field, words[0])
	for _, word := range words {
		if text == word {
			return text
		}
	}
	o.failf(o.at(field), "%q is %q, which is none of %s", o.name+field, cut(text), strings.Join(words, ", "))
	return words[0]
}

// whole returns a number without a fraction from 1 to limit.
func (o *object) whole(field string, otherwise, limit int) int {
	number := read(o, field, "number", json.Number(strconv.Itoa(otherwise)))
	n, err := strconv.Atoi(string(number))
	if err != nil || o.has(field) && (n < 1 || n > limit) {
		o.failf(o.at(field), "%q is no whole number from 1 to %d", o.name+field, limit)
		return otherwise
	}
	return n
}

// number returns a number that is there.
func (o *object) number(field string) float64 {
	f, err := strconv.ParseFloat(string(read(o, field, "number", json.Number("0"))), 64)
	if err != nil || math.IsInf(f, 0) {
		o.failf(o.at(field), "%q is beyond all bounds", o.name+field)
	}
	return f
}

// texts returns a list, and nil only if there is none.
func (o *object) texts(field string, otherwise []string) []string {
	list := read[[]node](o, field, "list", nil)
	if list == nil {
		return otherwise
	}
	out := make([]string, 0, len(list))
	for _, item := range list {
		text, ok := item.value.(string)
		if !ok {
			o.failf(item.line, "%q holds something that is no text", o.name+field)
			return otherwise
		}
		out = append(out, text)
	}
	return out
}

// object returns a field that is an object, or an empty one.
func (o *object) object(field string) *object {
	fields := read(o, field, "object", map[string]node{})
	return &object{name: o.name + field + ".", line: o.at(field), fields: fields, known: map[string]bool{}, faults: o.faults}
}

// unknown names the fields that nobody asked for, with their lines.
func (o *object) unknown() map[string]int {
	out := map[string]int{}
	for field, n := range o.fields {
		if !o.known[field] {
			out[o.name+field] = n.line
		}
	}
	return out
}
