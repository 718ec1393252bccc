package shell

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Prompt is the template of the text.
const Prompt = "{{.Prompt}}"

// prompts are the forms that the template may have.
var prompts = regexp.MustCompile(`\{\{-?\s*\.Prompt\s*-?\}\}`)

// templates are those of other things, which are no longer than a word.
var templates = regexp.MustCompile(`\{\{[^{}]*\}\}`)

// marker stands for the text while the line is parsed: it is a plain word everywhere.
const marker = "ASSAYDxPROMPTxTEXT"

// variable is that of the shell which holds the text. It is not exported.
const variable = "assayd_prompt"

// maxLine bounds the lines that are taken apart, in bytes: the parser's stack grows with them.
const maxLine = 16 << 10

// Holds reports whether a line names the text.
func Holds(line string) bool { return prompts.MatchString(line) }

// Bind returns the arguments that run the line in /bin/sh: the text is one of them, as the template
// that stands for it. An error says where in the line the text cannot be had without running it.
func Bind(line string) ([]string, error) {
	if len(line) > maxLine {
		return nil, fmt.Errorf("a line with %s has %d bytes at most, and this one has %d; use {{.PromptFile}}", Prompt, maxLine, len(line))
	}
	if strings.Contains(line, marker) || strings.Contains(line, variable) {
		return nil, fmt.Errorf("%s and %s cannot be used in a line with %s", marker, variable, Prompt)
	}
	text := prompts.ReplaceAllString(line, marker)
	parsed := templates.ReplaceAllStringFunc(text, func(other string) string { return strings.Repeat("1", len(other)) }) // is a number, too
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(parsed), "")
	if err != nil {
		return nil, fmt.Errorf("the line holds %s and cannot be read as one of the shell: %w; use {{.PromptFile}}", Prompt, err)
	}
	b := &binder{text: text, instead: map[int]string{}}
	syntax.Walk(file, b.visit)
	if b.err != nil {
		return nil, fmt.Errorf("%w; use {{.PromptFile}}, or a list of arguments", b.err)
	}
	return []string{"/bin/sh", "-c", variable + "=$1; shift; " + b.bound(), "sh", Prompt}, nil
}

// binder looks at a line where each marker stands.
type binder struct {
	text    string
	above   []syntax.Node
	instead map[int]string // what stands in place of the marker at an offset
	err     error
}

// bound is the line with the expansions in it. A marker that is in no word is in a comment.
func (b *binder) bound() string {
	var out strings.Builder
	rest, at := b.text, 0
	for {
		before, after, found := strings.Cut(rest, marker)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		at += len(before)
		out.WriteString(b.instead[at])
		at, rest = at+len(marker), after
	}
}

func (b *binder) visit(n syntax.Node) bool {
	if b.err != nil {
		return false
	}
	if n == nil {
		b.above = b.above[:len(b.above)-1]
		return true
	}
	switch n := n.(type) {
	case *syntax.Lit:
		if strings.Contains(n.Value, marker) {
			b.place(n, b.expansion())
		}
	case *syntax.SglQuoted:
		if !strings.Contains(n.Value, marker) {
			break
		}
		if n.Dollar {
			b.refuse(n, "in $'…'")
			break
		}
		b.place(n, `'"${`+variable+`}"'`)
	case *syntax.CallExpr:
		if word, name := program(n); word != nil && b.within(word) {
			b.refuse(word, "in what "+name+" runs")
		}
	case *syntax.Stmt:
		b.fed(n)
	case *syntax.BinaryCmd:
		if (n.Op == syntax.Pipe || n.Op == syntax.PipeAll) && b.within(n.X) && reads(n.Y) {
			b.refuse(n.X, "in what a shell reads")
		}
	case *syntax.CmdSubst:
		if n.Backquotes && b.within(n) {
			b.refuse(n, "between backquotes (write $(…))")
		}
	case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.CStyleLoop, *syntax.TestClause, *syntax.ParamExp, *syntax.ArrayElem:
		if b.within(n) {
			b.refuse(n, "in arithmetic, in [[ … ]], in an array, or within an expansion")
		}
	case *syntax.Assign:
		if n.Index != nil && b.within(n.Index) {
			b.refuse(n, "as an index")
		}
	}
	b.above = append(b.above, n)
	return b.err == nil
}

// place puts an expansion in place of the markers of a node.
func (b *binder) place(n syntax.Node, expansion string) {
	from, to := int(n.Pos().Offset()), int(n.End().Offset()) //nolint:gosec // of a line of 16 KiB
	for at := from; ; at += len(marker) {
		i := strings.Index(b.text[at:to], marker)
		if i < 0 {
			return
		}
		at += i
		b.instead[at] = expansion
	}
}

// expansion is what gives the text at a place outside single quotes.
func (b *binder) expansion() string {
	const plain, quotedOne = "${" + variable + "}", `"${` + variable + `}"`
	for i := len(b.above) - 1; i >= 0; i-- {
		switch n := b.above[i].(type) {
		case *syntax.DblQuoted:
			return plain
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return quotedOne
		case *syntax.Redirect:
			if n.Hdoc == nil || i+1 >= len(b.above) || b.above[i+1] != syntax.Node(n.Hdoc) {
				continue
			}
			if quoted(n.Word) {
				b.refuse(n, "in a here-document that expands nothing, because the word before it is quoted")
			}
			return plain
		}
	}
	return quotedOne
}

// quoted reports whether any part of a word is.
func quoted(word *syntax.Word) bool {
	return slices.ContainsFunc(word.Parts, func(part syntax.WordPart) bool {
		lit, plain := part.(*syntax.Lit)
		return !plain || strings.Contains(lit.Value, `\`)
	})
}

// fed refuses a statement that is a shell which reads the text.
func (b *binder) fed(s *syntax.Stmt) {
	if !reads(s) {
		return
	}
	for _, r := range s.Redirs {
		if r.Hdoc != nil && b.within(r.Hdoc) || r.Op == syntax.WordHdoc && b.within(r.Word) {
			b.refuse(r, "in what a shell reads")
		}
	}
}

// within reports whether a marker is in a node.
func (b *binder) within(n syntax.Node) bool {
	return strings.Contains(b.text[n.Pos().Offset():n.End().Offset()], marker)
}

func (b *binder) refuse(n syntax.Node, where string) {
	if b.err == nil {
		b.err = fmt.Errorf("line %d, column %d of the command: %s cannot be used %s, because the shell would run it or not replace it", n.Pos().Line(), n.Pos().Col(), Prompt, where)
	}
}

// shells run the text after their option -c, and without a file what they read.
var shells = []string{"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "su", "script"}

// evaluators run all of their arguments as text.
var evaluators = []string{"eval", "ssh", "watch", "parallel"}

// program returns the first argument of a command that is run as the text of a shell, and what runs it.
func program(call *syntax.CallExpr) (text syntax.Node, runner string) {
	for i, word := range call.Args {
		name, rest := path.Base(word.Lit()), call.Args[i+1:]
		if slices.Contains(evaluators, name) {
			return call, name
		}
		if !slices.Contains(shells, name) {
			continue
		}
		for j, option := range rest {
			if text := option.Lit(); j+1 < len(rest) && strings.HasPrefix(text, "-") && strings.Contains(text, "c") {
				return rest[j+1], name
			}
		}
	}
	return nil, ""
}

// CheckList refuses arguments of which one is the text of a shell, and names the prompt.
func CheckList(argv []string) error {
	for i, arg := range argv {
		if !Holds(arg) || i == 0 || !slices.ContainsFunc(argv[:i], func(s string) bool { return slices.Contains(shells, path.Base(s)) }) {
			continue
		}
		if option := argv[i-1]; strings.HasPrefix(option, "-") && strings.Contains(option, "c") {
			return fmt.Errorf("element %d is run by a shell, and with it what %s is; write %s as an element after it, and \"$1\" in its place, or use {{.PromptFile}}", i+1, Prompt, Prompt)
		}
	}
	return nil
}

// reads reports whether a statement is a shell that runs what it reads.
func reads(s *syntax.Stmt) bool {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok {
		return false
	}
	for i, word := range call.Args {
		if !slices.Contains(shells, path.Base(word.Lit())) {
			continue
		}
		for _, argument := range call.Args[i+1:] {
			if text := argument.Lit(); text == "-s" || text == "/dev/stdin" {
				return true
			} else if !strings.HasPrefix(text, "-") {
				return false // a file
			}
		}
		return true
	}
	return false
}
