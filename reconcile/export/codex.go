package export

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/assayd/assayd/reconcile/history"
)

// Bounds on a log of Codex, which an agent may write as it likes.
const (
	codexHead  = 64 << 10 // in which the first event stands
	maxLine    = 8 << 20  // of one event; a longer one is left out
	maxRunning = 64       // commands that run at once
	maxCommand = 64 << 10 // of one that runs
)

// codexEvent is one line of `codex exec --json`.
type codexEvent struct {
	Type    string     `json:"type"`
	Thread  string     `json:"thread_id"`
	Item    codexItem  `json:"item"`
	Message string     `json:"message"`
	Error   codexError `json:"error"`
}

type codexError struct {
	Message string `json:"message"`
}

// codexItem is what an event is about; which fields are set depends on its type.
type codexItem struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Status    string          `json:"status"`
	Text      string          `json:"text"`
	Message   string          `json:"message"`
	Command   string          `json:"command"`
	Output    string          `json:"aggregated_output"`
	ExitCode  *int            `json:"exit_code"`
	Query     string          `json:"query"`
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Result    json.RawMessage `json:"result"`
	Error     *codexError     `json:"error"`
	Changes   []struct {
		Path string `json:"path"`
		Kind string `json:"kind"`
	} `json:"changes"`
	Items []struct {
		Text      string `json:"text"`
		Completed bool   `json:"completed"`
	} `json:"items"`
}

// codexThread returns the id of the first session in the head of a log, and whether the log is
// one of `codex exec --json` at all.
func codexThread(head []byte) (id string, ok bool) {
	for line := range bytes.Lines(head) {
		var e codexEvent
		if json.Unmarshal(line, &e) == nil && e.Type == "thread.started" {
			return e.Thread, true
		}
	}
	return "", false
}

// codexText writes the events of `codex exec --json` as the text that Codex prints without that
// option, because SForge's viewer reads no other form: a header between two lines of dashes, and
// blocks that begin with a line "user", "codex" or "exec".
type codexText struct {
	w       *bufio.Writer
	dir     string // of the commands
	prompt  string
	threads int
	running []codexItem // commands that have begun, in that order
}

// writeCodex writes the log of a trial of Codex, whose first session is thread.
func writeCodex(w io.Writer, log *bufio.Reader, thread string, r history.TrialRecord) error {
	t := codexText{w: bufio.NewWriter(w), dir: r.Cell.Task.Workdir, prompt: r.Prompt()}
	t.header(thread, r)
	for {
		line, whole, err := wholeLine(log)
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return err
		case !whole:
			t.lines(fmt.Sprintf("[assayd: a line longer than %d bytes is left out]", maxLine))
		case len(line) > 0:
			t.line(line)
		}
		if err != nil {
			break
		}
	}
	for _, item := range t.running {
		t.exec(item, "")
	}
	return t.w.Flush()
}

// wholeLine reads a line without its end; of one that is too long it keeps nothing.
func wholeLine(in *bufio.Reader) (line []byte, whole bool, err error) {
	whole = true
	for {
		part, err := in.ReadSlice('\n')
		if whole = whole && len(line)+len(part) <= maxLine; whole {
			line = append(line, part...)
		} else {
			line = nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(line, "\r\n"), whole, err
		}
	}
}

func (t *codexText) header(thread string, r history.TrialRecord) {
	a := r.Cell.Agent
	title, rows := "OpenAI Codex", [][2]string{{"workdir", t.dir}, {"model", a.Model}, {"provider", a.Provider}}
	if a.Program == "codex" { // the built-in one
		title += " v" + a.Version
		rows = append(rows, [2]string{"approval", "never"}, [2]string{"sandbox", "danger-full-access"})
	}
	rows = append(rows, [2]string{"reasoning effort", a.Effort}, [2]string{"session id", thread})
	const dashes = "--------\n"
	t.put(title, "\n", dashes)
	for _, row := range rows {
		if row[1] != "" {
			t.put(row[0], ": ", oneLine(row[1]), "\n")
		}
	}
	t.put(dashes)
}

// line writes what a line of the log says. One that is no event stays as it is.
func (t *codexText) line(line []byte) {
	var e codexEvent
	if json.Unmarshal(line, &e) != nil {
		t.lines(string(line))
		return
	}
	switch e.Type {
	case "thread.started":
		if t.threads++; t.threads == 1 {
			t.block("user", t.prompt)
		} else {
			t.block("user", "The agent is started again, and told to continue.")
		}
	case "turn.started", "turn.completed", "item.updated":
	case "turn.failed":
		t.block("codex", "ERROR: "+e.Error.Message)
	case "error":
		t.block("codex", "ERROR: "+e.Message)
	case "item.started":
		if e.Item.Type == "command_execution" && len(t.running) < maxRunning {
			command := strings.ToValidUTF8(e.Item.Command[:min(len(e.Item.Command), maxCommand)], "")
			t.running = append(t.running, codexItem{ID: e.Item.ID, Type: e.Item.Type, Command: command})
		}
	case "item.completed":
		t.running = slices.DeleteFunc(t.running, func(i codexItem) bool { return i.ID == e.Item.ID })
		if !t.item(e.Item) {
			t.lines(string(line))
		}
	default:
		t.lines(string(line))
	}
}

// item writes an item that is complete, and reports whether its type is known.
func (t *codexText) item(i codexItem) bool {
	switch i.Type {
	case "agent_message", "plan":
		t.block("codex", i.Text)
	case "reasoning":
		t.block("codex", "thinking:\n"+i.Text)
	case "error":
		t.block("codex", "ERROR: "+i.Message)
	case "todo_list":
		var b strings.Builder
		for _, todo := range i.Items {
			box := "[ ]"
			if todo.Completed {
				box = "[x]"
			}
			fmt.Fprintf(&b, "- %s %s\n", box, todo.Text)
		}
		t.block("codex", b.String())
	case "command_execution":
		t.exec(i, ended(i))
	case "file_change":
		var changes []string
		for _, c := range i.Changes {
			changes = append(changes, c.Kind+" "+c.Path)
		}
		i.Command = "apply_patch: " + strings.Join(changes, ", ")
		t.exec(i, ended(i))
	case "mcp_tool_call":
		i.Command, i.Output = i.Server+"."+i.Tool+" "+string(i.Arguments), string(i.Result)
		if i.Error != nil {
			i.Output = i.Error.Message
		}
		t.exec(i, ended(i))
	case "web_search":
		i.Command = "web_search: " + i.Query
		t.exec(i, ended(i))
	default:
		return false
	}
	return true
}

// ended says how a call of a tool ended. The line has a place for a duration, which no event tells.
func ended(i codexItem) string {
	code := 0
	switch {
	case i.ExitCode != nil:
		code = int(uint8(*i.ExitCode)) // as a shell does: that of a killed one is -1
	case i.Status == "failed" || i.Status == "declined":
		code = 1
	}
	if code == 0 {
		return " succeeded in 0ms:\n"
	}
	return fmt.Sprintf(" exited %d in 0ms:\n", code)
}

// exec writes a call of a tool, which is a command for the viewer, in one line.
func (t *codexText) exec(i codexItem, ended string) {
	t.put("exec\n", oneLine(i.Command))
	if len(t.dir) > 1 && !strings.ContainsFunc(t.dir, unicode.IsSpace) {
		t.put(" in ", t.dir)
	}
	t.put("\n", ended)
	t.lines(i.Output)
	t.put("\n")
}

func (t *codexText) block(marker, text string) {
	t.put(marker, "\n")
	t.lines(text)
}

// lines writes a text that others chose. A line that is nothing but a marker gets a space of no
// width: it would begin a block.
func (t *codexText) lines(text string) {
	for line := range strings.Lines(onlyNewlines(text)) {
		line = strings.TrimSuffix(line, "\n")
		switch strings.TrimFunc(line, func(c rune) bool { return unicode.IsSpace(c) || c == '\x1f' }) {
		case "user", "codex", "exec":
			line += "\u200b"
		}
		t.put(line, "\n")
	}
}

// put leaves errors to Flush.
func (t *codexText) put(parts ...string) {
	for _, part := range parts {
		_, _ = t.w.WriteString(part)
	}
}

// oneLine writes a text of several lines in one.
func oneLine(text string) string {
	return strings.ReplaceAll(strings.TrimSuffix(onlyNewlines(text), "\n"), "\n", "⏎")
}

// onlyNewlines ends lines with a newline wherever the viewer, which is written in Python, begins
// another line.
func onlyNewlines(text string) string { return newlines.Replace(text) }

var newlines = strings.NewReplacer(
	"\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\x1c", "\n", "\x1d", "\n", "\x1e", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n",
)
