package llm

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Fill asks a model to call one tool, and returns what it passed. An answer that is
// malformed, or that check refuses, is asked for once more, with what is wrong with it; a
// second such answer is the error, *Malformed or that of check, and comes with the value
// that was refused. check may be nil.
func Fill[T any](ctx context.Context, ask Ask, messages []Message, tool Tool, check func(T) error) (T, error) {
	tools := []Tool{tool}
	messages = slices.Clip(messages)
	var value T
	for again := false; ; again = true {
		answer, err := ask(ctx, messages, tools)
		if err != nil {
			bad, ok := errors.AsType[*Malformed](err)
			if !ok {
				return value, err
			}
			answer = bad.Answer
		} else {
			value, err = look(answer, tools, check)
		}
		if err == nil || again {
			return value, err
		}
		messages = append(messages, objection(answer, err)...)
	}
}

// look reads the first call of an answer.
func look[T any](a Answer, tools []Tool, check func(T) error) (value T, err error) {
	if err := Check(a, tools); err != nil {
		return value, err
	}
	if err := Decode(a.Calls[0], &value); err != nil {
		return value, err
	}
	if check != nil {
		err = check(value)
	}
	return value, err
}

// objection tells a model what is wrong with its answer.
func objection(a Answer, err error) []Message {
	why := err.Error()
	if bad, ok := errors.AsType[*Malformed](err); ok {
		why = bad.Why
	}
	why = "This cannot be used: " + why + ". Call the tool once more, and mend that."
	var said []Message
	if a.Content != "" || len(a.Calls) > 0 {
		said = append(said, a.Message())
	}
	for _, c := range a.Calls { // each has to have its result
		said = append(said, Message{Role: Result, Content: why, CallID: c.ID})
	}
	if len(a.Calls) == 0 {
		said = append(said, Message{Role: User, Content: why})
	}
	return said
}

// Fence puts a text that others wrote between marks that it does not hold, so that a model
// can tell it from what it is asked.
func Fence(name, text string) string {
	mark := name
	for salt := 0; ; salt++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", salt, text))
		mark = fmt.Sprintf("%s-%x", name, sum[:4])
		if !strings.Contains(text, mark) {
			break
		}
	}
	return fmt.Sprintf("<%s>\n%s\n</%s>", mark, text, mark)
}
