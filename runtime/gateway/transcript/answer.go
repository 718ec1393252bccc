package transcript

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// maxReply bounds what is kept of one answer, in bytes.
const maxReply = 16 << 20

// Answer collects what a model says, piece by piece; the zero value is empty.
type Answer struct {
	Stop      string // why the model stopped, in the provider's word
	text      strings.Builder
	reasoning strings.Builder
	calls     map[int]*call
}

type call struct {
	id, name  string
	arguments strings.Builder
}

// Say adds to the text.
func (a *Answer) Say(piece string) { add(&a.text, piece) }

// Think adds to the reasoning.
func (a *Answer) Think(piece string) { add(&a.reasoning, piece) }

// Call adds to the call of a tool with that place in the answer: what is "" is known already,
// or comes later.
func (a *Answer) Call(index int, id, name, arguments string) {
	if a.calls == nil {
		a.calls = map[int]*call{}
	}
	c := a.calls[index]
	if c == nil {
		c = &call{}
		a.calls[index] = c
	}
	if id != "" {
		c.id = id
	}
	if name != "" {
		c.name = name
	}
	add(&c.arguments, arguments)
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

func add(b *strings.Builder, piece string) {
	if b.Len()+len(piece) <= maxReply {
		b.WriteString(piece)
	}
}
