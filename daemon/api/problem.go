package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/assayd/assayd/reconcile"
	"github.com/assayd/assayd/reconcile/evaluate"
	"github.com/assayd/assayd/reconcile/history"
	"github.com/assayd/assayd/reconcile/request"
	"github.com/assayd/assayd/reconcile/store/statedir"
	"github.com/assayd/assayd/reconcile/summary"
	"github.com/assayd/assayd/runtime/container"
	"github.com/assayd/assayd/runtime/judge/round"
)

// Kind says what sort of error an answer is. The set is closed: a program may branch on it, and
// what no kind fits is Internal. A Kind is an error, so that errors.Is(err, NotFound) asks for it.
type Kind string

// The kinds. docs/api.md has the table for users, and a test compares the two.
const (
	Invalid      Kind = "invalid"      // the request is malformed, or asks for what cannot be
	Unauthorized Kind = "unauthorized" // the token is missing or wrong
	Forbidden    Kind = "forbidden"    // a web page sent it, it calls the daemon by a foreign name, or the role may not
	NotFound     Kind = "not_found"    // there is no such run, trial, round, or route
	Conflict     Kind = "conflict"     // the present state does not allow it
	Refused      Kind = "refused"      // the judge does not take the archive
	TooLarge     Kind = "too_large"    // the body is larger than it may be
	Busy         Kind = "busy"         // there is too much to do; the same request may succeed later
	Away         Kind = "away"         // what is needed cannot be reached now: the engine, the specs, room on the disk
	NoEngine     Kind = "no_engine"    // this process has no container engine; a daemon has one
	ReadOnly     Kind = "read_only"    // no daemon runs on the state directory, or it cannot be written
	Internal     Kind = "internal"     // the daemon failed
)

// kinds are all kinds, with the HTTP status that an error has where nothing says otherwise, and a
// title.
var kinds = []struct {
	kind   Kind
	status int
	title  string
}{
	{Invalid, http.StatusBadRequest, "The request is not valid"},
	{Unauthorized, http.StatusUnauthorized, "The token is missing or wrong"},
	{Forbidden, http.StatusForbidden, "The request is not allowed"},
	{NotFound, http.StatusNotFound, "Not found"},
	{Conflict, http.StatusConflict, "The present state does not allow this"},
	{Refused, http.StatusBadRequest, "The archive was refused"},
	{TooLarge, http.StatusRequestEntityTooLarge, "The body is too large"},
	{Busy, http.StatusServiceUnavailable, "The daemon is busy"},
	{Away, http.StatusServiceUnavailable, "A part that this needs cannot be reached"},
	{NoEngine, http.StatusConflict, "This process has no container engine"},
	{ReadOnly, http.StatusConflict, "The state directory can only be read"},
	{Internal, http.StatusInternalServerError, "The daemon failed"},
}

// Error implements error.
func (k Kind) Error() string { return string(k) }

// status is the HTTP status of errors of a kind.
func (k Kind) status() (status int, title string) {
	for _, known := range kinds {
		if known.kind == k {
			return known.status, known.title
		}
	}
	return http.StatusInternalServerError, "The daemon failed"
}

// kindOf is the kind of an answer of that status: of one that bears none, because an older daemon
// or a proxy sent it.
func kindOf(status int) Kind {
	switch status {
	case http.StatusUnauthorized:
		return Unauthorized
	case http.StatusForbidden, http.StatusMisdirectedRequest:
		return Forbidden
	case http.StatusNotFound:
		return NotFound
	case http.StatusConflict:
		return Conflict
	case http.StatusRequestEntityTooLarge:
		return TooLarge
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return Busy
	}
	if status >= 400 && status < 500 {
		return Invalid
	}
	return Internal
}

// problem is the body of an error, as RFC 9457 has it.
type problem struct {
	Type   string `json:"type"` // urn:assayd:problem:KIND
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Kind   Kind   `json:"kind"`
	Error  string `json:"error"` // the same as detail, for clients of before
}

// problemType is the media type of an error.
const problemType = "application/problem+json"

// Refuse answers a request with an error.
func Refuse(w http.ResponseWriter, status int, kind Kind, why string) {
	_, title := kind.status()
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(status)
	// A reader that went away needs no answer.
	_ = json.NewEncoder(w).Encode(problem{"urn:assayd:problem:" + string(kind), title, status, why, kind, why})
}

// fail answers a request with what went wrong.
func fail(w http.ResponseWriter, err error) {
	status, kind := classify(err)
	Refuse(w, status, kind, reason(err))
}

// Classify says which HTTP status and title an error has.
func Classify(err error) (status int, title string) {
	status, kind := classify(err)
	_, title = kind.status()
	return status, title
}

// invalid is an error that the sender of a request can correct.
type invalid struct{ error }

// Unwrap gives the cause.
func (i invalid) Unwrap() error { return i.error }

func invalidf(format string, args ...any) error { return invalid{fmt.Errorf(format, args...)} }

// classify says which status and kind an error has. Who can correct it comes first: a mistake may
// have any cause.
func classify(err error) (status int, kind Kind) {
	if r, ok := errors.AsType[*round.Refusal](err); ok {
		return r.Code, refusalKind(r.Code)
	}
	_, large := errors.AsType[*http.MaxBytesError](err)
	_, mistake := errors.AsType[*request.Mistake](err)
	_, conflict := errors.AsType[*request.Conflict](err)
	_, malformed := errors.AsType[invalid](err)
	_, hidden := errors.AsType[*request.Hidden](err)
	is := func(targets ...error) bool {
		for _, t := range targets {
			if errors.Is(err, t) {
				return true
			}
		}
		return false
	}
	kind = Internal
	switch {
	case large:
		kind = TooLarge
	case hidden:
		kind = Forbidden
	case mistake, malformed:
		kind = Invalid
	case is(history.ErrUnknown):
		kind = NotFound
	case is(evaluate.ErrNeedsEngine):
		kind = NoEngine
	case conflict, is(request.ErrNothing, summary.ErrPairs):
		kind = Conflict
	case is(request.ErrIdle, statedir.ErrReadOnly):
		kind = ReadOnly
	case is(reconcile.ErrDraining, request.ErrStopped):
		kind = Busy
	case is(reconcile.ErrBlind, statedir.ErrNoSpace) || container.Unavailable(err):
		kind = Away
	}
	status, _ = kind.status()
	return status, kind
}

// refusalKind is the kind of a judge's refusal, by its status.
func refusalKind(status int) Kind {
	switch k := kindOf(status); k {
	case TooLarge, Busy, Internal:
		return k
	default:
		return Refused
	}
}

// reason leaves out which round the judge reserved for what it refused.
func reason(err error) string {
	if r, ok := errors.AsType[*round.Refusal](err); ok {
		return r.Error()
	}
	return err.Error()
}

// Error is what the daemon answered instead of what was asked for.
type Error struct {
	Code int // HTTP status
	Kind Kind
	Text string
}

// Error implements error.
func (e *Error) Error() string { return e.Text }

// Unwrap gives the kind, so that errors.Is(err, NotFound) asks for it.
func (e *Error) Unwrap() error { return e.Kind }

// Correctable reports whether an error of the daemon asks for another request. It does not where
// only the state is in the way.
func Correctable(err error) bool {
	answer, ok := errors.AsType[*Error](err)
	return ok && answer.Code >= 400 && answer.Code < http.StatusInternalServerError &&
		answer.Kind != Conflict && answer.Kind != ReadOnly
}

// asError reads an answer that is an error.
func asError(a *http.Response) *Error {
	var p problem
	if err := json.NewDecoder(io.LimitReader(a.Body, maxProblem)).Decode(&p); err != nil || p.Error == "" {
		p.Error = a.Status
	}
	if p.Kind == "" {
		p.Kind = kindOf(a.StatusCode)
	}
	return &Error{a.StatusCode, p.Kind, p.Error}
}

// maxProblem bounds what is read of an error, in bytes.
const maxProblem = 1 << 20
