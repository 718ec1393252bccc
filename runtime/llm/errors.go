package llm

import (
	"errors"
	"fmt"
	"time"
)

// ErrBudget says that there is no money left for another request: the gateway's budgets
// are spent, or the account at the provider is empty.
var ErrBudget = errors.New("there is no money left for the model")

// Refused is a request that the provider will never take.
type Refused struct {
	Status int    // of HTTP; 0 = it was not even sent
	Code   string // the provider's word: context_length_exceeded; may be ""
	Text   string // what it says, bounded
}

// Error shows what the provider says.
func (e *Refused) Error() string {
	return fmt.Sprintf("the provider refuses the request (status %d): %s", e.Status, e.Text)
}

// Unavailable is a provider that does not answer now, and may do so later.
type Unavailable struct {
	Status     int           // of HTTP; 0 = there was no answer, or not all of it
	RetryAfter time.Duration // that the provider asks for; 0 = it does not say
	Text       string        // what it says, bounded
	Err        error         // why there was no answer; nil = there was one
}

// Error shows what the provider says.
func (e *Unavailable) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("the provider does not answer: %v", e.Err)
	}
	return fmt.Sprintf("the provider cannot answer now (status %d): %s", e.Status, e.Text)
}

// Unwrap gives why there was no answer.
func (e *Unavailable) Unwrap() error { return e.Err }

// Malformed is an answer that is no call of an offered tool, or one whose arguments do not
// fit. Asked again and told what is wrong, a model may do better.
type Malformed struct {
	Why    string // in words that the model may be told
	Answer Answer // that is meant; empty where only a call was looked at
}

// Error shows what is wrong.
func (e *Malformed) Error() string { return "the model's answer cannot be used: " + e.Why }
