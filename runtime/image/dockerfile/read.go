package dockerfile

import (
	"cmp"
	"fmt"
	"maps"
	goruntime "runtime"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	lexer "github.com/moby/buildkit/frontend/dockerfile/shell"
)

// MaxSize bounds the text of a Dockerfile, and of a .dockerignore, in bytes.
const MaxSize = 1 << 20

// Mistake is an error that whoever wrote the text has to mend.
type Mistake struct{ Err error }

func (m Mistake) Error() string { return m.Err.Error() }

// Unwrap returns what is wrong.
func (m Mistake) Unwrap() error { return m.Err }

// Mistakef makes a Mistake, as fmt.Errorf makes an error.
func Mistakef(format string, args ...any) error { return Mistake{fmt.Errorf(format, args...)} }

// File is the text of a Dockerfile of one stage, understood.
type File struct {
	From     string                 // image that it begins with
	Args     map[string]string      // that stand before FROM, and those that every build knows
	Escape   rune                   // by which it escapes and continues lines
	Commands []instructions.Command // behind FROM, with variables as they are written
}

// Read understands a text; platform is "os/arch", or "" for that of this machine. What is wrong with
// the text is a Mistake.
func Read(text, platform string) (*File, error) {
	if len(text) > MaxSize {
		return nil, Mistakef("it has %d bytes; %d is the most", len(text), MaxSize)
	}
	parsed, err := parser.Parse(strings.NewReader(text))
	if err != nil {
		return nil, Mistake{err}
	}
	stages, globals, err := instructions.Parse(parsed.AST, linter.New(&linter.Config{}))
	switch {
	case err != nil:
		return nil, Mistake{err}
	case len(stages) == 0:
		return nil, Mistakef("it has no FROM")
	case len(stages) > 1:
		return nil, Mistakef("line %d: a second FROM; one stage is supported", stages[1].Location[0].Start.Line)
	}
	d := &File{Args: platformArgs(platform), Escape: parsed.EscapeToken, Commands: stages[0].Commands}
	lex := lexer.NewLex(d.Escape)
	for _, arg := range globals {
		for _, one := range arg.Args {
			if one.Value == nil {
				continue
			}
			if d.Args[one.Key], _, err = lex.ProcessWord(*one.Value, variables(d.Args)); err != nil {
				return nil, Mistakef("ARG %s: %w", one.Key, err)
			}
		}
	}
	if d.From, _, err = lex.ProcessWord(stages[0].BaseName, variables(d.Args)); err != nil {
		return nil, Mistakef("FROM %s: %w", stages[0].BaseName, err)
	}
	if d.From == "" || d.From == "scratch" {
		return nil, Mistakef("FROM %s: an image is needed to begin with", stages[0].BaseName)
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

// Says reports whether a text is more than comments.
func Says(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return true
		}
	}
	return false
}

// Inline is a RUN with here-documents: a command line that holds them, or, where the text is
// for an interpreter that it names itself, that one with the text as its input.
func Inline(c *instructions.RunCommand) (argv []string, script string, err error) {
	if len(c.CmdLine) != 1 || !c.PrependShell {
		return nil, "", Mistakef("a here-document needs a command line for the shell")
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

// Expand puts variables in where the instruction takes them.
func Expand(c instructions.Command, escape rune, known variables) error {
	lex := lexer.NewLex(escape)
	word := func(word string) (string, error) {
		out, _, err := lex.ProcessWord(word, known)
		return out, err
	}
	if c, ok := c.(instructions.SupportsSingleWordExpansion); ok {
		if err := c.Expand(word); err != nil {
			return Mistake{err}
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
			return Mistake{err}
		}
	}
	return nil
}
