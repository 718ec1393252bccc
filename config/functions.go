package config

import (
	"errors"
	"reflect"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// secretName is what secret() returns: no text, so that nothing can be made of it.
type secretName struct{ name string }

// MarshalJSON refuses, so that jsonencode() cannot take a secret in.
func (*secretName) MarshalJSON() ([]byte, error) {
	return nil, errors.New("a secret cannot be part of a text")
}

// secretType is the type of secret(). It converts to nothing.
var secretType = cty.Capsule("secret", reflect.TypeFor[secretName]())

// functions returns what expressions of one file may call. Apart from the three that are
// given by the caller they are pure: the same text means the same each time.
func (f *file) functions() map[string]function.Function {
	return map[string]function.Function{
		"env": textFunction("name", f.env), "file": textFunction("path", f.fileText), "secret": f.secretFunction(),

		"upper": stdlib.UpperFunc, "lower": stdlib.LowerFunc, "title": stdlib.TitleFunc,
		"trimspace": stdlib.TrimSpaceFunc, "trim": stdlib.TrimFunc, "trimprefix": stdlib.TrimPrefixFunc,
		"trimsuffix": stdlib.TrimSuffixFunc, "chomp": stdlib.ChompFunc, "regex": stdlib.RegexFunc,
		"substr": stdlib.SubstrFunc, "strlen": stdlib.StrlenFunc, "jsonencode": stdlib.JSONEncodeFunc,

		"indent": f.bounded(stdlib.IndentFunc, estimateIndent), "replace": f.bounded(stdlib.ReplaceFunc, estimateReplace),
		"regex_replace": f.bounded(stdlib.RegexReplaceFunc, estimateRegexReplace), "regexall": f.bounded(stdlib.RegexAllFunc, estimateRegexAll),
		"join": f.bounded(stdlib.JoinFunc, estimateJoin), "split": f.bounded(stdlib.SplitFunc, estimateSplit),
		"format": f.bounded(stdlib.FormatFunc, estimateFormat), "formatlist": f.bounded(stdlib.FormatListFunc, estimateFormatList),
		"jsondecode": f.bounded(stdlib.JSONDecodeFunc, estimateDecode), "csvdecode": f.bounded(stdlib.CSVDecodeFunc, estimateDecode),
		"distinct": f.bounded(stdlib.DistinctFunc, estimateDistinct), "setproduct": f.bounded(stdlib.SetProductFunc, estimateProduct),

		"concat": stdlib.ConcatFunc, "length": stdlib.LengthFunc, "contains": stdlib.ContainsFunc,
		"flatten": stdlib.FlattenFunc, "sort": stdlib.SortFunc,
		"reverse": stdlib.ReverseListFunc, "slice": stdlib.SliceFunc, "range": stdlib.RangeFunc,
		"compact": stdlib.CompactFunc, "element": stdlib.ElementFunc, "coalesce": stdlib.CoalesceFunc,
		"setunion": stdlib.SetUnionFunc,

		"merge": stdlib.MergeFunc, "lookup": stdlib.LookupFunc, "keys": stdlib.KeysFunc,
		"values": stdlib.ValuesFunc, "zipmap": stdlib.ZipmapFunc,

		"min": stdlib.MinFunc, "max": stdlib.MaxFunc, "ceil": stdlib.CeilFunc, "floor": stdlib.FloorFunc,
		"abs": stdlib.AbsoluteFunc, "parseint": stdlib.ParseIntFunc,
	}
}

// textFunction makes a function of one text out of a Go one.
func textFunction(parameter string, call func(string) (string, error)) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: parameter, Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			text, err := call(args[0].AsString())
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			if !utf8.ValidString(text) {
				return cty.NilVal, function.NewArgErrorf(0, "%q is not UTF-8 text", args[0].AsString())
			}
			return cty.StringVal(text), nil
		},
	})
}

func (f *file) secretFunction() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "name", Type: cty.String}},
		Type:   function.StaticReturnType(secretType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			name := args[0].AsString()
			if f.o.Secret != nil {
				if _, ok := f.o.Secret(name); ok {
					return cty.CapsuleVal(secretType, &secretName{name}), nil
				}
			}
			return cty.NilVal, function.NewArgErrorf(0, "there is no secret %q: neither a systemd credential nor a file of the secrets folder", name)
		},
	})
}
