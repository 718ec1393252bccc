package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"regexp"
	"strings"
)

// instruction is one instruction of directive text.
type instruction struct {
	line int    // where it begins, from 1
	verb string // upper case
	rest string
}

// before does the text that stands right after FROM.
func (s *site) before(ctx context.Context) error {
	return s.directive(ctx, "user_directive", s.recipe.UserDirective)
}

// after does the text that stands at the end.
func (s *site) after(ctx context.Context) error {
	return s.directive(ctx, "post_install_directive", s.recipe.PostInstall)
}

// directive interprets the part of the Dockerfile language that bases use: RUN, ENV, ARG
// with a value, USER and WORKDIR. Anything else is an error.
func (s *site) directive(ctx context.Context, attribute, text string) error {
	for _, in := range instructions(text) {
		if err := s.instruct(ctx, attribute, in); err != nil {
			if _, ok := errors.AsType[*SetupError](err); ok {
				return err
			}
			return fmt.Errorf("%s line %d: %w", attribute, in.line, err)
		}
	}
	return nil
}

// instruct does one instruction.
func (s *site) instruct(ctx context.Context, attribute string, in instruction) error {
	switch in.verb {
	case "RUN":
		argv, err := runArgv(in.rest)
		if err != nil {
			return err
		}
		dir := s.config.Workdir
		if dir == "" {
			dir = "/"
		}
		user := s.config.User
		if user == "" {
			user = rootUser
		}
		return s.run(ctx, command{
			argv: argv, env: merge(s.args, s.config.Env), user: user, dir: dir,
			attribute: attribute, index: in.line, text: in.rest,
		})
	case "ENV":
		pairs, err := s.pairs(in.rest)
		s.config.Env = merge(s.config.Env, pairs)
		return err
	case "ARG":
		if !strings.Contains(in.rest, "=") {
			return fmt.Errorf("ARG %s has no value, and there is nobody to give it one", in.rest)
		}
		pairs, err := s.pairs(in.rest)
		s.args = merge(s.args, pairs)
		return err
	case "USER":
		user, err := s.expand(in.rest)
		s.config.User = user
		return err
	case "WORKDIR":
		dir, err := s.expand(in.rest)
		if err != nil {
			return err
		}
		if !path.IsAbs(dir) {
			dir = path.Join("/", s.config.Workdir, dir)
		}
		s.config.Workdir = path.Clean(dir)
		return s.makeDirs(ctx, s.config.Workdir)
	}
	return fmt.Errorf("%s is not supported here; RUN, ENV, ARG, USER and WORKDIR are", in.verb)
}

// instructions splits directive text: comments and empty lines go, continued lines join.
func instructions(text string) []instruction {
	var all []instruction
	open := false // the last one goes on
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		body, continued := strings.CutSuffix(line, `\`)
		if open {
			last := &all[len(all)-1]
			last.rest += " " + strings.TrimSpace(body)
		} else {
			verb, rest, _ := strings.Cut(strings.TrimSpace(body), " ")
			all = append(all, instruction{line: i + 1, verb: strings.ToUpper(verb), rest: strings.TrimSpace(rest)})
		}
		open = continued
	}
	return all
}

// runArgv returns the argument vector of a RUN: JSON, or a line for the shell.
func runArgv(rest string) ([]string, error) {
	if strings.HasPrefix(rest, "--") || strings.HasPrefix(rest, "<<") {
		return nil, fmt.Errorf("RUN with options or here-documents is not supported here")
	}
	if strings.HasPrefix(rest, "[") {
		var argv []string
		if err := json.Unmarshal([]byte(rest), &argv); err == nil && len(argv) > 0 {
			return argv, nil
		}
	}
	if rest == "" {
		return nil, fmt.Errorf("RUN without a command")
	}
	return []string{"/bin/sh", "-c", rest}, nil
}

// pair matches one NAME=value, the value bare or quoted.
var pair = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)=("(?:[^"\\]|\\.)*"|'[^']*'|(?:[^\s"'\\]|\\.)*)(?:\s+|$)`)

// pairs reads the assignments of ENV and ARG, in the old form "NAME value" as well.
func (s *site) pairs(rest string) (map[string]string, error) {
	if name, value, ok := strings.Cut(rest, " "); ok && !strings.Contains(name, "=") {
		value, err := s.expand(strings.TrimSpace(value))
		return map[string]string{name: value}, err
	}
	found := map[string]string{}
	for rest != "" {
		m := pair.FindStringSubmatch(rest)
		if m == nil {
			return nil, fmt.Errorf("cannot read %q as NAME=value", rest)
		}
		value, err := s.unquote(m[2])
		if err != nil {
			return nil, err
		}
		found[m[1]], rest = value, rest[len(m[0]):]
	}
	return found, nil
}

// unquote takes quotes and backslashes away and puts variables in.
func (s *site) unquote(v string) (string, error) {
	if strings.HasPrefix(v, "'") {
		return v[1 : len(v)-1], nil
	}
	if strings.HasPrefix(v, `"`) {
		v = v[1 : len(v)-1]
	}
	v, err := s.expand(v)
	return escaped.ReplaceAllString(v, "$1"), err
}

var (
	escaped  = regexp.MustCompile(`\\(.)`)
	variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// expand puts in the variables that are known: those of the image, of ENV and of ARG.
func (s *site) expand(v string) (string, error) {
	known := merge(s.args, s.config.Env)
	var bad error
	out := os.Expand(v, func(name string) string {
		if !variable.MatchString(name) {
			bad = fmt.Errorf("${%s} is more than the name of a variable", name)
		}
		return known[name]
	})
	return out, bad
}
