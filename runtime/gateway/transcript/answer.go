package transcript

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Bounds on what is kept of one answer: in bytes, and in calls of tools.
const (
	maxReply = 16 << 20
	maxCalls = 1000
)

// Answer collects what a model says, piece by piece; the zero value is empty.
type Answer struct {
	Stop      string // why the model stopped, in the provider's word
	text      strings.Builder
	reasoning strings.Builder
	calls     map[int]*call
	kept      int // bytes
}

type call struct {
	id, name  string
	arguments strings.Builder
}

// Say adds to the text.
func (a *Answer) Say(piece string) { a.add(&a.text, piece) }

// Think adds to the reasoning.
func (a *Answer) Think(piece string) { a.add(&a.reasoning, piece) }

// Call adds to the call of a tool with that place in the answer: what is "" is known already,
// or comes later.
func (a *Answer) Call(index int, id, name, arguments string) {
	if a.calls == nil {
		a.calls = map[int]*call{}
	}
	c := a.calls[index]
	if c == nil {
		if len(a.calls) == maxCalls {
			return
		}
		c = &call{}
		a.calls[index] = c
	}
	if id != "" && a.room(id) {
		c.id = id
	}
	if name != "" && a.room(name) {
		c.name = name
	}
	a.add(&c.arguments, arguments)
}

// Item adds an item of OpenAI's protocol of responses.
func (a *Answer) Item(raw json.RawMessage) {
	i, ok := readItem(raw)
	if !ok {
		return
	}
	switch {
	case i.call != nil:
		a.Call(len(a.calls), i.call.ID, i.call.Name, i.call.Arguments)
	case i.reasoning:
		a.Think(i.text)
	default:
		a.Say(i.text)
	}
}

// Reply is what was said so far.
func (a *Answer) Reply() *Reply {
	r := &Reply{Text: a.text.String(), Reasoning: a.reasoning.String(), Stop: a.Stop}
	for _, i := range slices.Sorted(maps.Keys(a.calls)) {
		c := a.calls[i]
		r.Calls = append(r.Calls, Call{c.id, c.name, c.arguments.String()})
	}
	return r
}

func (a *Answer) add(b *strings.Builder, piece string) {
	if a.room(piece) {
		b.WriteString(piece)
	}
}

// room takes the room that a piece needs, if it is there.
func (a *Answer) room(piece string) bool {
	if a.kept+len(piece) > maxReply {
		return false
	}
	a.kept += len(piece)
	return true
}
