// Package client is how the bench talks to what it measures: HTTP over a socket, a trial's judge,
// and waiting with a bound.
//
// It starts nothing and measures nothing but the time of a call. Start reading at Judge and Until.
package client
