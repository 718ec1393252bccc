package workbench

import "github.com/assayd/assayd/runtime/llm"

// What the conversation with a model is made of.
type (
	// Message is one of the conversation.
	Message = llm.Message
	// Call is one of a tool.
	Call = llm.Call
	// Tool is offered to the model.
	Tool = llm.Tool
	// Answer is what the model says.
	Answer = llm.Answer
)
