package modeltest

import (
	"encoding/json"
	"strings"
)

// Protocol is one of the languages in which a model is asked.
type Protocol string

// The protocols, each by what is posted to.
const (
	Chat      Protocol = "chat"      // OpenAI's /v1/chat/completions
	Responses Protocol = "responses" // OpenAI's /v1/responses
	Messages  Protocol = "messages"  // Anthropic's /v1/messages
)

// Request is what a model is asked, in a form that all protocols have in common.
type Request struct {
	Protocol Protocol
	// Number counts the requests that this server's script was asked to answer, from 1.
	Number int
	Model  string
	// Turns are the conversation so far. Equal conversations are equal turns, whichever the
	// protocol.
	Turns []Turn
	// Tools are the names of the tools that the client offers; one without a name goes by
	// its type.
	Tools  []string
	Stream bool
	// IncludeUsage is stream_options.include_usage, without which a stream of Chat tells no
	// usage.
	IncludeUsage bool
}

// Turn is what one side said at once.
type Turn struct {
	// Role is system, user, assistant or tool.
	Role    string
	Text    string
	Calls   []Call   // of an assistant
	Results []Result // of a tool
}

// Call is the wish of a model that a tool be used.
type Call struct {
	// ID ties a result to its call. An answer's call without one is given one.
	ID        string
	Name      string
	Arguments map[string]any
}

// Result is what became of a call.
type Result struct {
	ID   string
	Text string
}

// Results counts the results of tools in the conversation.
func (r Request) Results() int {
	count := 0
	for _, turn := range r.Turns {
		count += len(turn.Results)
	}
	return count
}

// history gathers turns in the order in which a request has them.
type history []Turn

// add puts a turn at the end. One without text of its own joins the turn before it of the
// same role: protocols differ in whether calls and results have messages of their own.
func (h *history) add(turn Turn) {
	if turn.Role == "developer" {
		turn.Role = "system"
	}
	if end := len(*h) - 1; end >= 0 && turn.Text == "" && (*h)[end].Role == turn.Role {
		last := &(*h)[end]
		last.Calls = append(last.Calls, turn.Calls...)
		last.Results = append(last.Results, turn.Results...)
		return
	}
	*h = append(*h, turn)
}

// content is text as the protocols have it: a string, or a list of parts of which some have
// text. Anything else is kept as it was written.
type content string

// UnmarshalJSON never fails on what is JSON.
func (c *content) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*c = content(text)
		return nil
	}
	var parts []struct{ Text string }
	if json.Unmarshal(data, &parts) != nil {
		*c = content(data)
		return nil
	}
	var texts []string
	for _, part := range parts {
		if part.Text != "" {
			texts = append(texts, part.Text)
		}
	}
	*c = content(strings.Join(texts, "\n"))
	return nil
}

// arguments reads those of a call: an object, or a string that holds one. What is neither,
// such as the free text that a custom tool takes, is the argument "input".
func arguments(raw json.RawMessage) map[string]any {
	text := string(raw)
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
	}
	var args map[string]any
	if json.Unmarshal(raw, &args) != nil {
		return map[string]any{"input": text}
	}
	return args
}
