package wire

import (
	"encoding/json"
	"net/http"
)

// Protocols of providers.
const (
	OpenAI    = "openai"    // chat completions and responses
	Anthropic = "anthropic" // messages
)

// Bounds on what is read.
const (
	MaxBody   = 64 << 20 // bytes of a request, and of an answer that is not streamed
	MaxValues = 500_000  // JSON values in a request, or in an event of an answer
)

// Endpoint is one address of a provider's API that agents may use.
type Endpoint struct {
	Method string
	Path   string // as agents ask for it, below the protocol's prefix
	// Generates is set where a model answers: such an exchange is counted and paid for.
	Generates *Generation
}

// Generation is how requests to a model and its answers are read. It belongs to an Endpoint.
type Generation struct {
	Name string // of the protocol in transcripts
	// Prepare changes the request where that is needed for counting, and says whether the
	// usage is then told that the agent did not ask for; nil = it never is. tellsCost is set
	// where the provider tells what an answer costs, if that is asked for.
	Prepare func(q *Question, tellsCost bool) (changed, asked bool)
	// Whole reads an answer that came in one piece.
	Whole func(body []byte, m *Meter)
	// Event reads one event of a stream, by its data.
	Event func(data []byte, m *Meter)
}

// ModelsPath is the path of the endpoint that lists models.
const ModelsPath = "/v1/models"

// ModelList is the list of models for an agent whose network is closed: the one of its run, "" = none.
// That of the provider would tell what else the account has.
func ModelList(protocol, model string) []byte {
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

// Endpoints are the addresses that a protocol has.
func Endpoints(protocol string) []Endpoint {
	if protocol == Anthropic {
		return []Endpoint{
			{http.MethodPost, "/v1/messages", &messages},
			{http.MethodPost, "/v1/messages/count_tokens", nil},
			{http.MethodGet, ModelsPath, nil},
		}
	}
	return []Endpoint{
		{http.MethodPost, "/v1/chat/completions", &completions},
		{http.MethodPost, "/v1/responses", &responses},
		{http.MethodGet, ModelsPath, nil},
	}
}
