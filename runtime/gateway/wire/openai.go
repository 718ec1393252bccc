package wire

import (
	"encoding/json"

	"github.com/assayd/assayd/runtime/gateway/transcript"
)

// completions is OpenAI's protocol of chat completions, which most other providers speak.
var completions = Generation{Name: transcript.Completions, Prepare: askForUsage, Whole: wholeCompletion, Event: completionChunk}

// askForUsage has a stream end with its usage, and OpenRouter tell the cost: they do so for
// those only who ask.
func askForUsage(q *Question, tellsCost bool) (changed, asked bool) {
	var switches [][2]string
	if q.Stream {
		switches = append(switches, [2]string{"stream_options", "include_usage"})
	}
	if tellsCost {
		switches = append(switches, [2]string{"usage", "include"})
	}
	known := false // the agent knows that it is told
	for _, s := range switches {
		was, turned := turnOn(q.Fields, s[0], s[1])
		known, changed = known || was, changed || turned
	}
	return changed, changed && !known
}

// turnOn sets a field of an object among the fields to true, and says whether it was so and
// whether it is now. What is no object stays: the provider will say what is wrong with it.
func turnOn(fields map[string]json.RawMessage, object, name string) (was, turned bool) {
	options := map[string]json.RawMessage{}
	if raw, ok := fields[object]; ok && json.Unmarshal(raw, &options) != nil {
		return false, false
	}
	if string(options[name]) == "true" {
		return true, false
	}
	if options == nil { // it was null
		options = map[string]json.RawMessage{}
	}
	options[name] = json.RawMessage("true")
	fields[object], _ = json.Marshal(options) // of valid JSON
	return false, true
}

type completionUsage struct {
	Prompt     count `json:"prompt_tokens"`
	Completion count `json:"completion_tokens"`
	Total      count `json:"total_tokens"`
	Details    struct {
		Cached  count `json:"cached_tokens"`
		Written count `json:"cache_write_tokens"` // OpenRouter's
	} `json:"prompt_tokens_details"`
	Output struct {
		Reasoning count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	Reasoning count `json:"reasoning_tokens"` // of some
	Cost      *cost `json:"cost"`             // OpenRouter's
}

// into takes over what is told. Some tell it with each chunk, so that only what comes with
// the end of the answer or after it is all.
func (u *completionUsage) into(m *Meter, ended bool) {
	if u == nil {
		return
	}
	if m.tell(told(usageTold{
		input: u.Prompt, cached: u.Details.Cached, written: u.Details.Written, output: u.Completion,
		reasoning: max(u.Output.Reasoning, u.Reasoning), total: u.Total, cost: u.Cost,
	})) {
		m.Told = ended
	}
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

// into takes a piece over; of several answers to one question only the first is kept, while
// all are counted.
func (t completionText) into(answer int, m *Meter) {
	if answer > 0 {
		aside := Meter{}
		t.into(0, &aside)
		m.TextBytes += aside.TextBytes
		return
	}
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
		Index   int            `json:"index"`
		Message completionText `json:"message"`
		Delta   completionText `json:"delta"`
		Finish  string         `json:"finish_reason"`
	} `json:"choices"`
}

// failed is what a provider says of an error in an answer whose status tells none.
func failed(raw json.RawMessage) string {
	if string(raw) == "null" {
		return ""
	}
	return string(raw)
}

func wholeCompletion(body []byte, m *Meter) {
	var c completion
	if !Decode(body, &c) {
		return
	}
	m.Model, m.Err = c.Model, failed(c.Error)
	for i, choice := range c.Choices {
		for k := range choice.Message.Calls {
			choice.Message.Calls[k].Index = k // only streams number them
		}
		choice.Message.into(i, m)
		if i == 0 {
			m.Stop = choice.Finish
		}
	}
	c.Usage.into(m, true)
}

func completionChunk(data []byte, m *Meter) {
	if string(data) == "[DONE]" {
		m.Last = true
		return
	}
	var c completion
	if !Decode(data, &c) {
		return
	}
	if c.Model != "" {
		m.Model = c.Model
	}
	if err := failed(c.Error); err != "" {
		m.Err = err
	}
	for _, choice := range c.Choices {
		choice.Delta.into(choice.Index, m)
		if choice.Finish != "" {
			m.Stop = choice.Finish
		}
	}
	c.Usage.into(m, m.Stop != "" || len(c.Choices) == 0)
	m.Hide = m.Asked && c.Usage != nil && len(c.Choices) == 0
}

// responses is OpenAI's protocol of responses, which Codex speaks.
var responses = Generation{Name: transcript.Responses, Whole: wholeResponse, Event: responseEvent}

type response struct {
	Model  string            `json:"model"`
	Status string            `json:"status"`
	Error  json.RawMessage   `json:"error"`
	Output []json.RawMessage `json:"output"`
	Usage  *struct {
		Input   count `json:"input_tokens"`
		Output  count `json:"output_tokens"`
		Total   count `json:"total_tokens"`
		Details struct {
			Cached count `json:"cached_tokens"`
		} `json:"input_tokens_details"`
		Thought struct {
			Reasoning count `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
		Cost *cost `json:"cost"`
	} `json:"usage"`
}

// into takes the end of an answer over.
func (r *response) into(m *Meter) {
	if r.Model != "" {
		m.Model = r.Model
	}
	m.Stop = r.Status
	if err := failed(r.Error); err != "" {
		m.Err = err
	}
	if u := r.Usage; u != nil && m.tell(told(usageTold{
		input: u.Input, cached: u.Details.Cached, output: u.Output, reasoning: u.Thought.Reasoning, total: u.Total, cost: u.Cost,
	})) {
		m.Told = true
	}
}

func wholeResponse(body []byte, m *Meter) {
	var r response
	if !Decode(body, &r) {
		return
	}
	for _, item := range r.Output {
		m.TextBytes += len(item)
		m.Item(item)
	}
	r.into(m)
}

func responseEvent(data []byte, m *Meter) {
	var e struct {
		Type     string          `json:"type"`
		Delta    string          `json:"delta"`
		Item     json.RawMessage `json:"item"`
		Response *response       `json:"response"`
	}
	if !Decode(data, &e) {
		return
	}
	switch e.Type {
	case "response.output_text.delta":
		if m.piece.Len() < MaxBody {
			m.piece.WriteString(e.Delta)
		}
	case "response.output_item.done":
		m.piece.Reset()
		m.Item(e.Item)
	case "response.completed", "response.incomplete", "response.failed":
		m.Last = true
	case "error":
		m.Last, m.Err = true, string(data)
	}
	m.wrote(e.Delta)
	if e.Response != nil {
		e.Response.into(m)
	}
}
