package transcript

import (
	"encoding/json"
	"time"
)

// Protocols by the names that transcripts call them.
const (
	Completions = "chat.completions"
	Responses   = "responses"
	Messages    = "messages"
)

// Line is one line of a transcript: a request or the answer to one.
type Line struct {
	N        int       `json:"n"` // of the exchange, from 1
	Time     time.Time `json:"time"`
	Request  *Request  `json:"request,omitempty"`
	Response *Response `json:"response,omitempty"`
}

// Request is what an agent asked a model.
type Request struct {
	Protocol string `json:"protocol"`
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	// After names the last message that the conversation shares with an earlier request, and
	// New are those that follow it; "" = the conversation is new.
	After string `json:"after,omitempty"`
	// At names the conversation with the new messages, for a later After.
	At string `json:"at"`
	// System, Tools and Settings are everything else. Each is in the first request that has
	// it; later ones have its name alone.
	System   Shared            `json:"system"`
	Tools    Shared            `json:"tools"`
	Settings Shared            `json:"settings"`
	New      []json.RawMessage `json:"new,omitempty"`
}

// Shared is a value that many requests have.
type Shared struct {
	Name  string          `json:"name,omitempty"` // of its content; "" = there is none
	Value json.RawMessage `json:"value,omitempty"`
}

// Response is what came of a request.
type Response struct {
	Status   int    `json:"status"`           // of HTTP, as the agent was answered; 0 = it had gone
	Error    string `json:"error,omitempty"`  // what the provider, or the gateway, had to object
	Denied   string `json:"denied,omitempty"` // what the provider was asked for and the network is closed to
	Broken   string `json:"broken,omitempty"`
	Attempts int    `json:"attempts"`
	Millis   int64  `json:"ms"`
	Model    string `json:"model,omitempty"` // as the provider calls it
	Reply    *Reply `json:"reply,omitempty"`
	Tokens   Tokens `json:"tokens"`
}

// Tokens is what an exchange took.
type Tokens struct {
	Input     int64   `json:"input"`
	Cached    int64   `json:"cached,omitempty"`
	Output    int64   `json:"output"`
	Estimated int64   `json:"estimated,omitempty"`
	CostUSD   float64 `json:"cost_usd,omitempty"`
}

// Reply is what a model said.
type Reply struct {
	Text      string `json:"text,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
	Calls     []Call `json:"calls,omitempty"`
	Stop      string `json:"stop,omitempty"`
}

// Call is a call of a tool.
type Call struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON, if the model wrote such
}
