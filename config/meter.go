package config

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// A few lines can ask for more memory than any machine has: locals that double each other,
// a loop in a loop, format("%999999999d", 1). So every value that is made on the way counts
// against a budget of its file.

// maxValues is the budget in bytes; perValue is what counts beside the text of a value.
const (
	maxValues = 64 << 20
	perValue  = 64
)

// metered is an expression whose value counts. Over the budget it has none.
type metered struct {
	hclsyntax.Expression
	f *file
}

// Value implements hcl.Expression.
func (m metered) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if m.f.spent > maxValues {
		return cty.DynamicVal, nil
	}
	v, diags := m.Expression.Value(ctx)
	if m.f.count(v); m.f.spent > maxValues {
		return cty.DynamicVal, diags
	}
	return v, diags
}

// count takes a value into account.
func (f *file) count(v cty.Value) { f.spent += size(v, maxValues-f.spent) }

// size is roughly what a value takes written out, in bytes. It stops counting beyond the
// limit.
func size(v cty.Value, limit int) int {
	total := perValue
	if !v.IsKnown() || v.IsNull() {
		return total
	}
	switch t := v.Type(); {
	case t == cty.String:
		total += len(v.AsString())
	case t == cty.Number: // as a text it has all its zeros
		exponent := v.AsBigFloat().MantExp(nil)
		total += max(exponent, -exponent)
	case v.CanIterateElements():
		for it := v.ElementIterator(); total <= limit && it.Next(); {
			_, inner := it.Element()
			total += size(inner, limit-total)
		}
	}
	return total
}

var expressionType = reflect.TypeFor[hclsyntax.Expression]()

// meter returns the expression with itself and all its parts metered. The nodes are copied,
// because references are found by the types of the original ones.
func (f *file) meter(expr hclsyntax.Expression) hclsyntax.Expression {
	if key, ok := expr.(*hclsyntax.ObjectConsKeyExpr); ok && hcl.ExprAsKeyword(key.Wrapped) != "" {
		return expr // a name, told by its type
	}
	node := reflect.ValueOf(expr)
	if node.Kind() != reflect.Pointer {
		return metered{expr, f}
	}
	copied := reflect.New(node.Type().Elem())
	copied.Elem().Set(node.Elem())
	if f.meterFields(copied.Elem()) {
		expr = copied.Interface().(hclsyntax.Expression)
	}
	return metered{expr, f}
}

// meterFields replaces the expressions in a node and reports whether there are any: one
// without stays as it is, because it may be known by its address.
func (f *file) meterFields(node reflect.Value) (any bool) {
	for i := range node.NumField() {
		field := node.Field(i)
		switch {
		case !field.CanSet():
		case field.Type() == expressionType:
			if !field.IsNil() {
				field.Set(reflect.ValueOf(f.meter(field.Interface().(hclsyntax.Expression))))
				any = true
			}
		case field.Kind() == reflect.Slice && field.Type() != reflect.TypeFor[hcl.Traversal]():
			any = f.meterElements(field) || any
		}
	}
	return any
}

// meterElements does so with a list of expressions or of items that hold some.
func (f *file) meterElements(list reflect.Value) (any bool) {
	copied := reflect.MakeSlice(list.Type(), list.Len(), list.Len())
	reflect.Copy(copied, list)
	for i := range copied.Len() {
		element := copied.Index(i)
		switch {
		case element.Type() == expressionType:
			element.Set(reflect.ValueOf(f.meter(element.Interface().(hclsyntax.Expression))))
			any = true
		case element.Kind() == reflect.Struct:
			any = f.meterFields(element) || any
		}
	}
	list.Set(copied)
	return any
}

// bounded is a function that makes much out of little: estimate says how many bytes at
// most, before it is called.
func (f *file) bounded(inner function.Function, estimate func(args []cty.Value) float64) function.Function {
	return function.New(&function.Spec{
		Params: inner.Params(), VarParam: inner.VarParam(),
		Type: inner.ReturnTypeForValues,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if float64(f.spent)+estimate(args) > maxValues {
				f.spent = maxValues + 1
				return cty.DynamicVal, errTooMuch
			}
			return inner.Call(args)
		},
	})
}

var errTooMuch = fmt.Errorf("the values of this file would take more than %d MiB", maxValues>>20)

// elements returns how many elements a list has; anything else counts as one.
func elements(v cty.Value) float64 {
	if v.IsKnown() && !v.IsNull() && v.CanIterateElements() {
		return float64(v.LengthInt())
	}
	return 1
}

func occurrences(v cty.Value, of ...string) (n float64) {
	for _, some := range of {
		n += float64(strings.Count(v.AsString(), some))
	}
	return n
}

func bytesOf(v cty.Value) float64 { return float64(size(v, maxValues)) }

// estimateJoin: each element may bring a separator.
func estimateJoin(args []cty.Value) float64 {
	n := 0.0
	for _, list := range args[1:] {
		n += elements(list)
	}
	return n * bytesOf(args[0])
}

func estimateSplit(args []cty.Value) float64 {
	return perValue * occurrences(args[1], args[0].AsString())
}

func estimateReplace(args []cty.Value) float64 {
	return occurrences(args[0], args[1].AsString()) * bytesOf(args[2])
}

// estimateRegexReplace: each byte may be a match, and each replacement may repeat it.
func estimateRegexReplace(args []cty.Value) float64 { return 2 * bytesOf(args[0]) * bytesOf(args[2]) }

// estimateRegexAll: each byte may be a match.
func estimateRegexAll(args []cty.Value) float64 { return perValue * bytesOf(args[1]) }

func estimateDecode(args []cty.Value) float64 {
	return 2 * perValue * occurrences(args[0], ",", "[", "{", "\n")
}

func estimateIndent(args []cty.Value) float64 {
	n, _ := args[0].AsBigFloat().Float64()
	return n * occurrences(args[1], "\n")
}

func estimateProduct(args []cty.Value) float64 {
	n := perValue * float64(len(args))
	for _, list := range args {
		n *= elements(list)
	}
	return n
}

// estimateDistinct is of the time: each element is compared with each.
func estimateDistinct(args []cty.Value) float64 { return elements(args[0]) * elements(args[0]) }

// estimateFormat: each verb may show the longest argument, as wide as the verb says.
func estimateFormat(args []cty.Value) float64 {
	longest := 0.0
	for _, arg := range args[1:] {
		longest = max(longest, bytesOf(arg))
	}
	return formatted(args[0].AsString(), longest)
}

// estimateFormatList: the same for each element of the longest list.
func estimateFormatList(args []cty.Value) float64 {
	longest, times := 0.0, 1.0
	for _, arg := range args[1:] {
		if elements(arg) == 1 {
			longest = max(longest, bytesOf(arg))
			continue
		}
		times = max(times, elements(arg))
		for it := arg.ElementIterator(); it.Next(); {
			_, inner := it.Element()
			longest = max(longest, bytesOf(inner))
		}
	}
	return times * formatted(args[0].AsString(), longest)
}

// formatVerb finds verbs with their widths and precisions.
var formatVerb = regexp.MustCompile(`%[^a-zA-Z%]*`)

func formatted(format string, longest float64) (total float64) {
	for _, verb := range formatVerb.FindAllString(format, -1) {
		total += longest
		for _, digits := range strings.FieldsFunc(verb, func(r rune) bool { return r < '0' || r > '9' }) {
			width, _ := strconv.ParseFloat(digits, 64) // beyond all bounds it is infinite
			total += width
		}
	}
	return total
}
