package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

const (
	maxLine = 1 << 20   // bytes of a line, with its newline
	maxList = 256 << 10 // bytes of a list within a line
)

// Head is the envelope of a line as it is written; the order of its fields is a promise.
type Head struct {
	V          int    `json:"v"`
	Seq        int    `json:"seq"`
	Time       string `json:"time"`
	Type       string `json:"type"`
	Spec       string `json:"spec"`
	Generation string `json:"generation"`
	Execution  string `json:"execution,omitempty"`
}

var envelopeNames = []string{"v", "seq", "time", "type", "spec", "generation", "execution"}

// field is a member of a JSON object; a slice of them keeps the order.
type field struct {
	name  string
	value json.RawMessage
}

// Line encodes a record, which is nil or encodes to a JSON object, behind its head, without a newline and without secrets.
// Lists over 256 KiB, and what else is too long, become files: a line has at most 1 MiB with its newline.
func (e Encoder) Line(h Head, record any) ([]byte, error) {
	line, err := encode(h)
	if err != nil {
		return nil, err
	}
	fields, err := e.fields(record)
	if err != nil {
		return nil, err
	}
	if err := e.shorten(fields, maxLine-len(line)-1); err != nil {
		return nil, err
	}
	line = line[:len(line)-1]
	for _, f := range fields {
		name, err := encode(f.name)
		if err != nil {
			return nil, err
		}
		line = append(append(append(append(line, ','), name...), ':'), f.value...)
	}
	return append(line, '}'), nil
}

// encode is JSON in one line, without the escapes that only HTML needs. What is no number
// in JSON (NaN, infinity) is an error.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.ToValidUTF8(bytes.TrimSuffix(b.Bytes(), []byte("\n")), []byte("\uFFFD")), nil
}

// fields are the members of a record, in order, without secrets.
func (e Encoder) fields(record any) ([]field, error) {
	if record == nil {
		return nil, nil
	}
	data, err := encode(record)
	if err != nil {
		return nil, err
	}
	if data, err = e.redactStrings(data); err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return nil, errors.Join(fmt.Errorf("the record %T is no JSON object", record), err)
	}
	var fields []field
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		f := field{name: name.(string)} // a member's name is nothing else
		if slices.Contains(envelopeNames, f.name) {
			return nil, fmt.Errorf("the record %T has a field %q, which belongs to the envelope", record, f.name)
		}
		if err := decoder.Decode(&f.value); err != nil {
			return nil, err
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// shorten moves long lists, and then whatever is longest, to files until the members take
// at most room bytes: a record must never be refused for its length, because the effect
// it reports would be refused with it.
func (e Encoder) shorten(fields []field, room int) error {
	length := 0
	for i, f := range fields {
		if f.value[0] == '[' && len(f.value) > maxList {
			if err := e.spill(&fields[i]); err != nil {
				return err
			}
		}
		length += fields[i].length()
	}
	for length > room {
		longest := slices.MaxFunc(fields, func(a, b field) int { return len(a.value) - len(b.value) })
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == longest.name })
		length -= fields[i].length()
		if err := e.spill(&fields[i]); err != nil {
			return err
		}
		if fields[i].length() >= longest.length() {
			return fmt.Errorf("the record has %d fields and is over %d bytes", len(fields), maxLine)
		}
		length += fields[i].length()
	}
	return nil
}

// length is an upper bound of the bytes that a member takes: a name may grow by escapes.
func (f field) length() int { return 6*len(f.name) + len(f.value) + len(`,"":`) }

// spill puts the value of f in a file of its own, named by its content.
func (e Encoder) spill(f *field) error {
	file, digest, err := e.Keep(f.value)
	if err != nil {
		return err
	}
	f.value, err = encode(struct {
		File   string `json:"file"`
		SHA256 string `json:"sha256"`
	}{file, digest})
	return err
}
