package workbench

import "github.com/assayd/assayd/runtime/llm"

// The conversation with a model is one of any chat model.
type (
	Message = llm.Message
	Call    = llm.Call
	Tool    = llm.Tool
	Answer  = llm.Answer
)
