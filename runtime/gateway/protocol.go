package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/assayd/assayd/runtime/gateway/transcript"
	"github.com/assayd/assayd/runtime/gateway/transcript/values"
)

// endpoint is one address of a provider's API that agents may use.
type endpoint struct {
	method string
	path   string // as agents ask for it, below the protocol's prefix
	// generates is set where a model answers: such an exchange is counted and paid for.
	generates *generation
}

// generation is how requests to a model and its answers are read.
type generation struct {
	name string // of the protocol in transcripts
	// prepare changes the request where that is needed for counting, and says whether the
	// usage is then told that the agent did not ask for; nil = it never is.
	prepare func(p *provider, q *question) (changed, asked bool)
	// whole reads an answer that came in one piece.
	whole func(body []byte, m *meter)
	// event reads one event of a stream, by its data.
	event func(data []byte, m *meter)
}

// modelsPath lists models.
const modelsPath = "/v1/models"

// declared is the list of models for an agent whose network is closed: the one of its run. That of
// the provider would tell what else the account has.
func declared(protocol, model string) []byte {
	type openAI struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	type anthropic struct {
		Type    string `json:"type"`
		ID      string `json:"id"`
		Name    string `json:"display_name"`
		Created string `json:"created_at"`
	}
	list := map[string]any{"object": "list", "data": []openAI{}}
	switch {
	case protocol == Anthropic && model != "":
		list = map[string]any{"data": []anthropic{{"model", model, model, "1970-01-01T00:00:00Z"}}, "has_more": false, "first_id": model, "last_id": model}
	case protocol == Anthropic:
		list = map[string]any{"data": []anthropic{}, "has_more": false, "first_id": nil, "last_id": nil}
	case model != "":
		list["data"] = []openAI{{ID: model, Object: "model", OwnedBy: "assayd"}}
	}
	body, _ := json.Marshal(list) // plain data always encodes
	return body
}

// endpointsOf are the addresses that a protocol has.
func endpointsOf(protocol string) []endpoint {
	if protocol == Anthropic {
		return []endpoint{
			{http.MethodPost, "/v1/messages", &messages},
			{http.MethodPost, "/v1/messages/count_tokens", nil},
			{http.MethodGet, modelsPath, nil},
		}
	}
	return []endpoint{
		{http.MethodPost, "/v1/chat/completions", &completions},
		{http.MethodPost, "/v1/responses", &responses},
		{http.MethodGet, modelsPath, nil},
	}
}

// question is a request to a model, as far as the gateway reads it.
type question struct {
	fields map[string]json.RawMessage
	Model  string
	Stream bool
	bytes  int // of text, about
}

// maxName bounds the name of a model, which is kept in the books.
const maxName = 200

// ask reads a request's body.
func ask(body []byte) (*question, error) {
	fields, err := members(body)
	if err != nil {
		return nil, err
	}
	q := &question{fields: fields, bytes: textBytes(body)}
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
		return nil, errors.New("background: what is answered later cannot be counted")
	}
	return q, nil
}

// members reads a JSON object, whose parts stay where they are. Two fields of one name are
// refused, also where they differ in case only: the provider might take the other one for the
// model that is to be paid for.
func members(body []byte) (fields map[string]json.RawMessage, err error) {
	if err := json.Unmarshal(body, &struct{}{}); err != nil {
		return nil, err
	}
	fields = map[string]json.RawMessage{}
	folded := map[string]bool{}
	object := values.Members(body, func(name string, value []byte) bool {
		switch low := fold(name); {
		case folded[low]:
			err = fmt.Errorf("it has the field %q twice", clip([]byte(name)))
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

// standard leaves out what asks for a dearer service than the one that has a price, and says
// whether there was any.
func standard(fields map[string]json.RawMessage) (changed bool) {
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

// decode reads JSON and says whether it is some. What is of another type than expected is
// left out. What is made of too many values is none, either.
func decode(data []byte, v any) bool {
	if len(data) > maxValues && values.Count(data, maxValues) > maxValues {
		return false
	}
	err := json.Unmarshal(data, v)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return true
	}
	return err == nil
}

// meter reads what passes and keeps what it says.
type meter struct {
	model string
	tokens
	prompt bool // the provider has told what the prompt takes
	told   bool // the provider has told all that the exchange takes
	last   bool // the event that was read ends the stream
	hide   bool // the event that was read is of our own asking, and not for the agent
	asked  bool // we asked for the usage, the agent did not
	text   int  // bytes that the model has written
	err    string
	piece  strings.Builder // of a text whose whole is to come
	transcript.Answer
}

// tell takes over what a provider says of the whole exchange so far.
func (m *meter) tell(t tokens, ok bool) (prompt bool) {
	if !ok {
		return false
	}
	m.tokens, m.prompt = t, true
	return true
}

// settle counts what nobody told, from the text of the prompt and of the answer. Where the
// provider refused before it wrote anything, nothing was taken.
func (m *meter) settle(promptBytes int) {
	m.Say(m.piece.String())
	m.piece.Reset()
	if m.told || m.err != "" && m.text == 0 && !m.prompt {
		return
	}
	if !m.prompt {
		m.input = estimate(promptBytes)
		m.estimated += m.input
	}
	m.output = max(m.output, estimate(m.text))
	m.estimated += m.output
}

// most takes the bound for what nobody told, where the agent has not waited for it: what the
// provider has done meanwhile cannot be known.
func (m *meter) most(bound tokens) {
	if m.told || bound.output == 0 {
		return
	}
	if !m.prompt {
		m.input, m.prompt = bound.input, true
		m.estimated += bound.input
	}
	m.output = max(m.output, bound.output)
}

// wrote notes a piece of what the model writes.
func (m *meter) wrote(piece string) string {
	m.text += len(piece)
	return piece
}
