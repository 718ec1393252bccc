package workbench

import "encoding/json"

// Message is one of a conversation with a model.
type Message struct {
	Role    string // system, user, assistant, tool
	Content string
	Calls   []Call // of an assistant
	CallID  string // which call a tool answers
}

// Call is the wish of a model to have a tool do something.
type Call struct {
	ID        string
	Name      string
	Arguments json.RawMessage // an object, if the model keeps to its tools
}

// Tool is what a model may call.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON schema of the arguments
}

// Answer is what a model says.
type Answer struct {
	Content string
	Calls   []Call
}
