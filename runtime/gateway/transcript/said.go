package transcript

import (
	"encoding/json"
	"strings"
)

// said is a message in the words that all protocols share.
type said struct {
	role      string // system, user, assistant or tool
	text      string
	reasoning bool  // of an item: the text is what the model thought
	call      *Call // of an item: a call of a tool
	results   []result
}

// result is what a tool gave back.
type result struct{ call, text string }

// read reads a message of a request.
func read(protocol string, raw json.RawMessage) said {
	switch protocol {
	case Responses:
		i, _ := readItem(raw)
		return i
	case Messages:
		return readMessage(raw)
	}
	return readChat(raw)
}

func readChat(raw json.RawMessage) said {
	var m struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
		Call    string          `json:"tool_call_id"`
	}
	_ = json.Unmarshal(raw, &m) // what is no message says nothing
	text := textOf(m.Content)
	switch m.Role {
	case "tool":
		return said{role: "tool", results: []result{{m.Call, text}}}
	case "developer":
		return said{role: "system", text: text}
	}
	return said{role: m.Role, text: text}
}

func readMessage(raw json.RawMessage) said {
	var m struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	_ = json.Unmarshal(raw, &m)
	s := said{role: m.Role, text: textOf(m.Content)}
	var blocks []struct {
		Type    string          `json:"type"`
		Call    string          `json:"tool_use_id"`
		Content json.RawMessage `json:"content"`
	}
	_ = json.Unmarshal(m.Content, &blocks) // it may be a plain text
	for _, b := range blocks {
		if b.Type == "tool_result" {
			s.results = append(s.results, result{b.Call, textOf(b.Content)})
		}
	}
	return s
}

// readItem reads an item of OpenAI's protocol of responses.
func readItem(raw json.RawMessage) (s said, ok bool) {
	var i struct {
		Type      string          `json:"type"`
		Role      string          `json:"role"`
		Content   json.RawMessage `json:"content"`
		Summary   json.RawMessage `json:"summary"`
		CallID    string          `json:"call_id"`
		Name      string          `json:"name"`
		Arguments string          `json:"arguments"`
		Input     string          `json:"input"`
		Action    json.RawMessage `json:"action"`
		Output    json.RawMessage `json:"output"`
	}
	if json.Unmarshal(raw, &i) != nil {
		return said{role: "user", text: textOf(raw)}, false
	}
	switch {
	case i.Type == "reasoning":
		return said{role: "assistant", reasoning: true, text: textOf(i.Summary) + textOf(i.Content)}, true
	case i.Type == "function_call":
		return said{role: "assistant", call: &Call{i.CallID, i.Name, i.Arguments}}, true
	case i.Type == "custom_tool_call":
		input, _ := json.Marshal(map[string]string{"input": i.Input})
		return said{role: "assistant", call: &Call{i.CallID, i.Name, string(input)}}, true
	case i.Type == "local_shell_call":
		return said{role: "assistant", call: &Call{i.CallID, "local_shell", string(i.Action)}}, true
	case strings.HasSuffix(i.Type, "_call_output"):
		return said{role: "tool", results: []result{{i.CallID, textOf(i.Output)}}}, true
	case i.Role == "developer":
		return said{role: "system", text: textOf(i.Content)}, true
	}
	return said{role: i.Role, text: textOf(i.Content)}, true
}

// textOf is the text in a content: a plain one, or the texts of its blocks. What is no text
// is told by its type.
func textOf(raw json.RawMessage) string {
	var plain string
	if json.Unmarshal(raw, &plain) == nil {
		return plain
	}
	var blocks []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &blocks) != nil {
		return ""
	}
	var parts []string
	for _, b := range blocks {
		switch {
		case b.Text != "":
			parts = append(parts, b.Text)
		case b.Type == "image" || b.Type == "image_url" || b.Type == "input_image" || b.Type == "document":
			parts = append(parts, "["+b.Type+"]")
		}
	}
	return strings.Join(parts, "\n")
}
