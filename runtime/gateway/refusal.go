package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/assayd/assayd/runtime/gateway/wire"
)

// refusal is an answer of the gateway's own, in the shape that the provider's have.
type refusal struct {
	protocol string
	status   int
	kind     string // the type of the error, in the provider's word
	code     string // of OpenAI's errors; "" = null
	text     string
	retry    int // seconds; 0 = do not say
}

// Error implements error.
func (r *refusal) Error() string { return r.text }

// body is what the provider would answer.
func (r *refusal) body() []byte {
	type openAI struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	}
	type anthropic struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	var v any
	if r.protocol == wire.Anthropic {
		v = map[string]any{"type": "error", "error": anthropic{r.kind, r.text}}
	} else {
		e := openAI{Message: r.text, Type: r.kind}
		if r.code != "" {
			e.Code = &r.code
		}
		v = map[string]any{"error": e}
	}
	text, _ := json.Marshal(v) // plain data always encodes
	return text
}

func (r *refusal) write(w http.ResponseWriter) {
	if r.retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(r.retry))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.status)
	_, _ = w.Write(r.body()) // who has gone needs no answer
}

// pick returns the first for OpenAI's protocols, the second for Anthropic's.
func pick[T any](protocol string, openAI, anthropic T) T {
	if protocol == wire.Anthropic {
		return anthropic
	}
	return openAI
}

// overloadedRetry is what agents are told to wait, in seconds.
const overloadedRetry = 15

// overloaded is how providers say that they cannot answer now.
func overloaded(protocol, why string) *refusal {
	return &refusal{
		protocol: protocol, status: pick(protocol, 503, 529), kind: pick(protocol, "server_error", "overloaded_error"),
		code: "service_unavailable", text: "Overloaded: " + why, retry: overloadedRetry,
	}
}

// spentUp is how providers say that there is no money left.
func spentUp(protocol, why string) *refusal {
	return &refusal{
		protocol: protocol, status: pick(protocol, 429, 400), kind: pick(protocol, "insufficient_quota", "invalid_request_error"),
		code: "insufficient_quota", text: "Your credit balance is too low: " + why + ".",
	}
}

// malformed is how providers answer what they cannot read.
func malformed(protocol string, status int, format string, values ...any) *refusal {
	return &refusal{protocol: protocol, status: status, kind: "invalid_request_error", text: fmt.Sprintf(format, values...)}
}

// unknown is how providers answer at addresses that they do not have.
func unknown(protocol, what string) *refusal {
	return &refusal{
		protocol: protocol, status: 404, kind: pick(protocol, "invalid_request_error", "not_found_error"), code: "unknown_url",
		text: "There is no " + what + " here: the gateway passes on requests to models and nothing else.",
	}
}

// closedTo refuses what a closed network has no way for.
func closedTo(protocol, what string) *refusal {
	return malformed(protocol, 400, "The network of this task is closed, and the provider is not asked for %s.", what)
}
