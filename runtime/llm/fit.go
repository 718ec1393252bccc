package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/truncate"
)

// Check looks at an answer: it has a call, all calls are of offered tools, and all
// arguments fit. Otherwise it is *Malformed. Whoever keeps answers checks those kept, too.
func Check(a Answer, tools []Tool) error {
	if len(a.Calls) == 0 {
		why := "it calls no tool; answer with a call of " + names(tools)
		if a.Stop == "length" {
			why = "it was cut off before it called a tool: be brief"
		}
		return &Malformed{Why: why, Answer: a}
	}
	for _, c := range a.Calls {
		if why := unfit(c, tools); why != "" {
			if a.Stop == "length" {
				why += " (the answer was cut off: be brief)"
			}
			return &Malformed{Why: why, Answer: a}
		}
	}
	return nil
}

func names(tools []Tool) string {
	all := make([]string, 0, len(tools))
	for _, t := range tools {
		all = append(all, t.Name)
	}
	return strings.Join(all, ", ")
}

// unfit says what is wrong with a call, "" = nothing.
func unfit(c Call, tools []Tool) string {
	i := slices.IndexFunc(tools, func(t Tool) bool { return t.Name == c.Name })
	if i < 0 {
		return fmt.Sprintf("there is no tool %q; there are %s", truncate.Marked(c.Name, 100, "…"), names(tools))
	}
	if !isObject(c.Arguments) {
		return fmt.Sprintf("the arguments of %s are no JSON object: %s", c.Name, quote(c.Arguments))
	}
	if len(tools[i].Parameters) == 0 {
		return ""
	}
	var s schema
	if json.Unmarshal(tools[i].Parameters, &s) != nil {
		return "" // a schema of a kind that is not looked at here
	}
	if why := s.misfit(c.Arguments, ""); why != "" {
		return fmt.Sprintf("the arguments of %s do not fit: %s", c.Name, why)
	}
	return ""
}

// schema is what is looked at of a JSON schema: the kinds of values, what has to be there,
// and the words to choose from.
type schema struct {
	Type       string            `json:"type"`
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Items      *schema           `json:"items"`
	Enum       []json.RawMessage `json:"enum"`
}

// misfit says what is wrong with a value at a place, "" = nothing.
func (s schema) misfit(value json.RawMessage, at string) string {
	value = bytes.TrimSpace(value)
	if s.Type != "" && !isA(s.Type, value) {
		return fmt.Sprintf("%s is no %s", place(at), s.Type)
	}
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(e json.RawMessage) bool { return bytes.Equal(e, value) }) {
		return fmt.Sprintf("%s is none of %s", place(at), bytes.Join(raws(s.Enum), []byte(", ")))
	}
	switch s.Type {
	case "object":
		return s.misfields(value, at)
	case "array":
		var all []json.RawMessage
		if s.Items == nil || json.Unmarshal(value, &all) != nil {
			return ""
		}
		for i, one := range all {
			if why := s.Items.misfit(one, fmt.Sprintf("%s[%d]", at, i)); why != "" {
				return why
			}
		}
	}
	return ""
}

func (s schema) misfields(value json.RawMessage, at string) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(value, &fields) != nil {
		return place(at) + " is no object"
	}
	for _, name := range s.Required {
		if _, ok := fields[name]; !ok {
			return fmt.Sprintf("%q is missing", inside(at, name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) { // the same words each time
		field := fields[name]
		of, known := s.Properties[name]
		if !known || string(field) == "null" && !slices.Contains(s.Required, name) {
			continue // what is optional may be null: models write so what they leave out
		}
		if why := of.misfit(field, inside(at, name)); why != "" {
			return why
		}
	}
	return ""
}

func raws(all []json.RawMessage) [][]byte {
	bytes := make([][]byte, len(all))
	for i, one := range all {
		bytes[i] = one
	}
	return bytes
}

func place(at string) string {
	if at == "" {
		return "what is passed"
	}
	return fmt.Sprintf("%q", truncate.Marked(at, 100, "…"))
}

func inside(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

// isA tells whether a JSON value is of a kind of JSON schema.
func isA(kind string, value json.RawMessage) bool {
	if len(value) == 0 {
		return false
	}
	switch kind {
	case "object":
		return value[0] == '{'
	case "array":
		return value[0] == '['
	case "string":
		return value[0] == '"'
	case "boolean":
		return value[0] == 't' || value[0] == 'f'
	case "null":
		return value[0] == 'n'
	case "number":
		return value[0] == '-' || value[0] >= '0' && value[0] <= '9'
	case "integer":
		var n int64
		return json.Unmarshal(value, &n) == nil && value[0] != 'n'
	}
	return true
}

// Decode reads the arguments of a call. Fields that into does not have are ignored; a value
// of another type is *Malformed.
func Decode(c Call, into any) error {
	if !isObject(c.Arguments) {
		return &Malformed{Why: fmt.Sprintf("the arguments of %s are no JSON object: %s", c.Name, quote(c.Arguments))}
	}
	err := json.Unmarshal(c.Arguments, into)
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return &Malformed{Why: fmt.Sprintf("the arguments of %s do not fit: %q cannot be a %s", c.Name, e.Field, e.Value)}
	}
	if err != nil {
		return &Malformed{Why: fmt.Sprintf("the arguments of %s do not fit: %v", c.Name, err)}
	}
	return nil
}
