package modeltest

import (
	"encoding/json"
	"errors"
	"net/http"
)

// chat is OpenAI's chat completions.
type chat struct{}

func (chat) read(body []byte) (Request, error) {
	var q struct {
		Model    string
		Messages []struct {
			Role       string
			Content    content
			ToolCallID string `json:"tool_call_id"`
			ToolCalls  []struct {
				ID       string
				Function struct {
					Name      string
					Arguments json.RawMessage
				}
			} `json:"tool_calls"`
		}
		Tools []struct {
			Type     string
			Function struct{ Name string }
		}
		Stream        bool
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return Request{}, err
	}
	if len(q.Messages) == 0 {
		return Request{}, errors.New("messages: there must be at least one")
	}
	request := Request{Protocol: Chat, Model: q.Model, Stream: q.Stream, IncludeUsage: q.StreamOptions.IncludeUsage}
	var turns history
	for _, message := range q.Messages {
		if message.Role == "tool" {
			turns.add(Turn{Role: "tool", Results: []Result{{ID: message.ToolCallID, Text: string(message.Content)}}})
			continue
		}
		turn := Turn{Role: message.Role, Text: string(message.Content)}
		for _, call := range message.ToolCalls {
			turn.Calls = append(turn.Calls, Call{call.ID, call.Function.Name, arguments(call.Function.Arguments)})
		}
		turns.add(turn)
	}
	request.Turns = turns
	for _, tool := range q.Tools {
		request.Tools = append(request.Tools, named(tool.Function.Name, tool.Type))
	}
	return request, nil
}

func (chat) whole(r reply) object {
	message := object{"role": "assistant", "content": r.Text, "refusal": nil}
	if len(r.Calls) > 0 {
		if r.Text == "" {
			message["content"] = nil
		}
		var calls []object
		for _, call := range r.Calls {
			calls = append(calls, object{
				"id": call.ID, "type": "function",
				"function": object{"name": call.Name, "arguments": string(encode(call.Arguments))},
			})
		}
		message["tool_calls"] = calls
	}
	return object{
		"id": "chatcmpl-" + r.id, "object": "chat.completion", "created": r.at, "model": r.to.Model,
		"choices": []object{{"index": 0, "message": message, "logprobs": nil, "finish_reason": chatFinish(r)}},
		"usage":   chatUsage(r.Usage),
	}
}

// events begin with the role, go on with pieces of the text and of each call, and end with a
// reason. Only who asks for the usage gets it, in a chunk without a choice; all chunks
// before it have a null in its place.
func (chat) events(r reply) []event {
	var all []event
	chunk := func(text string, choices ...object) *event {
		data := object{
			"id": "chatcmpl-" + r.id, "object": "chat.completion.chunk", "created": r.at, "model": r.to.Model,
			"choices": choices,
		}
		if r.to.IncludeUsage {
			data["usage"] = nil
		}
		all = append(all, event{data: data, text: text})
		return &all[len(all)-1]
	}
	add := func(text string, delta object) {
		chunk(text, object{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": nil})
	}

	add("", object{"role": "assistant", "content": ""})
	if r.Text != "" {
		for _, piece := range pieces(r.Text, r.Deltas) {
			add(piece, object{"content": piece})
		}
	}
	for i, call := range r.Calls {
		add("", object{"tool_calls": []object{{
			"index": i, "id": call.ID, "type": "function", "function": object{"name": call.Name, "arguments": ""},
		}}})
		for _, piece := range pieces(string(encode(call.Arguments)), r.Deltas) {
			add("", object{"tool_calls": []object{{"index": i, "function": object{"arguments": piece}}}})
		}
	}
	chunk("", object{"index": 0, "delta": object{}, "logprobs": nil, "finish_reason": chatFinish(r)})
	if r.to.IncludeUsage {
		last := chunk("")
		last.data.(object)["choices"] = []object{}
		last.data.(object)["usage"] = chatUsage(r.Usage)
		last.usage, last.final = r.Usage, true
	}
	return append(all, event{data: "[DONE]"})
}

func (chat) fault(status int, message string) object { return openAIFault(status, message) }

func chatFinish(r reply) string {
	if len(r.Calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

func chatUsage(u Usage) object {
	return object{
		"prompt_tokens": u.Prompt(), "completion_tokens": u.Output, "total_tokens": u.Prompt() + u.Output,
		"prompt_tokens_details":     object{"cached_tokens": u.Cached},
		"completion_tokens_details": object{"reasoning_tokens": 0},
	}
}

// openAIFault is an error of either protocol of OpenAI.
func openAIFault(status int, message string) object {
	kind, code := "invalid_request_error", any(nil)
	switch {
	case status == http.StatusUnauthorized:
		code = "invalid_api_key"
	case status == http.StatusTooManyRequests:
		kind, code = "requests", "rate_limit_exceeded"
	case status >= http.StatusInternalServerError:
		kind = "server_error"
	}
	return object{"error": object{"message": message, "type": kind, "param": nil, "code": code}}
}

// named is the name of a tool, or its type when it has none.
func named(name, kind string) string {
	if name == "" {
		return kind
	}
	return name
}
