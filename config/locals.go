package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// locals are the named values of one file. They are worked out when they are asked for,
// each once, so that no order of blocks matters and a circle is found by its members.
type locals struct {
	attrs map[string]*hclsyntax.Attribute
	done  map[string]cty.Value
	open  []string // being worked out, outermost first
}

// collect gathers all locals blocks and works out every value, used or not, so that each
// error is reported.
func (l *locals) collect(f *file, syntax *hclsyntax.Body) {
	l.attrs, l.done = map[string]*hclsyntax.Attribute{}, map[string]cty.Value{}
	f.within = "locals"
	for _, block := range syntax.Blocks {
		if block.Type != "locals" || !f.labels(block, 0) {
			continue
		}
		for _, inner := range block.Body.Blocks {
			f.fail(inner.TypeRange, "Unknown block", "locals takes attributes only.")
		}
		for _, name := range slices.Sorted(maps.Keys(block.Body.Attributes)) {
			attr := block.Body.Attributes[name]
			if other, ok := l.attrs[name]; ok {
				f.fail(attr.NameRange, "Duplicate name", fmt.Sprintf("local.%s is already declared at %s.", name, pos(other.NameRange)))
				continue
			}
			l.attrs[name] = attr
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.attrs)) {
		l.resolve(f, name)
	}
	f.within = ""
}

// resolve returns the value of a local, unknown if its error has been reported.
func (l *locals) resolve(f *file, name string) cty.Value {
	if value, ok := l.done[name]; ok {
		return value
	}
	if i := slices.Index(l.open, name); i >= 0 {
		circle := append(slices.Clone(l.open[i:]), name)
		f.fail(l.attrs[name].NameRange, "Reference cycle", fmt.Sprintf("Locals need each other: %s.", strings.Join(circle, " -> ")))
		return cty.DynamicVal
	}
	l.open = append(l.open, name)
	value := f.evaluate(l.attrs[name].Expr)
	l.open = l.open[:len(l.open)-1]
	l.done[name] = value
	return value
}

// value evaluates an expression. It is not usable if it is null or its error is reported.
func (f *file) value(expr hclsyntax.Expression) (cty.Value, bool) {
	v := f.evaluate(expr)
	if !v.IsWhollyKnown() {
		if !f.diags.HasErrors() {
			f.fail(expr.Range(), "Value not known", "This cannot be worked out from the file.")
		}
		return v, false
	}
	return v, !v.IsNull()
}

// evaluate returns a value that is unknown if there was an error.
func (f *file) evaluate(expr hclsyntax.Expression) cty.Value {
	names := map[string]cty.Value{}
	sound := true
	for _, ref := range expr.Variables() {
		name, ok := f.localName(ref, expr)
		if !ok {
			sound = false
			if f.meant(expr) != "" {
				break // it is one text, and said to be
			}
			continue
		}
		names[name] = f.locals.resolve(f, name)
		sound = sound && names[name].IsWhollyKnown()
	}
	if !sound {
		return cty.DynamicVal
	}
	ctx := f.calls.NewChild()
	ctx.Variables = map[string]cty.Value{"local": cty.ObjectVal(names)}
	over := f.spent > maxValues
	v, diags := f.meter(expr).Value(ctx)
	if f.spent > maxValues {
		if !over {
			f.fail(expr.Range(), "Too large a value", sentence(errTooMuch))
		}
		return cty.DynamicVal
	}
	f.addHCL(diags)
	if diags.HasErrors() {
		return cty.DynamicVal
	}
	return v
}

// localName returns the local that a reference means, and reports one that means none.
func (f *file) localName(ref hcl.Traversal, expr hclsyntax.Expression) (string, bool) {
	at := ref.SourceRange()
	root := ref.RootName()
	if root != "local" {
		detail := fmt.Sprintf("There is no value %q here", root)
		switch {
		case slices.Contains(kinds(), root):
			detail = fmt.Sprintf("%s.… can be written in the tasks of a run only.", root)
		case isTemplate(expr):
			detail += fmt.Sprintf("%s To leave ${%s} to the shell, write $${%s}.", suggest(root, []string{"local"}), root, root)
		default:
			detail += suggest(root, []string{"local"})
			if text := f.meant(expr); text != "" {
				detail = fmt.Sprintf("Text values need quotes: %s.", text)
			}
		}
		f.fail(at, "Unknown reference", detail)
		return "", false
	}
	name, ok := "", false
	if len(ref) > 1 {
		name, ok = stepName(ref[1])
	}
	if !ok {
		f.fail(at, "Unknown reference", "Write local.NAME.")
		return "", false
	}
	if _, ok := f.locals.attrs[name]; !ok {
		f.fail(at, "Unknown reference", fmt.Sprintf("This file has no local %q%s", name, suggest(name, slices.Sorted(maps.Keys(f.locals.attrs)))))
		return "", false
	}
	return name, true
}

// stepName returns the name in .name and ["name"].
func stepName(step hcl.Traverser) (string, bool) {
	switch step := step.(type) {
	case hcl.TraverseAttr:
		return step.Name, true
	case hcl.TraverseIndex:
		if step.Key.Type() == cty.String && step.Key.IsKnown() && !step.Key.IsNull() {
			return step.Key.AsString(), true
		}
	}
	return "", false
}

// isTemplate reports whether an expression has text with ${…} in it.
func isTemplate(expr hclsyntax.Expression) bool {
	found := false
	_ = hclsyntax.VisitAll(expr, func(node hclsyntax.Node) hcl.Diagnostics { // the visitor reports nothing
		switch node.(type) {
		case *hclsyntax.TemplateExpr, *hclsyntax.TemplateWrapExpr:
			found = true
		}
		return nil
	})
	return found
}
