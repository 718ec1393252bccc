package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"
)

// Values that come here are known and not null at the top; what lies inside a list or a
// map may still be null.

var errNull = errors.New("null cannot stand here")

// kindOf names the kind of a value.
func kindOf(v cty.Value) string {
	name := v.Type().FriendlyName()
	switch {
	case v.Type() == cty.Bool:
		return "true or false"
	case isList(v):
		return "a list"
	case v.Type().IsObjectType():
		return "a map"
	}
	return "a " + name
}

func toText(v cty.Value) (string, error) {
	if v.Type() != cty.String {
		return "", fmt.Errorf("this is %s, not a text in quotes", kindOf(v))
	}
	if v.IsNull() {
		return "", errNull
	}
	s := v.AsString()
	if strings.ContainsRune(s, 0) {
		return "", errors.New("a text cannot hold a zero byte")
	}
	return s, nil
}

// toDuration reads a duration.
func toDuration(v cty.Value) (time.Duration, error) {
	if v.Type() == cty.Number {
		return 0, errors.New(`a number alone is no duration: write it with a unit and in quotes, as in "90s", "5m", "12h" or "2d"`)
	}
	return viaText(v, parseDuration)
}

// toSize reads a size that is not zero.
func toSize(v cty.Value) (int64, error) {
	if v.Type() == cty.Number {
		return 0, errors.New(`a number alone is no size: write it with a unit and in quotes, as in "512m" or "8GiB"`)
	}
	n, err := viaText(v, parseSize)
	if err == nil && n == 0 {
		err = errors.New("must be more than 0")
	}
	return n, err
}

// viaText converts a value that is written as a text.
func viaText[T any](v cty.Value, convert func(string) (T, error)) (T, error) {
	s, err := toText(v)
	if err != nil {
		var zero T
		return zero, err
	}
	return convert(s)
}

// oneOf accepts one of the words.
func oneOf(words []string) func(string) (string, error) {
	return func(s string) (string, error) {
		if slices.Contains(words, s) {
			return s, nil
		}
		return "", fmt.Errorf("%q is none of %s%s", s, strings.Join(words, ", "), suggest(s, words))
	}
}

func toBool(v cty.Value) (bool, error) {
	if v.Type() != cty.Bool {
		return false, fmt.Errorf("this is %s: write true or false", kindOf(v))
	}
	return v.True(), nil
}

func toNumber(v cty.Value, least, most float64) (float64, error) {
	if v.Type() != cty.Number {
		return 0, fmt.Errorf("this is %s, not a number", kindOf(v))
	}
	if v.IsNull() {
		return 0, errNull
	}
	n, _ := v.AsBigFloat().Float64()
	switch {
	case n < least:
		return 0, fmt.Errorf("must be at least %v", least)
	case n > most || math.IsInf(n, 0):
		return 0, fmt.Errorf("must be at most %v", most)
	}
	return n, nil
}

// maxWhole bounds integers, so that they are exact everywhere.
const maxWhole = 1 << 40

func toWhole(v cty.Value, least int) (int, error) {
	n, err := toNumber(v, float64(least), maxWhole)
	if err != nil {
		return 0, err
	}
	if n != math.Trunc(n) {
		return 0, fmt.Errorf("%v is no whole number", n)
	}
	return int(n), nil
}

func toCheckedList(v cty.Value, check func(string) error) ([]string, error) {
	if !isList(v) {
		return nil, fmt.Errorf(`this is %s: write a list of texts, as in ["a", "b"]`, kindOf(v))
	}
	out := make([]string, 0, v.LengthInt())
	for it := v.ElementIterator(); it.Next(); {
		i, item := it.Element()
		s, err := toText(item)
		if err == nil {
			err = check(s)
		}
		if err != nil && v.Type().IsSetType() {
			return nil, err
		}
		if err != nil {
			n, _ := i.AsBigFloat().Int64()
			return nil, fmt.Errorf("element %d: %w", n+1, err)
		}
		out = append(out, s)
	}
	return out, nil
}

func isList(v cty.Value) bool {
	t := v.Type()
	return t.IsTupleType() || t.IsListType() || t.IsSetType()
}

// toPairs converts a map of texts; numbers and truth values in it are written as texts.
func toPairs(v cty.Value, check func(key string) error) (map[string]string, error) {
	if t := v.Type(); !t.IsObjectType() && !t.IsMapType() {
		return nil, fmt.Errorf(`this is %s: write a map, as in { NAME = "text" }`, kindOf(v))
	}
	out := map[string]string{}
	for it := v.ElementIterator(); it.Next(); {
		k, item := it.Element()
		key := k.AsString()
		s, err := scalar(item)
		if err == nil {
			err = check(key)
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", key, err)
		}
		out[key] = s
	}
	return out, nil
}

func scalar(v cty.Value) (string, error) {
	switch {
	case v.IsNull():
		return "", errNull
	case v.Type() == cty.Number:
		return v.AsBigFloat().Text('f', -1), nil
	case v.Type() == cty.Bool:
		return fmt.Sprint(v.True()), nil
	}
	return toText(v)
}

func toCommand(v cty.Value, check func(string) error) (Command, error) {
	if isList(v) {
		argv, err := toCheckedList(v, check)
		if err == nil && (len(argv) == 0 || argv[0] == "") {
			err = errors.New("an argument vector begins with a program")
		}
		return Command{Argv: argv}, err
	}
	line, err := toText(v)
	if err != nil {
		return Command{}, fmt.Errorf("this is %s: write a line for the shell or a list of arguments", kindOf(v))
	}
	if strings.TrimSpace(line) == "" {
		return Command{}, errors.New("there is no command in it")
	}
	return Command{Shell: line}, check(line)
}

// anything is a check that accepts all texts.
func anything(string) error { return nil }

// notEmpty is a check for texts that must say something.
func notEmpty(s string) error {
	if strings.TrimSpace(s) == "" {
		return errors.New("must not be empty")
	}
	return nil
}

// checkImage accepts what can be an image reference; the engine knows better.
func checkImage(s string) error {
	if s == "" || strings.ContainsAny(s, " \t\r\n") || strings.HasPrefix(s, "-") {
		return fmt.Errorf("%q is no image reference", s)
	}
	return nil
}

func checkEnvName(s string) error {
	if !envName.MatchString(s) {
		return errors.New("is no name of an environment variable")
	}
	return nil
}

// hasSecret reports whether a secret is part of a value of the type.
func hasSecret(t cty.Type) bool {
	switch {
	case t.Equals(secretType):
		return true
	case t.IsObjectType():
		for _, attr := range t.AttributeTypes() {
			if hasSecret(attr) {
				return true
			}
		}
	case t.IsTupleType():
		return slices.ContainsFunc(t.TupleElementTypes(), hasSecret)
	case t.IsCollectionType():
		return hasSecret(t.ElementType())
	}
	return false
}

// sentence makes a detail of an error.
func sentence(err error) string {
	s := err.Error()
	s = strings.ToUpper(s[:1]) + s[1:]
	if strings.HasSuffix(s, ".") || strings.HasSuffix(s, "?") {
		return s
	}
	return s + "."
}
