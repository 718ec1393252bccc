package wire

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/assayd/assayd/runtime/gateway/transcript/values"
)

// Providers do much by themselves if they are asked to: they search the web, open addresses,
// run code on machines of theirs, call servers of others. For an agent whose network is closed
// that is a way out, so that such requests are refused.

// HostedTools names what a request would have the provider do by itself, "" for nothing.
func HostedTools(fields map[string]json.RawMessage) string {
	for _, name := range slices.Sorted(maps.Keys(fields)) { // so that the same is said each time
		if found := beyondField(fold(name), fields[name]); found != "" {
			return found
		}
	}
	return ""
}

// searches are the names of models that have the web at hand whatever tools they are given, and
// what OpenRouter takes for them.
var searches = regexp.MustCompile(`:online$|-search-(preview|api)|-deep-research|(^|/)sonar|(^|/)compound(-|$)|@preset/`)

// beyondModel looks at the name of a model.
func beyondModel(name []byte) string {
	if model := values.Text(name); searches.MatchString(strings.ToLower(model)) {
		return "the model " + Clip([]byte(model)) + ", which searches the web"
	}
	return ""
}

// beyondField looks at a field of a request, by its name in lower case.
func beyondField(name string, value []byte) string {
	switch name {
	case "model":
		return beyondModel(value)
	case "models": // of OpenRouter, should the first one fail
		return firstOf(value, beyondModel)
	case "tools":
		return tools(value, maxContent)
	case "messages", "input", "system", "instructions":
		return content(value, maxContent)
	case "web_search_options", "search_parameters", "enable_search", "plugins", "mcp_servers", "connectors", "container", "prompt", "preset":
		if !empty(value) {
			return name
		}
	case "extra_body", "google": // of Gemini, in OpenAI's words
		return extra(value, name == "extra_body")
	}
	return ""
}

// extra looks at fields that are in another one.
func extra(value []byte, deeper bool) (found string) {
	values.Members(value, func(name string, value []byte) bool {
		switch name = fold(name); {
		case name == "extra_body", name == "google" && !deeper:
			found = name
		default:
			found = beyondField(name, value)
		}
		return found == ""
	})
	return found
}

// ours are the types of tools that the agent runs, or that the provider runs on nothing but the
// request. Those of Anthropic's end in a date.
var ours = regexp.MustCompile(`^(function|custom|local_shell|apply_patch|computer|computer_use_preview|tool_search|image_generation|` +
	`(bash|text_editor|computer|memory|tool_search_tool_regex|tool_search_tool_bm25)_[0-9]+|tool_search_tool_(regex|bm25))$`)

// tools looks at those that a model is offered.
func tools(list []byte, depth int) string {
	return firstOf(list, func(tool []byte) string { return beyondTool(tool, depth-1) })
}

// beyondTool looks at one of them.
func beyondTool(tool []byte, depth int) string {
	if depth == 0 {
		return tooDeep
	}
	found, typed, known := "", false, false
	values.Members(tool, func(name string, value []byte) bool {
		switch fold(name) {
		case "type":
			typed = true
			switch kind := values.Text(value); {
			case ours.MatchString(kind), kind == "namespace":
			case kind == "shell": // on whose machine is said beside it
			default:
				found = "the tool " + strings.TrimSpace(Clip([]byte(kind)))
			}
		case "function", "input_schema":
			known = true
		case "environment":
			found = environment(value)
		case "tools":
			found = tools(value, depth) // of a namespace
		case "input_image_mask":
			found = part(value, maxContent)
		}
		return found == ""
	})
	if found == "" && !typed && !known {
		return "a tool without a type"
	}
	return found
}

// environment says where a shell is, if that is not with the agent.
func environment(value []byte) (found string) {
	values.Members(value, func(name string, value []byte) bool {
		if kind := values.Text(value); fold(name) == "type" && kind != "local" {
			found = "the tool shell in " + Clip([]byte(kind))
		}
		return found == ""
	})
	return found
}

// maxContent is how deep contents lie in each other at most: a message, a result of a tool, a
// document in it, and its parts.
const maxContent = 8

const tooDeep = "what lies too deep to be looked at"

// content looks at what a model is told: a text, or parts.
func content(value []byte, depth int) string {
	if depth == 0 {
		return tooDeep
	}
	look := func(value []byte) string { return part(value, depth-1) }
	if found := firstOf(value, look); found != "" {
		return found
	}
	return look(value) // of one part that is in no list
}

// firstOf is what is first found in the elements of a list.
func firstOf(list []byte, look func([]byte) string) (found string) {
	values.Elements(list, func(value []byte) bool {
		found = look(value)
		return found == ""
	})
	return found
}

// part looks at a message, or at a part of one. What a model wrote, and a tool said as a text,
// is of no matter.
func part(value []byte, depth int) (found string) {
	values.Members(value, func(name string, value []byte) bool {
		switch name = fold(name); name {
		case "content", "output":
			found = content(value, depth)
		case "tools": // that a search for tools has found
			found = tools(value, depth)
		case "image_url", "video_url", "audio_url", "file_url", "file", "file_data", "input_audio":
			if found = source(value, depth); elsewhere(value) {
				found = atAddress
			}
		case "source": // a text only says where something is from
			found = source(value, depth)
		case "file_id":
			found = kept(value)
		case "type":
			if values.Text(value) == "container_upload" {
				found = "a file for a machine of the provider's"
			}
		}
		return found == ""
	})
	return found
}

const atAddress = "what lies at an address"

// source looks at what a part is taken from: an object that has an address, or what it is
// itself.
func source(value []byte, depth int) (found string) {
	text := false // so that its data are one
	values.Members(value, func(name string, value []byte) bool {
		text = text || fold(name) == "type" && values.Text(value) == "text"
		return !text
	})
	values.Members(value, func(name string, value []byte) bool {
		switch name = fold(name); name {
		case "url", "file_data", "data", "file_url":
			if elsewhere(value) && !(text && name == "data") {
				found = atAddress
			}
		case "file_id":
			found = kept(value)
		case "content":
			found = content(value, depth)
		}
		return found == ""
	})
	return found
}

func kept(id []byte) string {
	if values.Text(id) == "" {
		return ""
	}
	return "a file that the provider keeps"
}

// inline are contents themselves, in base64.
var inline = regexp.MustCompile(`^[A-Za-z0-9+/=_\-\s]*$`)

// elsewhere reports whether a text is an address that the provider would have to open. Of a
// long one the beginning tells.
func elsewhere(value []byte) bool {
	const most = 4096
	var address string
	if len(value) > most && value[0] == '"' {
		address = string(value[1:most])
	} else {
		address = strings.TrimSpace(values.Text(value))
	}
	if len(address) >= 5 && strings.EqualFold(address[:5], "data:") {
		return false
	}
	return !inline.MatchString(address)
}

// empty reports whether a value says nothing.
func empty(value []byte) bool {
	switch string(value) {
	case "null", "false", `""`, "[]", "{}":
		return true
	}
	return false
}

// fold is a name without the difference between capitals, as loose readers take it.
func fold(name string) string { return strings.ToLower(strings.ToUpper(name)) }
