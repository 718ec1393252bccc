package round

import (
	"errors"
	"fmt"
	"time"
)

// ErrBusy is what a Refusal wraps when the same submission may be accepted a little later.
var ErrBusy = errors.New("the judge is busy")

// Refusal says why a submission was not accepted. It spent nothing.
type Refusal struct {
	Code       int           // as in HTTP
	RetryAfter time.Duration // 0 = asking again is of no use
	Detail     string        // for the sender's eyes
}

func (r *Refusal) Error() string { return "submission refused: " + r.Detail }

// Unwrap makes a refusal with code 503 an ErrBusy.
func (r *Refusal) Unwrap() error {
	if r.Code == 503 {
		return ErrBusy
	}
	return nil
}

// Refuse makes a refusal that says nothing of a later time.
func Refuse(code int, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// RetryBusy is when to try again after a full queue or an engine that is away.
const RetryBusy = 5 * time.Second

// RetryFull is when to try again while the disk is full.
const RetryFull = time.Minute
