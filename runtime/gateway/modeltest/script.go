package modeltest

import (
	"context"
	"slices"
)

// Script says what the model answers. It is called from many goroutines at once.
type Script func(Request) Answer

// Answer is what the model says, what that costs, and what goes wrong on the way.
type Answer struct {
	Text  string
	Calls []Call
	Usage Usage
	// Deltas is the number of pieces in which a stream brings the text, and the arguments
	// of each call, as far as there are that many characters; 0 is 1.
	Deltas int

	// Hold is called before each step of the answer, and the answer goes on when it
	// returns: with 0 before the first byte, with n before event n of a stream. The context
	// ends when the client goes away and when the server is closed.
	Hold func(ctx context.Context, event int)
	// Refuse closes the connection without an answer.
	Refuse bool
	// Status other than 0 and 200 is answered with the provider's own error of that status,
	// which says Message.
	Status  int
	Message string
	// RetryAfter is the header of that name, as it is sent; none when empty.
	RetryAfter string
	// Break ends the answer too early, with a closed connection.
	Break *Break
}

// Break says when a stream breaks off: right after its headers, or after so many events, or
// after the event with which so many bytes of text were sent; and in any case before it has
// told all of its usage. An answer that is no stream breaks off in the middle of its body.
type Break struct {
	Events int
	Text   int
}

// due tells whether a stream that has sent so much goes no further.
func (b *Break) due(events, text int) bool {
	switch {
	case b == nil:
		return false
	case b.Events == 0 && b.Text == 0:
		return true
	}
	return b.Events > 0 && events >= b.Events || b.Text > 0 && text >= b.Text
}

// Usage counts tokens. Its parts do not overlap: Input is what was read that was neither
// found in the provider's cache nor put there. On the wire that is so with Anthropic, while
// OpenAI's count of the prompt includes what was cached. Neither of OpenAI's protocols has a
// word for what was put into the cache; there it is reported as Input.
type Usage struct {
	Input, Cached, CacheCreation, Output int
}

// Prompt is all that was read.
func (u Usage) Prompt() int { return u.Input + u.Cached + u.CacheCreation }

// Plus adds up two usages.
func (u Usage) Plus(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Cached + v.Cached, u.CacheCreation + v.CacheCreation, u.Output + v.Output}
}

// HoldAt is a Hold that waits at one event until the channel is closed.
func HoldAt(event int, until <-chan struct{}) func(context.Context, int) {
	return func(ctx context.Context, at int) {
		if at != event {
			return
		}
		select {
		case <-until:
		case <-ctx.Done():
		}
	}
}

const (
	// Stop among the commands of Shell is an attempt to stop.
	Stop = ""
	// Done is what a model says that has nothing more to do.
	Done = "All done."
)

// Shell is the script of a model that has shell commands run one after the other and then
// says Done, with whatever tool for it the client offers. A step that is Stop says Done too:
// whoever is sent back by a hook, or resumed, goes on with the step after it; behind the last
// one, with Done again. The step is read from the conversation, where each result of a tool
// and each Done is one: a call that the client itself marks as interrupted was a step.
// A request without such a tool, say for a title, is answered by a text.
func Shell(commands ...string) Script {
	return func(r Request) Answer {
		answer := Answer{Text: Done, Usage: Usage{Input: 1000, Output: 50}}
		step := r.Results()
		for _, turn := range r.Turns {
			if turn.Role == "assistant" && turn.Text == Done && len(turn.Calls) == 0 {
				step++
			}
		}
		if step >= len(commands) || commands[step] == Stop {
			return answer
		}
		call, ok := r.Run(commands[step])
		if !ok {
			answer.Text = "A model of few words"
			return answer
		}
		answer.Text, answer.Calls = "", []Call{call}
		return answer
	}
}

// Run is the call that has the client run a shell command, with the tool for it that it
// offers: that of Claude Code, one of those of Codex, or that of opencode. It is false when
// none of them is offered.
func (r Request) Run(command string) (Call, bool) {
	// Codex answers after some seconds whether the command has ended or not; half a minute
	// is the longest that it can be asked to wait.
	for _, call := range []Call{
		{Name: "Bash", Arguments: object{"command": command, "description": "Run a step"}},
		{Name: "exec_command", Arguments: object{"cmd": command, "yield_time_ms": 30_000}},
		{Name: "shell_command", Arguments: object{"command": command}},
		{Name: "shell", Arguments: object{"command": []string{"sh", "-c", command}}},
		{Name: "bash", Arguments: object{"command": command, "description": "Run a step"}},
	} {
		if slices.Contains(r.Tools, call.Name) {
			return call, true
		}
	}
	return Call{}, false
}
