package parser

import (
	"bytes"
	"encoding/json"
	"errors"
)

// lastDocument finds the last JSON object that begins at the start of a line and that is
// accepted. Documents are read from the front, so that one in the
// quoted output of a test is none.
func lastDocument(output []byte, accept func(document []byte) bool) (found bool) {
	spent := 0 // bytes read in vain; bounded, for each line could begin what never ends
	for at := 0; at < len(output) && spent <= 16*len(output); {
		if output[at] != '{' {
			at = nextLine(output, at)
			continue
		}
		var document json.RawMessage
		dec := json.NewDecoder(bytes.NewReader(output[at:]))
		if err := dec.Decode(&document); err != nil {
			spent += costOf(err, len(output)-at)
			at = nextLine(output, at)
			continue
		}
		past := at + int(dec.InputOffset())
		if accept(document) {
			found = true
		}
		at = nextLine(output, past)
	}
	return found
}

// nextLine returns where the line after the one at a position begins.
func nextLine(text []byte, at int) int {
	next := bytes.IndexByte(text[at:], '\n')
	if next < 0 {
		return len(text)
	}
	return at + next + 1
}

// costOf is how much of a text was read before it turned out to be no JSON.
func costOf(err error, most int) int {
	var wrong *json.SyntaxError
	if errors.As(err, &wrong) {
		return min(int(wrong.Offset), most) + 1
	}
	return most + 1
}
