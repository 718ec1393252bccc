package store

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// redacted is text without secret values.
func (t *Tx) redacted(text []byte) []byte {
	if t.store.redact == nil {
		return text
	}
	return t.store.redact(text)
}

// column makes a column of data: nothing for nothing, otherwise valid JSON without secrets.
func (t *Tx) column(data json.RawMessage) (any, error) {
	if len(data) == 0 {
		return nil, nil
	}
	if !json.Valid(data) {
		return nil, fmt.Errorf("data is not JSON")
	}
	data, err := t.redactStrings(data)
	return string(data), err
}

// redactStrings redacts within each string of valid JSON, so that the result is JSON again
// and an escaped secret is found like a plain one.
func (t *Tx) redactStrings(src []byte) ([]byte, error) {
	if t.store.redact == nil {
		return src, nil
	}
	out := make([]byte, 0, len(src))
	for len(src) > 0 {
		start := bytes.IndexByte(src, '"')
		if start < 0 {
			return append(out, src...), nil
		}
		out = append(out, src[:start]...)
		end := start + stringLength(src[start:])
		literal, err := t.redactString(src[start:end])
		if err != nil {
			return nil, err
		}
		out = append(out, literal...)
		src = src[end:]
	}
	return out, nil
}

// stringLength is the length of the string literal that src begins with.
func stringLength(src []byte) int {
	for i := 1; i < len(src); i++ {
		switch src[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(src)
}

func (t *Tx) redactString(literal []byte) ([]byte, error) {
	text := literal[1 : len(literal)-1]
	if bytes.IndexByte(text, '\\') >= 0 {
		var s string
		if err := json.Unmarshal(literal, &s); err != nil {
			return nil, fmt.Errorf("decode string to redact: %w", err)
		}
		text = []byte(s)
	}
	clean := t.store.redact(text)
	if bytes.Equal(clean, text) {
		return literal, nil
	}
	return encode(string(clean))
}
