package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"

	"github.com/assayd/assayd/runtime/gateway/transcript/values"
)

// Question is a request to a model, as far as the gateway reads it.
type Question struct {
	Fields    map[string]json.RawMessage // all of them, by their names; their values lie in the body
	Model     string
	Stream    bool
	TextBytes int // of text, about
}

// maxName bounds the name of a model, which is kept in the books.
const maxName = 200

// ReadQuestion reads a request's body. The error says what the gateway cannot count or read.
func ReadQuestion(body []byte) (*Question, error) {
	fields, err := Fields(body)
	if err != nil {
		return nil, err
	}
	q := &Question{Fields: fields, TextBytes: textBytes(body)}
	for name, to := range map[string]any{"model": &q.Model, "stream": &q.Stream} {
		if raw, ok := fields[name]; ok {
			if err := json.Unmarshal(raw, to); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	if len(q.Model) > maxName {
		return nil, fmt.Errorf("model: a name of %d bytes", len(q.Model))
	}
	if string(fields["background"]) == "true" {
		return nil, errors.New("background: a later answer cannot be counted")
	}
	return q, nil
}

// Fields reads a JSON object, whose parts stay where they are. Two fields of one name are
// refused, also where they differ in case only: the provider might take the other one for the
// model that is to be paid for.
func Fields(body []byte) (fields map[string]json.RawMessage, err error) {
	if err := json.Unmarshal(body, &struct{}{}); err != nil {
		return nil, err
	}
	fields = map[string]json.RawMessage{}
	folded := map[string]bool{}
	object := values.Members(body, func(name string, value []byte) bool {
		switch low := fold(name); {
		case folded[low]:
			err = fmt.Errorf("it has the field %q twice", Clip([]byte(name)))
		case len(folded) == maxFields:
			err = fmt.Errorf("it has more than %d fields", maxFields)
		default:
			folded[low] = true
		}
		fields[name] = value
		return err == nil
	})
	if !object {
		return nil, errors.New("it is no object")
	}
	return fields, err
}

// maxFields bounds the fields of a request; no protocol has as many.
const maxFields = 1000

// UseStandardTier leaves out what asks for a dearer service than the one that has a price, and says
// whether there was any.
func UseStandardTier(fields map[string]json.RawMessage) (changed bool) {
	dearer := map[string]string{"service_tier": "priority", "speed": "fast"} // OpenAI's, Anthropic's
	before := len(fields)
	maps.DeleteFunc(fields, func(name string, value json.RawMessage) bool {
		what, ok := dearer[fold(name)]
		return ok && fold(values.Text(value)) == what
	})
	return len(fields) < before
}

// Images and other files are in a request as base64, and take about as many tokens whatever
// their size.
const (
	fileRun   = 4 << 10 // bytes without a space or a quote: no text has that many
	fileBytes = 6 << 10 // of text that takes as many tokens as such a file
)

// textBytes is how many bytes of text a request has, about.
func textBytes(body []byte) int {
	n, run := 0, 0
	end := func() {
		if run > fileRun {
			run = min(run, fileBytes)
		}
		n, run = n+run, 0
	}
	for _, c := range body {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '/' && c <= '9' || c == '+' || c == '-' || c == '_' {
			run++
			continue
		}
		end()
		n++
	}
	end()
	return n
}

// Decode reads JSON and says whether it is some. What is of another type than expected is
// left out. What is made of too many values is none, either.
func Decode(data []byte, v any) bool {
	if len(data) > MaxValues && values.Count(data, MaxValues) > MaxValues {
		return false
	}
	err := json.Unmarshal(data, v)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return true
	}
	return err == nil
}

// SmallestQuestion is the body of the smallest question to a model.
func (g *Generation) SmallestQuestion(model string) []byte {
	fields := map[string]any{"model": model}
	if g == &responses {
		fields["input"], fields["max_output_tokens"] = "Hi", 16
	} else {
		fields["messages"], fields["max_tokens"] = []map[string]string{{"role": "user", "content": "Hi"}}, 1
	}
	body, _ := json.Marshal(fields) // plain data always encodes
	return body
}

// Clip bounds what is quoted of others: its first 2,000 bytes, as valid UTF-8.
func Clip(body []byte) string {
	const most = 2000
	if len(body) > most {
		body = body[:most]
	}
	return strings.ToValidUTF8(string(body), "?")
}

// Bounds of what is not known of a request to a model before it is answered.
const (
	maxOutput   = 128 << 10 // tokens that a model writes at most where the request does not say
	besidesText = 1 << 10   // tokens of a prompt that are no text of the request: roles, tools
	maxAnswers  = 128       // to one request
)

// outputs are the fields that bound what a model writes, by the protocol: a field that the provider
// does not know bounds nothing.
func (g *Generation) outputs() []string {
	switch g {
	case &completions:
		return []string{"max_completion_tokens", "max_tokens"}
	case &responses:
		return []string{"max_output_tokens"}
	}
	return []string{"max_tokens"}
}

// Bound is what a request takes at most: a token for each byte of its text, and as many as the
// model may write.
func (g *Generation) Bound(q *Question) Tokens {
	t := Tokens{Input: int64(q.TextBytes) + besidesText}
	for _, name := range g.outputs() {
		t.Output = max(t.Output, number(q.Fields[name]))
	}
	if t.Output == 0 {
		t.Output = maxOutput
	}
	if answers := number(q.Fields["n"]); answers > 1 && g == &completions {
		t.Output = min(t.Output, maxTokens) * min(answers, maxAnswers)
	}
	t.Input, t.Output = min(t.Input, maxTokens), min(t.Output, maxTokens)
	t.Written = t.Input // what is written to a cache may be dearer
	return t
}

// number is a positive number, 0 where the text is none.
func number(raw json.RawMessage) int64 {
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || !(n > 0) {
		return 0
	}
	return int64(min(math.Ceil(n), maxTokens))
}
