package modeltest

import (
	"encoding/json"
	"errors"
	"net/http"
)

// messages is Anthropic's messages.
type messages struct{}

// messagesBlock is a part of a message.
type messagesBlock struct {
	Type      string
	ID        string
	Name      string
	Input     json.RawMessage
	ToolUseID string `json:"tool_use_id"`
	Content   content
}

func (messages) read(body []byte) (Request, error) {
	var q struct {
		Model    string
		System   content
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
		Tools  []struct{ Type, Name string }
		Stream bool
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return Request{}, err
	}
	if len(q.Messages) == 0 {
		return Request{}, errors.New("messages: at least one message is required")
	}
	request := Request{Protocol: Messages, Model: q.Model, Stream: q.Stream}
	var turns history
	if q.System != "" {
		turns.add(Turn{Role: "system", Text: string(q.System)})
	}
	for _, message := range q.Messages {
		addMessage(&turns, message.Role, message.Content)
	}
	request.Turns = turns
	for _, tool := range q.Tools {
		request.Tools = append(request.Tools, named(tool.Name, tool.Type))
	}
	return request, nil
}

// addMessage adds what one message says: here the results of tools are the user's, and
// stand before what the user says beside them.
func addMessage(turns *history, role string, raw json.RawMessage) {
	var text content
	var blocks []messagesBlock
	_ = json.Unmarshal(raw, &text)
	_ = json.Unmarshal(raw, &blocks) // a string has none
	said := Turn{Role: role, Text: string(text)}
	done := Turn{Role: "tool"}
	for _, block := range blocks {
		switch block.Type {
		case "tool_use":
			said.Calls = append(said.Calls, Call{block.ID, block.Name, arguments(block.Input)})
		case "tool_result":
			done.Results = append(done.Results, Result{ID: block.ToolUseID, Text: string(block.Content)})
		}
	}
	if len(done.Results) > 0 {
		turns.add(done)
	}
	if len(done.Results) == 0 || said.Text != "" {
		turns.add(said)
	}
}

func (messages) whole(r reply) object {
	blocks, stop := []object{}, "end_turn"
	if r.Text != "" || len(r.Calls) == 0 {
		blocks = append(blocks, object{"type": "text", "text": r.Text})
	}
	for _, call := range r.Calls {
		stop = "tool_use"
		blocks = append(blocks, object{"type": "tool_use", "id": call.ID, "name": call.Name, "input": call.Arguments})
	}
	return object{
		"id": "msg_" + r.id, "type": "message", "role": "assistant", "model": r.to.Model, "content": blocks,
		"stop_reason": stop, "stop_sequence": nil, "usage": messagesUsage(r.Usage),
	}
}

// events are the message without content, then each block of it, then why it stops. The
// usage comes in two parts: what was read at once, what was written in the end. There the
// provider repeats what was read with some answers and not with others; here it is with
// those that the cache has to do with.
func (p messages) events(r reply) []event {
	var all []event
	add := func(kind string, data object) *event {
		data["type"] = kind
		all = append(all, event{name: kind, data: data})
		return &all[len(all)-1]
	}

	message := p.whole(r)
	blocks, stop := message["content"].([]object), message["stop_reason"]
	begun := r.Usage
	begun.Output = min(1, r.Usage.Output)
	message["content"], message["stop_reason"], message["usage"] = []object{}, nil, messagesUsage(begun)
	add("message_start", object{"message": message}).usage = begun

	for i, block := range blocks {
		if block["type"] == "text" {
			add("content_block_start", object{"index": i, "content_block": object{"type": "text", "text": ""}})
			for _, piece := range pieces(r.Text, r.Deltas) {
				add("content_block_delta", object{"index": i, "delta": object{"type": "text_delta", "text": piece}}).text = piece
			}
		} else {
			input := string(encode(block["input"]))
			block["input"] = object{}
			add("content_block_start", object{"index": i, "content_block": block})
			for _, piece := range pieces(input, r.Deltas) {
				add("content_block_delta", object{"index": i, "delta": object{"type": "input_json_delta", "partial_json": piece}})
			}
		}
		add("content_block_stop", object{"index": i})
		if i == 0 {
			add("ping", object{}) // it may come at any time
		}
	}

	usage := object{"output_tokens": r.Usage.Output}
	if r.Usage.Cached+r.Usage.CacheCreation > 0 {
		usage = messagesUsage(r.Usage)
	}
	last := add("message_delta", object{"delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": usage})
	last.usage, last.final = r.Usage, true
	add("message_stop", object{})
	return all
}

func messagesUsage(u Usage) object {
	return object{
		"input_tokens": u.Input, "cache_read_input_tokens": u.Cached,
		"cache_creation_input_tokens": u.CacheCreation, "output_tokens": u.Output,
	}
}

func (messages) fault(status int, message string) object {
	kind := "api_error"
	switch status {
	case http.StatusBadRequest:
		kind = "invalid_request_error"
	case http.StatusUnauthorized:
		kind = "authentication_error"
	case http.StatusForbidden:
		kind = "permission_error"
	case http.StatusNotFound:
		kind = "not_found_error"
	case http.StatusRequestEntityTooLarge:
		kind = "request_too_large"
	case http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case http.StatusGatewayTimeout:
		kind = "timeout_error"
	case 529:
		kind = "overloaded_error"
	}
	return object{"type": "error", "error": object{"type": kind, "message": message}}
}
