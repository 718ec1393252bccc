package sforge

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/assayd/assayd/runtime/truncate"
)

// Scalars of YAML 1.1 as Python's safe loader types them: yes is true, 010 is eight, 1:30 is
// ninety, 1e3 is a text.

// maxDigits bounds a number; Python refuses longer ones as well.
const maxDigits = 4300

// scalars knows the shapes of plain scalars.
type scalars struct {
	integer, float, timestamp *regexp.Regexp
}

func newScalars() scalars {
	return scalars{
		integer: regexp.MustCompile(`^(?:[-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+)$`),
		float: regexp.MustCompile(`^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?` +
			`|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`),
		timestamp: regexp.MustCompile(`^(?:\d{4}-\d\d-\d\d|\d{4}-\d\d?-\d\d?(?:[Tt]|[ \t]+)\d\d?:\d\d:\d\d(?:\.\d*)?(?:[ \t]*(?:Z|[-+]\d\d?(?::\d\d)?))?)$`),
	}
}

// tag returns the tag that a plain scalar has without one.
func (s scalars) tag(text string) string {
	switch {
	case boolean(text) != nil:
		return "!!bool"
	case slices.Contains([]string{"", "~", "null", "Null", "NULL"}, text):
		return "!!null"
	case s.float.MatchString(text):
		return "!!float"
	case s.integer.MatchString(text):
		return "!!int"
	case s.timestamp.MatchString(text):
		return "!!timestamp"
	case text == "<<":
		return "!!merge"
	case text == "=":
		return "!!value"
	}
	return "!!str"
}

// value makes the value of a scalar. What has no JSON form is an error.
func (s scalars) value(tag, text string) (any, error) {
	switch tag {
	case "!!str":
		return text, nil
	case "!!null":
		return nil, nil
	case "!!bool":
		if b := boolean(strings.ToLower(text)); b != nil {
			return *b, nil
		}
	case "!!int":
		if s.integer.MatchString(text) && len(text) <= maxDigits {
			if n, ok := integer(text); ok {
				return n, nil
			}
		}
	case "!!float":
		if s.float.MatchString(text) || s.integer.MatchString(text) {
			if f, ok := float(text); ok {
				return f, nil
			}
		}
	case "!!timestamp":
		return nil, fmt.Errorf("%q is a date, which cannot be hashed: put it in quotes", text)
	}
	return nil, fmt.Errorf("%q cannot be read as %s", cut(text), cut(tag))
}

func boolean(text string) *bool {
	for i, words := range []string{"no No NO false False FALSE off Off OFF", "yes Yes YES true True TRUE on On ON"} {
		if slices.Contains(strings.Fields(words), text) {
			b := i == 1
			return &b
		}
	}
	return nil
}

// signed takes underscores and the sign away.
func signed(text string) (digits string, negative bool) {
	digits = strings.ReplaceAll(text, "_", "")
	negative = strings.HasPrefix(digits, "-")
	return strings.TrimLeft(digits, "+-"), negative
}

func integer(text string) (*big.Int, bool) {
	digits, negative := signed(text)
	n, ok := new(big.Int), true
	switch {
	case strings.HasPrefix(digits, "0b"):
		n, ok = n.SetString(digits[2:], 2)
	case strings.HasPrefix(digits, "0x"):
		n, ok = n.SetString(digits[2:], 16)
	case digits != "0" && strings.HasPrefix(digits, "0"):
		n, ok = n.SetString(digits, 8)
	default:
		for part := range strings.SplitSeq(digits, ":") {
			digit, fine := new(big.Int).SetString(part, 10)
			if !fine {
				return nil, false
			}
			n.Add(n.Mul(n, big.NewInt(60)), digit)
		}
	}
	if ok && negative {
		n.Neg(n)
	}
	return n, ok
}

func float(text string) (float64, bool) {
	digits, negative := signed(strings.ToLower(text))
	sign := 1.0
	if negative {
		sign = -1
	}
	switch digits {
	case ".inf":
		return math.Inf(int(sign)), true
	case ".nan":
		return math.NaN(), true
	}
	f := 0.0
	for part := range strings.SplitSeq(digits, ":") {
		digit, err := strconv.ParseFloat(part, 64)
		if err != nil && !math.IsInf(digit, 0) { // beyond all bounds it is infinite, in Python too
			return 0, false
		}
		f = f*60 + digit
	}
	return sign * f, true
}

// cut shortens a text for a message.
func cut(text string) string {
	return truncate.Marked(text, 80, "…")
}
