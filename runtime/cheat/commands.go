package cheat

import (
	"slices"
	"strings"
)

// command looks at what an agent ran.
func (s *search) command(where string, c command) {
	if s.futureHistory(c) {
		s.say(FutureHistory, where, c.text())
	}
	if s.upstream.by(c) {
		s.say(Upstream, where, c.text())
	}
	if s.answers(c) {
		s.say(Answers, where, c.text())
	} else if s.judgePaths(c) {
		s.say(JudgePaths, where, c.text())
	}
	s.writes(where, c)
}

// writes looks at the files that a command writes, with their content where that stands in the
// command.
func (s *search) writes(where string, c command) {
	content := c.input
	if name := c.name(); name == "echo" || name == "printf" {
		content = joined(c.args[1:])
	}
	s.wroteAll(where, c.into, c.dir, content)
	operands := operands(c.args)
	switch name := c.name(); name {
	case "tee":
		s.wroteAll(where, operands, c.dir, c.input)
	case "sed", "perl", "ruby":
		if slices.ContainsFunc(c.args, func(a string) bool { return strings.HasPrefix(a, "-i") || a == "-pi" || a == "--in-place" }) {
			s.wroteAll(where, operands, c.dir, "")
		}
	case "touch", "rm", "truncate", "chmod", "chown", "unlink", "shred":
		s.wroteAll(where, operands, c.dir, "")
	case "mv":
		s.wroteAll(where, operands, c.dir, "")
	case "cp", "ln", "install":
		s.wroteAll(where, operands[max(len(operands)-1, 0):], c.dir, "")
	case "apply_patch":
		if len(c.args) > 1 {
			s.applied(where, c.args[1])
		} else {
			s.applied(where, c.input)
		}
	case "patch":
		s.diff(where, c.input)
	case "git":
		if sub, _, _ := gitCommand(c); sub == "apply" || sub == "am" {
			s.diff(where, c.input)
		}
	}
	if isInterpreter(c.name()) {
		s.codeWrites(where, c.code, c.dir)
	}
}

// wroteAll looks at files that are written with the same content, "" = one that is not known.
func (s *search) wroteAll(where string, names []string, dir, content string) {
	for i, name := range names {
		if i > 0 && !s.again(where, "text that is written to "+name, content) {
			content = ""
		}
		s.wrote(where, name, dir, content)
	}
}

// codeWrites looks for the files that steer a runner in code that opens files to write.
func (s *search) codeWrites(where, code, dir string) {
	if !strings.Contains(code, "write") && !strings.Contains(code, "'w") && !strings.Contains(code, `"w`) {
		return
	}
	for word := range words(code) {
		if p := s.normal(word, dir); inside(p) && s.steers(p) {
			s.say(JudgePaths, where, "code writes "+p)
			return
		}
	}
}

// operands are the arguments that are no options.
func operands(args []string) (all []string) {
	for _, arg := range args[min(1, len(args)):] {
		if !strings.HasPrefix(arg, "-") {
			all = append(all, arg)
		}
	}
	return all
}
