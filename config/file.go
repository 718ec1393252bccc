package config

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// file compiles the text of one spec file, or of the settings.
type file struct {
	in      Input
	o       *Options
	diags   Diagnostics
	within  string // the spec that is being read: run "nightly"
	locals  locals
	calls   *hcl.EvalContext // functions, no variables
	blocks  Blocks
	headers []header
	spent   int  // bytes of values made so far
	sound   bool // the text parses: blocks and headers are all there
	fresh   bool // it is not the text that was accepted before

	sources  []Content          // what was read from outside the text
	outside  []string           // the paths that lead out of the root
	pinned   map[string]Content // content to be taken instead of what there is now; nil = none
	datasets *Blocks            // with pinned: the datasets as they were

	variables map[string]string // of the settings: what was read of the environment; nil = not noted
}

// header is a declaration, known even where the rest of its file is broken.
type header struct {
	address string
	pos     Pos
}

func newFile(in Input, o *Options) *file {
	f := &file{in: in, o: o}
	f.calls = &hcl.EvalContext{Functions: f.functions()}
	return f
}

// fail reports an error at a range.
func (f *file) fail(at hcl.Range, summary, detail string) {
	d := Diagnostic{Severity: Error, Summary: summary, Detail: detail}
	d.setRange(at)
	f.add(d)
}

// maxComplaints bounds what is said of one file.
const maxComplaints = 200

func (f *file) add(d Diagnostic) {
	if len(f.diags) == maxComplaints {
		d = Diagnostic{Severity: Error, Summary: "Too many errors", Detail: "There are more than these."}
	}
	if len(f.diags) > maxComplaints {
		return
	}
	d.File, d.Path, d.Context = f.in.Display, f.in.Path, f.within
	d.Snippet = snippet(f.in.Text, d.Line)
	f.diags = append(f.diags, d)
}

func (f *file) addHCL(ds hcl.Diagnostics) {
	for _, d := range ds {
		f.add(fromHCL(d, sortedKeys(f.calls.Functions)))
	}
}

func pos(r hcl.Range) Pos { return Pos{File: r.Filename, Line: r.Start.Line, Column: r.Start.Column} }

// The library parses and evaluates by recursion, so that a hostile text could use up the
// stack. These are far beyond what anybody writes.
const (
	maxNesting   = 200
	maxOperators = 20_000
)

// parse returns what can be read of the text. There is no cache: the library's own is by
// file name and gives back the text of yesterday.
func (f *file) parse() (*hclsyntax.Body, bool) {
	if !utf8.Valid(f.in.Text) {
		f.add(Diagnostic{Severity: Error, Summary: "Not UTF-8 text", Detail: "A spec file is text in UTF-8."})
		return nil, false
	}
	if manyTokens(f.in.Text) {
		f.add(Diagnostic{Severity: Error, Summary: "Too many values", Detail: fmt.Sprintf("A spec file has at most %d names, values and signs. Split it, or put long texts into files.", maxTokens)})
		return nil, false
	}
	if d := tooDeep(f.in.Text, f.in.Display); d != nil {
		f.fail(d.at, d.summary, d.detail)
		return nil, false
	}
	parsed, diags := hclsyntax.ParseConfig(f.in.Text, f.in.Display, hcl.InitialPos)
	diags = unclosed(diags[:min(len(diags), maxSyntax)])
	f.addHCL(unquoted(diags, f.in.Text))
	if parsed == nil {
		return nil, false
	}
	body, ok := parsed.Body.(*hclsyntax.Body)
	return body, ok && !diags.HasErrors()
}

// unclosed makes one complaint of those that a missing quote leads to: all that follows it is text then.
func unclosed(diags hcl.Diagnostics) hcl.Diagnostics {
	i := slices.IndexFunc(diags, func(d *hcl.Diagnostic) bool { return d.Summary == "Invalid multi-line string" })
	if i < 0 {
		return diags
	}
	first := *diags[i]
	first.Summary, first.Detail = "Missing quote", `The text in this line has no closing ". A text of several lines is written <<-END, the lines, and END.`
	return append(slices.Clone(diags[:i]), &first)
}

// compile reads all blocks of the file into blocks and headers. Only without an error in
// diags may the blocks be put in force.
func (f *file) compile() {
	if f.in.Refused != "" {
		f.add(Diagnostic{Severity: Error, Summary: "Not a spec file", Detail: f.in.Refused})
		return
	}
	syntax, sound := f.parse()
	if !sound { // what follows from half a tree would only distract
		f.declareTokens()
		return
	}
	f.sound = true
	f.locals.collect(f, syntax)
	top := &body{f: f, syntax: syntax, name: "A spec file", blocks: append(kinds(), "locals"), at: map[string]Pos{}}
	top.close()
	for _, block := range syntax.Blocks {
		f.spec(block)
	}
	f.within = ""
	f.holdNoSecret()
}

func kinds() []string { return []string{"benchmark", "agent", "run", "mining"} }

// spec compiles one block of the top level.
func (f *file) spec(block *hclsyntax.Block) {
	f.within = ""
	if !slices.Contains(kinds(), block.Type) || !f.labels(block, 1) {
		return
	}
	f.within = fmt.Sprintf("%s %q", block.Type, block.Labels[0])
	f.declare(block.Type, block.Labels[0], block.DefRange())
	b := f.labelled(block)
	f.checkName(b, block.Type)
	if b.label == "status" {
		f.fail(b.rng, "Reserved name", `No spec can be named "status": the state of each file is kept under that name.`)
	}
	head := Block{Kind: block.Type, Name: b.label, Place: b.place, Path: f.in.Path}
	switch block.Type {
	case "benchmark":
		f.blocks.Benchmarks = append(f.blocks.Benchmarks, b.benchmark(head))
	case "agent":
		f.blocks.Agents = append(f.blocks.Agents, b.agent(head))
	case "run":
		f.blocks.Runs = append(f.blocks.Runs, b.run(head))
	case "mining":
		f.blocks.Minings = append(f.blocks.Minings, b.mining(head))
	}
	b.close()
}

// declareTokens finds the declarations of a text that does not parse: what begins a line
// and looks like one.
func (f *file) declareTokens() {
	if manyTokens(f.in.Text) {
		return
	}
	tokens, _ := hclsyntax.LexConfig(f.in.Text, f.in.Display, hcl.InitialPos) // parsing has reported what is wrong
	for i := 0; i+4 < len(tokens); i++ {
		t := tokens[i : i+5]
		if t[0].Range.Start.Column == 1 && t[0].Type == hclsyntax.TokenIdent && slices.Contains(kinds(), string(t[0].Bytes)) &&
			t[1].Type == hclsyntax.TokenOQuote && t[2].Type == hclsyntax.TokenQuotedLit && t[4].Type == hclsyntax.TokenOBrace {
			f.declare(string(t[0].Bytes), string(t[2].Bytes), t[0].Range)
		}
	}
}

// declare notes an address, and reports it if the file has it already.
func (f *file) declare(kind, name string, at hcl.Range) {
	h := header{address: kind + "." + name, pos: pos(at)}
	for _, other := range f.headers {
		if other.address == h.address {
			f.fail(at, "Duplicate name", fmt.Sprintf("%s is already declared at %s.", h.address, other.pos))
			return
		}
	}
	f.headers = append(f.headers, h)
}

func (f *file) checkName(b labelled, kind string) {
	if !specName.MatchString(b.label) {
		f.fail(b.rng, "Invalid name", fmt.Sprintf("%q cannot name a %s: use a lower-case letter, then at most 62 lower-case letters, digits, _ and -.", b.label, kind))
	}
}

// unique reports labels of blocks that occur a second time.
func (f *file) unique(blocks []labelled, what string) {
	first := map[string]Pos{}
	for _, b := range blocks {
		f.checkName(b, what)
		if at, ok := first[b.label]; ok {
			f.fail(b.rng, "Duplicate name", fmt.Sprintf("%s %q is already declared at %s.", what, b.label, at))
			continue
		}
		first[b.label] = b.place.Pos
	}
}
