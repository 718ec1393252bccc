package gateway

import (
	"encoding/json"
	"net/http"

	"github.com/assayd/assayd/runtime/gateway/transcript"
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
	// prepare changes the request where that is needed for counting, and says whether it did.
	prepare func(q *question) bool
	// whole reads an answer that came in one piece.
	whole func(body []byte, m *meter)
	// event reads one event of a stream, by its data.
	event func(data []byte, m *meter)
}

// endpointsOf are the addresses that a protocol has.
func endpointsOf(protocol string) []endpoint {
	if protocol == Anthropic {
		return []endpoint{
			{http.MethodPost, "/v1/messages", &messages},
			{http.MethodPost, "/v1/messages/count_tokens", nil},
			{http.MethodGet, "/v1/models", nil},
		}
	}
	return []endpoint{
		{http.MethodPost, "/v1/chat/completions", &completions},
		{http.MethodPost, "/v1/responses", &responses},
		{http.MethodGet, "/v1/models", nil},
	}
}

// question is a request to a model, as far as the gateway reads it.
type question struct {
	fields map[string]json.RawMessage
	Model  string
	Stream bool
	bytes  int // of text, about
}

// ask reads a request's body.
func ask(body []byte) (*question, error) {
	q := &question{bytes: len(body)}
	if err := json.Unmarshal(body, &q.fields); err != nil {
		return nil, err
	}
	var head struct {
		Model  string `json:"model"`
		Stream bool   `json:"stream"`
	}
	if err := json.Unmarshal(body, &head); err != nil {
		return nil, err
	}
	q.Model, q.Stream = head.Model, head.Stream
	return q, nil
}

// meter reads what passes and keeps what it says.
type meter struct {
	model string
	tokens
	told  bool // the provider has told all that the exchange takes
	last  bool // the event that was read ends the stream
	hide  bool // the event that was read is of our own asking, and not for the agent
	asked bool // we asked for the usage, the agent did not
	text  int  // bytes that the model has written
	err   string
	transcript.Answer
}

// settle counts what nobody told, from the text of the prompt and of the answer.
func (m *meter) settle(promptBytes int) {
	if m.told {
		return
	}
	if m.input == 0 {
		m.input = estimate(promptBytes)
		m.estimated += m.input
	}
	if told, written := m.output, estimate(m.text); written > told {
		m.output = written
		m.estimated += written
	}
}

// wrote notes a piece of what the model writes.
func (m *meter) wrote(piece string) string {
	m.text += len(piece)
	return piece
}
