package record

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Encoder encodes records and columns without secrets. It may be used by any goroutine where its functions may.
type Encoder struct {
	// Redact replaces secret values in text, and must not change its argument; nil keeps all.
	Redact func([]byte) []byte
	// Keep keeps a value that is too long for a line in a file, and returns the path that the line names and the SHA-256.
	Keep func(value []byte) (file, digest string, err error)
}

// Text is text without secret values.
func (e Encoder) Text(text []byte) []byte {
	if e.Redact == nil {
		return text
	}
	return e.Redact(text)
}

// Column makes a column of data: nothing for nothing, otherwise valid JSON without secrets.
func (e Encoder) Column(data json.RawMessage) (any, error) {
	if len(data) == 0 {
		return nil, nil
	}
	if !json.Valid(data) {
		return nil, fmt.Errorf("data is not JSON")
	}
	data, err := e.redactStrings(data)
	return string(data), err
}

// redactStrings redacts within each string of valid JSON, so that the result is JSON again
// and an escaped secret is found like a plain one.
func (e Encoder) redactStrings(src []byte) ([]byte, error) {
	if e.Redact == nil {
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
		literal, err := e.redactString(src[start:end])
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

func (e Encoder) redactString(literal []byte) ([]byte, error) {
	text := literal[1 : len(literal)-1]
	if bytes.IndexByte(text, '\\') >= 0 {
		var s string
		if err := json.Unmarshal(literal, &s); err != nil {
			return nil, fmt.Errorf("decode string to redact: %w", err)
		}
		text = []byte(s)
	}
	clean := e.Redact(text)
	if bytes.Equal(clean, text) {
		return literal, nil
	}
	return encode(string(clean))
}
