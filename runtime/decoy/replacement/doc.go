// Package replacement proposes new values for literals and names of programs.
//
// A value is as long as the old one, wherever there is such a one, and looks like it. It comes
// from a Pool, which holds the values of a test or of a file; numbers move by one. Escapes, formats,
// and expressions in a string stay.
//
// The package does not know whether a value is right where it stands, nor what language it is in:
// whoever asks decides what may change. Start reading at Text and Pool.
package replacement
