package transcript

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
)

// nameOf is the name of a value that follows another one, by their content.
func nameOf(before string, value []byte) string {
	h := sha256.New()
	_, _ = io.WriteString(h, before) // a hash takes everything
	_, _ = h.Write(value)
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// names remembers what messages are called whatever marks for caches they bear, by a hash of
// them as they came: a conversation comes again with each request.
type names map[[sha256.Size]byte]string

// maxNames bounds what is remembered: it only saves work.
const maxNames = 50_000

// chain names each beginning of a conversation: that with i messages is at i.
func (n names) chain(protocol string, messages []json.RawMessage) []string {
	chain := make([]string, len(messages)+1)
	for i, m := range messages {
		chain[i+1] = nameOf(protocol+chain[i], []byte(n.of(m)))
	}
	return chain
}

func (n names) of(m json.RawMessage) string {
	raw := sha256.Sum256(m)
	name, ok := n[raw]
	if !ok {
		name = nameOf("", lasting(m, maxDepth))
		if len(n) >= maxNames {
			clear(n)
		}
		n[raw] = name
	}
	return name
}

// mark is what agents put on the messages that the provider is to keep in a cache. It wanders
// from message to message, and so does the form of a plain text, that has no place for it.
const mark = "cache_control"

// maxDepth is how deep marks lie at most: on a message, on a block of it, and on one in the
// result of a tool.
const maxDepth = 3

// lasting is a message, or a block of one, without such marks, in a form that does not depend
// on whether it had some.
func lasting(m json.RawMessage, depth int) json.RawMessage {
	var fields map[string]json.RawMessage
	if depth == 0 || json.Unmarshal(m, &fields) != nil || fields == nil {
		return m
	}
	delete(fields, mark)
	if content, ok := fields["content"]; ok {
		fields["content"] = lastingContent(content, depth-1)
	}
	text, _ := json.Marshal(fields) // of valid JSON, in the order of their names
	return text
}

// lastingContent is the content of a message or of a result, block by block. A plain text is
// one block.
func lastingContent(content json.RawMessage, depth int) json.RawMessage {
	var blocks []json.RawMessage
	if begin := bytes.TrimLeft(content, " \t\r\n"); len(begin) > 0 && begin[0] == '"' {
		text, _ := json.Marshal([]map[string]json.RawMessage{{"type": json.RawMessage(`"text"`), "text": content}})
		return text
	}
	if json.Unmarshal(content, &blocks) != nil || blocks == nil {
		return content
	}
	for i, b := range blocks {
		blocks[i] = lasting(b, depth)
	}
	text, _ := json.Marshal(blocks)
	return text
}
