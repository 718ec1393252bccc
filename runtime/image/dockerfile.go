package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	goruntime "runtime"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	lexer "github.com/moby/buildkit/frontend/dockerfile/shell"
)

// maxDockerfile bounds the text of a Dockerfile.
const maxDockerfile = 1 << 20

// mistake is an error that whoever wrote the text has to mend.
type mistake struct{ error }

func (m mistake) Unwrap() error { return m.error }

func mistakef(format string, args ...any) error { return mistake{fmt.Errorf(format, args...)} }

// dockerfile is the text of one, understood.
type dockerfile struct {
	from     string // image that it begins with
	args     map[string]string
	escape   rune
	commands []instructions.Command
}

// readDockerfile understands a text; platform is "os/arch" or "".
func readDockerfile(text, platform string) (*dockerfile, error) {
	if len(text) > maxDockerfile {
		return nil, mistakef("it has %d bytes; %d is the most", len(text), maxDockerfile)
	}
	parsed, err := parser.Parse(strings.NewReader(text))
	if err != nil {
		return nil, mistake{err}
	}
	stages, globals, err := instructions.Parse(parsed.AST, linter.New(&linter.Config{}))
	switch {
	case err != nil:
		return nil, mistake{err}
	case len(stages) == 0:
		return nil, mistakef("it has no FROM")
	case len(stages) > 1:
		return nil, mistakef("line %d: a second FROM; one stage is supported", stages[1].Location[0].Start.Line)
	}
	d := &dockerfile{args: platformArgs(platform), escape: parsed.EscapeToken, commands: stages[0].Commands}
	lex := lexer.NewLex(d.escape)
	for _, arg := range globals {
		for _, one := range arg.Args {
			if one.Value == nil {
				continue
			}
			if d.args[one.Key], _, err = lex.ProcessWord(*one.Value, variables(d.args)); err != nil {
				return nil, mistakef("ARG %s: %w", one.Key, err)
			}
		}
	}
	if d.from, _, err = lex.ProcessWord(stages[0].BaseName, variables(d.args)); err != nil {
		return nil, mistakef("FROM %s: %w", stages[0].BaseName, err)
	}
	if d.from == "" || d.from == "scratch" {
		return nil, mistakef("FROM %s: an image is needed to begin with", stages[0].BaseName)
	}
	return d, nil
}

// platformArgs are the arguments that every build knows.
func platformArgs(platform string) map[string]string {
	system, arch, _ := strings.Cut(cmp.Or(platform, "linux/"+goruntime.GOARCH), "/")
	args := map[string]string{}
	for _, of := range []string{"TARGET", "BUILD"} {
		args[of+"PLATFORM"], args[of+"OS"], args[of+"ARCH"] = system+"/"+arch, system, arch
	}
	return args
}

// variables are what a word of a Dockerfile may name.
type variables map[string]string

// Get implements lexer.EnvGetter.
func (v variables) Get(name string) (string, bool) { value, ok := v[name]; return value, ok }

// Keys implements lexer.EnvGetter.
func (v variables) Keys() []string { return slices.Sorted(maps.Keys(v)) }

// dockerfile does what stands in the part's Dockerfile behind FROM. Then the recipe has its
// say about how containers are run.
func (s *buildStep) dockerfile(ctx context.Context) error {
	if s.recipe.Dockerfile == "" {
		return nil
	}
	d, err := readDockerfile(s.recipe.Dockerfile, s.recipe.Platform)
	if err != nil {
		return s.blame("dockerfile", err)
	}
	s.config, s.globals = s.from, d.args
	s.config.Env, s.config.Labels = maps.Clone(s.from.Env), maps.Clone(s.from.Labels)
	for _, c := range d.commands {
		if err := s.follow(ctx, "dockerfile", c, d.escape); err != nil {
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
	if !says(text) {
		return nil
	}
	parsed, err := parser.Parse(strings.NewReader(text))
	if err != nil {
		return s.blame(attribute, mistake{err})
	}
	for _, node := range parsed.AST.Children {
		in, err := instructions.ParseInstruction(node)
		if err != nil {
			return s.blame(attribute, mistakef("line %d: %w", node.StartLine, err))
		}
		c, ok := in.(instructions.Command)
		switch in.(type) {
		case *instructions.CopyCommand, *instructions.AddCommand:
			ok = false // there is nothing to be copied
		}
		if !ok {
			return s.blame(attribute, mistakef("line %d: %s is not supported here", node.StartLine, strings.ToUpper(node.Value)))
		}
		if err := s.follow(ctx, attribute, c, parsed.EscapeToken); err != nil {
			return err
		}
	}
	return nil
}

// says reports whether a text is more than comments.
func says(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return true
		}
	}
	return false
}

// blame makes a *SetupError of a mistake, and leaves other errors alone.
func (s *buildStep) blame(attribute string, err error) error {
	if _, ok := errors.AsType[mistake](err); !ok {
		return err
	}
	return &SetupError{Role: s.recipe.Role, Attribute: attribute, Reason: err}
}

// follow does one instruction.
func (s *buildStep) follow(ctx context.Context, attribute string, c instructions.Command, escape rune) error {
	line := c.Location()[0].Start.Line
	err := s.expand(c, escape)
	if err == nil {
		err = s.instruct(ctx, attribute, line, c)
	}
	if _, ok := errors.AsType[mistake](err); ok {
		return s.blame(attribute, mistakef("line %d: %s: %w", line, c.Name(), err))
	}
	if _, ok := errors.AsType[*SetupError](err); ok || err == nil {
		return err
	}
	return fmt.Errorf("%s line %d: %w", attribute, line, err)
}

// expand puts variables in where the instruction takes them: those of the image, of ENV and
// of ARG.
func (s *buildStep) expand(c instructions.Command, escape rune) error {
	known, lex := variables(merge(s.args, s.config.Env)), lexer.NewLex(escape)
	word := func(word string) (string, error) {
		out, _, err := lex.ProcessWord(word, known)
		return out, err
	}
	if c, ok := c.(instructions.SupportsSingleWordExpansion); ok {
		if err := c.Expand(word); err != nil {
			return mistake{err}
		}
	}
	raw := lexer.NewLex('\\')
	raw.SkipProcessQuotes = true
	if c, ok := c.(instructions.SupportsSingleWordExpansionRaw); ok {
		err := c.ExpandRaw(func(word string) (string, error) {
			out, _, err := raw.ProcessWord(word, known)
			return out, err
		})
		if err != nil {
			return mistake{err}
		}
	}
	return nil
}

// instruct does one instruction in which there is nothing to expand any more. What says how
// a container is started, watched or reached means nothing here.
func (s *buildStep) instruct(ctx context.Context, attribute string, line int, c instructions.Command) error {
	switch c := c.(type) {
	case *instructions.RunCommand:
		return s.runCommand(ctx, attribute, line, c)
	case *instructions.CopyCommand:
		return s.copyCommand(ctx, c)
	case *instructions.AddCommand:
		return s.addCommand(ctx, c)
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
			return mistakef("--mount=type=%s is not supported", m.Type)
		}
	}
	if instructions.GetNetwork(c) != instructions.NetworkDefault {
		return mistakef("--network=%s is not supported", instructions.GetNetwork(c))
	}
	argv, script := c.CmdLine, ""
	if len(argv) == 0 || argv[0] == "" {
		return mistakef("it has no command")
	}
	if len(c.Files) > 0 {
		var err error
		if argv, script, err = inline(c); err != nil {
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

// inline is a RUN with here-documents: a command line that holds them, or, where the text is
// for an interpreter that it names itself, that one with the text as its input.
func inline(c *instructions.RunCommand) (argv []string, script string, err error) {
	if len(c.CmdLine) != 1 || !c.PrependShell {
		return nil, "", mistakef("a here-document needs a command line for the shell")
	}
	if parser.MustParseHeredoc(c.CmdLine[0]) == nil {
		line := c.CmdLine[0]
		for _, file := range c.Files {
			line += "\n" + file.Data + file.Name
		}
		return []string{line}, "", nil
	}
	text := c.Files[0].Data
	if c.Files[0].Chomp {
		text = parser.ChompHeredocContent(text)
	}
	if first, _, _ := strings.Cut(text, "\n"); strings.HasPrefix(first, "#!") {
		if argv = strings.Fields(first[2:]); len(argv) > 0 {
			return argv, text, nil
		}
	}
	return []string{text}, "", nil
}
