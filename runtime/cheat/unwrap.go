package cheat

import (
	"path"
	"slices"
	"strings"
)

// maxDepth bounds how often one program runs another in a command.
const maxDepth = 8

// script looks at a script, one command after the other: a later one may run what an earlier one
// wrote.
func (s *search) script(where, script, dir string, depth int) {
	for _, c := range parse(script, dir) {
		s.unwrap(where, c, depth)
	}
}

// inScript is script for one that another command runs.
func (s *search) inScript(where, script, dir string, depth int) {
	if s.again(where, "a command in a command", script) {
		s.script(where, script, dir, depth)
	}
}

// unwrap looks at a command and at what it runs in the end: what sudo, xargs, env, sh -c, eval
// and their like are given, what find executes, and the scripts that the agent wrote before.
func (s *search) unwrap(where string, c command, depth int) {
	if s.ended() != nil {
		return
	}
	c.args = unwrapped(c.args)
	if isInterpreter(c.name()) {
		if code := s.codeOf(c); s.again(where, "code that is run", code) {
			c.code = code
		}
	}
	if depth >= maxDepth || len(c.args) == 0 {
		s.command(where, c)
		return
	}
	name := c.name()
	inner, ok := optionC(c.args)
	if ok && isShell(name) || name == "eval" {
		outer := c
		outer.args = c.args[:1] // the rest is looked at as what it is
		s.command(where, outer)
	} else {
		s.command(where, c)
	}
	switch {
	case ok && isShell(name):
		s.inScript(where, inner, c.dir, depth+1)
	case name == "eval":
		s.inScript(where, strings.Join(c.args[1:], " "), c.dir, depth+1)
	case isShell(name):
		text, ok := s.scripts[s.normal(operand(c.args), c.dir)]
		if !ok {
			text = c.input
		}
		s.inScript(where, text, c.dir, depth+1)
	case isInterpreter(name):
		s.mentions(where, c.code, c.dir)
	case name == "find" || name == "fd":
		for _, e := range executed(c) {
			s.unwrap(where, e, depth+1)
		}
	case strings.Contains(c.args[0], "/"):
		s.executes(where, s.scripts[s.normal(c.args[0], c.dir)], c.dir, depth+1)
	}
}

// executes looks at a script that the agent wrote, in the language that its first line names.
func (s *search) executes(where, text, dir string, depth int) {
	first, _, _ := strings.Cut(text, "\n")
	if strings.Contains(first, "python") || strings.Contains(first, "node") {
		s.mentions(where, text, dir)
	} else {
		s.inScript(where, text, dir, depth)
	}
}

// name is the program that a command starts.
func (c command) name() string {
	if len(c.args) == 0 {
		return ""
	}
	return path.Base(c.args[0])
}

func isShell(name string) bool {
	return slices.Contains([]string{"sh", "bash", "zsh", "dash", "ash", "ksh", "source", "."}, name)
}

func isInterpreter(name string) bool {
	for _, known := range []string{"python", "pypy", "node", "perl", "ruby", "php", "deno", "bun", "lua", "ipython"} {
		if rest, ok := strings.CutPrefix(name, known); ok && strings.Trim(rest, "0123456789.") == "" {
			return true
		}
	}
	return false
}

// codeOf is what an interpreter is given to run, as far as it is known.
func (s *search) codeOf(c command) string {
	for i, arg := range c.args {
		if (arg == "-c" || arg == "-e" || arg == "--eval" || arg == "-p" || arg == "eval") && i+1 < len(c.args) {
			return c.args[i+1]
		}
		if i > 0 && !strings.HasPrefix(arg, "-") {
			return s.scripts[s.normal(arg, c.dir)]
		}
	}
	return c.input
}

// wrapper reports whether a program runs the one that is named behind its options, and which
// of these take a value.
func wrapper(name string) (valued string, ok bool) {
	switch name {
	case "nohup", "command", "setsid", "busybox", "unbuffer", "builtin", "chroot", "proxychains", "proxychains4":
		return "", true
	case "sudo":
		return "-u -g -C -D -h -p -U", true
	case "doas":
		return "-u -C", true
	case "env":
		return "-u -C", true
	case "timeout":
		return "-s -k", true
	case "nice", "watch":
		return "-n", true
	case "ionice":
		return "-c -n", true
	case "stdbuf":
		return "-i -o -e", true
	case "xargs":
		return "-I -n -P -L -d -a -E -s", true
	case "time":
		return "-f -o", true
	case "exec":
		return "-a", true
	case "strace", "ltrace":
		return "-e -o -p", true
	case "parallel":
		return "-j", true
	}
	return "", false
}

// unwrapped are the arguments of the program that is run in the end.
func unwrapped(args []string) []string {
	for range maxDepth {
		if len(args) < 2 {
			return args
		}
		name := path.Base(args[0])
		valued, ok := wrapper(name)
		if !ok || name == "command" && strings.HasPrefix(args[1], "-v") {
			return args
		}
		rest := args[1:]
		for len(rest) > 0 && (strings.HasPrefix(rest[0], "-") || name == "env" && strings.Contains(rest[0], "=")) {
			if len(rest[0]) == 2 && strings.Contains(valued, rest[0]) && len(rest) > 1 {
				rest = rest[1:]
			}
			rest = rest[1:]
		}
		if (name == "timeout" || name == "chroot") && len(rest) > 0 { // the time, the folder
			rest = rest[1:]
		}
		if len(rest) == 0 {
			return args
		}
		args = rest
	}
	return args
}

// optionC is the script behind -c, also in -lc.
func optionC(args []string) (string, bool) {
	for i, arg := range args[:max(len(args)-1, 0)] {
		if i > 0 && len(arg) > 1 && arg[0] == '-' && arg[1] != '-' && strings.HasSuffix(arg, "c") {
			return args[i+1], true
		}
	}
	return "", false
}

// operand is the first argument that is no option.
func operand(args []string) string {
	for _, arg := range args[min(1, len(args)):] {
		if !strings.HasPrefix(arg, "-") {
			return arg
		}
	}
	return ""
}

// executed are the commands that find runs.
func executed(c command) (all []command) {
	for i := 0; i < len(c.args); i++ {
		if !slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec"}, c.args[i]) {
			continue
		}
		begin := i + 1
		for i++; i < len(c.args) && c.args[i] != ";" && c.args[i] != "+"; i++ {
		}
		if begin < i {
			all = append(all, command{args: c.args[begin:i], dir: c.dir})
		}
	}
	return all
}

// mentions looks at the commands that code of another language could run: what follows the name
// of a program on its line, without the quotes and commas between the words.
func (s *search) mentions(where, code, dir string) {
	code = code[:min(len(code), maxScript)]
	if !s.again(where, "code in a command", code) {
		return
	}
	for text := range strings.Lines(code) {
		text, _, _ = strings.Cut(text, " #")
		for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(";|&", r) }) {
			args := strings.FieldsFunc(part, func(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`,()[]", r) })
			at := slices.IndexFunc(args, func(arg string) bool {
				return slices.Contains([]string{"git", "curl", "wget", "gh", "pip", "pip3", "base64"}, path.Base(arg))
			})
			if at >= 0 {
				s.command(where, command{args: args[at:], dir: dir})
			}
		}
	}
}
