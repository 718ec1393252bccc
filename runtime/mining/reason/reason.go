package reason

import (
	"errors"
	"fmt"
)

// Rejected says why a pull request becomes no task. It is the pull request's own fault, and
// final: asking again gives the same answer. Any other error of a stage is trouble.
type Rejected struct {
	Code   string // a short word of snake case: "docs_only"
	Detail string // for people; may be ""
}

// Error shows the code and the detail.
func (r *Rejected) Error() string {
	if r.Detail == "" {
		return r.Code
	}
	return r.Code + ": " + r.Detail
}

// Reject returns a *Rejected.
func Reject(code, format string, args ...any) error {
	return &Rejected{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Of returns the rejection that an error is or wraps, nil if it is trouble or nothing.
func Of(err error) *Rejected {
	r, _ := errors.AsType[*Rejected](err)
	return r
}
