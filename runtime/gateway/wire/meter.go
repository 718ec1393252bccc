package wire

import (
	"strings"

	"github.com/assayd/assayd/runtime/gateway/transcript"
)

// Meter keeps what the parts of one answer say that were read so far. The zero value has read nothing.
type Meter struct {
	Model string // that answers, in the provider's word
	Tokens
	prompt    bool            // the provider has told what the prompt takes
	Told      bool            // the provider has told all that the exchange takes
	Last      bool            // the event that was read ends the stream
	Hide      bool            // the event that was read is of our own asking, and not for the agent
	Asked     bool            // we asked for the usage, the agent did not
	TextBytes int             // that the model has written
	Err       string          // with which the provider broke the answer off; "" = none
	piece     strings.Builder // of a text whose whole is to come
	transcript.Answer
}

// tell takes over what a provider says of the whole exchange so far.
func (m *Meter) tell(t Tokens, ok bool) (prompt bool) {
	if !ok {
		return false
	}
	m.Tokens, m.prompt = t, true
	return true
}

// Settle counts what nobody told, from the text of the prompt and of the answer. Where the
// provider refused before it wrote anything, nothing was taken.
func (m *Meter) Settle(promptBytes int) {
	m.Say(m.piece.String())
	m.piece.Reset()
	if m.Told || m.Err != "" && m.TextBytes == 0 && !m.prompt {
		return
	}
	if !m.prompt {
		m.Input = Estimate(promptBytes)
		m.Estimated += m.Input
	}
	m.Output = max(m.Output, Estimate(m.TextBytes))
	m.Estimated += m.Output
}

// TakeBound takes the bound for what nobody told, where the agent has not waited for it: what the
// provider has done meanwhile cannot be known.
func (m *Meter) TakeBound(bound Tokens) {
	if m.Told || bound.Output == 0 {
		return
	}
	if !m.prompt {
		m.Input, m.prompt = bound.Input, true
		m.Estimated += bound.Input
	}
	m.Output = max(m.Output, bound.Output)
}

// wrote notes a piece of what the model writes.
func (m *Meter) wrote(piece string) string {
	m.TextBytes += len(piece)
	return piece
}
