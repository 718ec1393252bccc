package workbench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of what a model calls with, in bytes.
const (
	maxArguments = 1 << 20
	maxLine      = 64 << 10 // a command, a pattern or a patch: the kernel takes 128 KiB
	maxPath      = 4096
)

// fileTime is how long looking at files may take.
const fileTime = time.Minute

// result is what a call came to.
type result struct {
	text       string
	understood bool // the call was one that a tool takes
}

func toolError(format string, args ...any) result {
	return result{text: "error: " + fmt.Sprintf(format, args...)}
}

func reply(format string, args ...any) result {
	return result{text: fmt.Sprintf(format, args...), understood: true}
}

// call does one call. An error is trouble, or the end.
func (b *bench) call(ctx context.Context, c Call) (result, error) {
	tools := map[string]func(context.Context, json.RawMessage) (result, error){
		"shell":        taking(b.shell),
		"read_file":    taking(b.readFile),
		"write_file":   taking(b.writeFile),
		"list_dir":     taking(b.listDir),
		"grep":         taking(b.grep),
		"apply_patch":  taking(b.applyPatch),
		"submit_tests": taking(b.submit),
	}
	do, ok := tools[c.Name]
	if !ok {
		return toolError("there is no tool %q", cut(legible(c.Name), 100, 0)), nil
	}
	if c.Name == "submit_tests" { // what it takes is not the model's time
		return do(ctx, c.Arguments)
	}
	var r result
	err := b.within(ctx, &b.spent.Worked, func(ctx context.Context) (err error) {
		r, err = do(ctx, c.Arguments)
		return err
	})
	switch {
	case errors.Is(err, ErrFile):
		return result{"error: " + shown([]byte(err.Error())), true}, nil
	case err != nil:
		return result{}, fmt.Errorf("do a call of %s at the workbench of %s: %w", c.Name, b.job.Repo, err)
	}
	return r, nil
}

// taking decodes arguments for a tool.
func taking[T any](do func(context.Context, T) (result, error)) func(context.Context, json.RawMessage) (result, error) {
	return func(ctx context.Context, arguments json.RawMessage) (result, error) {
		var args T
		if len(arguments) > maxArguments {
			return toolError("more than %d bytes of arguments", maxArguments), nil
		}
		if err := json.Unmarshal(arguments, &args); err != nil {
			return toolError("the arguments are not what the tool takes: %s", cut(legible(err.Error()), 300, 0)), nil
		}
		return do(ctx, args)
	}
}

// line returns what is wrong with a text that becomes an argument of a program.
func line(name, text string) string {
	switch {
	case text == "":
		return name + " is missing"
	case len(text) > maxLine:
		return fmt.Sprintf("%s has more than %d bytes", name, maxLine)
	case strings.ContainsRune(text, 0) || !utf8.ValidString(text):
		return name + " is no text"
	}
	return ""
}

// locate makes an absolute path of one that is below the work directory, or absolute already:
// the container is the model's own world.
func (b *bench) locate(name string) (file, wrong string) {
	switch {
	case name == "":
		return "", "path is missing"
	case len(name) > maxPath || strings.ContainsAny(name, "\x00\n\r") || !utf8.ValidString(name):
		return "", "the path is none"
	case path.IsAbs(name):
		return path.Clean(name), ""
	}
	file = path.Join(b.job.Workdir, name)
	if file != b.job.Workdir && !strings.HasPrefix(file, b.job.Workdir+"/") {
		return "", fmt.Sprintf("%q leads out of the work directory: name it by an absolute path", name)
	}
	return file, ""
}

// exec runs a program and shows how it ended and what it printed.
func (b *bench) exec(ctx context.Context, timeout time.Duration, argv ...string) (exit int, text string, err error) {
	exit, output, timedOut, err := b.room.Exec(ctx, argv, timeout)
	if err != nil {
		return 0, "", err
	}
	head := fmt.Sprintf("exit %d", exit)
	if timedOut {
		exit = -1
		head = fmt.Sprintf("ended after %s, its limit; all processes in the container were killed", timeout)
	}
	return exit, strings.TrimRight(head+"\n"+shown(output), "\n"), nil
}

// tool is one of the tools as models are told of it.
func tool(name, description, required string, properties ...string) Tool {
	schema := `{"type":"object","properties":{` + strings.Join(properties, ",") + `},"required":[` + required + `]}`
	return Tool{Name: name, Description: description, Parameters: json.RawMessage(schema)}
}

// property is one argument of a tool. Descriptions hold nothing that JSON would escape.
func property(name, kind, description string) string {
	if kind == "array" {
		return `"` + name + `":{"type":"array","items":{"type":"string"},"description":"` + description + `"}`
	}
	return `"` + name + `":{"type":"` + kind + `","description":"` + description + `"}`
}

// offered are the tools.
func offered(j Job) []Tool {
	submit := []string{
		property("install", "array", "commands that install what the tests need, each one line, in their order"),
		property("test_command", "string", "one line that runs the tests, for /bin/sh in the work directory"),
		property("parser", "string", "who understands its output, if the line does not show it: "+strings.Join(parsers(), ", ")),
		property("impossible", "string", "why it cannot be done; leave all else away"),
	}
	if j.Write {
		submit = append(submit, property("files", "array", "paths of the tests that you wrote, below the work directory"))
	}
	where := "path below the work directory, or absolute"
	return []Tool{
		tool("shell", "Run a command with /bin/sh in the work directory, as root. It gets no input.", `"command"`, property("command", "string", "what to run")),
		tool("read_file", "Read lines of a text file.", `"path"`, property("path", "string", where),
			property("offset", "integer", "first line, from 1"), property("limit", "integer", fmt.Sprintf("number of lines, %d if left away", readLines))),
		tool("write_file", "Make or replace a file.", `"path","content"`, property("path", "string", where), property("content", "string", "all of it")),
		tool("list_dir", "List a folder.", `"path"`, property("path", "string", where)),
		tool("grep", "Search files for an extended regular expression.", `"pattern"`, property("pattern", "string", "extended regular expression"),
			property("path", "string", "file or folder; the work directory if left away")),
		tool("apply_patch", "Apply a unified diff, as git diff prints it, to the work directory.", `"patch"`, property("patch", "string", "the diff, with a/ and b/ before its paths")),
		tool("submit_tests", "Hand in what you found. It is proved, and you are told if something is wrong.", "", submit...),
	}
}
