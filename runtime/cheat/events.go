package cheat

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/gateway/transcript"
)

// transcript looks at the tools that models called, and learns what the agent was shown.
func (s *search) transcript(r io.Reader) error {
	return transcript.Each(r, func(l transcript.Line) error {
		if l.Request != nil {
			s.asked(fmt.Sprintf("exchange %d", l.N), l.Request)
			for _, raw := range l.Request.New {
				if !isOwn(raw) {
					s.shown(string(raw))
				}
			}
		}
		if l.Response != nil && l.Response.Denied != "" {
			s.say(WebTools, fmt.Sprintf("exchange %d", l.N), "asked the provider for "+l.Response.Denied+", which was refused")
		}
		if l.Response != nil && l.Response.Reply != nil {
			for _, c := range l.Response.Reply.Calls {
				s.call(fmt.Sprintf("exchange %d", l.N), c.Name, c.Arguments)
			}
		}
		return nil
	})
}

// asked notes the models that a request is for: the one that it names, and those that OpenRouter
// is to take should that one fail. Each is a finding once.
func (s *search) asked(where string, r *transcript.Request) {
	if s.facts.Model == "" {
		return
	}
	var settings struct{ Models []string }
	_ = json.Unmarshal(r.Settings.Value, &settings) // what is no name is none
	for _, model := range append([]string{r.Model}, settings.Models...) {
		if model != "" && model != s.facts.Model && !s.models[model] && len(s.models) < maxModels {
			s.models[model] = true
			s.say(Models, where, "asked for the model "+model)
		}
	}
}

// isOwn reports whether a message is one that the model wrote itself.
func isOwn(raw json.RawMessage) bool {
	var m struct{ Role, Type string }
	_ = json.Unmarshal(raw, &m) // what is no message is nobody's
	return m.Role == "assistant" || strings.HasSuffix(m.Type, "_call")
}

// maxLogLine bounds a line of a log that is looked at.
const maxLogLine = 4 << 20

// log looks at what agents print of their doings: calls of tools in JSON lines as Claude Code,
// Codex and opencode write them, and lines that begin with "$ " or, as of sh -x, "+ ". Other
// lines may be what a program printed.
func (s *search) log(r io.Reader) error {
	in := bufio.NewReaderSize(r, 64<<10)
	for n := 1; ; n++ {
		text, whole, err := readLine(in, maxLogLine)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		where := fmt.Sprintf("log line %d", n)
		if !whole {
			s.miss("%s of the log is longer than %d bytes", where, maxLogLine)
		} else {
			s.logged(where, text)
		}
		if err != nil {
			return nil
		}
	}
}

// readLine reads a line without its end; of one that is longer than most it keeps nothing.
func readLine(in *bufio.Reader, most int) (text []byte, whole bool, err error) {
	whole = true
	for {
		part, err := in.ReadSlice('\n')
		if whole = whole && len(text)+len(part) <= most; whole {
			text = append(text, part...)
		} else {
			text = nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return []byte(strings.TrimRight(string(text), "\r\n")), whole, err
		}
	}
}

func (s *search) logged(where string, text []byte) {
	var record any
	if len(text) > 0 && text[0] == '{' && json.Unmarshal(text, &record) == nil {
		s.calls(where, record, 0)
		s.shown(string(text)) // what came of the calls, or something else
		return
	}
	plain := strings.TrimLeft(string(text), "+")
	if command, ok := strings.CutPrefix(string(text), "$ "); ok {
		s.script(where, command, "", 0)
	} else if len(plain) < len(text) && strings.HasPrefix(plain, " ") {
		s.script(where, plain, "", 0)
	} else {
		s.shown(string(text))
	}
}

// maxRecord is how deep a call may lie in a record of a log.
const maxRecord = 12

// calls looks at the calls of tools in a record.
func (s *search) calls(where string, record any, depth int) {
	if depth > maxRecord {
		return
	}
	switch v := record.(type) {
	case []any:
		for _, inner := range v {
			s.calls(where, inner, depth+1)
		}
	case map[string]any:
		if name, input, ok := logCall(v); ok {
			arguments, _ := json.Marshal(input) // it was JSON before
			s.call(where, name, string(arguments))
			return
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			s.calls(where, v[key], depth+1)
		}
	}
}

// logCall reads a call as the programs write it: Claude Code a tool_use with its input, Codex
// a command_execution when it begins, opencode a tool with its state.
func logCall(v map[string]any) (name string, input any, ok bool) {
	switch v["type"] {
	case "tool_use":
		if name, ok = v["name"].(string); ok {
			return name, v["input"], true
		}
	case "item.started", "item.updated": // it comes again when it is completed
		return "", map[string]any{}, true
	case "command_execution":
		return "shell", map[string]any{"command": v["command"]}, true
	case "tool":
		state, _ := v["state"].(map[string]any)
		name, ok = v["tool"].(string)
		return name, state["input"], ok && state != nil
	}
	return "", nil, false
}
