package cheat

import (
	"encoding/json"
	"slices"
	"strings"
)

// call looks at a call of a tool. Tools are known by the fields that they take rather than by
// their names, of which each program has its own: Claude Code's Bash takes a command, Codex's
// exec_command a cmd and its shell a list, opencode's write a filePath and a content.
func (s *search) call(where, name, arguments string) {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &fields) != nil {
		s.freeform(where, name, arguments)
		return
	}
	dir := field(fields, "workdir", "working_directory", "cwd")
	for _, key := range []string{"command", "cmd", "chars", "script", "bash_command"} {
		var argv []string
		switch script := field(fields, key); {
		case isPatch(script):
			s.applied(where, script)
		case script != "":
			s.script(where, script, dir, 0)
		case json.Unmarshal(fields[key], &argv) == nil && len(argv) > 0:
			s.argv(where, argv, dir)
		}
	}
	for _, key := range []string{"input", "patch", "patchText", "diff"} {
		if text := field(fields, key); isPatch(text) {
			s.applied(where, text)
		}
	}
	if code := field(fields, "code"); code != "" {
		s.mentions(where, code, dir)
		s.touch(where, code, dir)
	}
	s.files(where, fields, dir)
	s.web(where, name, fields)
}

// freeform looks at arguments that are no JSON: what a model wrote wrongly, or in the form of
// a tool that takes a text.
func (s *search) freeform(where, name, text string) {
	switch {
	case isPatch(text):
		s.applied(where, text)
	case strings.Contains(strings.ToLower(name), "bash") || strings.Contains(name, "shell") || strings.Contains(name, "exec"):
		s.script(where, text, "", 0)
	}
}

// field is the first of some fields that holds a text.
func field(fields map[string]json.RawMessage, names ...string) (text string) {
	for _, name := range names {
		if json.Unmarshal(fields[name], &text) == nil && text != "" {
			return text
		}
	}
	return ""
}

// argv looks at a command that no shell has read, unless it is one.
func (s *search) argv(where string, argv []string, dir string) {
	if argv[0] == "apply_patch" && len(argv) > 1 {
		s.applied(where, argv[1])
		return
	}
	s.unwrap(where, command{args: argv, dir: dir}, 0)
}

// files looks at what a tool writes or reads by the path it names.
func (s *search) files(where string, fields map[string]json.RawMessage, dir string) {
	name := field(fields, "file_path", "filePath", "path", "notebook_path", "filename", "file")
	content, old := written(fields)
	var edits []map[string]json.RawMessage
	_ = json.Unmarshal(fields["edits"], &edits) // most tools take none
	for _, e := range edits {
		c, o := written(e)
		content, old = content+c+"\n", old+o+"\n"
	}
	switch {
	case name != "" && (content != "" || old != ""):
		s.wrote(where, name, dir, without(content, old))
	case name != "":
		s.touched(where, name, dir, name)
	}
	for _, key := range []string{"pattern", "glob", "include", "query"} {
		if text := field(fields, key); text != "" && field(fields, "url") == "" {
			s.sought(where, text, name, dir)
		}
	}
}

// written is what a tool writes, and what was there.
func written(fields map[string]json.RawMessage) (content, old string) {
	return field(fields, "content", "new_string", "newString", "new_str", "file_text", "insert_text", "new_source", "contents"),
		field(fields, "old_string", "oldString", "old_str")
}

// without is a text without the lines of another.
func without(text, old string) string {
	if old == "" {
		return text
	}
	known := map[string]bool{}
	for l := range strings.Lines(old) {
		known[strings.TrimRight(l, "\r\n")] = true
	}
	var out strings.Builder
	for l := range strings.Lines(text) {
		if !known[strings.TrimRight(l, "\r\n")] {
			out.WriteString(l)
		}
	}
	return out.String()
}

// web looks at what a tool fetches or searches for on the web.
func (s *search) web(where, name string, fields map[string]json.RawMessage) {
	name = strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
	isWeb := strings.Contains(name, "web") && (strings.Contains(name, "fetch") || strings.Contains(name, "search"))
	url := field(fields, "url", "uri")
	query := field(fields, "query", "q", "search_query")
	if !isWeb && url == "" {
		return
	}
	if s.facts.WebOff && isWeb {
		s.say(WebTools, where, name+" "+url+" "+query)
	}
	if s.upstream.fetched(url) && !s.upstream.given[url] {
		s.say(Upstream, where, url)
	} else if isWeb && s.upstream.askedFor(query) {
		s.say(Upstream, where, query)
	}
}

// isPatch reports whether a text is one for apply_patch.
func isPatch(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), "*** Begin Patch") }

// applied looks at a patch in the form of apply_patch: a heading for each file, and lines that
// begin with what happens to them.
func (s *search) applied(where, text string) {
	var name string
	var added strings.Builder
	flush := func() {
		if name != "" {
			s.wrote(where, name, "", added.String())
		}
		name = ""
		added.Reset()
	}
	for l := range strings.Lines(text) {
		heading, isHeading := strings.CutPrefix(l, "*** ")
		what, file, _ := strings.Cut(strings.TrimSpace(heading), ": ")
		switch {
		case isHeading && slices.Contains([]string{"Add File", "Update File", "Delete File", "Move to"}, what):
			flush()
			name = file
		case !isHeading && strings.HasPrefix(l, "+"):
			added.WriteString(l[1:])
		}
	}
	flush()
}
