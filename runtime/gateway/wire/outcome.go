package wire

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// Passing reports whether an answer is for the agent. All others are the provider's trouble,
// which may pass.
func Passing(status int) bool { return status != http.StatusTooManyRequests && status < 500 }

// Lasting reports whether an error that a stream begins with is the request's fault, so that
// there is no use in trying again.
func Lasting(text string) bool {
	var e struct {
		Type  string          `json:"type"`
		Code  json.RawMessage `json:"code"`
		Error *struct {
			Type string `json:"type"`
		} `json:"error"` // Anthropic's is one deeper
	}
	if !Decode([]byte(text), &e) {
		return false
	}
	if e.Error != nil {
		e.Type = e.Error.Type
	}
	code := strings.Trim(string(e.Code), `"`)
	if status, err := strconv.Atoi(code); err == nil {
		return status >= 400 && Passing(status) && status != http.StatusRequestTimeout
	}
	for _, word := range []string{e.Type, code} {
		switch word {
		case "authentication_error", "permission_error", "not_found_error", "request_too_large", "billing_error", "context_length_exceeded":
			return true
		}
		if strings.HasPrefix(word, "invalid_") {
			return true
		}
	}
	return false
}

// Refusing reports whether an answer says that the provider does not work for this key. To
// Anthropic an account without money is a bad request.
func Refusing(status int, body []byte) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusPaymentRequired:
		return true
	case http.StatusBadRequest:
		var told struct {
			Error struct{ Type, Message string }
		}
		return Decode(body, &told) && (told.Error.Type == "billing_error" || strings.Contains(strings.ToLower(told.Error.Message), "credit balance"))
	}
	return false
}
