// Package request has what all parts that answer or carry out requests share: the errors that say why a request is
// refused, the suggestion for a name that is not known, and whether the caller may see content.
//
// It decides nothing: the daemon marks the context of a caller, and the part that answers refuses. It reads no state, and
// starts no goroutine. Start reading at Conflict and Mistake.
package request
