package modeltest

import (
	"encoding/json"
	"errors"
	"strings"
)

// responses is OpenAI's responses.
type responses struct{}

// responsesItem is one of the conversation.
type responsesItem struct {
	Type      string
	Role      string
	Content   content
	CallID    string `json:"call_id"`
	Name      string
	Arguments json.RawMessage
	Input     json.RawMessage // of a custom tool, in place of arguments
	Output    content
}

func (responses) read(body []byte) (Request, error) {
	var q struct {
		Model        string
		Instructions content
		Input        json.RawMessage
		Tools        []struct{ Type, Name string }
		Stream       bool
	}
	if err := json.Unmarshal(body, &q); err != nil {
		return Request{}, err
	}
	var items []responsesItem
	var text string
	if json.Unmarshal(q.Input, &text) == nil {
		items = []responsesItem{{Role: "user", Content: content(text)}}
	} else if err := json.Unmarshal(q.Input, &items); err != nil {
		return Request{}, err
	}
	if len(items) == 0 {
		return Request{}, errors.New("input: there must be at least one item")
	}
	request := Request{Protocol: Responses, Model: q.Model, Stream: q.Stream}
	var turns history
	if q.Instructions != "" {
		turns.add(Turn{Role: "system", Text: string(q.Instructions)})
	}
	for _, item := range items {
		item.addTo(&turns)
	}
	request.Turns = turns
	for _, tool := range q.Tools {
		request.Tools = append(request.Tools, named(tool.Name, tool.Type))
	}
	return request, nil
}

// addTo leaves out what nobody said, such as the items of reasoning.
func (i responsesItem) addTo(turns *history) {
	switch {
	case i.Type == "" || i.Type == "message":
		turns.add(Turn{Role: i.Role, Text: string(i.Content)})
	case i.Type == "function_call":
		turns.add(Turn{Role: "assistant", Calls: []Call{{i.CallID, i.Name, arguments(i.Arguments)}}})
	case i.Type == "custom_tool_call":
		turns.add(Turn{Role: "assistant", Calls: []Call{{i.CallID, i.Name, arguments(i.Input)}}})
	case strings.HasSuffix(i.Type, "_output"):
		turns.add(Turn{Role: "tool", Results: []Result{{ID: i.CallID, Text: string(i.Output)}}})
	}
}

func (responses) whole(r reply) object {
	var output []object
	for _, item := range responsesItems(r) {
		output = append(output, item.done)
	}
	return object{
		"id": "resp_" + r.id, "object": "response", "created_at": r.at, "status": "completed", "model": r.to.Model,
		"error": nil, "incomplete_details": nil, "output": output,
		"usage": object{
			"input_tokens": r.Usage.Prompt(), "input_tokens_details": object{"cached_tokens": r.Usage.Cached},
			"output_tokens": r.Usage.Output, "output_tokens_details": object{"reasoning_tokens": 0},
			"total_tokens": r.Usage.Prompt() + r.Usage.Output,
		},
	}
}

// events are numbered, bear their type twice, and tell each thing when it begins, in pieces,
// and when it is done; the last one is the whole answer, and nothing comes after it.
func (p responses) events(r reply) []event {
	var all []event
	add := func(kind, text string, data object) {
		data["type"], data["sequence_number"] = kind, len(all)
		all = append(all, event{name: kind, data: data, text: text})
	}
	begun := func() object {
		response := p.whole(r)
		response["status"], response["output"], response["usage"] = "in_progress", []object{}, nil
		return object{"response": response}
	}
	add("response.created", "", begun())
	add("response.in_progress", "", begun())
	for i, item := range responsesItems(r) {
		add("response.output_item.added", "", object{"output_index": i, "item": item.begun})
		part := func(more object) object {
			more["item_id"], more["output_index"] = item.done["id"], i
			if item.message {
				more["content_index"] = 0
			}
			return more
		}
		if item.message {
			add("response.content_part.added", "", part(object{"part": outputText("")}))
			for _, piece := range pieces(item.text, r.Deltas) {
				add("response.output_text.delta", piece, part(object{"delta": piece, "logprobs": []any{}}))
			}
			add("response.output_text.done", "", part(object{"text": item.text, "logprobs": []any{}}))
			add("response.content_part.done", "", part(object{"part": outputText(item.text)}))
		} else {
			for _, piece := range pieces(item.text, r.Deltas) {
				add("response.function_call_arguments.delta", "", part(object{"delta": piece}))
			}
			add("response.function_call_arguments.done", "", part(object{"arguments": item.text}))
		}
		add("response.output_item.done", "", object{"output_index": i, "item": item.done})
	}
	add("response.completed", "", object{"response": p.whole(r)})
	last := &all[len(all)-1]
	last.usage, last.final = r.Usage, true
	return all
}

func (responses) fault(status int, message string) object { return openAIFault(status, message) }

// responsesOutput is an item of the answer: as it begins, as it is when done, and that which
// comes in pieces in between, the text of a message or the arguments of a call.
type responsesOutput struct {
	message     bool
	begun, done object
	text        string
}

func responsesItems(r reply) []responsesOutput {
	var all []responsesOutput
	if r.Text != "" || len(r.Calls) == 0 {
		item := func(status string, parts ...object) object {
			return object{
				"type": "message", "id": "msg_" + r.id, "status": status, "role": "assistant",
				"content": append([]object{}, parts...),
			}
		}
		all = append(all, responsesOutput{true, item("in_progress"), item("completed", outputText(r.Text)), r.Text})
	}
	for _, call := range r.Calls {
		item := func(status, args string) object {
			return object{
				"type": "function_call", "id": "fc_" + call.ID, "status": status, "call_id": call.ID,
				"name": call.Name, "arguments": args,
			}
		}
		args := string(encode(call.Arguments))
		all = append(all, responsesOutput{false, item("in_progress", ""), item("completed", args), args})
	}
	return all
}

func outputText(text string) object {
	return object{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}
}
