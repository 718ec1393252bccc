package cheat

import (
	"errors"
	"io"
	"runtime"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// command is a simple command of a shell, as far as it can be told without running it.
type command struct {
	args  []string
	dir   string   // where it runs; "" = in workdir
	into  []string // files that its redirections write
	from  []string // files that they read
	input string   // what it is given to read, where that is written in the command
	code  string   // what it runs, where it is an interpreter and that is known
}

// text is the command on one line, for evidence.
func (c command) text() string {
	text := strings.Join(c.args, " ")
	for _, name := range c.into {
		text += " > " + name
	}
	for _, name := range c.from {
		text += " < " + name
	}
	return text
}

// Bounds of what is made of one script.
const (
	maxParsed   = 128 << 10 // bytes
	maxFrames   = 5000      // of the stack, hundreds of levels of whatever may be nested
	maxCommands = 2000
	maxWord     = 16 << 10
	maxWords    = 1 << 20 // bytes of all words of a script together
)

// parse takes a script apart. What is no shell, or more of it than anybody writes by hand, is
// cut at what separates commands and at spaces.
func parse(script, dir string) []command {
	if len(script) > maxParsed {
		return cutUp(script, dir)
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(&shallow{strings.NewReader(script)}, "")
	if err != nil {
		return cutUp(script, dir)
	}
	b := &shell{dir: dir, vars: map[string]string{}, piped: map[*syntax.Stmt]string{}, left: maxWords}
	syntax.Walk(file, b.visit)
	return b.all
}

// shallow is a script that ends with an error once its parser is deep within itself. The parser
// has no bound of its own, and a stack that overflows takes the daemon along. How deep it gets
// is not told from the text without parsing that, but it is seen where the parser reads.
type shallow struct{ script io.Reader }

var errDeep = errors.New("the script is nested too deeply")

// Read implements io.Reader. It is asked for at most 1 KiB, and so for few levels at once.
func (s *shallow) Read(p []byte) (int, error) {
	if runtime.Callers(maxFrames, make([]uintptr, 1)) > 0 {
		return 0, errDeep
	}
	return s.script.Read(p)
}

// cutUp is parse for what is no shell.
func cutUp(script, dir string) (all []command) {
	for part := range strings.FieldsFuncSeq(script, func(r rune) bool { return strings.ContainsRune("\n;|&", r) }) {
		var args []string
		for word := range strings.FieldsSeq(part) {
			args = append(args, strings.Trim(word, `"'`+"`()"))
		}
		if len(args) > 0 && len(all) < maxCommands {
			all = append(all, command{args: args, dir: dir})
		}
	}
	return all
}

// shell collects the commands of a script.
type shell struct {
	all   []command
	dir   string
	vars  map[string]string
	piped map[*syntax.Stmt]string // what a statement is given by the one before it
	left  int                     // bytes that words may still have
}

func (b *shell) visit(node syntax.Node) bool {
	switch n := node.(type) {
	case *syntax.BinaryCmd:
		if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
			b.piped[first(n.Y)] = b.output(n.X)
		}
	case *syntax.Assign:
		if n.Name != nil && n.Value != nil {
			b.vars[n.Name.Value] = b.word(n.Value)
		}
	case *syntax.Stmt:
		b.statement(n)
	}
	return true
}

// first is the statement that reads what is piped into another.
func first(s *syntax.Stmt) *syntax.Stmt {
	for {
		n, ok := s.Cmd.(*syntax.BinaryCmd)
		if !ok {
			return s
		}
		s = n.X
	}
}

// output is what a statement writes, where it is one that writes what it is told.
func (b *shell) output(s *syntax.Stmt) string {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return ""
	}
	switch b.word(call.Args[0]) {
	case "echo", "printf":
		return joined(b.words(call.Args[1:]))
	case "cat":
		return b.input(s)
	}
	return ""
}

// joined is what echo makes of its arguments.
func joined(args []string) string {
	for len(args) > 0 && len(args[0]) == 2 && args[0][0] == '-' {
		args = args[1:]
	}
	return strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(strings.Join(args, " "))
}

// input is what a statement reads that stands in the script.
func (b *shell) input(s *syntax.Stmt) string {
	for _, r := range s.Redirs {
		switch {
		case r.Hdoc != nil:
			return b.text(r.Hdoc)
		case r.Op == syntax.WordHdoc:
			return b.word(r.Word)
		}
	}
	return b.piped[s]
}

func (b *shell) statement(s *syntax.Stmt) {
	c := command{dir: b.dir, input: b.input(s)}
	for _, r := range s.Redirs {
		switch r.Op {
		case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll, syntax.RdrClob, syntax.RdrInOut:
			c.into = append(c.into, b.word(r.Word))
		case syntax.RdrIn:
			c.from = append(c.from, b.word(r.Word))
		}
	}
	if call, ok := s.Cmd.(*syntax.CallExpr); ok {
		for _, a := range call.Assigns { // they hold before the walk comes to them
			if a.Name != nil && a.Value != nil && len(call.Args) == 0 {
				b.vars[a.Name.Value] = b.word(a.Value)
			}
		}
		c.args = b.words(call.Args)
	}
	if len(c.args) == 0 && len(c.into) == 0 && len(c.from) == 0 {
		return
	}
	if len(c.args) == 2 && (c.args[0] == "cd" || c.args[0] == "pushd") {
		b.dir = join(b.dir, c.args[1])
	}
	if len(b.all) < maxCommands {
		b.all = append(b.all, c)
	}
}

func (b *shell) words(all []*syntax.Word) (words []string) {
	for _, w := range all {
		words = append(words, b.word(w))
	}
	return words
}

func (b *shell) word(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	var text strings.Builder
	b.parts(&text, w.Parts, min(maxWord, b.left))
	b.left -= text.Len()
	return text.String()
}

// text is a here-document.
func (b *shell) text(w *syntax.Word) string {
	var text strings.Builder
	b.parts(&text, w.Parts, min(maxScript, b.left))
	b.left -= text.Len()
	return text.String()
}

// parts writes what parts of a word come to: variables are those that the script sets to
// something plain, what else is only known to who runs it stays as it is written. Variables in
// variables could grow without end, so there is a bound.
func (b *shell) parts(text *strings.Builder, parts []syntax.WordPart, most int) {
	for _, part := range parts {
		if text.Len() >= most {
			return
		}
		switch p := part.(type) {
		case *syntax.Lit:
			text.WriteString(unescaped(p.Value))
		case *syntax.SglQuoted:
			text.WriteString(p.Value)
		case *syntax.DblQuoted:
			b.parts(text, p.Parts, most)
		case *syntax.ParamExp:
			if p.Param == nil {
				continue
			}
			value, ok := b.vars[p.Param.Value]
			if !ok || p.Exp != nil && value == "" {
				value = "$" + p.Param.Value
			}
			text.WriteString(value[:min(len(value), most)])
		case *syntax.CmdSubst:
			text.WriteString("$()")
		}
	}
}

// unescaped is a literal without the backslashes that quote.
func unescaped(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			if i++; text[i] == '\n' {
				continue
			}
		}
		out.WriteByte(text[i])
	}
	return out.String()
}

// join is the folder that cd leads to from another.
func join(dir, to string) string {
	if strings.HasPrefix(to, "/") || strings.HasPrefix(to, "~") {
		return to
	}
	if to == "-" || strings.HasPrefix(to, "$") || len(dir)+len(to) > 4096 {
		return dir
	}
	if dir == "" {
		return to
	}
	return dir + "/" + to
}
