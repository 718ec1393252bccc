package wire

import (
	"encoding/json"

	"github.com/assayd/assayd/runtime/gateway/transcript"
)

// messages is Anthropic's protocol, which Claude Code speaks.
var messages = Generation{Name: transcript.Messages, Whole: wholeMessage, Event: messageEvent}

// messageUsage has pointers because each event of a stream tells only what it knows, in
// numbers that count from the beginning.
type messageUsage struct {
	Input   *count `json:"input_tokens"`
	Written *count `json:"cache_creation_input_tokens"`
	Cached  *count `json:"cache_read_input_tokens"`
	Output  *count `json:"output_tokens"`
	Kept    struct {
		Hour *count `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"` // how long what was written is kept
}

// into takes over what is told, and says whether all is known then; plain is the part of the
// prompt that no cache had to do with.
func (u *messageUsage) into(m *Meter) (whole bool) {
	if u == nil {
		return false
	}
	plain := m.Input - m.Cached - m.Written
	for _, field := range []struct {
		told *count
		kept *int64
	}{{u.Input, &plain}, {u.Written, &m.Written}, {u.Cached, &m.Cached}, {u.Output, &m.Output}, {u.Kept.Hour, &m.Hour}} {
		if field.told != nil && *field.told >= 0 {
			*field.kept = int64(*field.told)
		}
	}
	m.Hour = min(m.Hour, m.Written)
	m.Input = plain + m.Cached + m.Written
	m.prompt = m.prompt || u.Input != nil && *u.Input >= 0
	return m.prompt && u.Output != nil && *u.Output >= 0
}

type message struct {
	Model   string        `json:"model"`
	Stop    string        `json:"stop_reason"`
	Usage   *messageUsage `json:"usage"`
	Content []block       `json:"content"`
}

type block struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Thinking string          `json:"thinking"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
}

// into takes over a block of an answer, or of a stream its beginning.
func (b block) into(index int, m *Meter) {
	m.Say(m.wrote(b.Text))
	m.Think(m.wrote(b.Thinking))
	if b.ID == "" {
		return
	}
	input := string(b.Input)
	if input == "{}" { // it comes in pieces
		input = ""
	}
	m.Call(index, b.ID, m.wrote(b.Name), m.wrote(input))
}

func wholeMessage(body []byte, m *Meter) {
	var a message
	if !Decode(body, &a) {
		return
	}
	m.Model, m.Stop = a.Model, a.Stop
	for i, b := range a.Content {
		b.into(i, m)
	}
	m.Told = a.Usage.into(m)
}

func messageEvent(data []byte, m *Meter) {
	var e struct {
		Type    string        `json:"type"`
		Index   int           `json:"index"`
		Message *message      `json:"message"`
		Block   *block        `json:"content_block"`
		Usage   *messageUsage `json:"usage"`
		Delta   struct {
			Text     string `json:"text"`
			Thinking string `json:"thinking"`
			JSON     string `json:"partial_json"`
			Stop     string `json:"stop_reason"`
		} `json:"delta"`
	}
	if !Decode(data, &e) {
		return
	}
	switch e.Type {
	case "message_start":
		if e.Message != nil {
			m.Model = e.Message.Model
			e.Message.Usage.into(m)
		}
	case "content_block_start":
		if e.Block != nil {
			e.Block.into(e.Index, m)
		}
	case "content_block_delta":
		m.Say(m.wrote(e.Delta.Text))
		m.Think(m.wrote(e.Delta.Thinking))
		if e.Delta.JSON != "" {
			m.Call(e.Index, "", "", m.wrote(e.Delta.JSON))
		}
	case "message_delta":
		m.Stop = e.Delta.Stop
		m.Told = e.Usage.into(m)
	case "message_stop":
		m.Last = true
	case "error":
		m.Last, m.Err = true, string(data)
	}
}
