package gateway

import (
	"encoding/json"

	"github.com/assayd/assayd/runtime/gateway/transcript"
)

// completions is OpenAI's protocol of chat completions, which most other providers speak.
var completions = generation{name: transcript.Completions, prepare: askForUsage, whole: wholeCompletion, event: completionChunk}

// askForUsage has a stream end with its usage, which this protocol tells only who asks.
func askForUsage(q *question) bool {
	if !q.Stream {
		return false
	}
	options := map[string]json.RawMessage{}
	if raw, ok := q.fields["stream_options"]; ok && json.Unmarshal(raw, &options) != nil {
		return false // the provider will say what is wrong with it
	}
	if string(options["include_usage"]) == "true" {
		return false
	}
	if options == nil { // it was null
		options = map[string]json.RawMessage{}
	}
	options["include_usage"] = json.RawMessage("true")
	q.fields["stream_options"], _ = json.Marshal(options) // of valid JSON
	return true
}

type completionUsage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Details    struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	Cost *float64 `json:"cost"` // OpenRouter's
}

func (u *completionUsage) into(m *meter) {
	if u == nil {
		return
	}
	m.tokens = tokens{input: u.Prompt, cached: u.Details.Cached, output: u.Completion, reported: u.Cost}
	m.told = true
}

type completionText struct {
	Content   *string `json:"content"`
	Refusal   *string `json:"refusal"`
	Reasoning *string `json:"reasoning"`         // OpenRouter's
	Thinking  *string `json:"reasoning_content"` // DeepSeek's, and those who follow it
	Calls     []struct {
		Index    int    `json:"index"`
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

func (t completionText) into(m *meter) {
	for _, piece := range []*string{t.Content, t.Refusal} {
		if piece != nil {
			m.Say(m.wrote(*piece))
		}
	}
	for _, piece := range []*string{t.Reasoning, t.Thinking} {
		if piece != nil {
			m.Think(m.wrote(*piece))
		}
	}
	for _, call := range t.Calls {
		m.Call(call.Index, call.ID, m.wrote(call.Function.Name), m.wrote(call.Function.Arguments))
	}
}

type completion struct {
	Model   string           `json:"model"`
	Usage   *completionUsage `json:"usage"`
	Error   json.RawMessage  `json:"error"`
	Choices []struct {
		Message completionText `json:"message"`
		Delta   completionText `json:"delta"`
		Finish  string         `json:"finish_reason"`
	} `json:"choices"`
}

func wholeCompletion(body []byte, m *meter) {
	var c completion
	if json.Unmarshal(body, &c) != nil {
		return
	}
	m.model = c.Model
	for i, choice := range c.Choices {
		for k := range choice.Message.Calls {
			choice.Message.Calls[k].Index = k // only streams number them
		}
		if i == 0 {
			choice.Message.into(m)
			m.Stop = choice.Finish
		}
	}
	c.Usage.into(m)
}

func completionChunk(data []byte, m *meter) {
	if string(data) == "[DONE]" {
		m.last = true
		return
	}
	var c completion
	if json.Unmarshal(data, &c) != nil {
		return
	}
	if c.Model != "" {
		m.model = c.Model
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		m.err = string(c.Error)
	}
	for _, choice := range c.Choices {
		choice.Delta.into(m)
		if choice.Finish != "" {
			m.Stop = choice.Finish
		}
	}
	c.Usage.into(m)
	m.hide = m.asked && c.Usage != nil && len(c.Choices) == 0
}

// responses is OpenAI's protocol of responses, which Codex speaks.
var responses = generation{name: transcript.Responses, prepare: func(*question) bool { return false }, whole: wholeResponse, event: responseEvent}

type response struct {
	Model  string            `json:"model"`
	Status string            `json:"status"`
	Error  json.RawMessage   `json:"error"`
	Output []json.RawMessage `json:"output"`
	Usage  *struct {
		Input   int64 `json:"input_tokens"`
		Output  int64 `json:"output_tokens"`
		Details struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"input_tokens_details"`
		Cost *float64 `json:"cost"`
	} `json:"usage"`
}

// into takes the end of an answer over.
func (r *response) into(m *meter) {
	if r.Model != "" {
		m.model = r.Model
	}
	m.Stop = r.Status
	if len(r.Error) > 0 && string(r.Error) != "null" {
		m.err = string(r.Error)
	}
	if u := r.Usage; u != nil {
		m.tokens = tokens{input: u.Input, cached: u.Details.Cached, output: u.Output, reported: u.Cost}
		m.told = true
	}
}

func wholeResponse(body []byte, m *meter) {
	var r response
	if json.Unmarshal(body, &r) != nil {
		return
	}
	for _, item := range r.Output {
		m.text += len(item)
		m.Item(item)
	}
	r.into(m)
}

func responseEvent(data []byte, m *meter) {
	var e struct {
		Type     string          `json:"type"`
		Delta    string          `json:"delta"`
		Item     json.RawMessage `json:"item"`
		Response *response       `json:"response"`
	}
	if json.Unmarshal(data, &e) != nil {
		return
	}
	switch e.Type {
	case "response.output_item.done":
		m.Item(e.Item)
	case "response.completed", "response.incomplete", "response.failed":
		m.last = true
	case "error":
		m.last, m.err = true, string(data)
	}
	m.wrote(e.Delta)
	if e.Response != nil {
		e.Response.into(m)
	}
}
