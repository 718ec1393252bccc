package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"

	"github.com/assayd/assayd/runtime/image/dockerfile"
)

// dockerfile does what stands in the part's Dockerfile behind FROM. Then the recipe has its
// say about how containers are run.
func (s *buildStep) dockerfile(ctx context.Context) error {
	if s.recipe.Dockerfile == "" {
		return nil
	}
	d, err := dockerfile.Read(s.recipe.Dockerfile, s.recipe.Platform)
	if err != nil {
		return s.blame("dockerfile", err)
	}
	s.config, s.globals = s.from, d.Args
	s.config.Env, s.config.Labels = maps.Clone(s.from.Env), maps.Clone(s.from.Labels)
	for _, c := range d.Commands {
		if err := s.follow(ctx, "dockerfile", c, d.Escape); err != nil {
			return err
		}
	}
	done := s.config
	s.config = s.recipe.config(done)
	s.config.Workdir = cmp.Or(done.Workdir, s.config.Workdir)
	s.recipe.Workdir = cmp.Or(s.recipe.Workdir, s.config.Workdir, "/")
	s.home = s.config.Workdir
	return nil
}

// before does the text that stands right after FROM.
func (s *buildStep) before(ctx context.Context) error {
	return s.directive(ctx, "user_directive", s.recipe.UserDirective)
}

// after does the text that stands at the end.
func (s *buildStep) after(ctx context.Context) error {
	return s.directive(ctx, "post_install_directive", s.recipe.PostInstall)
}

// directive interprets a part of a Dockerfile, which brings no files: RUN, ENV, ARG, USER
// and the like. Anything else is an error.
func (s *buildStep) directive(ctx context.Context, attribute, text string) error {
	if !dockerfile.Says(text) {
		return nil
	}
	parsed, err := parser.Parse(strings.NewReader(text))
	if err != nil {
		return s.blame(attribute, dockerfile.Mistake{Err: err})
	}
	for _, node := range parsed.AST.Children {
		in, err := instructions.ParseInstruction(node)
		if err != nil {
			return s.blame(attribute, dockerfile.Mistakef("line %d: %w", node.StartLine, err))
		}
		c, ok := in.(instructions.Command)
		switch in.(type) {
		case *instructions.CopyCommand, *instructions.AddCommand:
			ok = false // there is nothing to be copied
		}
		if !ok {
			return s.blame(attribute, dockerfile.Mistakef("line %d: %s is not supported here", node.StartLine, strings.ToUpper(node.Value)))
		}
		if err := s.follow(ctx, attribute, c, parsed.EscapeToken); err != nil {
			return err
		}
	}
	return nil
}

// blame makes a *SetupError of a mistake, and leaves other errors alone.
func (s *buildStep) blame(attribute string, err error) error {
	if _, ok := errors.AsType[dockerfile.Mistake](err); !ok {
		return err
	}
	return &SetupError{Role: s.recipe.Role, Attribute: attribute, Reason: err}
}

// follow does one instruction.
func (s *buildStep) follow(ctx context.Context, attribute string, c instructions.Command, escape rune) error {
	line := c.Location()[0].Start.Line
	err := dockerfile.Expand(c, escape, merge(s.args, s.config.Env)) // those of the image, of ENV and of ARG
	if err == nil {
		err = s.instruct(ctx, attribute, line, c)
	}
	if _, ok := errors.AsType[dockerfile.Mistake](err); ok {
		return s.blame(attribute, dockerfile.Mistakef("line %d: %s: %w", line, c.Name(), err))
	}
	if _, ok := errors.AsType[*SetupError](err); ok || err == nil {
		return err
	}
	return fmt.Errorf("%s line %d: %w", attribute, line, err)
}

// instruct does one instruction in which there is nothing to expand any more. What says how
// a container is started, watched or reached means nothing here.
func (s *buildStep) instruct(ctx context.Context, attribute string, line int, c instructions.Command) error {
	switch c := c.(type) {
	case *instructions.RunCommand:
		return s.runCommand(ctx, attribute, line, c)
	case *instructions.CopyCommand:
		t, err := dockerfile.Copied(c)
		if err != nil {
			return err
		}
		return s.bring(ctx, t)
	case *instructions.AddCommand:
		t, err := dockerfile.Added(c)
		if err != nil {
			return err
		}
		return s.bring(ctx, t)
	case *instructions.EnvCommand:
		env := map[string]string{}
		for _, one := range c.Env {
			env[one.Key] = one.Value
		}
		s.config.Env = merge(s.config.Env, env)
	case *instructions.ArgCommand:
		args := map[string]string{}
		for _, one := range c.Args {
			if one.Value != nil {
				args[one.Key] = *one.Value
			} else if value, ok := s.globals[one.Key]; ok {
				args[one.Key] = value
			}
		}
		s.args = merge(s.args, args)
	case *instructions.UserCommand:
		s.config.User = c.User
	case *instructions.ShellCommand:
		s.shell = c.Shell
	case *instructions.WorkdirCommand:
		s.config.Workdir = path.Join("/", s.below(c.Path))
		return s.makeDirs(ctx, s.config.Workdir)
	case *instructions.LabelCommand:
		labels := map[string]string{}
		for _, one := range c.Labels {
			if !strings.HasPrefix(one.Key, "assayd.") { // ours say whose an image is
				labels[one.Key] = one.Value
			}
		}
		s.config.Labels = merge(s.config.Labels, labels)
	}
	return nil
}

// below is a path as the present folder of the build has it; a slash at its end stays.
func (s *buildStep) below(name string) string {
	if path.IsAbs(name) {
		return name
	}
	return cmp.Or(strings.TrimSuffix(s.config.Workdir, "/"), "") + "/" + name
}

// runCommand does a RUN. What it would mount to be faster it does without.
func (s *buildStep) runCommand(ctx context.Context, attribute string, line int, c *instructions.RunCommand) error {
	for _, m := range instructions.GetMounts(c) {
		if m.Type != instructions.MountTypeCache && m.Type != instructions.MountTypeTmpfs {
			return dockerfile.Mistakef("--mount=type=%s is not supported", m.Type)
		}
	}
	if instructions.GetNetwork(c) != instructions.NetworkDefault {
		return dockerfile.Mistakef("--network=%s is not supported", instructions.GetNetwork(c))
	}
	argv, script := c.CmdLine, ""
	if len(argv) == 0 || argv[0] == "" {
		return dockerfile.Mistakef("it has no command")
	}
	if len(c.Files) > 0 {
		var err error
		if argv, script, err = dockerfile.Inline(c); err != nil {
			return err
		}
	}
	if c.PrependShell && script == "" {
		interpreter := s.shell
		if len(interpreter) == 0 {
			interpreter = []string{"/bin/sh", "-c"}
		}
		argv = slices.Concat(interpreter, argv)
	}
	todo := command{
		argv: argv, env: merge(s.args, s.config.Env), user: cmp.Or(s.config.User, rootUser), dir: cmp.Or(s.config.Workdir, "/"),
		attribute: attribute, index: line, text: strings.TrimSpace(strings.Join(c.CmdLine, " ")),
	}
	if script != "" {
		todo.stdin = strings.NewReader(script)
	}
	return s.run(ctx, todo)
}
