package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

var (
	// assignment is a line with one attribute and its value, also where it begins a block.
	assignment = regexp.MustCompile(`^\s*(?:[a-z_]+\s*(?:"[^"]*"\s*)?(\{)\s*)?("?[A-Za-z_][A-Za-z0-9_-]*"?)\s*=\s*(\S.*)$`)
	// comment ends a line, and so does the comma of an object.
	comment = regexp.MustCompile(`(?:\s+(?:#|//).*|\s*,)\s*$`)
	// unquotedText is what a value is that lacks its quotes: 5m, assayd-base/python:1, pytest -q tests.
	unquotedText = regexp.MustCompile(`^[A-Za-z0-9_./~@$*-][^"=<>?]*(?:\S=\S[^"=<>?]*)*$`)
	// ours begins what is a value already: a reference, or a call.
	ours = regexp.MustCompile(`^(?:local|benchmark|mining)\.|^[a-z_]+\([^)]*$`)
	// spaced is a duration or a size with a blank in it.
	spaced = regexp.MustCompile(`^([0-9][0-9.]*)\s+([A-Za-z]+)$`)
	// single is a text in the quotes of another language.
	single = regexp.MustCompile(`^'([^']*)'$`)
)

// unquoted says of complaints about the syntax that a value wants quotes, where that is it, and
// says it once.
func unquoted(diags hcl.Diagnostics, text []byte) hcl.Diagnostics {
	var out hcl.Diagnostics
	told := 0 // the line of which it was said last
	for _, d := range diags {
		if d.Subject == nil {
			out = append(out, d)
			continue
		}
		line := d.Subject.Start.Line
		name, value, ok := valueWithoutQuotes(snippet(text, line))
		switch {
		case ok && line == told:
			continue
		case ok:
			own := *d
			own.Summary, own.Detail = "Value without quotes", fmt.Sprintf("Quote it: %s = %s.", name, value)
			d, told = &own, line
		}
		out = append(out, d)
	}
	return out
}

// valueWithoutQuotes returns the name and the value, in quotes, of a line whose value lacks them.
func valueWithoutQuotes(line string) (name, value string, ok bool) {
	m := assignment.FindStringSubmatch(line)
	if m == nil {
		return "", "", false
	}
	given := comment.ReplaceAllString(m[3], "")
	if m[1] != "" {
		given = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(given), "}"))
	}
	value, ok = inQuotes(given)
	return m[2], value, ok
}

// inQuotes is a value, or a list of values, as it is meant where it lacks its quotes.
func inQuotes(given string) (string, bool) {
	given = strings.TrimSpace(given)
	if m := single.FindStringSubmatch(given); m != nil {
		return fmt.Sprintf("%q", m[1]), true
	}
	if rest, ok := strings.CutPrefix(given, "["); ok && strings.HasSuffix(rest, "]") {
		var items []string
		for item := range strings.SplitSeq(strings.TrimSuffix(rest, "]"), ",") {
			one, ok := inQuotes(item)
			if !ok || strings.HasPrefix(one, "[") {
				return "", false
			}
			items = append(items, one)
		}
		return "[" + strings.Join(items, ", ") + "]", true
	}
	if !unquotedText.MatchString(given) || ours.MatchString(given) || !strings.ContainsFunc(given, ofText) {
		return "", false
	}
	if m := spaced.FindStringSubmatch(given); m != nil {
		given = m[1] + m[2]
	}
	return fmt.Sprintf("%q", given), true
}

// ofText reports whether a character is in no number and no operator.
func ofText(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == ':' }

// meant is a whole expression in quotes, where all that it refers to is no value of the language:
// then it is a text that lacks them. "" = it is something else.
func (f *file) meant(expr hclsyntax.Expression) string {
	vars := expr.Variables()
	for _, ref := range vars {
		if root := ref.RootName(); root == "local" || len(ref) > 1 && slices.Contains(kinds(), root) {
			return ""
		}
	}
	r := expr.Range()
	if len(vars) == 0 || isTemplate(expr) || !r.CanSliceBytes(f.in.Text) || r.Start.Line != r.End.Line {
		return ""
	}
	text, _ := inQuotes(string(r.SliceBytes(f.in.Text)))
	return text
}
