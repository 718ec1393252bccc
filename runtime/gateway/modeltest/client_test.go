package modeltest_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/assayd/assayd/runtime/gateway/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type object = map[string]any

var protocols = []modeltest.Protocol{modeltest.Chat, modeltest.Responses, modeltest.Messages}

// client is a program that speaks a protocol in its own plain way.
type client struct {
	protocol modeltest.Protocol
	http     *http.Client
	url      string
	header   http.Header
}

// talk is a client of a server, with the headers that the provider asks for.
func talk(t *testing.T, protocol modeltest.Protocol, url string) *client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	header := http.Header{"Content-Type": {"application/json"}}
	if protocol == modeltest.Messages {
		header.Set("Anthropic-Version", "2023-06-01")
	}
	return &client{protocol, &http.Client{Transport: transport}, url, header}
}

func pathOf(protocol modeltest.Protocol) string {
	return map[modeltest.Protocol]string{
		modeltest.Chat: "/v1/chat/completions", modeltest.Responses: "/v1/responses", modeltest.Messages: "/v1/messages",
	}[protocol]
}

// post sends a body as it is.
func (c *client) post(t *testing.T, path string, body []byte) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = c.header
	return c.http.Do(request)
}

// ask posts a conversation and reads the answer to its end, as far as that is to be had.
func (c *client) ask(t *testing.T, body object) (status int, answer []byte, err error) {
	t.Helper()
	response, err := c.post(t, pathOf(c.protocol), marshal(t, body))
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

// says asks, and expects an answer that can be understood.
func (c *client) says(t *testing.T, body object) said {
	t.Helper()
	status, answer, err := c.ask(t, body)
	if err != nil || status != http.StatusOK {
		t.Fatalf("%s: status %d, %v: %s", c.protocol, status, err, answer)
	}
	return understand(t, c.protocol, body["stream"] == true, answer)
}

// question is the smallest conversation.
func question(protocol modeltest.Protocol, stream bool) object {
	return conversation(protocol, stream, nil, modeltest.Turn{Role: "user", Text: "Hello?"})
}

// conversation writes turns as the protocol has them.
func conversation(protocol modeltest.Protocol, stream bool, tools []string, turns ...modeltest.Turn) object {
	body := object{"model": "m", "stream": stream}
	var offered, list []object
	for _, name := range tools {
		switch protocol {
		case modeltest.Chat:
			offered = append(offered, object{"type": "function", "function": object{"name": name}})
		case modeltest.Responses:
			offered = append(offered, object{"type": "function", "name": name})
		case modeltest.Messages:
			offered = append(offered, object{"name": name, "input_schema": object{"type": "object"}})
		}
	}
	for _, turn := range turns {
		switch protocol {
		case modeltest.Chat:
			list = append(list, chatMessages(turn)...)
		case modeltest.Responses:
			list = append(list, responsesItems(turn)...)
		case modeltest.Messages:
			if turn.Role == "system" {
				body["system"] = []object{{"type": "text", "text": turn.Text}}
				continue
			}
			list = append(list, message(turn))
		}
	}
	if offered != nil {
		body["tools"] = offered
	}
	switch protocol {
	case modeltest.Chat:
		body["messages"], body["stream_options"] = list, object{"include_usage": true}
	case modeltest.Responses:
		body["input"] = list
	case modeltest.Messages:
		body["messages"], body["max_tokens"] = list, 1024
	}
	return body
}

func chatMessages(turn modeltest.Turn) []object {
	var all []object
	for _, result := range turn.Results {
		all = append(all, object{"role": "tool", "tool_call_id": result.ID, "content": result.Text})
	}
	if all != nil {
		return all
	}
	one := object{"role": turn.Role, "content": turn.Text}
	var calls []object
	for _, call := range turn.Calls {
		calls = append(calls, object{
			"id": call.ID, "type": "function", "function": object{"name": call.Name, "arguments": compact(call.Arguments)},
		})
	}
	if calls != nil {
		one["tool_calls"] = calls
	}
	return []object{one}
}

func responsesItems(turn modeltest.Turn) []object {
	all := []object{{"type": "reasoning", "summary": []object{}, "encrypted_content": "x"}}
	if turn.Text != "" {
		kind := "input_text"
		if turn.Role == "assistant" {
			kind = "output_text"
		}
		role := turn.Role
		if role == "system" {
			role = "developer"
		}
		all = append(all, object{"type": "message", "role": role, "content": []object{{"type": kind, "text": turn.Text}}})
	}
	for _, call := range turn.Calls {
		all = append(all, object{"type": "function_call", "call_id": call.ID, "name": call.Name, "arguments": compact(call.Arguments)})
	}
	for _, result := range turn.Results {
		all = append(all, object{"type": "function_call_output", "call_id": result.ID, "output": result.Text})
	}
	return all
}

func message(turn modeltest.Turn) object {
	blocks, role := []object{}, turn.Role
	if turn.Text != "" {
		blocks = append(blocks, object{"type": "text", "text": turn.Text})
	}
	for _, call := range turn.Calls {
		blocks = append(blocks, object{"type": "tool_use", "id": call.ID, "name": call.Name, "input": call.Arguments})
	}
	for _, result := range turn.Results {
		role = "user"
		text := []object{{"type": "text", "text": result.Text}}
		blocks = append(blocks, object{"type": "tool_result", "tool_use_id": result.ID, "content": text})
	}
	return object{"role": role, "content": blocks}
}

// said is what a client makes of an answer.
type said struct {
	Text  string
	Calls []modeltest.Call
	Stop  string // why it stops, where the protocol says so
	Usage *modeltest.Usage
	Model string
}

func understand(t *testing.T, protocol modeltest.Protocol, stream bool, answer []byte) said {
	t.Helper()
	var events []event
	if stream {
		events = eventsOf(t, answer)
	}
	switch protocol {
	case modeltest.Chat:
		return understandChat(t, events, answer)
	case modeltest.Responses:
		return understandResponses(t, events, answer)
	}
	return understandMessages(t, events, answer)
}

// event is one of a stream; its shape is its name, or says what an unnamed one brings.
type event struct {
	shape string
	data  []byte
}

func eventsOf(t *testing.T, answer []byte) []event {
	t.Helper()
	var all []event
	for block := range strings.SplitSeq(strings.TrimSuffix(string(answer), "\n\n"), "\n\n") {
		name, data := "", block
		rest, named := strings.CutPrefix(block, "event: ")
		if named {
			name, data, _ = strings.Cut(rest, "\n")
		}
		data, ok := strings.CutPrefix(data, "data: ")
		if !ok || strings.Contains(data, "\n") {
			t.Fatalf("no event: %q", block)
		}
		if named {
			var inside struct{ Type string }
			if unmarshal(t, []byte(data), &inside); inside.Type != name {
				t.Fatalf("event %s is of type %s", name, inside.Type)
			}
		} else {
			name = chunkShape(t, data)
		}
		all = append(all, event{name, []byte(data)})
	}
	return all
}

type chatAnswer struct {
	Model   string
	Choices []struct {
		Message, Delta struct {
			Role      string
			Content   *string
			ToolCalls []struct {
				Index    int
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		FinishReason string `json:"finish_reason"`
	}
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
		Details    struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
}

func chunkShape(t *testing.T, data string) string {
	t.Helper()
	if data == "[DONE]" {
		return data
	}
	var chunk chatAnswer
	unmarshal(t, []byte(data), &chunk)
	switch {
	case len(chunk.Choices) == 0:
		return "usage"
	case chunk.Choices[0].FinishReason != "":
		return "finish"
	case chunk.Choices[0].Delta.Role != "":
		return "role"
	case chunk.Choices[0].Delta.Content != nil:
		return "content"
	case chunk.Choices[0].Delta.ToolCalls[0].ID != "":
		return "call"
	}
	return "arguments"
}

func understandChat(t *testing.T, events []event, whole []byte) said {
	t.Helper()
	var parts []chatAnswer
	for _, event := range events {
		if event.shape != "[DONE]" {
			var chunk chatAnswer
			unmarshal(t, event.data, &chunk)
			parts = append(parts, chunk)
		}
	}
	if events == nil {
		parts = make([]chatAnswer, 1)
		unmarshal(t, whole, &parts[0])
	}
	var s said
	var args []string
	for _, part := range parts {
		s.Model = part.Model
		if u := part.Usage; u != nil {
			if u.Total != u.Prompt+u.Completion {
				t.Errorf("the total %d is not %d and %d", u.Total, u.Prompt, u.Completion)
			}
			s.Usage = &modeltest.Usage{Input: u.Prompt - u.Details.Cached, Cached: u.Details.Cached, Output: u.Completion}
		}
		for _, choice := range part.Choices {
			s.Stop += choice.FinishReason
			said := choice.Delta
			if events == nil {
				said = choice.Message
			}
			if said.Content != nil {
				s.Text += *said.Content
			}
			for _, call := range said.ToolCalls {
				if call.ID != "" {
					s.Calls, args = append(s.Calls, modeltest.Call{ID: call.ID, Name: call.Function.Name}), append(args, "")
					call.Index = len(args) - 1
				}
				args[call.Index] += call.Function.Arguments
			}
		}
	}
	for i := range s.Calls {
		unmarshal(t, []byte(args[i]), &s.Calls[i].Arguments)
	}
	return s
}

func understandResponses(t *testing.T, events []event, whole []byte) said {
	t.Helper()
	var deltas, arguments string
	for i, event := range events {
		var inside struct {
			SequenceNumber int `json:"sequence_number"`
			Delta          string
			Response       json.RawMessage
		}
		unmarshal(t, event.data, &inside)
		if inside.SequenceNumber != i {
			t.Errorf("event %d has number %d", i, inside.SequenceNumber)
		}
		switch event.shape {
		case "response.output_text.delta":
			deltas += inside.Delta
		case "response.function_call_arguments.delta":
			arguments += inside.Delta
		case "response.completed":
			whole = inside.Response
		}
	}
	var answer struct {
		Model, Status string
		Output        []struct {
			Type    string
			Content []struct{ Text string }
			CallID  string `json:"call_id"`
			Name    string
			Args    string `json:"arguments"`
		}
		Usage struct {
			Input   int `json:"input_tokens"`
			Output  int `json:"output_tokens"`
			Total   int `json:"total_tokens"`
			Details struct {
				Cached int `json:"cached_tokens"`
			} `json:"input_tokens_details"`
		}
	}
	unmarshal(t, whole, &answer)
	u := answer.Usage
	if u.Total != u.Input+u.Output {
		t.Errorf("the total %d is not %d and %d", u.Total, u.Input, u.Output)
	}
	s := said{Model: answer.Model, Stop: answer.Status}
	s.Usage = &modeltest.Usage{Input: u.Input - u.Details.Cached, Cached: u.Details.Cached, Output: u.Output}
	var args string
	for _, item := range answer.Output {
		if item.Type == "message" {
			s.Text += item.Content[0].Text
			continue
		}
		args += item.Args
		s.Calls = append(s.Calls, modeltest.Call{ID: item.CallID, Name: item.Name})
		unmarshal(t, []byte(item.Args), &s.Calls[len(s.Calls)-1].Arguments)
	}
	if events != nil && (deltas != s.Text || arguments != args) {
		t.Errorf("the deltas are %q and %q, the answer %q and %q", deltas, arguments, s.Text, args)
	}
	return s
}

type messagesCount struct {
	Input    *int `json:"input_tokens"`
	Output   *int `json:"output_tokens"`
	Cached   *int `json:"cache_read_input_tokens"`
	Creation *int `json:"cache_creation_input_tokens"`
}

// add takes over what is told: a later number stands for the whole.
func (c *messagesCount) add(later messagesCount) {
	*c = messagesCount{
		cmp.Or(later.Input, c.Input), cmp.Or(later.Output, c.Output),
		cmp.Or(later.Cached, c.Cached), cmp.Or(later.Creation, c.Creation),
	}
}

type messagesBlock struct {
	Type, Text, ID, Name string
	Input                map[string]any
}

type messagesAnswer struct {
	Model      string
	Content    []messagesBlock
	StopReason string `json:"stop_reason"`
	Usage      messagesCount
}

func understandMessages(t *testing.T, events []event, whole []byte) said {
	t.Helper()
	var answer messagesAnswer
	if events == nil {
		unmarshal(t, whole, &answer)
	}
	input := ""
	for _, event := range events {
		var inside struct {
			Message messagesAnswer
			Index   int
			Block   messagesBlock `json:"content_block"`
			Delta   struct {
				Text        string
				PartialJSON string `json:"partial_json"`
				StopReason  string `json:"stop_reason"`
			}
			Usage messagesCount
		}
		unmarshal(t, event.data, &inside)
		switch event.shape {
		case "message_start":
			answer = inside.Message
		case "content_block_start":
			answer.Content, input = append(answer.Content, inside.Block), ""
		case "content_block_delta":
			answer.Content[inside.Index].Text += inside.Delta.Text
			input += inside.Delta.PartialJSON
		case "content_block_stop":
			if answer.Content[inside.Index].Type == "tool_use" {
				unmarshal(t, []byte(input), &answer.Content[inside.Index].Input)
			}
		case "message_delta":
			answer.StopReason = inside.Delta.StopReason
			answer.Usage.add(inside.Usage)
		}
	}
	u := answer.Usage
	s := said{Model: answer.Model, Stop: answer.StopReason}
	s.Usage = &modeltest.Usage{Input: *u.Input, Cached: *u.Cached, CacheCreation: *u.Creation, Output: *u.Output}
	for _, block := range answer.Content {
		if block.Type == "text" {
			s.Text += block.Text
		} else {
			s.Calls = append(s.Calls, modeltest.Call{ID: block.ID, Name: block.Name, Arguments: block.Input})
		}
	}
	return s
}

func marshal(t *testing.T, value any) []byte {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func unmarshal(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
}

func compact(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(err)
	}
	return string(data)
}
