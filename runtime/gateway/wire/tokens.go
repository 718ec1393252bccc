package wire

import (
	"math"
	"strconv"
)

// Tokens is what a provider says of one exchange, or what was counted in its place.
type Tokens struct {
	Input, Cached, Written, Output int64    // Input is the whole prompt, Cached and Written are of it
	Hour                           int64    // of Written, for an hour
	Estimated                      int64    // of Input and Output
	Reported                       *float64 // cost in dollars, by providers that tell it
}

// maxTokens and MaxCost are more than any exchange takes: what is beyond them is no number.
const (
	maxTokens = 100e6
	MaxCost   = 10e3 // dollars
)

// count is a number of tokens as a provider writes it. What is no such number is -1.
type count int64

// UnmarshalJSON implements json.Unmarshaler. It never fails, so that the rest is read.
func (c *count) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	n, err := strconv.ParseFloat(string(text), 64)
	if *c = count(n); err != nil || n != math.Trunc(n) || n < 0 || n > maxTokens {
		*c = -1
	}
	return nil
}

// cost is a number of dollars as a provider writes it. What is no such number is negative.
type cost float64

// UnmarshalJSON implements json.Unmarshaler. It never fails, so that the rest is read.
func (c *cost) UnmarshalJSON(text []byte) error {
	n, err := strconv.ParseFloat(string(text), 64)
	if *c = cost(n); err != nil || !(n >= 0 && n <= MaxCost) {
		*c = -1
	}
	return nil
}

// usageTold is what a provider that speaks OpenAI's says of an exchange.
type usageTold struct {
	input, cached, written, output count
	reasoning, total               count
	cost                           *cost
}

// told makes tokens of what a provider says of a whole exchange; ok is false where that
// cannot be. What caches had to do with is a part of the prompt.
func told(u usageTold) (t Tokens, ok bool) {
	if u.input < 0 || u.cached < 0 || u.output < 0 {
		return Tokens{}, false
	}
	cached := min(u.cached, u.input)
	t = Tokens{
		Input: int64(u.input), Cached: int64(cached), Written: int64(max(min(u.written, u.input-cached), 0)),
		Output: int64(min(u.output+u.beside(), maxTokens)),
	}
	reported := u.cost
	if reported != nil && *reported >= 0 {
		t.Reported = (*float64)(reported)
	}
	return t, true
}

// beside is what a model took to reason where that is not within the output. With most
// providers it is; with others the total says that it is not, or that it is more than all of
// the output.
func (u usageTold) beside() count {
	switch {
	case u.reasoning <= 0:
		return 0
	case u.total > 0:
		return max(min(u.total-u.input-u.output, u.reasoning), 0)
	case u.reasoning > u.output:
		return u.reasoning
	}
	return 0
}

// Estimate counts the tokens of so many bytes of text: about four bytes make one in English
// and in code. It is only used where nobody tells a number.
func Estimate(bytes int) int64 { return int64(bytes+3) / 4 }
