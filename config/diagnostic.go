package config

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Severity of a diagnostic.
type Severity string

// An error keeps its file from being accepted; a warning does not.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Point is one end of a range: line and column from 1, byte from 0.
type Point struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Byte   int `json:"byte"`
}

// Diagnostic is one complaint about one place.
type Diagnostic struct {
	Severity Severity `json:"severity"`
	Summary  string   `json:"summary"`
	Detail   string   `json:"detail"`
	File     string   `json:"file"` // as shown to people
	Line     int      `json:"line"` // 0 = the file as a whole
	Column   int      `json:"column"`
	Byte     int      `json:"byte"`
	End      Point    `json:"end"`
	Context  string   `json:"context,omitempty"` // run "nightly"
	Snippet  string   `json:"snippet,omitempty"` // the source line
	Path     string   `json:"-"`                 // absolute path of the file
}

// Pos returns where the diagnostic points.
func (d Diagnostic) Pos() Pos { return Pos{File: d.File, Line: d.Line, Column: d.Column} }

// Diagnostics are complaints, sorted by file, line and column once Load returns them.
type Diagnostics []Diagnostic

// HasErrors reports whether any of them is an error.
func (ds Diagnostics) HasErrors() bool {
	return slices.ContainsFunc(ds, func(d Diagnostic) bool { return d.Severity == Error })
}

// sorted orders them, so that no output depends on the order of a map, and drops repeats.
func (ds Diagnostics) sorted() Diagnostics {
	out := slices.Clone(ds)
	slices.SortStableFunc(out, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Summary, b.Summary), cmp.Compare(a.Detail, b.Detail))
	})
	return slices.Compact(out)
}

// WriteText writes them for people, each as
//
//	Error: summary
//
//	  on team/nightly.hcl line 12, in run "nightly":
//	  12:   timout = "12h"
//
//	detail
func (ds Diagnostics) WriteText(w io.Writer) error {
	var buf bytes.Buffer
	for _, d := range ds {
		buf.WriteString(d.String())
		buf.WriteByte('\n')
	}
	_, err := w.Write(buf.Bytes())
	return err
}

// String returns the text form of one diagnostic, ending in a line feed.
func (d Diagnostic) String() string {
	var b strings.Builder
	for _, text := range []*string{&d.File, &d.Context, &d.Summary, &d.Detail} {
		lines := strings.Split(*text, "\n")
		for i, line := range lines {
			lines[i] = strings.Map(printable, line) // datasets and names of files are not ours
		}
		*text = strings.Join(lines, "\n")
	}
	label := "Error"
	if d.Severity == Warning {
		label = "Warning"
	}
	fmt.Fprintf(&b, "%s: %s\n", label, d.Summary)
	switch {
	case d.Line > 0:
		fmt.Fprintf(&b, "\n  on %s line %d", d.File, d.Line)
	case d.File != "":
		fmt.Fprintf(&b, "\n  on %s", d.File)
	}
	if d.Context != "" {
		fmt.Fprintf(&b, ", in %s", d.Context)
	}
	if d.File != "" {
		b.WriteString(":\n")
	}
	if d.Snippet != "" {
		fmt.Fprintf(&b, "%4d: %s\n", d.Line, d.Snippet)
	}
	if d.Detail != "" {
		fmt.Fprintf(&b, "\n%s\n", d.Detail)
	}
	return b.String()
}

// PosError is an error with the place in a spec that asked for what went wrong.
type PosError struct {
	Pos Pos
	Err error
}

func (e *PosError) Error() string { return e.Pos.String() + ": " + e.Err.Error() }

// Unwrap returns the error without its place.
func (e *PosError) Unwrap() error { return e.Err }

// At adds the place to a runtime error: "team/nightly.hcl:12: pull image …". Without an
// error or a place it returns err as it is.
func At(pos Pos, err error) error {
	if err == nil || pos.File == "" {
		return err
	}
	return &PosError{Pos: pos, Err: err}
}

// maxSnippet bounds the source line that a diagnostic shows, in bytes.
const maxSnippet = 300

// snippet returns the numbered line of a text, bounded and without control characters.
func snippet(text []byte, line int) string {
	for range line - 1 {
		_, rest, found := bytes.Cut(text, []byte("\n"))
		if !found {
			return ""
		}
		text = rest
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	s := strings.ToValidUTF8(string(first[:min(len(first), maxSnippet)]), "?")
	return strings.TrimRight(strings.Map(printable, s), " ")
}

// printable keeps terminal control sequences out of what is shown.
func printable(r rune) rune {
	switch {
	case r == '\t':
		return ' '
	case r < ' ' || r == 0x7f:
		return -1
	}
	return r
}

// fromHCL turns a complaint of the HCL library into ours.
func fromHCL(d *hcl.Diagnostic, functions []string) Diagnostic {
	out := Diagnostic{Severity: Error, Summary: d.Summary, Detail: d.Detail}
	if own, ok := strings.CutSuffix(d.Detail, "?."); ok { // theirs ends ours
		out.Detail = own + "?"
	}
	if d.Severity == hcl.DiagWarning {
		out.Severity = Warning
	}
	if d.Subject != nil {
		out.setRange(*d.Subject)
	}
	if call, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallUnknownDiagExtra](d); ok { // the library's own suggestion depends on the order of a map
		name := call.CalledFunctionNamespace() + call.CalledFunctionName()
		out.Detail = fmt.Sprintf("There is no function %q%s", name, suggest(name, functions))
	}
	return out
}

func (d *Diagnostic) setRange(r hcl.Range) {
	d.Line, d.Column, d.Byte = r.Start.Line, r.Start.Column, r.Start.Byte
	d.End = Point{Line: r.End.Line, Column: r.End.Column, Byte: r.End.Byte}
}
