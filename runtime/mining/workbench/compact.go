package workbench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// Bounds of a conversation, in bytes. One that exceeds the first is made smaller than the
// second at once: its beginning then stays the same for many turns, and providers need not
// read it again each time.
const (
	mostTalk  = 240 << 10
	lessTalk  = 100 << 10
	tooLong   = 300  // an old output beyond this is left out but for its first line
	wordy     = 1000 // what an old answer said beyond this is left out
	bulky     = 600  // arguments beyond this lose their long texts
	perString = 200  // what is kept of such a text
	perCall   = 4000 // more than arguments may have after that: there are too many texts
)

// weight is about what a message takes of a request.
func weight(m Message) int {
	n := 16 + len(m.Content)
	for _, c := range m.Calls {
		n += 16 + len(c.Name) + len(c.Arguments)
	}
	return n
}

func weights(messages []Message) (sum int) {
	for _, m := range messages {
		sum += weight(m)
	}
	return sum
}

// compact makes a conversation smaller that is larger than most: old outputs and arguments are
// left out, the oldest first, until it is below less, and where that does not do whole turns.
// The first two messages stay, and so does all from the last answer on. The messages given are
// not changed, but their slice may be used.
func compact(messages []Message, most, less int) []Message {
	sum := weights(messages)
	if sum <= most {
		return messages
	}
	last := len(messages) - 1
	for last > 0 && messages[last].Role != "assistant" {
		last--
	}
	for i := 2; i < last && sum > less; i++ {
		sum -= weight(messages[i])
		messages[i] = shrink(messages[i])
		sum += weight(messages[i])
	}
	if sum <= most {
		return messages
	}
	return drop(messages, last, less)
}

// drop takes the oldest turns out whole, so that no output is without its call, and leaves a
// note in their place.
func drop(messages []Message, last, less int) []Message {
	note := Message{Role: "user", Content: "[The earliest turns are left out here.]"}
	from := 2
	for from < last && (weights(messages[:2])+weight(note)+weights(messages[from:]) > less || messages[from].Role != "assistant") {
		from++
	}
	if from <= 2 {
		return messages
	}
	return append([]Message{messages[0], messages[1], note}, messages[from:]...)
}

// shrink is an old message with what is long left out. Doing it twice changes nothing.
func shrink(m Message) Message {
	if m.Role == "tool" && len(m.Content) > tooLong {
		line, _, _ := strings.Cut(m.Content, "\n")
		m.Content = cut(line, perString/2, 0) + fmt.Sprintf("\n[of %d bytes this is left]", len(m.Content))
	}
	if m.Role != "tool" && len(m.Content) > wordy {
		m.Content = cut(m.Content, wordy-tooLong, 0)
	}
	calls := make([]Call, 0, len(m.Calls)) // what was asked with is not changed
	for _, c := range m.Calls {
		c.Arguments = shorten(c.Arguments)
		calls = append(calls, c)
	}
	if m.Calls != nil {
		m.Calls = calls
	}
	return m
}

// shorten leaves long texts out of arguments, which stay an object.
func shorten(arguments json.RawMessage) json.RawMessage {
	if len(arguments) <= bulky {
		return arguments
	}
	in := json.NewDecoder(bytes.NewReader(arguments))
	in.UseNumber()
	var all map[string]any
	if err := in.Decode(&all); err != nil {
		return json.RawMessage(`{}`)
	}
	short, err := json.Marshal(shortened(all))
	if err != nil || len(short) > perCall {
		return json.RawMessage(fmt.Sprintf(`{"left_out":"%d bytes"}`, len(arguments)))
	}
	return short
}

// shortened copies a value of JSON with long texts cut.
func shortened(value any) any {
	switch v := value.(type) {
	case string:
		if len(v) > perString {
			return cut(v, perString/2, 0)
		}
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = shortened(one)
		}
		return out
	case map[string]any:
		out := maps.Clone(v)
		for name, one := range v {
			out[name] = shortened(one)
		}
		return out
	}
	return value
}
