package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
)

const (
	maxLine = 1 << 20   // bytes of a line, with its newline
	maxList = 256 << 10 // bytes of a list within a line
)

// Envelope is what a line says before its own fields; version, seq and time are added.
type Envelope struct {
	Type       string // of the record, as "trial.started"
	Spec       string // address the record is about; "" is the stream's
	Generation string
	Execution  int // its number, written as "e1"; 0 leaves it out
}

// head is the envelope as it is written; the order of its fields is a promise.
type head struct {
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

// line encodes a record without its newline.
func (t *Tx) line(seq int, e Envelope, record any) ([]byte, error) {
	h := head{
		V: 1, Seq: seq, Time: t.store.clock().UTC().Format("2006-01-02T15:04:05.000000000Z07:00"),
		Type: e.Type, Spec: e.Spec, Generation: e.Generation,
	}
	if e.Execution > 0 {
		h.Execution = fmt.Sprintf("e%d", e.Execution)
	}
	line, err := encode(h)
	if err != nil {
		return nil, err
	}
	fields, err := t.fields(record)
	if err != nil {
		return nil, err
	}
	if err := t.shorten(fields, maxLine-len(line)-1); err != nil {
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
func (t *Tx) fields(record any) ([]field, error) {
	if record == nil {
		return nil, nil
	}
	data, err := encode(record)
	if err != nil {
		return nil, err
	}
	if data, err = t.redactStrings(data); err != nil {
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
func (t *Tx) shorten(fields []field, room int) error {
	length := 0
	for i, f := range fields {
		if f.value[0] == '[' && len(f.value) > maxList {
			if err := t.spill(&fields[i]); err != nil {
				return err
			}
		}
		length += fields[i].length()
	}
	for length > room {
		longest := slices.MaxFunc(fields, func(a, b field) int { return len(a.value) - len(b.value) })
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == longest.name })
		length -= fields[i].length()
		if err := t.spill(&fields[i]); err != nil {
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
func (t *Tx) spill(f *field) error {
	w, err := t.store.lists.Create()
	if err != nil {
		return err
	}
	defer w.Close()
	if _, err := w.Write(f.value); err != nil {
		return err
	}
	digest, _, err := w.Commit()
	if err != nil {
		return err
	}
	path, err := t.store.lists.Path(digest)
	if err != nil {
		return err
	}
	file, err := filepath.Rel(t.store.dir, path)
	if err != nil {
		return err
	}
	f.value, err = encode(struct {
		File   string `json:"file"`
		SHA256 string `json:"sha256"`
	}{filepath.ToSlash(file), digest})
	return err
}
