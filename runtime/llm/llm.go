package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode"

	"github.com/sashabaranov/go-openai"

	"github.com/assayd/assayd/runtime/truncate"
)

// Bounds of an answer. What goes beyond is cut or refused.
const (
	maxAnswer = 32 << 20 // bytes of the provider's answer
	maxCalls  = 64
	maxID     = 256
	maxWords  = 2000 // bytes of what is quoted in errors
)

// Roles of messages.
const (
	System    = "system"
	User      = "user"
	Assistant = "assistant"
	Result    = "tool" // of a call
)

// Options say which model is asked, and how.
type Options struct {
	Name      string            // as the provider calls it
	BaseURL   string            // of the API, up to what comes before /chat/completions
	Transport http.RoundTripper // puts in the key where one is needed; nil = http.DefaultTransport
}

// Model is one model of a provider. It may be asked by many at once.
type Model struct{ o Options }

// New returns a model. It asks nothing yet.
func New(o Options) *Model {
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	return &Model{o}
}

// Tool is a function that a model may call.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // JSON schema of an object; nil = there are none
}

// Call is one that a model makes. Arguments are JSON, whatever the model wrote: what was no
// JSON is a JSON string of it.
type Call struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// Message is one of a conversation.
type Message struct {
	Role    string `json:"role"` // system, user, assistant, tool
	Content string `json:"content,omitempty"`
	Calls   []Call `json:"calls,omitempty"`   // of an assistant
	CallID  string `json:"call_id,omitempty"` // that a tool's message answers
}

// Usage is what an answer took, in tokens; 0 where the provider does not tell.
type Usage struct {
	Input  int64 `json:"input"`  // with those cached
	Output int64 `json:"output"` // with those of its reasoning
	Cached int64 `json:"cached"` // of Input
}

// Answer is what a model says.
type Answer struct {
	Content string `json:"content,omitempty"`
	Calls   []Call `json:"calls,omitempty"`
	Usage   Usage  `json:"usage"`
	Stop    string `json:"stop,omitempty"` // why it ended, in the provider's word: tool_calls, stop, length
}

// Message is the answer as a part of the conversation that goes on.
func (a Answer) Message() Message {
	return Message{Role: Assistant, Content: a.Content, Calls: a.Calls}
}

// Ask is how a stage asks a model. Model.Ask is one; others keep the answers.
type Ask func(ctx context.Context, messages []Message, tools []Tool) (Answer, error)

// Ask has the model answer a conversation with a call of a tool. How long the answer may be is the
// provider's to say: what a model takes to reason counts as well, and nobody knows how much. Errors are *Refused,
// *Unavailable, ErrBudget, *Malformed, or that of the context. With *Malformed comes the
// answer, which is paid for as any other.
func (m *Model) Ask(ctx context.Context, messages []Message, tools []Tool) (Answer, error) {
	request := openai.ChatCompletionRequest{
		Model: m.o.Name, Messages: conversation(messages), Tools: offered(tools), ToolChoice: "required",
	}
	x := exchange{transport: m.o.Transport}
	config := openai.DefaultConfig("")
	config.BaseURL, config.HTTPClient = m.o.BaseURL, &x
	response, err := openai.NewClientWithConfig(config).CreateChatCompletion(ctx, request)
	if err := x.problem(ctx, err); err != nil {
		return Answer{}, fmt.Errorf("ask %s: %w", m.o.Name, err)
	}
	answer, err := read(response, len(messages))
	if err == nil {
		err = Check(answer, tools)
	}
	if err != nil {
		return answer, fmt.Errorf("ask %s: %w", m.o.Name, err)
	}
	return answer, nil
}

func conversation(messages []Message) []openai.ChatCompletionMessage {
	all := make([]openai.ChatCompletionMessage, 0, len(messages))
	for _, m := range messages {
		one := openai.ChatCompletionMessage{Role: m.Role, Content: m.Content, ToolCallID: m.CallID}
		for _, c := range m.Calls {
			one.ToolCalls = append(one.ToolCalls, openai.ToolCall{
				ID: c.ID, Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: sendableName(c.Name), Arguments: sendable(c.Arguments)},
			})
		}
		if one.Content == "" && len(one.ToolCalls) == 0 {
			one.Content = "(empty)" // the library leaves an empty one out, and providers refuse that
		}
		all = append(all, one)
	}
	return all
}

// sendable is what a model is shown of its arguments. Providers refuse a conversation in
// which they are no object.
func sendable(arguments json.RawMessage) string {
	if !isObject(arguments) {
		return "{}"
	}
	return string(arguments)
}

// sendableName is the name of a function that a model called, which may be none that
// providers let pass.
func sendableName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '_'
	}, name)
	return cmp.Or(name[:min(len(name), 64)], "unknown")
}

func isObject(text json.RawMessage) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal(text, &fields) == nil && fields != nil
}

func offered(tools []Tool) []openai.Tool {
	all := make([]openai.Tool, 0, len(tools))
	for _, t := range tools {
		parameters := t.Parameters
		if parameters == nil {
			parameters = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		all = append(all, openai.Tool{
			Type:     openai.ToolTypeFunction,
			Function: &openai.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: parameters},
		})
	}
	return all
}

// read takes over what a provider answers to a conversation of so many messages.
func read(response openai.ChatCompletionResponse, messages int) (Answer, error) {
	a := Answer{Usage: usage(response.Usage)}
	if len(response.Choices) == 0 {
		return a, &Malformed{Why: "there is no answer in the provider's answer", Answer: a}
	}
	choice := response.Choices[0]
	a.Content, a.Stop = choice.Message.Content, truncate.Marked(string(choice.FinishReason), maxID, "…")
	for _, part := range choice.Message.MultiContent {
		a.Content += part.Text
	}
	if a.Content == "" {
		a.Content = choice.Message.Refusal
	}
	calls := choice.Message.ToolCalls
	seen := map[string]bool{}
	for i, c := range calls[:min(len(calls), maxCalls)] {
		id := c.ID
		if id == "" || len(id) > maxID || seen[id] {
			id = fmt.Sprintf("call_%d_%d", messages, i) // some name none, and results must find theirs
		}
		seen[id] = true
		a.Calls = append(a.Calls, Call{ID: id, Name: truncate.Marked(c.Function.Name, maxID, "…"), Arguments: arguments(c.Function.Arguments)})
	}
	return a, nil
}

// arguments are those that a model wrote, as JSON in any case.
func arguments(text string) json.RawMessage {
	if strings.TrimSpace(text) == "" {
		return json.RawMessage("{}") // so some call what has no parameters
	}
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, _ := json.Marshal(text) // a string always encodes
	return quoted
}

func usage(u openai.Usage) Usage {
	told := Usage{Input: int64(max(0, u.PromptTokens)), Output: int64(max(0, u.CompletionTokens))}
	if u.PromptTokensDetails != nil {
		told.Cached = min(told.Input, int64(max(0, u.PromptTokensDetails.CachedTokens)))
	}
	return told
}
