package config

import (
	"fmt"
	"regexp"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// unquotedNumber is a line with a value such as 5m or 4GiB, which is no number.
var unquotedNumber = regexp.MustCompile(`^\s*("?[A-Za-z_][A-Za-z0-9_-]*"?)\s*=\s*([0-9][0-9.]*[A-Za-z%][A-Za-z0-9%]*)\s*(?:[#/,}].*)?$`)

// unquoted says of a complaint about the syntax that a value wants quotes, where that is it.
func unquoted(d *hcl.Diagnostic, text []byte) *hcl.Diagnostic {
	if d.Subject == nil {
		return d
	}
	m := unquotedNumber.FindStringSubmatch(snippet(text, d.Subject.Start.Line))
	if m == nil {
		return d
	}
	out := *d
	out.Summary, out.Detail = "Value without quotes", fmt.Sprintf("Quote it: %s = %q.", m[1], m[2])
	return &out
}

// bareWord is an expression that is one word alone, as a text is written that lacks its quotes.
func bareWord(expr hclsyntax.Expression) (string, bool) {
	t, ok := expr.(*hclsyntax.ScopeTraversalExpr)
	if !ok || len(t.Traversal) != 1 {
		return "", false
	}
	return t.Traversal.RootName(), true
}
